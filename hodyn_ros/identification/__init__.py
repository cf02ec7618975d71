"""Friction, payload and torque offsets of a robot from recordings of its motion."""
TERMS = ('links', 'friction', 'viscous', 'rotor', 'gains', 'offsets', 'payload', 'zeros')
"""Terms that can be fitted, see `terms`."""
