"""The arguments of the launch files, and the node that follows from them.

Parameters on the command line override those in the user's file, which override those in the
package's file for the robot. An argument that is not given overrides nothing.
"""
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hodyn_ros.common.errors import did_you_mean
from hodyn_ros.common.input_files import check_file
from hodyn_ros.feedforward.settings import longest_end
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import robot_names
from hodyn_ros.ros import parameter_file
from hodyn_ros.ros.given_parameters import read_file
from hodyn_ros.ros.parameters import DESCRIPTION, Parameters, row_of

TRUTH = ('', 'true', 'false')  # choices of a truth value, which may be left out
DRIVERS_STATES = {'panda': 'franka/joint_states', 'fr3': 'franka/joint_states'}
END_TIMEOUT = 5.0  # time for the end of the process once the arm rests, s


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file; an empty value means that it was not given."""

    name: str
    description: str
    default: str = ''
    choices: tuple[str, ...] | None = None


ROBOT = Argument(
    'robot', 'Built-in robot (panda, fr3, iiwa14, …) or path of a robot file; empty: the '
    "parameter file's, or panda")
FILE = Argument(
    'params_file', "Parameter file, which overrides the package's file for the robot")
LOG_LEVEL = Argument(
    'log_level', 'Lowest severity that is logged; empty: info',
    choices=('', 'debug', 'info', 'warn', 'error', 'fatal'))
TOPICS = tuple(
    Argument(topic, f'Topic of {what}; empty: {default}') for topic, what, default in (
        ('joint_states', 'the joint states',
         "the driver's (franka/joint_states for panda and fr3, else joint_states)"),
        ('robot_description', 'the URDF', 'robot_description'),
        ('odom', 'the odometry of a floating base', 'odom'),
        ('base_trajectory', 'the planned poses of a floating base', '~/base_trajectory'),
        ('joint_trajectory', 'the trajectories to follow', '~/joint_trajectory'),
        ('reference', 'the streamed reference', '~/reference'),
        ('external_wrench', 'the external wrenches', '~/external_wrench'),
        ('stiffness', 'the desired stiffness', '~/stiffness'),
        ('motor_states', 'the states of the motors', '~/motor_states'),
        ('torque', 'the torque', '~/torque'),
        ('commands', 'the torque as an array', '~/commands'),
        ('motor_commands', 'the motor torque as an array', '~/motor_commands'),
        ('motor_feedback', 'the correction to the motor torque', '~/motor_feedback')))
OF_PARAMETERS = (
    Argument('auto_activate', 'Configure and activate at start', choices=TRUTH),
    Argument('joint_prefix', "Prefix of the arm's joint names"),
    Argument(
        'gravity_in_output', 'Whether the torque contains gravity; empty: as in the '
        'parameter file of the robot',
        choices=TRUTH),
    Argument('use_sim_time', 'Whether to take the time from /clock', choices=TRUTH))
NODE_ARGUMENTS = (
    ROBOT, FILE, *OF_PARAMETERS, LOG_LEVEL,
    Argument('name', 'Name of the node', 'feedforward'),
    Argument('namespace', 'Namespace of the node'),
    Argument(
        'respawn', 'Start the node again when it dies', 'false', choices=('true', 'false')),
    *TOPICS)
DEMO_ARGUMENTS = (ROBOT, FILE, LOG_LEVEL)
ROOTED = ('joint_states', 'robot_description', 'odom')  # the other topics are below ~/


@dataclass(frozen=True)
class LaunchedNode:
    """Description of the node for launch."""

    parameters: dict[str, Any]  #: The given parameters by name
    remappings: list[tuple[str, str]]  #: list of (str, str): topics and their new names
    ros_arguments: list[str]  #: Further arguments
    end_timeout: float  #: Time that the node may take for an orderly end, s


def launched_node(
    given: Mapping[str, str], config: Path | None, *, name: str = '', namespace: str = '',
) -> LaunchedNode:
    """Return the node that follows from the arguments, which are empty if they were not given.

    `config` is the folder of the package's parameter files, or None to use only the defaults of
    the node; `name` and `namespace` replace those of the arguments. Raises HodynError, whose
    message is one line with the file and its line, or with the argument.
    """
    node = parameter_file.full_name(
        name or given['name'], namespace or given.get('namespace', ''))
    users = read_file(given['params_file'], node) if given['params_file'] else {}
    asked = {
        argument.name: value == 'true' if argument.choices == TRUTH else value
        for argument in (ROBOT, *OF_PARAMETERS) if (value := given.get(argument.name, ''))}
    robot = str(asked.get('robot') or users.get('robot') or Parameters.robot)
    _check_robot(robot, given['robot'] or given['params_file'])
    packages: dict[str, Any] = {}
    if config is not None:
        own = config / f'{robot}.yaml'
        packages = read_file(str(own if own.is_file() else config / 'generic.yaml'), node)
    parameters = {**packages, **users, **asked, 'robot': robot}
    topics = {topic.name: given.get(topic.name, '') for topic in TOPICS}
    if config is not None:
        topics['joint_states'] = topics['joint_states'] or DRIVERS_STATES.get(robot, '')
    return LaunchedNode(
        parameters,
        [(topic if topic in ROOTED else f'~/{topic}', to) for topic, to in topics.items() if to],
        ['--log-level', given['log_level']] if given['log_level'] else [],
        longest_end(float(parameters.get('fade', Parameters.fade))) + END_TIMEOUT)


def check_names(given: Iterable[str], declared: Iterable[Argument]) -> list[str]:
    """Return warnings for unknown arguments that have the name of a parameter.

    An unknown argument may belong to a launch file that includes this one. So HodynError is raised
    only if its name is close to the name of a known argument.
    """
    names = [argument.name for argument in declared]
    others = sorted(set(given) - set(names))
    for name in others:
        if near := did_you_mean(name, names, cutoff=0.8):
            raise HodynError(f'there is no launch argument {name!r}{near}')
    return [
        f'{name} is a parameter of the node, not an argument of this launch file, and is not '
        'set: write it in a params_file' for name in others if row_of(name) is not None]


def _check_robot(robot: str, source: str) -> None:
    names = robot_names()
    if robot in names or robot == DESCRIPTION or robot.lstrip().startswith('<'):
        return
    try:
        check_file(
            Path(robot),
            f'{source}: no robot {robot!r}: neither a file nor one of {", ".join(names)}', names)
    except FileNotFoundError as error:
        raise HodynError(error) from None
