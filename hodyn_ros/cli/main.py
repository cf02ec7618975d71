"""The command line: ``hodyn demo | replay | identify | check | annotate | robots``.

Thin doors to functions elsewhere.
"""
import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import sys
from typing import Any
import warnings

from hodyn_ros import __version__
from hodyn_ros.robot import HodynError

BAD_INPUT = 2
INTERRUPTED, PIPE_CLOSED = 130, 141
"""As of a shell, of commands that a signal ended."""
_EXTRAS = "pip install 'hodyn_ros[ros,sim]' brings what the demo needs"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; wrong input is one line and code 2."""
    options = _parser().parse_args(argv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('default')
        try:
            code = int(options.run(options))
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read has read enough; nor may the interpreter's last flush complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        except (HodynError, OSError, ImportError) as error:
            text = ' '.join(str(error).split())
            if isinstance(error, ModuleNotFoundError):
                text += f'; {_EXTRAS}'
            print(f'hodyn {options.command}: {text}', file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            return INTERRUPTED
    for text in dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning):
        print(f'hodyn {options.command}: warning: {text}', file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='hodyn', description='Feed-forward torque and its rates for robot arms.')
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    _add_demo(commands)
    _add_replay(commands)
    _add_identify(commands)
    _add_check(commands)
    _add_annotate(commands)
    _add_robots(commands)
    return parser


Commands = argparse._SubParsersAction


def _robot_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--robot', default='panda', help='built-in name, or path of a robot file (default: panda)')


def _add_demo(commands: 'Commands[argparse.ArgumentParser]') -> None:
    parser = commands.add_parser(
        'demo', help='the node feeds a simulated arm over ROS 2',
        description='Starts the feed-forward node and, in a second process, a simulated arm that '
        'publishes joint states at 1 kHz; sends a trajectory; reports tracking and latency.')
    _robot_option(parser)
    parser.add_argument(
        '--duration', type=float,
        help='seconds of the run (default: 10), or of the motion with --compare (default: 3)')
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_demo'),
        help='folder for the plot and the bag (default: hodyn_demo)')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    parser.add_argument(
        '--actuator', choices=['rigid', 'sea', 'vsa'],
        help='give every joint an example actuator: none, springs, or antagonistic motors')
    elastic = parser.add_argument_group(
        'comparison', 'how well an elastic arm tracks with each part of the feed-forward')
    elastic.add_argument(
        '--compare', action='store_true',
        help='run one motion with rigid, torque, torque_rate and full feed-forward')
    elastic.add_argument('--direct', action='store_true', help='in this process, without ROS')
    elastic.add_argument(
        '--stiffness', type=float, help='N m/rad of the example actuators (an example)')
    elastic.add_argument(
        '--bandwidth', type=float,
        help='of the motor loop, rad/s, with --direct (default: 50)')
    elastic.add_argument(
        '--speed', type=float,
        help='peak velocities as a share of the limits (default: 0.8)')
    elastic.add_argument(
        '--robustness', action='store_true',
        help='repeat it with wrong stiffness and mass, delays and noise')
    parser.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    _refuse_unused(options)
    _check_output(options)
    _check_simulation(options.robot)
    if options.compare and options.direct:
        from hodyn_ros.cli.compare import Comparison, run_comparison

        return run_comparison(
            Comparison(robot=options.robot, actuator=options.actuator, **_given(
                options, 'stiffness', 'bandwidth', 'duration', 'speed', 'robustness')),
            options.output, options.json)
    if options.compare:
        from hodyn_ros.cli.demo import run_comparison_through_ros
        from hodyn_ros.simulation.examples import DURATION, SPEED

        given = {'duration': DURATION, 'speed': SPEED, **_given(
            options, 'stiffness', 'duration', 'speed')}
        return run_comparison_through_ros(
            options.robot, options.actuator, output=options.output, json_file=options.json,
            **given)
    from hodyn_ros.cli.demo import run_demo

    duration = 10.0 if options.duration is None else options.duration
    return run_demo(options.robot, duration, options.output, options.json)


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in names}
    return {name: v for name, v in values.items() if v is not None and v is not False}


def _refuse_unused(options: argparse.Namespace) -> None:
    """Raise HodynError for what the chosen kind of demo would not use."""
    if not options.compare:
        unused = _given(
            options, 'actuator', 'direct', 'stiffness', 'bandwidth', 'speed', 'robustness')
        if unused:
            raise HodynError(f'--{next(iter(unused))} goes with --compare')
    elif not options.direct:
        if options.actuator is None:
            raise HodynError('--compare through ROS needs --actuator; or compare with --direct')
        if unused := _given(options, 'bandwidth', 'robustness'):
            raise HodynError(f'--{next(iter(unused))} needs --direct')


def _check_simulation(source: str) -> None:
    """Raise now what the processes of the demo would stumble over."""
    from importlib.util import find_spec

    from hodyn_ros.robot.files.loader import load_robot

    if find_spec('mujoco') is None:
        raise ModuleNotFoundError("No module named 'mujoco'")
    robot = load_robot(source)
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; the demo simulates arms on a fixed one')


def _check_output(options: argparse.Namespace, *, folder: bool = True) -> None:
    """Raise OSError now, rather than after the work, for results that could not be written."""
    output, json = options.output, getattr(options, 'json', None)
    if folder and output.exists() and not output.is_dir():
        raise NotADirectoryError(f'--output {output}: is not a folder')
    for file, option in ((json, '--json'), (None if folder else output, '--output')):
        if file is None:
            continue
        if file.is_dir():
            raise IsADirectoryError(f'{option} {file}: is a folder')
        if not file.parent.is_dir() and not (folder and file.parent == output):
            raise FileNotFoundError(f'{option} {file}: there is no folder {file.parent}')
    for path in (output, json):
        if path is not None:
            there = next(place for place in (path, *path.absolute().parents) if place.exists())
            if not os.access(there, os.W_OK):
                raise PermissionError(f'{path}: {there} cannot be written to')


def _add_replay(commands: 'Commands[argparse.ArgumentParser]') -> None:
    parser = commands.add_parser(
        'replay', help='compare a recorded bag with the model, offline',
        description='Reads joint states from a rosbag2, computes the torques and their rates '
        'through the code of the node, and compares them with the recorded effort.')
    parser.add_argument('bag', type=Path, help='folder of a rosbag2, or a lone .db3 or .mcap file')
    _robot_option(parser)
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_replay'),
        help='folder for the report (default: hodyn_replay)')
    parser.add_argument('--topic', help='joint state topic, when the bag has several')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='of the joints of one arm, when the bag has several')
    parser.add_argument('--csv', action='store_true', help='write the torques as a table too')
    parser.add_argument(
        '--live', action='store_true',
        help='play the recording to a live node as well, on its own clock, and compare what it '
        'publishes with the offline result (needs ROS 2)')
    parser.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    _check_output(options)
    from hodyn_ros.cli.replay import Play, run_replay

    play: Play | None = None
    if options.live:
        try:
            from hodyn_ros.ros import live_replay
        except ImportError as error:
            raise HodynError(
                f"--live needs ROS 2 ({error}): pip install 'hodyn_ros[ros]', or source a ROS 2 "
                'installation') from None
        play = live_replay.play
    return run_replay(
        options.bag, options.robot, options.output, topic=options.topic,
        prefix=options.joint_prefix, csv=options.csv, play=play)


def _add_identify(commands: 'Commands[argparse.ArgumentParser]') -> None:
    parser = commands.add_parser(
        'identify', help='fit friction, payload and torque offsets to recordings',
        description='Least squares with confidence intervals, checked on held-out motion; writes '
        'a robot file with friction and payload.')
    parser.add_argument('bags', type=Path, nargs='+', metavar='BAG', help='with joint efforts')
    _robot_option(parser)
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_identify'),
        help='folder for the results (default: hodyn_identify)')
    parser.add_argument(
        '--terms', nargs='+', choices=('friction', 'payload', 'offsets'),
        default=('friction', 'payload', 'offsets'), help='what to fit (default: all)')
    parser.add_argument('--topic', help='joint state topic, when the bags have several')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='of the joints of one arm, when the bags have several')
    parser.set_defaults(run=_identify)


def _identify(options: argparse.Namespace) -> int:
    _check_output(options)
    from hodyn_ros.cli.identify import run_identify

    return run_identify(
        options.bags, options.robot, options.output, terms=options.terms, topic=options.topic,
        prefix=options.joint_prefix)


def _plan_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'plan', type=Path, help='bag with a JointTrajectory, or .yaml, .json, .csv (see docs)')
    _robot_option(parser)
    parser.add_argument('--topic', help='trajectory topic, when the bag has several')
    parser.add_argument(
        '--number', type=int, metavar='N', help='which trajectory of the topic, from 1')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX', help='of the joint names in the plan')
    parser.add_argument(
        '--interpolation', choices=('auto', 'global', 'bounded', 'local'), default='auto',
        help='between the points (default: auto)')
    parser.add_argument(
        '--sample-tolerance', type=float, default=0.0, metavar='RAD',
        help='samples no more than 5 ms apart may be missed by this much, to smooth their jitter '
        '(default: 0)')


def _plan_source(options: argparse.Namespace) -> Any:
    from hodyn_ros.cli.plans import PlanSource

    return PlanSource(
        options.plan, options.robot, topic=options.topic, index=options.number,
        prefix=options.joint_prefix, interpolation=options.interpolation,
        sample_tolerance=options.sample_tolerance)


def _add_check(commands: 'Commands[argparse.ArgumentParser]') -> None:
    parser = commands.add_parser(
        'check', help='judge a plan against the limits of the robot before it runs',
        description='Fits the plan as the node would and prints the worst position, velocity, '
        'acceleration, jerk, torque and torque rate of each joint. Exit code: 0 within limits, '
        '1 beyond (with the time stretch that would mend it), 2 bad input.')
    _plan_options(parser)
    parser.add_argument('--output', type=Path, metavar='IMAGE', help='draw the curves to IMAGE')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    parser.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    _check_output(options, folder=False)
    from hodyn_ros.cli.plans import run_check

    return run_check(_plan_source(options), output=options.output, json_file=options.json)


def _add_annotate(commands: 'Commands[argparse.ArgumentParser]') -> None:
    parser = commands.add_parser(
        'annotate', help='resample a plan, with the torques that it takes',
        description='Writes the plan for joint_trajectory_controller, which plays the efforts as '
        'feed-forward. A plan beyond limits is not written. Exit codes as of check.')
    _plan_options(parser)
    parser.add_argument(
        '--output', type=Path, required=True, metavar='FILE',
        help='.yaml, .json, .csv, or without an ending a new bag')
    parser.add_argument(
        '--period', type=float, default=5e-3, help='seconds between points, at most (default: '
        '0.005)')
    parser.add_argument(
        '--stretch', choices=('off', 'offer', 'auto'), default='offer',
        help='beyond limits: refuse, say which time stretch mends it, or apply it '
        '(default: offer)')
    parser.add_argument(
        '--without-gravity', action='store_true', help='for controllers that add gravity')
    parser.add_argument(
        '--without-friction', action='store_true', help='for controllers that add friction')
    parser.set_defaults(run=_annotate)


def _annotate(options: argparse.Namespace) -> int:
    _check_output(options, folder=False)
    from hodyn_ros.cli.plans import run_annotate

    return run_annotate(
        _plan_source(options), options.output, period=options.period, stretch=options.stretch,
        gravity=not options.without_gravity, friction=not options.without_friction)


def _add_robots(commands: 'Commands[argparse.ArgumentParser]') -> None:
    parser = commands.add_parser('robots', help='list the built-in robots')
    parser.set_defaults(run=_robots)


def _robots(options: argparse.Namespace) -> int:
    from hodyn_ros.robot.files.loader import load_robot, robot_names

    for name in robot_names():
        robot = load_robot(name)
        mass = sum(body.mass for body in robot.bodies)
        print(f'{name}: {robot.n} joints {robot.joint_names[0]} … {robot.joint_names[-1]}, '
              f'{mass:.2f} kg in motion')
    return 0

