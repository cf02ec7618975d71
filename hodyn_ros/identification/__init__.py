"""Friction, payload and torque offsets of a robot from recordings of its motion."""
TERMS = ('links', 'friction', 'viscous', 'rotor', 'gains', 'offsets', 'payload', 'zeros')
"""The terms of the model that can be fitted, see the module `terms`."""
