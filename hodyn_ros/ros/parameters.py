"""The node's parameters: the table by which they are declared, described, checked and read."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
import re
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from hodyn_ros.feedforward.goal_tolerances import GoalTolerances, default_tolerances
from hodyn_ros.plans.plan_request import StretchMode
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import robot_names
from hodyn_ros.ros import parameter_file
from hodyn_ros.ros.parameter_values import fault_of

DESCRIPTION = 'robot_description'
MAX_LOOKAHEAD = 0.1  # largest lookahead, s


def _row(
    default: Any,
    description: str,
    *,
    bounds: tuple[float, float] | None = None,
    entries: str = '',
    choices: tuple[str, ...] | None = None,
    runtime: bool = False,
) -> Any:
    """Return a row of the table; with `runtime` it may change while the node is active.

    `bounds` limit a number; `entries`, a key of `parameter_values.ENTRIES`, says which
    numbers an array may have.
    """
    return field(default=default, metadata={
        'description': description, 'bounds': bounds, 'entries': entries, 'choices': choices,
        'runtime': runtime})


@dataclass(frozen=True)
class Parameters:
    """The table of parameters; an instance has their values."""

    robot: str = _row(
        'panda', 'Built-in robot, path of a robot file or URDF, or robot_description to take the '
        'URDF from that topic.')
    locked_joints: Sequence[str] = _row(
        ('',), 'Joints that do not move and their positions, rad or m, for example of a gripper: '
        'finger_joint1=0.04.')
    floating_base: bool = _row(
        False, 'Let the root link of a URDF move as odom measures it, for example on a ship; '
        'a robot file instead has type: floating in its base.')
    inertia_check: str = _row(
        'robot', 'Whether inertias that no rigid body can have are refused (error), reported '
        '(warn), or treated as the robot file says (robot).', choices=('robot', 'error', 'warn'))
    limits_file: str = _row(
        '', "File of limits that replace the robot's, for example MoveIt's joint_limits.yaml; "
        'empty for none.')
    auto_activate: bool = _row(
        True, 'Configure and activate at start, without a lifecycle manager.')
    joint_prefix: str = _row(
        '', "Prefix of the arm's joint names, to choose one arm of several; left_ also finds "
        "left_fer_joint1 if fer_ is a prefix in the robot file.")
    allow_other_model: bool = _row(
        False, 'Accept joint names of another robot model (fr3_ for the panda).')
    trigger: str = _row(
        'joint_state', 'What starts a cycle: each joint state, or a timer.',
        choices=('joint_state', 'timer'))
    rate: float = _row(
        1000.0, 'Timer rate, Hz; used when trigger is timer.', bounds=(1.0, 10000.0))
    evaluate_at: str = _row(
        'reference', "Evaluate the dynamics at the reference, or at the measured position and "
        "velocity with the reference's higher derivatives (computed torque).",
        choices=('reference', 'measurement'))
    lookahead: float = _row(
        0.0, "How far after a joint state's stamp the reference is evaluated, s.",
        bounds=(0.0, MAX_LOOKAHEAD))
    gravity_in_output: bool = _row(
        True, 'Include gravity in the torque topics; false for a controller that adds gravity '
        'itself.')
    friction_in_output: bool = _row(
        True, 'Include friction in the torque topics; false for a controller that adds friction '
        'itself.')
    limit_output: bool = _row(
        False, 'Keep the torque, its rate and the motors within the limits; if false, they may '
        'exceed them by limit_margin.')
    fade: float = _row(
        0.5, 'Least duration of a smooth change of the output, for example to a new payload, s.',
        bounds=(0.2, 10.0))
    interpolation: str = _row(
        'auto', 'Between waypoints: global (smoothest), bounded (smoothest that stays between '
        'them), local, or auto: global if it stays within their range, else bounded.',
        choices=('auto', 'global', 'bounded', 'local'))
    overshoot_tolerance: float = _row(
        0.01, 'How far a plan may leave the range of its waypoints, rad; prismatic joints by a '
        'tenth of it, m.',
        bounds=(0.0, 10.0))
    start_tolerance: float = _row(
        0.01, 'How far the first waypoint, if at time 0, may be from the reference, rad or m.',
        bounds=(0.0, 10.0))
    stretch: StretchMode = _row(
        'offer', 'A plan beyond limits is refused (off), refused with the time stretch that would '
        'bring it within them (offer), or stretched (auto); or the path of each plan is run as '
        'fast as the limits allow (retime).', choices=('off', 'offer', 'auto', 'retime'))
    stream_bandwidth: float = _row(
        50.0, 'Bandwidth of the filter that smooths ~/reference, rad/s; a ramp of samples without '
        'velocity lags by at least 2/bandwidth, s.', bounds=(1.0, 1000.0))
    stream_timeout: float = _row(
        0.1, 'How long the reference keeps the velocity of a streamed sample without a newer one, '
        's. If a sample has no velocity, the reference moves to its position and stays there.',
        bounds=(0.001, 60.0))
    stream_delay: float = _row(
        0.0, 'Time by which streamed samples are delayed, s; late samples are delayed less, so '
        'that an uneven transport has no effect.', bounds=(0.0, 10.0))
    state_timeout: float = _row(
        0.0, 'Time without a joint state, at least five periods, after which the reference '
        'stops, s; 0 chooses twice the second longest pause of the last minute, at least 0.05 '
        'and at most 0.25. No motion is followed with states every 0.3 s or less often, except '
        'in a simulation.', bounds=(0.0, 60.0))
    max_time_step: float = _row(
        0.01, 'Largest step between stamps of joint states, at least three periods, s; a '
        'longer gap (a hold-up, lost states, a clock that was set) counts as one period: the '
        'reference continues from where it was. A step much longer than the time that passed also '
        'counts as one period: the clock was set.', bounds=(0.001, 1.0))
    tracking_tolerance: Sequence[float] = _row(
        (0.0,), 'How far a joint may be away from the reference, rad or m, one for all or one per '
        'joint; beyond it the node stops and holds the arm where it is; 0 takes the value of the '
        'robot file, -1 disables the check.', entries='-1, 0 or above 0')
    limit_margin: float = _row(
        0.05, 'Fraction by which a motion may exceed the limits of torque, torque rate, motor '
        'velocity, motor torque and deflection before the node stops it.', bounds=(0.0, 1.0))
    hold_on_empty_trajectory: bool = _row(
        True, 'Treat a trajectory without points as a request to stop and hold.')
    wrench_bandwidth: float = _row(
        50.0, 'Bandwidth of the filter that smooths ~/external_wrench, rad/s.',
        bounds=(1.0, 1000.0))
    wrench_timeout: float = _row(
        0.1, 'Time without an external wrench after which it fades to zero, s.',
        bounds=(0.001, 60.0))
    max_force: float = _row(
        200.0, 'Largest force of ~/external_wrench, N; a larger wrench is scaled down.',
        bounds=(0.0, 10000.0))
    max_moment: float = _row(
        50.0, 'Largest moment of ~/external_wrench, N m; a larger wrench is scaled down.',
        bounds=(0.0, 10000.0))
    base_timeout: float = _row(
        0.0, 'Time without odometry of a floating base, at least five periods, after which the '
        'reference stops, s; 0 chooses it as state_timeout does.', bounds=(0.0, 60.0))
    base_acceleration_bandwidth: float = _row(
        0.0, "Bandwidth of the low-pass filter of a floating base's accelerations, which are "
        'differences of the velocities of its odometry, rad/s; 0 assumes no accelerations.',
        bounds=(0.0, 100.0))
    base_tolerance: Sequence[float] = _row(
        (0.1, 0.05, 0.2, 0.2), 'How far position (m), orientation (rad), velocity (m/s) and '
        'angular velocity (rad/s) of a floating base may be away from ~/base_trajectory.',
        entries='above 0')
    spring_stiffness: Sequence[float] = _row(
        (0.0,), 'Stiffness of series springs in all joints, N m/rad, one per joint; 0 alone '
        'keeps the actuators of the robot file.', entries='0 or above 0')
    motor_inertia: Sequence[float] = _row(
        (0.0,), 'Link-side inertia of the motors behind spring_stiffness, kg m², one per joint; '
        'only with spring_stiffness.',
        entries='0 or above 0')
    flatness_poles: float = _row(
        0.0, 'Poles of the full-state feedback of elastic arms, rad/s: from ~/motor_states it '
        'computes ~/motor_feedback, to be added to the motor torque; 0 for none.',
        bounds=(0.0, 1000.0))
    max_motor_feedback: Sequence[float] = _row(
        (0.0,), 'Largest value of ~/motor_feedback, N m, one for all or one per motor; needed '
        'with flatness_poles.', entries='0 or above 0')
    motor_loop_stiffness: Sequence[float] = _row(
        (0.0,), "Position gain of the driver's motor loop, N m/rad, one for all or one per motor: "
        '~/motor_feedback leaves out what this loop adds.',
        entries='0 or above 0')
    motor_loop_damping: Sequence[float] = _row(
        (0.0,), "Velocity gain of the driver's motor loop, N m s/rad, one for all or one per "
        'motor.', entries='0 or above 0')
    payload_link: str = _row('', 'Link that carries a payload; empty for none.', runtime=True)
    payload_mass: float = _row(
        0.0, 'Mass of the payload, kg.', bounds=(0.0, 1000.0), runtime=True)
    payload_com: Sequence[float] = _row(
        (0.0, 0.0, 0.0), "Centre of mass of the payload in the link's axes, m.", runtime=True)
    payload_inertia: Sequence[float] = _row(
        (0.0,) * 9, "Inertia of the payload about its centre of mass in the link's axes, kg m², "
        'row by row.', runtime=True)
    publish_commands: bool = _row(
        False, 'Publish ~/commands, the torque as an array, for a forward_command_controller.')
    command_joints: Sequence[str] = _row(
        ('',), "The controller's joints in its order; empty for the robot's order.")
    realtime_priority: int = _row(
        0, 'SCHED_FIFO priority of the node; 0 for the default scheduler.', bounds=(0, 99))
    lock_memory: bool = _row(False, 'Lock the memory of the node in RAM.')
    cpu_affinity: Sequence[int] = _row(
        (-1,), 'Processors that the node may use; -1 for any.', entries='-1, 0 or above 0')
    keep_awake: bool = _row(False, 'Keep idle processors of the machine from sleeping.')


# Same names as in joint_trajectory_controller; JOINT stands for the name of a joint.
CONSTRAINTS: dict[str, Field[Any]] = {
    'constraints.goal_time': _row(
        0.0, 'How long after the end of its trajectory a goal of ~/follow_joint_trajectory may '
        'take to be within its goal tolerances, s; 0 waits for ever.', bounds=(0.0, 3600.0),
        runtime=True),
    'constraints.stopped_velocity_tolerance': _row(
        0.01, 'Goal tolerance of the velocity of each joint, rad/s or m/s; 0 for none.',
        bounds=(0.0, 1000.0), runtime=True),
    'constraints.JOINT.trajectory': _row(
        0.0, 'How far a joint may be away from the reference while a goal is followed, rad or m; '
        '0 for any distance.', bounds=(0.0, 1000.0), runtime=True),
    'constraints.JOINT.goal': _row(
        0.0, 'How far a joint may be away from the end of the trajectory of a goal, rad or m; '
        '0 for any distance.', bounds=(0.0, 1000.0), runtime=True),
}
TABLE: dict[str, Field[Any]] = {row.name: row for row in fields(Parameters)} | CONSTRAINTS
OF_A_JOINT = re.compile(r'constraints\.(.+)\.(trajectory|goal)')


def row_of(name: str) -> Field[Any] | None:
    """Return the row of a parameter by its name, or None."""
    return TABLE.get(OF_A_JOINT.sub(r'constraints.JOINT.\2', name))


def declare(node: Node) -> None:
    """Declare the parameters of the table on a node; a joint's parameters only if given at start.

    Raises HodynError if an unknown parameter, or a value out of range, was given at start.
    """
    for name, parameter in given(node).items():
        if wrong := unknown(name) or parameter_file.fault_of_qos(name, parameter.value):
            raise HodynError(wrong)
    names = [name for name in TABLE if not OF_A_JOINT.fullmatch(name)]
    for name in (*names, *filter(OF_A_JOINT.fullmatch, given(node))):
        row = TABLE[OF_A_JOINT.sub(r'constraints.JOINT.\2', name)]
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        try:
            node.declare_parameter(name, default, _descriptor(row))
        except ParameterException as error:
            raise HodynError(str(error)) from None
        parameter = node.get_parameter(name)
        if wrong := fault_of(name, parameter.value, row):
            raise HodynError(wrong)
        node.set_parameters(as_declared([parameter]))


def unknown(name: str) -> str:
    """Return what is wrong with the name of a parameter, or empty."""
    return '' if row_of(name) is not None else parameter_file.unknown(name, list(TABLE))


def read_tolerances(node: Node, joints: Sequence[str]) -> GoalTolerances:
    """Return the present tolerances of goals.

    `joints` are the robot's own names. Raises HodynError for a tolerance of an unknown joint.
    """
    given_of: dict[str, dict[str, float]] = {'trajectory': {}, 'goal': {}}
    for name, parameter in node.get_parameters_by_prefix('constraints').items():
        if found := OF_A_JOINT.fullmatch(f'constraints.{name}'):
            given_of[found[2]][found[1]] = float(parameter.value)
    goal_time, stopped = (
        float(node.get_parameter(f'constraints.{name}').value)
        for name in ('goal_time', 'stopped_velocity_tolerance'))
    return default_tolerances(joints, goal_time, stopped, **given_of)


def given(node: Node) -> Mapping[str, Any]:
    """Return the parameters given at start, on the command line or in parameter files, by name."""
    overrides: Mapping[str, Any] = getattr(node, '_parameter_overrides', {})
    return overrides


def read(node: Node) -> Parameters:
    """Return the present values, which were checked when they were declared and set."""
    values: dict[str, Any] = {}
    for row in fields(Parameters):
        default: Any = row.default
        value = node.get_parameter(row.name).value
        values[row.name] = (
            tuple(map(type(default[0]), value)) if isinstance(default, tuple)
            else type(default)(value))
    return Parameters(**values)


def check(
    changes: Sequence[Parameter[Any]], current: Callable[[str], Any], *, active: bool,
    robot: str = '', limits_file: str = '',
) -> SetParametersResult:
    """Check a batch of changes, accepted as a whole or not at all; equal values are ignored.

    `current` returns the present value of a parameter; `robot` and `limits_file` are the values of
    these parameters at start. No other file may be set later: otherwise anyone who can set
    parameters could have any file opened. Another file is refused with this reason even while the
    node is active: the advice to deactivate the node would not help.
    """
    allowed = {
        'robot': tuple(dict.fromkeys(filter(None, (robot, DESCRIPTION, *robot_names())))),
        'limits_file': tuple(dict.fromkeys((limits_file, '')))}
    for change in changes:
        name, value, row = change.name, change.value, row_of(change.name)
        # With another clock, stamps and the node's time would differ by years.
        if (row is None and name != 'use_sim_time') or _is_equal(value, current(name)):
            continue
        wrong = '' if row is None else fault_of(name, value, row)
        later = allowed.get(name, (value,))
        if value not in later:
            values = ' or '.join(one or "''" for one in later)
            wrong = wrong or (
                f'{name}: a file can only be given at start, on the command line or in a '
                f'parameter file; later it may be {values}')
        elif active and (row is None or not row.metadata['runtime']):
            wrong = f'{name}: cannot change while active; deactivate the node first'
        if wrong:
            return SetParametersResult(successful=False, reason=wrong)
    return SetParametersResult(successful=True)


def as_declared(changes: Sequence[Parameter[Any]]) -> list[Parameter[Any]]:
    """Return changes with whole numbers converted to floats for parameters that are floats."""
    kept = []
    for change in changes:
        value = change.value
        if change.type_ in (Parameter.Type.INTEGER, Parameter.Type.INTEGER_ARRAY):
            value = as_meant(change.name, value)
        kept.append(change if value is change.value else Parameter(change.name, value=value))
    return kept


def as_meant(name: str, value: Any) -> Any:
    """Return floats for a parameter that is a float: YAML reads 1e-3 as text, 1 as whole number.

    Other values, and those that cannot be converted, are returned as they are.
    """
    row = row_of(name)
    return value if row is None else _as_number(value, row.default)


def _as_number(value: Any, default: Any) -> Any:
    if isinstance(value, list | array) and len(value) and isinstance(default, tuple):
        return [_as_number(entry, default[0]) for entry in value]
    if isinstance(default, float) and isinstance(value, str | int) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return value
    return value


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Sequence | array) and not isinstance(one, str):
        return isinstance(other, Sequence | array) and list(one) == list(other)
    return (type(one) is not bool and type(other) is not bool and one == other) or one is other


def _descriptor(row: Field[Any]) -> ParameterDescriptor:
    # Types are dynamic and checked by `fault_of`: rclpy's errors name a type by its number.
    descriptor = ParameterDescriptor(
        description=row.metadata['description'], dynamic_typing=True)
    bounds, choices = row.metadata['bounds'], row.metadata['choices']
    if choices is not None:
        descriptor.additional_constraints = f'one of {", ".join(choices)}'
    elif bounds is not None and isinstance(row.default, int):
        descriptor.integer_range = [IntegerRange(from_value=bounds[0], to_value=bounds[1])]
    elif bounds is not None:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=bounds[0], to_value=bounds[1])]
    return descriptor
