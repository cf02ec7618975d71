"""The quantities of a motion that may have limits: one row each."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A quantity of a motion that may have limits."""

    name: str  #: Name in files and tables
    #: `unit`, `unit_of_prismatic`: SI unit for a revolute joint, and for a prismatic one
    unit: str
    unit_of_prismatic: str
    order: int  #: Highest derivative of position on which the quantity depends
    of: str = 'joint'  #: Part of the robot that has the quantity: 'joint', 'motor' or 'spring'

    @property
    def title(self) -> str:
        """The name in reports and messages, which say torque for effort."""
        return self.name.replace('effort', 'torque')


QUANTITIES = {row.name: row for row in (
    Quantity('position', 'rad', 'm', 0),
    Quantity('velocity', 'rad/s', 'm/s', 1),
    Quantity('acceleration', 'rad/s²', 'm/s²', 2),
    Quantity('jerk', 'rad/s³', 'm/s³', 3),
    Quantity('effort', 'N m', 'N', 2),
    Quantity('effort_rate', 'N m/s', 'N/s', 3),
    Quantity('power', 'W', 'W', 2),
    Quantity('motor_velocity', 'rad/s', 'm/s', 3, 'motor'),
    Quantity('motor_effort', 'N m', 'N', 4, 'motor'),
    Quantity('deflection', 'rad', 'm', 2, 'motor'),
    Quantity('spring_torque_left', 'N m', 'N', 2, 'spring'),
    Quantity('stiffness_left', 'N m/rad', 'N/m', 2, 'spring'))}

KINEMATIC = ('position', 'velocity', 'acceleration', 'jerk')
EFFORTS = ('effort', 'effort_rate')
JOINT_QUANTITIES = (*KINEMATIC, *EFFORTS)
MOTOR_QUANTITIES = ('motor_velocity', 'motor_effort', 'deflection')
CHECKED = tuple(name for name in QUANTITIES if name != 'power')
"""Quantities checked in plans: all except power, which only reports on recordings contain."""
SCALABLE = JOINT_QUANTITIES[1:]
"""Quantities of joints whose limits can be scaled; those of motors are `MOTOR_QUANTITIES`."""
