"""Simulates how well an elastic arm follows a motion with different parts of the feed-forward.

The simulated motors have a PD loop and there is no feedback of the links, so the links' tracking
error shows what each part of the feed-forward contributes. Flatness-based feedback of all states
is simulated for comparison.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.joint_actuators import Actuators
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback, why_no_feedback
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.mass_matrix import mass_matrix
from hodyn_ros.simulation.elastic_arm import ElasticArm
from hodyn_ros.simulation.motor_loop import MotorLoop

Array = NDArray[np.float64]
Method = Literal['rigid', 'torque', 'torque_rate', 'full', 'flatness']
METHODS: tuple[Method, ...] = get_args(Method)
Controller = Callable[[int], Array]
"""A function of a cycle's number that returns motor torques, (m,), N m."""

LOST = 1e3
"""Joint position, rad, beyond which an arm is not simulated further."""
SETTLING = 1.0
"""Time that the arm is held before the motion, s, so that transients of a wrong model decay."""


@dataclass(frozen=True)
class LoopSettings:
    """Settings of the motors' control: a `MotorLoop` whose torque is held for a period.

    Attributes
    ----------
    bandwidth, damping : float
        ω, rad/s, and ζ of the loop.
    period : float
        Period, s; feed-forward torques are those at its middle.

    """

    bandwidth: float = 50.0
    damping: float = 0.7
    period: float = 1e-3


@dataclass(frozen=True)
class Conditions:
    """Differences between the simulated arm and the controller's model.

    Attributes
    ----------
    stiffness, mass : float
        Ratios of the arm's stiffness and mass to the model's; mass scales all link inertias.
    reference_delay : float
        Delay of references to the motor loop, s, rounded to periods of the loop.
    loop_delay : float
        Delay of torques, s, rounded to periods of the loop.
    lookahead : float
        Time by which references are evaluated ahead, s.
    position_noise, velocity_noise : float
        Standard deviations of the encoders' noise, rad and rad/s.
    seed : int
        Seed of the noise.

    """

    stiffness: float = 1.0
    mass: float = 1.0
    reference_delay: float = 0.0
    loop_delay: float = 0.0
    lookahead: float = 0.0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    seed: int = 1


@dataclass(frozen=True, eq=False)
class Tracking:
    """Result of a simulation: the motion of the links.

    Attributes
    ----------
    times : (T,) array
        Times from the start of the motion to its end, s.
    desired, measured : (T, n) arrays
        Link positions, rad.
    stiffness : (T, n) array
        Stiffness of the joints, N m/rad.
    motor_torque : (T, m) array
        τ_m, N m.

    """

    times: Array
    desired: Array
    measured: Array
    stiffness: Array
    motor_torque: Array

    @property
    def error(self) -> Array:
        """Measured minus desired positions, (T, n), rad."""
        return self.measured - self.desired

    @property
    def rms(self) -> float:
        """Root mean square of the worst joint's error, rad; infinite if the arm was lost."""
        rms = float(np.sqrt(np.mean(self.error**2, axis=0)).max())
        return rms if np.isfinite(rms) else np.inf


def simulate_tracking(
    robot: Robot, plan: Plan, *, stiffness: Plan | None = None, loop: LoopSettings | None = None,
    conditions: Conditions | None = None, methods: Sequence[Method] = (),
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
    loop : LoopSettings, optional
        Control of the motors.
    conditions : Conditions, optional
        Differences between the arm and the controller's model.
    methods : strings
        Methods to run; by default all that the actuators allow.

    Raises
    ------
    HodynError
        A joint cannot follow the plan; the error names joint and time.

    """
    controller = loop or LoopSettings()
    world = conditions or Conditions()
    arm = ElasticArm(_real(robot, world), plan.ends[0])
    return {
        method: _run(robot, arm, plan, stiffness, controller, world, method)
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
    robot: Robot, arm: ElasticArm, plan: Plan, stiffness: Plan | None, loop: LoopSettings,
    conditions: Conditions, method: Method,
) -> Tracking:
    period = loop.period
    settling, moving = round(SETTLING / period), round(plan.duration / period)
    instants = plan.times[0] + (np.arange(settling + moving + 1) - settling) * period
    ahead = conditions.lookahead - round(conditions.reference_delay / period) * period
    known = instants + ahead
    constant = robot.require_actuators().constant_stiffness()
    believed = (
        np.broadcast_to(constant, (len(instants), *constant.shape))
        if stiffness is None else stiffness.evaluate(instants)[:, :3])
    prescribed = believed * conditions.stiffness
    controller = (
        _flatness(robot, arm, plan, known, believed, loop, conditions) if method == 'flatness'
        else _motor_loop(robot, arm, plan, stiffness, known, loop, conditions, method))
    late = round(conditions.loop_delay / period)

    arm.reset(plan.ends[0], prescribed[0, 0])
    commands = np.full((len(instants), arm.actuators.n_motors), np.nan)
    measured = np.full((len(instants), robot.n), np.nan)
    achieved = np.full((len(instants), robot.n), np.nan)
    for k in range(len(instants)):
        if not np.abs(arm.q).max() < LOST:
            break
        try:
            commands[k] = controller(k)
        except HodynError:  # the feedback's model knows no torque for where the arm went
            break
        measured[k] = arm.q
        achieved[k] = arm.spring_torque(prescribed[k, 0])[1]
        arm.step(commands[max(k - late, 0)], period, prescribed[k])
    of_motion = slice(settling, None)
    return Tracking(
        instants[of_motion] - plan.times[0], plan.evaluate(instants[of_motion])[:, 0],
        measured[of_motion], achieved[of_motion], commands[of_motion])


def _motor_loop(
    robot: Robot, arm: ElasticArm, plan: Plan, stiffness: Plan | None, known: Array,
    loop: LoopSettings, conditions: Conditions, method: Method,
) -> Controller:
    """Return the motors' PD loop with the feed-forward of a method."""
    feedforward = FeedForward(robot)
    reference = motor_references(feedforward, plan, known, method, stiffness)
    torque = motor_references(
        feedforward, plan, known + 0.5 * loop.period, method, stiffness)[:, 3]
    drive = MotorLoop(
        arm.actuators, loop.bandwidth, loop.damping, conditions.position_noise,
        conditions.velocity_noise, conditions.seed,
        np.diag(mass_matrix(robot, plan.ends[0])[0]))
    return lambda k: drive.torque(
        reference[k, 0], reference[k, 1], torque[k], arm.theta, arm.theta_rate)


def _flatness(
    robot: Robot, arm: ElasticArm, plan: Plan, known: Array, believed: Array, loop: LoopSettings,
    conditions: Conditions,
) -> Controller:
    """Return the feedback of all states; encoders of links and motors have the same noise."""
    half = 0.5 * loop.period
    feedback = FlatnessFeedback(robot, loop.bandwidth, loop.bandwidth)
    reference = plan.evaluate(known + half)
    noise = np.array([[conditions.position_noise], [conditions.velocity_noise]])
    random = np.random.default_rng(conditions.seed)

    def command(k: int) -> Array:
        links, motors = np.vstack([arm.q, arm.qd]), np.vstack([arm.theta, arm.theta_rate])
        if noise.any():
            links += noise * random.standard_normal(links.shape)
            motors += noise * random.standard_normal(motors.shape)
        return feedback.motor_torque(reference[k], links, motors, believed[k].copy(), ahead=half)

    return command


def _undamped(actuators: Actuators) -> Actuators:
    """Return the actuators without dampers, which need rates consistent with the positions."""
    return Actuators(actuators.names, tuple(
        replace(joint, law=LinearSpring(joint.law.stiffness))
        if isinstance(joint.law, LinearSpring) else joint for joint in actuators.joints))


def _real(robot: Robot, conditions: Conditions) -> Robot:
    """Return the simulated arm, which differs from the controller's model by the conditions."""
    joints = tuple(
        replace(joint, law=joint.law.scaled(conditions.stiffness))
        for joint in robot.require_actuators().joints)
    bodies = tuple(
        replace(body, mass=conditions.mass * body.mass, inertia=conditions.mass * body.inertia)
        for body in robot.bodies)
    return replace(robot, bodies=bodies, actuators=Actuators(robot.joint_names, joints))
