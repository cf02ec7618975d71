"""The robot that a command uses, changed by the options --lock, --limits, --actuators etc."""
from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
import math
from pathlib import Path
import re
import tempfile
from typing import TYPE_CHECKING
import warnings

from hodyn_ros.cli.options import Default
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.robot import Robot


@contextmanager
def used_robot(options: argparse.Namespace) -> Iterator[None]:
    """Make `options.robot` a temporary file of the robot changed by --lock, --limits etc.

    All processes that a command starts, for example a node, can then read the same robot. Errors
    are a HodynError that names the option.
    """
    options.robot_is_given = not isinstance(getattr(options, 'robot', ''), Default)
    if not options.robot_is_given:
        options.robot = str(options.robot)  # a plain str, for code that checks the type
    wanted = ('lock', 'inertia_check', 'limits', 'payload')
    actuators = getattr(options, 'actuators', None)
    actuators = actuators if isinstance(actuators, Path) else None  # `generate` also has a flag
    if actuators is None and not any(getattr(options, name, None) for name in wanted):
        yield
        return
    if Path(options.robot).suffix.lower() == '.csv':
        given = ['actuators'] * (actuators is not None) + [
            name for name in wanted if getattr(options, name, None)]
        raise HodynError(
            f'{options.robot} is a log, but --{given[0].replace("_", "-")} changes a robot: give '
            'this option to hodyn replay or hodyn identify')
    from hodyn_ros.robot.files import load_robot, save_robot, with_actuators

    locked = _given_locked(options)
    robot = load_robot(
        options.robot, inertia_check=options.inertia_check, limits=options.limits,
        locked_joints=locked)
    if actuators is not None:
        robot = with_actuators(robot, actuators, locked=locked)
    for load in options.payload:
        robot = _loaded(robot, load)
    options.robot_files = [Path(options.robot), *filter(None, [options.limits, actuators])]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f'{robot.name}.yaml'.replace('/', '_')
        save_robot(robot, file)
        options.robot = str(file)
        # Reading this file would repeat the warnings about the original file.
        warnings.filterwarnings('ignore', f'.*{re.escape(str(file))}')
        yield


def for_robot(options: argparse.Namespace, robot: Robot) -> str:
    """Return `for robot NAME`, to be printed: other arms may have the same joint names."""
    default = '' if options.robot_is_given else ' (the default; --robot for another)'
    return f'for robot {robot.name}{default}'


def given_payload(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the loads of --payload, as given."""
    return tuple(' '.join(words) for words in options.payload)


def _given_locked(options: argparse.Namespace) -> dict[str, float]:
    """Return the positions of the joints of --lock, by name."""
    locked: dict[str, float] = {}
    for text in options.lock:
        joint, _, value = text.rpartition('=')
        position = _number(value)
        if not joint or position is None:
            raise HodynError(
                f'--lock {text}: expected JOINT=VALUE, for example finger_joint1=0.04')
        if joint in locked:
            raise HodynError(
                f'--lock {text}: joint {joint!r} is already locked at {locked[joint]:g}')
        locked[joint] = position
    return locked


def _loaded(robot: Robot, texts: list[str]) -> Robot:
    link, *rest = texts
    numbers = [number for number in map(_number, rest) if number is not None]
    if len(numbers) < len(rest) or len(numbers) not in (1, 4):
        raise HodynError(
            f'--payload {" ".join(texts)}: expected LINK KG, or LINK KG X Y Z: a link of the '
            'robot, the mass, and the centre of mass in its axes, m, with spaces between the '
            'numbers')
    try:
        return robot.with_payload(link, numbers[0], numbers[1:] or [0.0, 0.0, 0.0])
    except HodynError as error:
        raise HodynError(f'--payload: {error}') from None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
