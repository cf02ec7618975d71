"""Replay of a recording: its torques, their comparison with recorded efforts, the report."""
