"""Simulated arms that stand in for hardware; MuJoCo, not this package, moves them."""
