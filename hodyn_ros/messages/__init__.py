"""Bytes ↔ arrays, without rclpy: joint states, commands, wrenches, trajectories, bags."""
