"""Partial derivatives of Q, Q̇, … with respect to q, q̇, …: the checked call, a handle for loops.

They serve optimal control, observers and linearization.
"""
from collections.abc import Callable
import functools
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, check_array
from hodyn_ros.dynamics.argument_checks import external, motions_and_base
from hodyn_ros.dynamics.inverse_dynamics import NO_WRENCHES, model_of, refuse_without_base
from hodyn_ros.dynamics.kernels import state_derivatives
from hodyn_ros.dynamics.kernels.decorators import prepare
from hodyn_ros.dynamics.kernels.lanes import LANES
from hodyn_ros.dynamics.threads import ThreadScratch, check_threads, in_threads
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot


class InverseDynamicsDerivatives(functools.partial[None]):
    """Partial derivatives of Q prepared for one robot and order: calls allocate nothing.

    ``handle(q, out)`` reads q, (order + 3, n), and writes ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ to out[k, m], where out is
    (order + 1, order + 3, n, n); both C-contiguous, aligned, writeable float64. It does not check
    that values are finite. Python threads may share a handle, as with `InverseDynamics`.

    On a floating base only `floating_batch` works; the other calls raise HodynError. Only if
    joints are coupled, calls allocate an array: the derivatives for the bodies' joints.

    Attributes
    ----------
    robot : Robot
        The robot.
    order : int
        Order r of the highest derivative of Q.

    Raises
    ------
    HodynError
        For a negative order; from a call, for wrong shapes.
    TypeError
        From a call, for arguments other than such arrays.

    """

    robot: Robot
    order: int

    def __new__(cls, robot: Robot, order: int = 2) -> 'InverseDynamicsDerivatives':
        """Compile the kernel for single calls, which need a fixed base."""
        check_robot(robot)
        if not isinstance(order, (int, np.integer)) or order < 0:
            raise HodynError(f'order must be an integer of at least 0, got {order!r}')
        bodies = len(robot.bodies)
        kernel: Callable[..., None] = refuse_without_base
        arguments: tuple[Any, ...] = (robot,)
        if not robot.floating:
            kernel = state_derivatives.single
            arguments = (
                *model_of(robot), state_derivatives.workspace(bodies, order),
                state_derivatives.known_orders(order))
            prepare(
                kernel, *arguments, np.empty((order + 3, bodies)),
                np.empty((order + 1, order + 3, bodies, bodies)))
        if robot.coupling.followers.size and not robot.floating:
            kernel, arguments = _coupled, (robot, order, functools.partial(kernel, *arguments))
        handle = super().__new__(cls, kernel, *arguments)
        handle.robot, handle.order = robot, order
        return handle

    def __reduce__(self) -> tuple[Any, ...]:
        return InverseDynamicsDerivatives, (self.robot, self.order)

    def batch(
        self, q: Array, out: Array, wrenches: Array | None = None, *, threads: int = 1,
    ) -> None:
        """Compute T motions: q (T, order + 3, n), out (T, order + 1, order + 3, n, n).

        The wrenches are (T, order + 1, n_bodies, 6) as for `inverse_dynamics_derivatives`. Each of
        the threads computes an equal share of the motions; the number of threads does not change
        the result.
        """
        if self.robot.floating:
            refuse_without_base(self.robot)
        self._compute(q, (), out, wrenches, threads)

    def floating_batch(
        self, q: Array, base_pose: Array, base_twist: Array, out: Array,
        wrenches: Array | None = None, *, threads: int = 1,
    ) -> None:
        """Compute T motions of a robot on a floating base.

        Arrays as for `batch`, but out is (T, order + 1, order + 3, 6 + n, 6 + n), and base_pose
        (T, 4, 4) and base_twist (T, order + 2, 6) as for `inverse_dynamics`.
        """
        if not self.robot.floating:
            raise HodynError(f'robot {self.robot.name!r} has a fixed base: use batch')
        check_array(base_pose, 'base_pose', (len(q), 4, 4))
        check_array(base_twist, 'base_twist', (len(q), self.order + 2, 6))
        self._compute(q, (base_pose, base_twist), out, wrenches, threads)

    def _compute(
        self, q: Array, base: tuple[Array, ...], out: Array, wrenches: Array | None, threads: int,
    ) -> None:
        robot, count, orders = self.robot, len(q), self.order + 1
        size = robot.n + 6 * robot.floating
        check_array(q, 'q', (count, orders + 2, robot.n))
        check_array(out, 'out', (count, orders, orders + 2, size, size))
        if wrenches is not None:
            check_array(wrenches, 'wrenches', (count, orders, len(robot.bodies), 6))
        motion, partials = robot.coupling.to_bodies(q), out
        if motion is not q:
            size += motion.shape[-1] - robot.n
            partials = np.empty((*out.shape[:-2], size, size))

        def compute(part: slice) -> None:
            acting = NO_WRENCHES if wrenches is None else wrenches[part]
            state_derivatives.inverse_dynamics_derivatives(
                *model_of(robot), self._scratch.array, state_derivatives.known_orders(self.order),
                tuple(array[part] for array in base),
                acting, motion[part], partials[part])

        in_threads(compute, count, threads, LANES)
        if motion is not q:
            s = robot.coupling.matrix(6 * robot.floating)
            np.matmul(s.T @ partials, s, out=out)

    @functools.cached_property
    def _scratch(self) -> ThreadScratch:
        return ThreadScratch(
            lambda: state_derivatives.workspace(len(self.robot.bodies), self.order))


def _coupled(
    robot: Robot, order: int, of_bodies: Callable[[Array, Array], None], q: Array, out: Array,
) -> None:
    """Write the derivatives of a robot with coupled joints, from those for the bodies' joints."""
    check_array(q, 'q', (order + 3, robot.n))
    check_array(out, 'out', (order + 1, order + 3, robot.n, robot.n))
    bodies = len(robot.bodies)
    partials = np.empty((order + 1, order + 3, bodies, bodies))
    of_bodies(robot.coupling.to_bodies(q), partials)
    s = robot.coupling.matrix()
    np.matmul(s.T @ partials, s, out=out)


@functools.lru_cache(maxsize=32)
def _prepared(robot: Robot, order: int, thread: int) -> InverseDynamicsDerivatives:
    """Return a handle for the calling thread."""
    return InverseDynamicsDerivatives(robot, order)


def inverse_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
    threads: int = 1,
) -> Array:
    """Return the partial derivatives of Q, Q̇, … with respect to q, q̇, ….

    They are the exact derivatives of `inverse_dynamics` to the order r that q supports. The method
    is that of Singh, Russell and Wensing, RA-L 2022, in Taylor coefficients; it takes O(n d r²)
    with d the depth of the tree. The derivatives of Q⁽ᵏ⁾ combine ∂Q/∂q, ∂Q/∂q̇, ∂Q/∂q̈ and their
    time derivatives, just as the matrices of KM21 (48), (49) combine M, C and their derivatives.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 3, n) array, or a batch (T, r + 3, n)
        q[k] is the k-th derivative of the joint positions.
    base_pose, base_twist : (4, 4) and (r + 2, 6), or (T, 4, 4) and (T, r + 2, 6) arrays, optional
        Pose and twist of a floating base, as for `inverse_dynamics`.
    external_wrenches : (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics`: their components in the bodies' axes do not change with q.
    threads : int
        Number of threads that share the motions of a batch; it does not change the result.

    Returns
    -------
    (r + 1, r + 3, N, N) or (T, r + 1, r + 3, N, N) array
        Entry [k, m, i, j] is ∂Qᵢ⁽ᵏ⁾/∂qⱼ⁽ᵐ⁾: 0 for m > k + 2, and M for m = k + 2. N is n on a
        fixed base and 6 + n on a floating one, whose six rows and columns come first, as in
        `EquationsOfMotion`. The base's rows are for its wrench. Its columns are for V⁽ᵐ⁻¹⁾ if
        m > 0; if m = 0, they are for displacements by the six unit twists η in world axes about
        the world origin: from pose C to (1 + η) C.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and fewer than one thread.

    """
    motions, base, batch = motions_and_base(robot, q, 3, base_pose, base_twist)
    check_threads(threads)
    count, orders = len(motions), motions.shape[1] - 2
    wrenches = None if external_wrenches is None else external(
        robot, external_wrenches, orders, batch)
    out = np.empty((count, orders, orders + 2, *(2 * [robot.n + 6 * robot.floating])))
    handle = _prepared(robot, orders - 1, threading.get_ident())
    if base:
        handle.floating_batch(motions, *base, out, wrenches, threads=threads)
    else:
        handle.batch(motions, out, wrenches, threads=threads)
    return out.reshape(*batch, *out.shape[1:])
