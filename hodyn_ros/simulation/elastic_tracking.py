"""Simulates how well an elastic arm follows a motion with different parts of the feed-forward.

The simulated motors have a PD loop, but links have no feedback, so their tracking error shows what
each part of the feed-forward contributes. Flatness-based full-state feedback is simulated for
comparison.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from hodyn_ros.actuators.joint_actuators import Actuators
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback, why_no_feedback
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.mass_matrix import mass_matrix
from hodyn_ros.simulation.elastic_arm import ElasticArm
from hodyn_ros.simulation.motor_loop import BANDWIDTH, MotorLoop

Method = Literal['rigid', 'torque', 'torque_rate', 'full', 'flatness']
METHODS: tuple[Method, ...] = get_args(Method)
Controller = Callable[[int], Array]
"""Returns the motor torques, (m,), N m, of a cycle, given its number."""

LOST = 1e3
"""Joint position, rad, beyond which an arm is not simulated further."""
SETTLING = 1.0
"""Time that the arm is held before the motion, s, so that transients of a wrong model decay."""
PERIOD = 1e-3
"""Period of the control, s: torques are constant for a period, and the feed-forward is evaluated
for the middle of the period."""


@dataclass(frozen=True)
class Conditions:
    """Differences between the simulated arm and the controller's model."""

    #: `stiffness`, `mass`: Ratios of the arm's stiffness and masses to the model's; inertias are
    #: scaled like masses
    stiffness: float = 1.0
    mass: float = 1.0
    #: Delay of references to the motor loop, s, rounded to periods of the loop
    reference_delay: float = 0.0
    loop_delay: float = 0.0  #: Delay of torques, s, rounded to periods of the loop
    lookahead: float = 0.0  #: Time by which references are evaluated ahead, s
    #: `position_noise`, `velocity_noise`: Standard deviations of the encoders' noise, rad and
    #: rad/s
    position_noise: float = 0.0
    velocity_noise: float = 0.0


AS_MODELLED = Conditions()


@dataclass(frozen=True, eq=False)
class Tracking:
    """Result of a simulation: the motion of the links."""

    times: Array  #: (T,): times from the start of the motion to its end, s
    #: `desired`, `measured`: (T, n): link positions, rad
    desired: Array
    measured: Array
    stiffness: Array  #: (T, n): stiffness of the joints, N m/rad
    motor_torque: Array  #: (T, m): τ_m, N m

    @property
    def error(self) -> Array:
        """Measured minus desired positions, (T, n), rad."""
        return self.measured - self.desired

    @property
    def rms(self) -> float:
        """Root mean square error of the worst joint, rad; infinite if the arm was lost."""
        rms = float(np.sqrt(np.mean(self.error**2, axis=0)).max())
        return rms if np.isfinite(rms) else np.inf


def simulate_tracking(
    robot: Robot, plan: Plan, *, stiffness: Plan | None = None, bandwidth: float = BANDWIDTH,
    conditions: Conditions = AS_MODELLED, methods: Sequence[Method] = (),
) -> dict[Method, Tracking]:
    """Return how the arm in MuJoCo follows a plan with each method.

    - rigid: springs are ignored; PD towards q_d, q̇_d, and τ = B q̈ + Q;
    - torque: with the springs' deflection; PD towards θ_d = q + K⁻¹ Q, q̇_d, and τ = B q̈ + Q;
    - torque_rate: also with the deflection's rate; PD towards θ_d, θ̇_d, and τ = B q̈ + Q;
    - full: PD towards θ_d, θ̇_d, and τ_m with the second derivative of the torque;
    - flatness: `FlatnessFeedback` of links and motors, with all poles at the loop's bandwidth.

    Parameters
    ----------
    robot : Robot
        The controller's model, with actuators.
    plan : Plan
        Motion of the links.
    stiffness : Plan, optional
        σ of the joints with variable stiffness, N m/rad.
    bandwidth : float
        Bandwidth of the motor loop, rad/s.
    conditions : Conditions
        Differences between the arm and the controller's model.
    methods : strings
        Methods to run; by default all that the actuators allow.

    Raises
    ------
    HodynError
        A joint cannot follow the plan; the error names joint and time.

    """
    arm = ElasticArm(_real(robot, conditions), plan.ends[0])
    return {
        method: _run(robot, arm, plan, stiffness, bandwidth, conditions, method)
        for method in methods or possible_methods(robot)}


def possible_methods(robot: Robot) -> tuple[Method, ...]:
    """Return the methods that a robot's actuators allow."""
    none = why_no_feedback(robot)
    return tuple(method for method in METHODS if method != 'flatness' or not none)


def motor_references(
    feedforward: FeedForward, plan: Plan, times: Array, method: Method,
    stiffness: Plan | None = None,
) -> Array:
    """Return a method's θ_d, θ̇_d, θ̈_d and feed-forward torque of the motors, (T, 4, m)."""
    q = plan.evaluate(times)
    torque = feedforward.torque(q)
    wanted = None if stiffness is None else stiffness.evaluate(times)[:, :3]
    actuators = feedforward.robot.require_actuators()
    if method == 'full':
        return MotorSide(actuators).along(times, q, torque, wanted)
    side = MotorSide(_undamped(actuators))
    known = {'rigid': 0, 'torque': 1, 'torque_rate': 2}[method]
    truncated = torque.copy()
    truncated[:, known:] = 0.0
    references = side.along(times, q, truncated, wanted)
    if method == 'rigid':
        # The motors of a joint share its torque evenly.
        counts = np.diff(actuators.motor_of)
        share = (torque[:, 0] / counts)[:, actuators.motor_joints]
        references[:, 3] += share
    return references


def _run(
    robot: Robot, arm: ElasticArm, plan: Plan, stiffness: Plan | None, bandwidth: float,
    conditions: Conditions, method: Method,
) -> Tracking:
    settling, moving = round(SETTLING / PERIOD), round(plan.duration / PERIOD)
    instants = plan.times[0] + (np.arange(settling + moving + 1) - settling) * PERIOD
    ahead = conditions.lookahead - round(conditions.reference_delay / PERIOD) * PERIOD
    known = instants + ahead
    constant = robot.require_actuators().constant_stiffness()
    believed = (
        np.broadcast_to(constant, (len(instants), *constant.shape))
        if stiffness is None else stiffness.evaluate(instants)[:, :3])
    prescribed = believed * conditions.stiffness
    controller = (
        _flatness(robot, arm, plan, known, believed, bandwidth, conditions)
        if method == 'flatness' else
        _motor_loop(robot, arm, plan, stiffness, known, bandwidth, conditions, method))
    late = round(conditions.loop_delay / PERIOD)

    arm.reset(plan.ends[0], prescribed[0, 0])
    commands = np.full((len(instants), arm.actuators.n_motors), np.nan)
    measured = np.full((len(instants), robot.n), np.nan)
    achieved = np.full((len(instants), robot.n), np.nan)
    for k in range(len(instants)):
        if not np.abs(arm.q).max() < LOST:
            break
        try:
            commands[k] = controller(k)
        except HodynError:  # the feedback's model has no torque for the arm's position
            break
        measured[k] = arm.q
        achieved[k] = arm.spring_torque(prescribed[k, 0])[1]
        arm.step(commands[max(k - late, 0)], PERIOD, prescribed[k])
    of_motion = slice(settling, None)
    return Tracking(
        instants[of_motion] - plan.times[0], plan.evaluate(instants[of_motion])[:, 0],
        measured[of_motion], achieved[of_motion], commands[of_motion])


def _encoders(conditions: Conditions) -> Callable[[Array, Array], Array]:
    """Return a function that measures positions and velocities, (2, k), with noise."""
    noise = np.array([[conditions.position_noise], [conditions.velocity_noise]])
    random = np.random.default_rng(1)

    def measure(positions: Array, velocities: Array) -> Array:
        state = np.array([positions, velocities])
        return state + noise * random.standard_normal(state.shape) if noise.any() else state

    return measure


def _motor_loop(
    robot: Robot, arm: ElasticArm, plan: Plan, stiffness: Plan | None, known: Array,
    bandwidth: float, conditions: Conditions, method: Method,
) -> Controller:
    """Return the motors' PD loop with the feed-forward of a method."""
    feedforward, measure = FeedForward(robot), _encoders(conditions)
    reference = motor_references(feedforward, plan, known, method, stiffness)
    torque = motor_references(feedforward, plan, known + 0.5 * PERIOD, method, stiffness)[:, 3]
    drive = MotorLoop(arm.actuators, np.diag(mass_matrix(robot, plan.ends[0])[0]), bandwidth)
    return lambda k: drive.torque(
        reference[k, 0], reference[k, 1], torque[k], *measure(arm.theta, arm.theta_rate))


def _flatness(
    robot: Robot, arm: ElasticArm, plan: Plan, known: Array, believed: Array, bandwidth: float,
    conditions: Conditions,
) -> Controller:
    """Return the full-state feedback; encoders of links and motors have the same noise."""
    feedback, measure = FlatnessFeedback(robot, bandwidth, bandwidth), _encoders(conditions)
    reference = plan.evaluate(known + 0.5 * PERIOD)
    return lambda k: feedback.motor_torque(
        reference[k], measure(arm.q, arm.qd), measure(arm.theta, arm.theta_rate),
        believed[k].copy(), ahead=0.5 * PERIOD)


def _undamped(actuators: Actuators) -> Actuators:
    """Return the actuators without dampers, which need rates that truncated torques lack."""
    return Actuators(actuators.names, tuple(
        replace(joint, law=LinearSpring(joint.law.stiffness))
        if isinstance(joint.law, LinearSpring) else joint for joint in actuators.joints))


def _real(robot: Robot, conditions: Conditions) -> Robot:
    """Return the arm to simulate: the controller's model, changed by the conditions."""
    joints = tuple(
        replace(joint, law=joint.law.scaled(conditions.stiffness))
        for joint in robot.require_actuators().joints)
    bodies = tuple(
        replace(body, mass=conditions.mass * body.mass, inertia=conditions.mass * body.inertia)
        for body in robot.bodies)
    return replace(robot, bodies=bodies, actuators=Actuators(robot.joint_names, joints))
