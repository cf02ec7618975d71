"""The nodes of ROS 2; only this package imports rclpy."""
