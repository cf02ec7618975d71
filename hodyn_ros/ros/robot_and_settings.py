"""Makes the robot and the settings of controller, supervisor and plans from the parameters."""
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any
import warnings

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.flatness_feedback import why_no_feedback
from hodyn_ros.feedforward.settings import (
    ControllerSettings,
    MotorFeedbackSettings,
    SupervisorSettings,
)
from hodyn_ros.plans.plan_request import PlanSettings
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.files import load_robot, with_actuators
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.ros.parameter_values import read_locked_joints
from hodyn_ros.ros.parameters import Parameters

MAX_BODIES = 500  # of a robot file, fixed ones included
# With more joints a stop takes longer to compute than the timeout of joint states.
MAX_JOINTS = 64


def load_with(
    settings: Parameters, source: str, warn: Callable[[str], object],
) -> Robot:
    """Return the robot of a source with the options of the parameters, without its payload.

    `warn` is called with each warning. Raises HodynError for parameters that do not fit the robot.
    """
    check: Any = None if settings.inertia_check == 'robot' else settings.inertia_check
    with _warnings_to(warn):
        robot = load_robot(
            source, inertia_check=check, locked_joints=read_locked_joints(settings.locked_joints),
            limits=settings.limits_file or None, max_bodies=MAX_BODIES,
            floating_base=settings.floating_base)
    if robot.n > MAX_JOINTS:
        raise HodynError(
            f'robot {robot.name!r} has {robot.n} joints that move, and the node can handle up to '
            f'{MAX_JOINTS}: give it a robot file with only the arm')
    return _with_springs(robot, settings)


@contextmanager
def _warnings_to(warn: Callable[[str], object]) -> Iterator[None]:
    """Call `warn` with each warning of the block, also if it ends with an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        try:
            yield
        finally:
            for warning in caught:
                warn(str(warning.message))


def with_payload(robot: Robot, settings: Parameters, warn: Callable[[str], object]) -> Robot:
    """Return a robot with the payload of the parameters, if they have one.

    `warn` is called with each warning.
    """
    if not settings.payload_link:
        if settings.payload_mass:
            links = [body.name for body in robot.bodies] + [
                name for name, (index, _) in robot.frames.items() if index >= 0]
            raise HodynError(
                f'payload_mass {settings.payload_mass:g} kg needs payload_link, the link that '
                f'carries it: one of {", ".join(links)}')
        return robot
    with _warnings_to(warn):
        return robot.with_payload(
            settings.payload_link, settings.payload_mass, settings.payload_com,
            np.reshape(settings.payload_inertia, (3, 3)))


def check_commands(robot: Robot, settings: Parameters, warn: Callable[[str], object]) -> None:
    """Raise HodynError if the robot lacks a joint of the commands that are published.

    `warn` is called if command_joints is given, but commands are not published.
    """
    if settings.publish_commands:
        JointNames(
            robot, prefix=settings.joint_prefix, allow_other_model=settings.allow_other_model,
        ).command_order(settings.command_joints)
    elif any(settings.command_joints):
        warn('command_joints is not used: ~/commands needs publish_commands:=true')


def check_bounds(robot: Robot, settings: Parameters, warn: Callable[[str], object]) -> None:
    """Call `warn` of unknown limits, and of a tolerance by which no departure is noticed."""
    unknown = []
    for quantity in ('velocity', 'effort'):
        those = np.array(robot.joint_names)[~np.isfinite(getattr(robot.limits, quantity))]
        if those.size:
            unknown.append(
                quantity if those.size == robot.n else f'{quantity} of {", ".join(those)}')
    if unknown:
        warn(
            f'no limit is known for {" and ".join(unknown)}: nothing keeps plans, streams and '
            'the torque below one. Give it in the robot file or a limits_file')
    spans = robot.limits.position_max - robot.limits.position_min
    most = 0.5 * np.where(np.isfinite(spans), spans, 2.0 * np.pi)
    tolerances = _one_each(settings, 'tracking_tolerance', robot.n, 'joint')
    wide = [
        f'{name} ({tolerance:g})' for name, tolerance, largest in zip(
            robot.joint_names, tolerances, most, strict=True) if tolerance > largest]
    if wide:
        warn(
            'tracking_tolerance is in rad and m: are these degrees or mm? No departure would be '
            f'noticed of {", ".join(wide)}; -1 switches this off, without a question')


def _with_springs(robot: Robot, settings: Parameters) -> Robot:
    stiffness, inertia = settings.spring_stiffness, settings.motor_inertia
    if not any(stiffness):
        if any(inertia):
            raise HodynError(
                'parameter motor_inertia needs spring_stiffness; for springs of the robot file '
                "give each motor's inertia there")
        return robot
    for name, values in (('spring_stiffness', stiffness), ('motor_inertia', inertia)):
        if len(values) != robot.n:
            raise HodynError(
                f'parameter {name} has {len(values)} values for {robot.n} joints; give '
                'spring_stiffness and motor_inertia, each with one value per joint')
    for joint, k in zip(robot.joint_names, stiffness, strict=True):
        if not k > 0.0:
            raise HodynError(
                f'parameter spring_stiffness: {k:g} for {joint!r}: all joints get a spring; if '
                'some are rigid, give their actuators in the robot file')
    return with_actuators(robot, {'actuators': {
        joint: {'law': 'spring', 'stiffness': k, 'motor': {'inertia': b}}
        for joint, k, b in zip(robot.joint_names, stiffness, inertia, strict=True)}})


def supervisor_settings(
    robot: Robot, settings: Parameters, *, is_simulated: bool = False,
) -> SupervisorSettings:
    """Return the settings of the supervisor; raise HodynError if they do not fit the robot."""
    given = _one_each(settings, 'tracking_tolerance', robot.n, 'joint')
    tolerance = np.where(given > 0.0, given, robot.tracking_tolerance)

    def named(*names: str) -> dict[str, Any]:
        return {name: getattr(settings, name) for name in names}

    return SupervisorSettings(
        ControllerSettings(
            at_measurement=settings.evaluate_at == 'measurement',
            bandwidth=settings.stream_bandwidth, motor_feedback=_motor_feedback(robot, settings),
            **named(
                'gravity_in_output', 'friction_in_output', 'limit_output', 'wrench_bandwidth',
                'limit_margin', 'fade')),
        np.where(given < 0.0, np.inf, tolerance), is_simulated=is_simulated,
        **named(
            'lookahead', 'max_time_step', 'state_timeout', 'stream_delay', 'stream_timeout',
            'wrench_timeout', 'max_force', 'max_moment', 'base_timeout',
            'base_acceleration_bandwidth', 'base_tolerance'))


def _motor_feedback(robot: Robot, settings: Parameters) -> MotorFeedbackSettings | None:
    """Return the settings of the full-state feedback (q, q̇, θ, θ̇), None if it is off."""
    if not settings.flatness_poles:
        return None
    if why_not := why_no_feedback(robot):
        raise HodynError(f'parameter flatness_poles: robot {robot.name!r}: {why_not}')
    bound, stiffness, damping = (
        _one_each(settings, name, robot.require_actuators().n_motors, 'motor')
        for name in ('max_motor_feedback', 'motor_loop_stiffness', 'motor_loop_damping'))
    if not bound.all():
        raise HodynError(
            f'parameter max_motor_feedback is {list(settings.max_motor_feedback)}; '
            'with flatness_poles its numbers must be above 0')
    return MotorFeedbackSettings(
        settings.flatness_poles, bound, np.stack([stiffness, damping]))


def _one_each(settings: Parameters, name: str, count: int, what: str) -> Array:
    """Return a parameter's numbers, one each for `count` joints or motors (`what`)."""
    values = np.array(getattr(settings, name), dtype=np.float64)
    if values.size not in (1, count):
        raise HodynError(
            f'parameter {name} has {values.size} values for {count} {what}s; give one for all or '
            f'one per {what}')
    one_each: Array = np.broadcast_to(values, count).copy()
    return one_each


def plan_settings(settings: Parameters) -> PlanSettings:
    """Return the settings of plans."""
    return PlanSettings(
        joint_prefix=settings.joint_prefix, allow_other_model=settings.allow_other_model,
        interpolation=settings.interpolation, overshoot_tolerance=settings.overshoot_tolerance,
        start_tolerance=settings.start_tolerance, stretch=settings.stretch,
        gravity=settings.gravity_in_output, friction=settings.friction_in_output)


def contents_of_torque(
    settings: Parameters, given: Container[str], has_friction: bool,
) -> str:
    """Return a line about the terms in the torque, which the controller must not add again.

    `given` are the names of the parameters that the user has set.
    """
    contents, left_out = [], []
    for term in ('gravity', 'friction'):
        name = f'{term}_in_output'
        is_in = getattr(settings, name)
        by_default = ' (by default)' if is_in and name not in given else ''
        contents.append(f'{"with" if is_in else "without"} {term}{by_default}')
        if not is_in:
            left_out.append(term)
    if settings.friction_in_output and not has_friction:
        contents[-1] = 'without friction, which the robot file lacks'
        left_out.append('friction, if it can')
    return (
        f'torque for robot {settings.robot!r} {", ".join(contents)}: its controller must add '
        f'{" and ".join(left_out) or "neither"}')


def doubt_of_default(robot: Robot, joint: str, prefix: str) -> str:
    """Return a line about the default robot, given a joint of the states and its prefix."""
    bare = '' if prefix or not robot.joint_prefixes else (
        f'; this robot names its joints {robot.joint_prefixes[0] + joint}, but the joint '
        f'states name them {joint}: do they come from another arm?')
    return (
        f'robot {Parameters.robot} (the default): choose another by -p robot:=NAME or a file'
        f'{bare}')
