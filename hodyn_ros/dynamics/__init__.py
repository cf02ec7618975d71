"""Kinematics and dynamics of robots and their time derivatives, to any order."""
