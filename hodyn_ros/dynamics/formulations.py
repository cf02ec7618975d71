"""The formulations of inverse dynamics and their kernels."""
from typing import Any, Literal, Protocol, get_args

from numba.core import config
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import closed_form, rnea_body_fixed, rnea_spatial
from hodyn_ros.dynamics.kernels.unrolled import body_fixed, spatial
from hodyn_ros.robot import Robot

Formulation = Literal['spatial', 'body_fixed', 'closed_form']
FORMULATIONS: tuple[Formulation, ...] = get_args(Formulation)


class AnyOrderKernels(Protocol):
    """A module of kernels for any order: a recursion, or the closed form."""

    def workspace(self, n_bodies: int, order: int) -> Array:
        """Return scratch memory for both kernels."""

    def single(
        self, parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
        memory: Array, q: Array, out: Array,
    ) -> None:
        """Write Q and its derivatives for one motion on a fixed base."""

    def inverse_dynamics(
        self, parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
        memory: Array, base: tuple[Array, ...], wrenches: Array, q: Array, torque: Array,
    ) -> None:
        """Write Q and its derivatives for T motions."""


class UnrolledKernels(Protocol):
    """A module of a formulation's unrolled recursion, for orders up to `MAX_UNROLLED`."""

    def workspace(self, robot: Robot, order: int, motions: int) -> Array:
        """Return scratch memory: for `single` with motions = 1, for `batch` with `LANES`."""

    def wrench_transforms(self, robot: Robot) -> Array:
        """Return the matrices that take wrenches to kernel frames, (n_bodies, 6, 6)."""

    def single(self, order: int) -> Any:
        """Return the kernel (memory, q, out) that writes Q, Q̇, … of one motion."""

    def batch(self, order: int) -> Any:
        """Return the kernel (memory, q, out, transforms, wrenches) for a batch."""


MAX_UNROLLED = 2
"""Highest order of the unrolled kernels: a register holds 4 coefficients; order r needs r + 2."""


def any_order_kernels(formulation: Formulation) -> AnyOrderKernels:
    """Return the module of a formulation's kernels."""
    if formulation == 'closed_form':
        return closed_form
    return rnea_spatial if formulation == 'spatial' else rnea_body_fixed


def unrolled_kernels(robot: Robot, order: int, formulation: Formulation) -> UnrolledKernels | None:
    """Return the module of the unrolled kernels, or None if there are none.

    They compute with SIMD registers, so there are none if numba is switched off.
    """
    numba_config: Any = config  # numba sets its attributes at run time
    if order > MAX_UNROLLED or formulation == 'closed_form' or numba_config.DISABLE_JIT:
        return None
    if formulation == 'spatial':
        return spatial
    return body_fixed if robot.serial else None
