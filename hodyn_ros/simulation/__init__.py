"""Simulated arms that stand in for hardware, independent of this package's dynamics."""
