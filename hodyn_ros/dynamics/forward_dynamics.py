"""Forward dynamics of any order (ABA): the motion that given efforts cause.

Also the partial derivatives of the accelerations with respect to state and efforts.
"""
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, check_array, numbers
from hodyn_ros.dynamics.argument_checks import checked_motions
from hodyn_ros.dynamics.hybrid_dynamics import singular_mass, solve
from hodyn_ros.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from hodyn_ros.dynamics.kernels import articulated_body
from hodyn_ros.dynamics.spherical_joints import Rotations, forward_on_rotations
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot


@overload
def forward_dynamics(
    robot: Robot, q: ArrayLike, tau: ArrayLike, *, rotations: Rotations | None = ...,
    external_wrenches: ArrayLike | None = ...,
) -> Array: ...


@overload
def forward_dynamics(
    robot: Robot, q: ArrayLike, tau: ArrayLike, *, base_pose: ArrayLike, base_twist: ArrayLike,
    base_wrench: ArrayLike | None = ..., rotations: Rotations | None = ...,
    external_wrenches: ArrayLike | None = ...,
) -> tuple[Array, Array]: ...


def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    tau: ArrayLike,
    *others: object,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    base_wrench: ArrayLike | None = None,
    rotations: Rotations | None = None,
    external_wrenches: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Return the joint accelerations that torques cause, and their time derivatives.

    The articulated-body algorithm (ABA) computes them to the order r that tau supports: AGF26,
    Algorithm 3 (H-GABI). Precision falls with each order, and rounding of the arguments costs as
    many digits as the algorithm (numbers in `docs/theory.md`). If joints are coupled, the
    equations of motion are solved instead, in O(n³).

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (2, n) array, or a batch (T, 2, n)
        Joint positions and velocities. With a batch, T is the first axis of all arrays.
    tau : (r + 1, n) array
        Joint torques and their derivatives, N m/sᵏ (prismatic: N/sᵏ).
    *others
        Not accepted: unlike in other libraries, the velocities are row 1 of q.
    base_pose, base_twist : (4, 4) and (1, 6) arrays, optional
        Pose and spatial twist of a floating base, in world axes.
    base_wrench : (r + 1, 6) array, optional
        Wrench (moment, force) that acts on a floating base, in world axes about the world origin,
        and its component-wise derivatives; by default 0, for a free base.
    rotations : mapping of str to (3, 3) or (T, 3, 3) array, optional
        Rotations of spherical joints, as for `inverse_dynamics`: the three columns of such a joint
        have ω in row 1 of q, the moment in tau, and ω̇ and its derivatives in the result.
    external_wrenches : (r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics`.

    Returns
    -------
    acceleration : (r + 1, n) array
        q̈ and its derivatives, rad/sᵏ⁺².
    base_acceleration : (r + 1, 6) array
        For a floating base only: V̇ and its derivatives, component-wise, in world axes about the
        world origin.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite or so large that results overflow, and a mass
        matrix that is not positive definite, naming the joint.

    Warns
    -----
    UserWarning
        As for `hybrid_dynamics`: if rounding may spoil a joint's acceleration.

    """
    check_robot(robot)
    if others:
        raise HodynError(
            'q has one row per derivative: forward_dynamics(robot, np.stack([q, v]), '
            'tau)')
    if robot.floating and base_wrench is None:
        base_wrench = np.zeros((*numbers(tau, 'tau').shape[:-1], 6))
    if rotations is not None:
        found: Array | tuple[Array, Array] = forward_on_rotations(
            forward_dynamics, robot, q, rotations, tau, {
                'base_pose': base_pose, 'base_twist': base_twist, 'base_wrench': base_wrench,
                'external_wrenches': external_wrenches})
        return found
    none_prescribed = np.zeros(robot.n, dtype=np.bool_)
    return solve(
        robot, q, tau, 'tau', none_prescribed, base_pose, base_twist, base_wrench, None,
        external_wrenches)


class ForwardDynamics:
    """Forward dynamics prepared for one robot and order, for loops: calls allocate nothing.

    ``handle(q, tau, out)`` reads q, (2, n), and tau, (order + 1, n), and writes q̈ and its
    derivatives to out, (order + 1, n); all C-contiguous float64. Unlike `forward_dynamics` it
    neither checks that values are finite nor warns of round-off.

    A floating base needs four more arguments, in world axes: base_pose (4, 4), base_twist (1, 6),
    base_wrench (order + 1, 6) and base_out (order + 1, 6), for V̇ and its derivatives. The last
    three are about the world's origin, so round-off grows with the base's distance from there.

    Attributes
    ----------
    robot : Robot
        The robot, whose joints must not be coupled.
    order : int
        Order r of the highest derivative of the torques.

    Raises
    ------
    HodynError
        For a negative order and for coupled joints; from a call, for wrong shapes and, naming the
        joint, for a mass matrix that is not positive definite.
    TypeError
        From a call, for arguments other than C-contiguous float64 arrays.

    """

    def __init__(self, robot: Robot, order: int = 0) -> None:
        check_robot(robot)
        if not isinstance(order, (int, np.integer)) or order < 0:
            raise HodynError(f'order must be an integer of at least 0, got {order!r}')
        if robot.coupling.followers.size:
            raise HodynError(
                f'robot {robot.name!r} has joints that follow others: use forward_dynamics')
        self.robot, self.order = robot, order
        model, bodies = robot.kernel_model, len(robot.bodies)
        self._model = model.parent, model.body_table, model.body_in_kernel, robot.gravity
        self._prescribed = np.zeros(robot.n, dtype=np.bool_)
        self._no_wrenches = np.zeros((0, 0, 0))
        none = np.zeros((0, 1))
        self._fixed = none, none, none, np.zeros((order + 1, 6))
        self._round_off = np.empty((2, bodies))
        self._memory = articulated_body.workspace(bodies, order)

    def __call__(
        self, q: Array, tau: Array, out: Array, base_pose: Array | None = None,
        base_twist: Array | None = None, base_wrench: Array | None = None,
        base_out: Array | None = None,
    ) -> None:
        """Write the accelerations and their derivatives."""
        n, rows = self.robot.n, self.order + 1
        check_array(q, 'q', (2, n))
        check_array(tau, 'tau', (rows, n))
        check_array(out, 'out', (rows, n))
        pose, twist, wrench, base = self._fixed
        if self.robot.floating:
            if base_pose is None or base_twist is None or base_wrench is None or base_out is None:
                raise HodynError(
                    f'robot {self.robot.name!r} has a floating base: give base_pose, base_twist, '
                    'base_wrench and base_out')
            check_array(base_pose, 'base_pose', (4, 4))
            check_array(base_twist, 'base_twist', (1, 6))
            check_array(base_wrench, 'base_wrench', (rows, 6))
            check_array(base_out, 'base_out', (rows, 6))
            pose, twist, wrench, base = base_pose, base_twist, base_wrench, base_out
        singular = articulated_body.hybrid_dynamics(
            *self._model, q, pose, twist, self._prescribed, tau, False, wrench,
            self._no_wrenches, out, base, self._round_off, self._memory)
        if singular >= 0:
            raise HodynError(singular_mass(self.robot, singular, q[0]))


class ForwardDynamicsDerivatives(NamedTuple):
    """Partial derivatives of the accelerations with respect to the state and the torques.

    N is n on a fixed base and 6 + n on a floating one, whose entries come first: V̇ before q̈, the
    base wrench before the torques, V before q̇, and displacements by the unit twists before q, as
    in `inverse_dynamics_derivatives`. If tau has derivatives, the arrays have more axes.

    Attributes
    ----------
    by_position, by_velocity : (N, N) arrays, or (r + 1, N, N)
        ∂q̈/∂q = −M⁻¹ ∂Q/∂q and ∂q̈/∂q̇ = −M⁻¹ ∂Q/∂q̇; entry k is for q̈⁽ᵏ⁾.
    by_torque : (N, N) array, or (r + 1, r + 1, N, N)
        ∂q̈/∂τ = M⁻¹; at [k, j] ∂q̈⁽ᵏ⁾/∂τ⁽ʲ⁾.

    """

    by_position: Array
    by_velocity: Array
    by_torque: Array


def forward_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    tau: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    base_wrench: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
) -> ForwardDynamicsDerivatives:
    """Return the partial derivatives of `forward_dynamics`, exact, to the order r of tau.

    They serve integrators, observers and linear controllers. A change δQ⁽ᵏ⁾ contains M δq̈⁽ᵏ⁾ and,
    for each lower order i, ∂Q⁽ᵏ⁾/∂q̈⁽ⁱ⁾ δq̈⁽ⁱ⁾. These equations are solved for δq̈⁽ᵏ⁾ order by
    order; `inverse_dynamics_derivatives` returns the factors.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q, tau : (2, n) and (r + 1, n) arrays, or batches (T, 2, n) and (T, r + 1, n)
        Joint positions and velocities, and torques with their derivatives. With a batch, T is the
        first axis of all arrays.
    base_pose, base_twist, base_wrench : (4, 4), (1, 6) and (r + 1, 6) arrays, optional
        Pose, twist and wrench of a floating base, as for `forward_dynamics`.
    external_wrenches : (r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics_derivatives`.

    Raises
    ------
    HodynError
        As for `forward_dynamics`.

    """
    state, batch = checked_motions(q, 'q', robot, 2)
    state = state.reshape(*batch, *state.shape[1:])
    base: dict[str, Any] = {} if base_pose is None and base_twist is None else {
        'base_pose': base_pose, 'base_twist': base_twist}
    driven: dict[str, Any] = base if base_wrench is None else {**base, 'base_wrench': base_wrench}
    found: Any = forward_dynamics(
        robot, state, tau, **driven, external_wrenches=external_wrenches)
    acceleration = found[0] if robot.floating else found
    motion = np.concatenate([state, acceleration], axis=-2)
    if robot.floating:
        # About the base's origin, as in `solve`.
        pose = np.array(base_pose, dtype=float)
        origin = np.tile(np.eye(4), (*batch, 1, 1))
        origin[..., :3, 3], pose[..., :3, 3] = pose[..., :3, 3], 0.0
        back = lie.adjoint(lie.inverse(origin))
        twist = np.concatenate([np.asarray(base_twist, dtype=float), found[1]], axis=-2)
        base = {'base_pose': pose, 'base_twist': twist @ back.swapaxes(-1, -2)}
    partials = inverse_dynamics_derivatives(
        robot, motion, **base, external_wrenches=external_wrenches)
    *_, orders, _, size, _ = partials.shape
    # Entry k: derivatives of q̈⁽ᵏ⁾ with respect to q, q̇, τ, τ̇, ….
    changes = np.zeros((*batch, orders, orders + 2, size, size))
    for k in range(orders):
        right = changes[..., k, :, :, :]
        right[..., :2, :, :] = -partials[..., k, :2, :, :]
        right[..., k + 2, :, :] = np.eye(size)
        for i in range(k):
            right -= partials[..., k, i + 2, np.newaxis, :, :] @ changes[..., i, :, :, :]
        right[:] = np.linalg.solve(partials[..., 0, 2, np.newaxis, :, :], right)
        inverse = right[..., k + 2, :, :]
        inverse[:] = 0.5 * (inverse + inverse.swapaxes(-1, -2))
    if robot.floating:
        to_world, to_base = np.tile(np.eye(size), (2, *batch, 1, 1, 1, 1))
        to_world[..., :6, :6] = lie.adjoint(origin)[..., np.newaxis, np.newaxis, :, :]
        to_base[..., :6, :6] = back[..., np.newaxis, np.newaxis, :, :]
        changes = to_world @ changes
        changes[..., :2, :, :] = changes[..., :2, :, :] @ to_base
        changes[..., 2:, :, :] = changes[..., 2:, :, :] @ to_world.swapaxes(-1, -2)
    by_torque = changes[..., 2:, :, :]
    if orders == 1:
        changes, by_torque = changes[..., 0, :, :, :], by_torque[..., 0, 0, :, :]
    return ForwardDynamicsDerivatives(
        changes[..., 0, :, :], changes[..., 1, :, :], by_torque)
