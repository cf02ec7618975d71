"""The ROS 2 side: the only place that imports rclpy."""
