"""Offline: bags in, derivatives, comparison with what was recorded, report."""
