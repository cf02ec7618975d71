"""Inverse dynamics of any order (RNEA): the checked call, and the prepared handle for loops."""
from __future__ import annotations

from collections.abc import Callable
import functools
import threading
from types import ModuleType
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import Array, check_array
from hodyn_ros.dynamics.argument_checks import base_state, check_result, checked_motions, external
from hodyn_ros.dynamics.formulations import (
    FORMULATIONS,
    Formulation,
    any_order_kernels,
    unrolled_kernels,
)
from hodyn_ros.dynamics.kernels.decorators import prepare
from hodyn_ros.dynamics.kernels.unrolled import spatial
from hodyn_ros.dynamics.kernels.unrolled.taylor import LANES
from hodyn_ros.dynamics.spherical_joints import Rotations, inverse_on_rotations
from hodyn_ros.dynamics.threads import ThreadScratch, check_threads, in_threads
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot

NO_WRENCHES = np.zeros((1, 0, 0, 0))
"""The kernels' argument `wrenches` if no external wrenches act."""


class InverseDynamics(functools.partial[None]):
    """Inverse dynamics prepared for one robot, order and formulation: calls allocate nothing.

    ``handle(q, out)`` reads q, (order + 3, n), and writes Q and its derivatives (N m, N m/s, …) to
    out, (order + 1, n); both C-contiguous, aligned, writeable float64. It does not check that
    values are finite. Threads may share a handle. During a call, which takes a microsecond, no
    other thread runs. During a batch other threads run, each with its own scratch memory.

    On a floating base only `floating_batch` works; the other calls raise HodynError.

    The handle is a partial application of the kernel to the constants of the robot, since a method
    that calls the kernel would take 5 % longer. The kernel itself checks the shapes. Only if
    joints are coupled, calls allocate arrays: the motion and torques of the bodies' joints.

    Attributes
    ----------
    robot : Robot
        The robot.
    order : int
        Order r of the highest derivative of Q.
    formulation : str
        As for `inverse_dynamics`.

    Raises
    ------
    HodynError
        For a negative order, an unknown formulation, and 'closed_form' on a floating base; from a
        call, for wrong shapes.
    TypeError
        From a call, for arguments other than such arrays.

    """

    robot: Robot
    order: int
    formulation: Formulation

    def __new__(
        cls, robot: Robot, order: int = 2, formulation: Formulation = 'spatial',
    ) -> InverseDynamics:
        """Choose the unrolled kernel if there is one, else the kernel for any order."""
        check_robot(robot)
        if formulation not in FORMULATIONS:
            raise HodynError(
                f'formulation {formulation!r}: expected one of {", ".join(FORMULATIONS)}')
        if not isinstance(order, (int, np.integer)) or order < 0:
            raise HodynError(f'order must be an integer of at least 0, got {order!r}')
        unrolled = unrolled_kernels(robot, order, formulation)
        kernel: Callable[..., None]
        arguments: tuple[Any, ...]
        bodies = len(robot.bodies)
        if robot.floating:
            if formulation == 'closed_form':
                raise HodynError(
                    "formulation 'closed_form' is for a fixed base; equations_of_motion gives the "
                    f'matrices of {robot.name!r}')
            kernel, arguments = refuse_without_base, (robot,)
        elif unrolled is None:
            kernels = any_order_kernels(formulation)
            kernel = kernels.single
            arguments = *model_of(robot), kernels.workspace(bodies, order)
        else:
            kernel, arguments = unrolled.single(order), (unrolled.workspace(robot, order, 1),)
        prepare(
            kernel, *arguments, np.empty((order + 3, bodies)), np.empty((order + 1, bodies)))
        if robot.coupling.followers.size and not robot.floating:
            kernel, arguments = _coupled, (robot, order, functools.partial(kernel, *arguments))
        handle = super().__new__(cls, kernel, *arguments)
        handle.robot, handle.order, handle.formulation = robot, order, formulation
        return handle

    def __reduce__(self) -> tuple[Any, ...]:
        return InverseDynamics, (self.robot, self.order, self.formulation)

    def batch(
        self, q: Array, out: Array, wrenches: Array | None = None, *, threads: int = 1,
    ) -> None:
        """Compute T motions: q (T, order + 3, n), out (T, order + 1, n).

        The wrenches are (T, order + 1, n_bodies, 6) as for `inverse_dynamics`. Each of the threads
        computes an equal share of the motions; the number of threads does not change the result.
        """
        if self.robot.floating:
            refuse_without_base(self.robot)
        self._compute(q, (), out, wrenches, threads)

    def floating_batch(
        self, q: Array, base_pose: Array, base_twist: Array, out: Array, base_wrench: Array,
        wrenches: Array | None = None, *, threads: int = 1,
    ) -> None:
        """Compute T motions of a robot on a floating base; base_wrench is written.

        Arrays as for `batch` and `inverse_dynamics`: base_pose (T, 4, 4), base_twist
        (T, order + 2, 6), base_wrench (T, order + 1, 6).
        """
        if not self.robot.floating:
            raise HodynError(f'robot {self.robot.name!r} has a fixed base: use batch')
        self._compute(q, (base_pose, base_twist, base_wrench), out, wrenches, threads)

    def _compute(
        self, q: Array, base: tuple[Array, ...], out: Array, wrenches: Array | None, threads: int,
    ) -> None:
        """Compute T motions; `base` is pose, twist and wrench of a floating base, or ()."""
        robot, count, orders = self.robot, len(q), self.order + 1
        check_array(q, 'q', (count, orders + 2, robot.n))
        check_array(out, 'out', (count, orders, robot.n))
        if wrenches is not None:
            check_array(wrenches, 'wrenches', (count, orders, len(robot.bodies), 6))
        if base:
            check_array(base[0], 'base_pose', (count, 4, 4))
            check_array(base[1], 'base_twist', (count, orders + 1, 6))
            check_array(base[2], 'base_wrench', (count, orders, 6))
        motion, torque = robot.coupling.to_bodies(q), out
        if motion is not q:  # joints are coupled
            torque = np.empty((count, orders, motion.shape[-1]))
        together = 1 if base and count == 1 else LANES

        def compute(part: slice) -> None:
            acting = NO_WRENCHES if wrenches is None else wrenches[part]
            if self._unrolled is None:
                any_order_kernels(self.formulation).inverse_dynamics(
                    *model_of(robot), self._scratch(1).array,
                    tuple(array[part] for array in base), acting, motion[part], torque[part])
            elif base:
                pose, twist, wrench = base
                spatial.floating(self.order, together)(
                    self._scratch(together).array, robot.gravity, pose[part], twist[part],
                    motion[part], torque[part], self._wrench_transforms, acting, wrench[part])
            else:
                self._unrolled.batch(self.order)(
                    self._scratch(LANES).array, motion[part], torque[part],
                    self._wrench_transforms, acting)

        in_threads(compute, count, threads, LANES)
        if motion is not q:
            out[:] = robot.coupling.to_joints(torque)

    @functools.cached_property
    def _unrolled(self) -> ModuleType | None:
        return unrolled_kernels(self.robot, self.order, self.formulation)

    @functools.cached_property
    def _wrench_transforms(self) -> Array:
        unrolled = self._unrolled
        assert unrolled is not None
        transforms: Array = unrolled.wrench_transforms(self.robot)
        return transforms

    def _scratch(self, together: int) -> ThreadScratch:
        """Return the memory of a kernel that computes `together` motions at a time."""
        scratch = self._scratches.get(together)
        if scratch is None:
            unrolled, bodies, order = self._unrolled, len(self.robot.bodies), self.order
            scratch = self._scratches.setdefault(together, ThreadScratch(
                functools.partial(any_order_kernels(self.formulation).workspace, bodies, order)
                if unrolled is None
                else functools.partial(unrolled.workspace, self.robot, order, together)))
        return scratch

    @functools.cached_property
    def _scratches(self) -> dict[int, ThreadScratch]:
        return {}


def model_of(robot: Robot) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Return the first arguments of the kernels for any order."""
    model = robot.kernel_model
    return model.parent, model.body_table, model.body_in_kernel, robot.gravity


def _coupled(
    robot: Robot, order: int, of_bodies: Callable[[Array, Array], None], q: Array, out: Array,
) -> None:
    """Write the torques of a robot with coupled joints, from those of the bodies' joints."""
    check_array(q, 'q', (order + 3, robot.n))
    check_array(out, 'out', (order + 1, robot.n))
    torque = np.empty((order + 1, len(robot.bodies)))
    of_bodies(robot.coupling.to_bodies(q), torque)
    out[:] = robot.coupling.to_joints(torque)


def refuse_without_base(robot: Robot, *_: Any) -> NoReturn:
    """Raise HodynError for a handle called without the motion of the robot's base."""
    raise HodynError(
        f'robot {robot.name!r} has a floating base: use floating_batch, which takes its motion')


@functools.lru_cache(maxsize=32)
def _prepared(
    robot: Robot, order: int, formulation: Formulation, thread: int,
) -> InverseDynamics:
    """Return a handle for the calling thread."""
    return InverseDynamics(robot, order, formulation)


@overload
def inverse_dynamics(
    robot: Robot, q: ArrayLike, *, formulation: Formulation = ...,
    rotations: Rotations | None = ..., external_wrenches: ArrayLike | None = ...,
    out: Array | None = ..., threads: int = ...,
) -> Array: ...


@overload
def inverse_dynamics(
    robot: Robot, q: ArrayLike, *, base_pose: ArrayLike, base_twist: ArrayLike,
    formulation: Formulation = ..., rotations: Rotations | None = ...,
    external_wrenches: ArrayLike | None = ..., threads: int = ...,
) -> tuple[Array, Array]: ...


def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    *others: object,
    formulation: Formulation = 'spatial',
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    rotations: Rotations | None = None,
    external_wrenches: ArrayLike | None = None,
    out: Array | None = None,
    threads: int = 1,
) -> Array | tuple[Array, Array]:
    """Return the joint torques Q of a motion and their time derivatives, rigid-body terms only.

    The derivatives go up to the order r that q supports. The base is fixed (M21, Algorithms 1 and
    3) or floating (AGF26, Algorithms 1 and 2).

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 3, n) array, or a batch (T, r + 3, n)
        q[k] is the k-th derivative of the joint positions, rad/sᵏ (prismatic: m/sᵏ). A floating
        base does not count among the n joints.
    *others
        Not accepted: unlike in other libraries, velocities and accelerations are rows of q.
    formulation : 'spatial', 'body_fixed' or 'closed_form'
        'spatial' and 'body_fixed' are O(n) recursions; 'closed_form' computes the matrices of MK21
        and KM21 (fixed base, O(n³)). All return the same numbers up to rounding.
    base_pose, base_twist : (4, 4) and (r + 2, 6), or (T, 4, 4) and (T, r + 2, 6) arrays, optional
        Pose of a floating base, and its spatial twist (ω, v) in world axes about the world origin
        with component-wise derivatives.
    rotations : mapping of str to (3, 3) or (T, 3, 3) array, optional
        Rotations of spherical joints by name. The three columns of such a joint then have ω and
        its derivatives from row 1 on in q (row 0 is not read), and the moment in the result, both
        as defined by `SphericalJoint`. No rotation is singular.
    external_wrenches : (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array, optional
        Wrench (moment, force) of the environment on each body, in the body's axes about its
        origin, N m and N, and the derivatives of these components.
    out : (r + 1, n) or (T, r + 1, n) array, optional
        Array to write the result to, C-contiguous float64.
    threads : int
        Number of threads that share the motions of a batch; it does not change the result.

    Returns
    -------
    torque : (r + 1, n) or (T, r + 1, n) array
        N m/sᵏ (prismatic: N/sᵏ).
    base_wrench : (r + 1, 6) or (T, r + 1, 6) array
        Only for a floating base: the wrench (moment, force) that must act on it, in world axes
        about the world origin, and its component-wise derivatives.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite or so large that torques overflow, and fewer
        than one thread.

    """
    check_robot(robot)
    if others:
        raise HodynError(
            'q has one row per derivative: inverse_dynamics(robot, np.stack([q, v, a]))')
    if rotations is not None:
        if out is not None:
            raise HodynError('leave out `out`: with rotations the result is a new array')
        found: Array | tuple[Array, Array] = inverse_on_rotations(
            inverse_dynamics, robot, q, rotations, {
                'base_pose': base_pose, 'base_twist': base_twist,
                'external_wrenches': external_wrenches}, formulation=formulation, threads=threads)
        return found
    # `motions_and_base` is not used: its tuple would take 5 % of the time of a call.
    motions, batch = checked_motions(q, 'q', robot, 3)
    count, orders = len(motions), motions.shape[1] - 2
    base = base_state(robot, base_pose, base_twist, batch, orders + 1)
    check_threads(threads)
    shape = (*batch, orders, robot.n)
    if out is None:
        out = np.empty(shape)
    elif not (isinstance(out, np.ndarray) and out.shape == shape and out.dtype == np.float64
              and out.flags.carray):
        raise HodynError(
            f'out must be a writeable, aligned, C-contiguous float64 array of shape {shape}')
    handle = _prepared(robot, orders - 1, formulation, threading.get_ident())
    given = {'q': motions}
    if not batch and external_wrenches is None and not base:
        handle(motions[0], out)
        check_result(robot, out, given, batch)
        return out
    wrenches = None
    if external_wrenches is not None:
        wrenches = given['external_wrenches'] = external(robot, external_wrenches, orders, batch)
    torque = out.reshape(count, orders, robot.n)
    if not base:
        handle.batch(motions, torque, wrenches, threads=threads)
        check_result(robot, out, given, batch)
        return out
    base_wrench = np.empty((count, orders, 6))
    handle.floating_batch(motions, *base, torque, base_wrench, wrenches, threads=threads)
    given['base_pose'], given['base_twist'] = base
    check_result(robot, out, given, batch)
    check_result(robot, base_wrench, given, batch)
    return out, base_wrench.reshape(*batch, orders, 6)
