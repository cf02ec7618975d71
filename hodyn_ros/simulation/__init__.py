"""Independent simulators that stand in for hardware."""
