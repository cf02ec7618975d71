"""Bytes ↔ arrays, without rclpy: CDR, joint states, bags."""
