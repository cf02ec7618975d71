"""The command line, ``hodyn``.

Each command is a module, which imports the packages that it needs only when it runs. So
``hodyn --help`` is quick, and a command needs only the packages that it uses.
"""
import argparse
import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
import gc
from io import TextIOWrapper
import os
import signal
import sys
import threading
from typing import Any
import warnings

from hodyn_ros.cli import (
    annotate,
    check,
    convert,
    demo,
    excite,
    generate,
    identify,
    info,
    replay,
    retime,
    robots,
)
from hodyn_ros.cli.command_parser import CommandParser
from hodyn_ros.cli.options import refuse_dash, say_what_was_replaced
from hodyn_ros.cli.used_robot import used_robot
from hodyn_ros.common.closed_pipe import discard_output
from hodyn_ros.common.errors import HodynError, how_to_install
from hodyn_ros.common.version import VERSION

BAD_INPUT = 2
INTERRUPTED = 130
"""Exit code of a command that SIGINT ended, as in shells."""
# Words in the library's errors, and the options that replace them in errors of commands.
_OPTIONS = {
    'locked_joints': '--lock JOINT=VALUE', 'inertia_check: warn': '--inertia-check warn',
    'use double': 'leave out --float',
    'an actuators section': 'an actuators section, or give --actuators YAML'}
# With the default thresholds, garbage collection during the import of Numba and at exit takes half
# a second.
gc.set_threshold(100_000, 50, 100)
atexit.register(gc.freeze)

_BY_PIP = {
    name: f'pip install {package}, in the environment of the workspace' for name, package in (
        ('rosbags', 'rosbags'), ('lz4', 'lz4'),
        ('backports', 'backports.zstd'), ('argcomplete', 'argcomplete'))}
"""How to install packages that not all distributions of ROS have."""
_EXTRAS = f'{how_to_install("ros,sim")} brings what the demo needs'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; wrong input gives one line and code 2."""
    parser = _parser()
    if '_ARGCOMPLETE' in os.environ:
        from argcomplete import autocomplete

        autocomplete(parser)
    options = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors='replace')  # for terminals without Unicode
    if getattr(options, 'json', None) is sys.stdout:
        with redirect_stdout(sys.stderr):
            return _run(options)
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught, _ending_in_order():
        warnings.simplefilter('default')
        try:
            refuse_dash(options)
            with used_robot(options):
                code = int(options.run(options))
            say_what_was_replaced(options)
            sys.stdout.flush()
        except BrokenPipeError:
            return discard_output()
        except (HodynError, OSError, ImportError) as error:
            if isinstance(error, ImportError) and (error.name or '').startswith('hodyn_ros'):
                raise  # a bug in this package, not a missing one
            text = ' '.join(_said(error).split())
            for word, option in _OPTIONS.items():
                text = text.replace(word, option)
            if not getattr(options, 'robot_is_given', True) and '--robot' not in text and (
                    f'robot {options.robot!r}' in text):
                text += f'; {options.robot!r} is the default: give your robot with --robot'
            if isinstance(error, ModuleNotFoundError):
                missing = (error.name or '').partition('.')[0]
                text += f'; {_BY_PIP.get(missing, _EXTRAS)}'
            print(f'hodyn {options.command}: {text}', file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            print(f'hodyn {options.command}: interrupted', file=sys.stderr)
            return INTERRUPTED
    for text in dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning):
        print(f'hodyn {options.command}: warning: {text}', file=sys.stderr)
    return code


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f'{error.filename}: {error.strerror.lower()}'
    return str(error)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP remove unfinished outputs before the process ends, like Ctrl-C."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    changed = [
        number for number in (signal.SIGTERM, signal.SIGHUP)
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='hodyn', description='Feed-forward torque and its rates for robot arms.')
    parser.add_argument('--version', action='version', version=f'%(prog)s {VERSION}')
    commands = parser.add_subparsers(
        dest='command', required=True, metavar='COMMAND', parser_class=CommandParser)
    for command in (
            demo, replay, identify, excite, check, retime, annotate, generate, convert, info,
            robots):
        command.add_parser(commands)
    return parser
