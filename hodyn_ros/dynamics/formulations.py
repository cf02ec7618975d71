"""The formulations of inverse dynamics and their kernels."""
from types import ModuleType
from typing import Any, Literal, get_args

from numba.core import config

from hodyn_ros.dynamics.kernels import closed_form, rnea_body_fixed, rnea_spatial
from hodyn_ros.dynamics.kernels.unrolled import body_fixed, spatial
from hodyn_ros.robot import Robot

Formulation = Literal['spatial', 'body_fixed', 'closed_form']
FORMULATIONS: tuple[Formulation, ...] = get_args(Formulation)

MAX_UNROLLED = 2
"""Highest order of the unrolled kernels: a register holds 4 coefficients; order r needs r + 2."""


def any_order_kernels(formulation: Formulation) -> ModuleType:
    """Return the module of a formulation's kernels for any order: a recursion, or the closed form.

    It has `workspace`, `single` for one motion on a fixed base, and `inverse_dynamics` for T
    motions.
    """
    if formulation == 'closed_form':
        return closed_form
    return rnea_spatial if formulation == 'spatial' else rnea_body_fixed


def unrolled_kernels(robot: Robot, order: int, formulation: Formulation) -> ModuleType | None:
    """Return the module of the unrolled kernels, or None if there are none.

    It has `workspace`, `wrench_transforms`, and `single` and `batch`, which return the kernels of
    an order. They compute with SIMD registers, so there are none if numba is switched off.
    """
    numba_config: Any = config  # numba sets its attributes at run time
    if order > MAX_UNROLLED or formulation == 'closed_form' or numba_config.DISABLE_JIT:
        return None
    if formulation == 'spatial':
        return spatial
    return body_fixed if robot.serial else None
