"""Friction, payload and torque offsets of a robot from recordings of its motion."""
