"""The quantities of a motion that have limits: their units, and what of the motion they are."""

UNITS = {
    'position': ('rad', 'm'),
    'velocity': ('rad/s', 'm/s'),
    'acceleration': ('rad/s²', 'm/s²'),
    'jerk': ('rad/s³', 'm/s³'),
    'effort': ('N m', 'N'),
    'effort_rate': ('N m/s', 'N/s'),
    'torque': ('N m', 'N'),
    'torque_rate': ('N m/s', 'N/s'),
    'power': ('W', 'W'),
    'motor_velocity': ('rad/s', 'm/s'),
    'motor_effort': ('N m', 'N'),
    'deflection': ('rad', 'm'),
    'spring_torque_left': ('N m', 'N'),
    'stiffness_left': ('N m/rad', 'N/m'),
}
"""SI units of a quantity of a revolute joint, and of a prismatic one."""

ORDERS = {
    'position': 0, 'velocity': 1, 'acceleration': 2, 'jerk': 3, 'effort': 2, 'effort_rate': 3,
    'motor_velocity': 3, 'motor_effort': 4, 'deflection': 2, 'spring_torque_left': 2,
    'stiffness_left': 2,
}
"""The highest derivative of the position along a path that a quantity depends on."""

KINEMATIC = ('position', 'velocity', 'acceleration', 'jerk')
EFFORTS = ('effort', 'effort_rate')
JOINT_QUANTITIES = (*KINEMATIC, *EFFORTS)
MOTOR_QUANTITIES = ('motor_velocity', 'motor_effort', 'deflection')
SPRING_QUANTITIES = ('spring_torque_left', 'stiffness_left')
SCALABLE = JOINT_QUANTITIES[1:]
"""Limits of joints of which a part may be used; those of motors are `MOTOR_QUANTITIES`."""
