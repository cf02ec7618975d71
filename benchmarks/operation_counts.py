"""How many operations a formulation of the inverse dynamics takes for one robot, to an order."""
from hodyn_ros import Robot
from hodyn_ros.codegen.c_text import operations
from hodyn_ros.codegen.routines import inverse_dynamics
from hodyn_ros.dynamics.formulations import Formulation

FORMULATIONS: tuple[Formulation, ...] = ('spatial', 'body_fixed')
"""The recursions; the closed form is O(n³)."""


def count(robot: Robot, order: int, formulation: Formulation) -> int:
    """Return the operations of Q … Q⁽ʳ⁾, the robot's numbers folded in.

    The kernel that computes numbers is run on expressions: what is 0, 1 or computed twice is not
    counted; a sine or cosine is one.
    """
    section, = inverse_dynamics(robot, order, formulation=formulation)
    return operations(section.tree)
