"""Parameters that are given at start, by files and `-p`, checked before ROS reads them.

If a parameter is given twice, ROS keeps one value of each type and prefers a truth value, then a
whole number, then a number, then a text, even if another came later. So a file's `true` would win
over `-p NAME:=0`, and its `1` over `-p NAME:=0.3`.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
import re
import textwrap
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from hodyn_ros.common.closed_pipe import discard_output
from hodyn_ros.common.errors import did_you_mean
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import strict_yaml
from hodyn_ros.ros import parameter_file
from hodyn_ros.ros.parameter_values import fault_of
from hodyn_ros.ros.parameters import TABLE, as_meant, row_of, unknown

OF_ROS = (
    '--params-file', '-r', '--remap', '-p', '--param', '--log-level', '-e', '--enclave',
    '--log-config-file', '--log-file-name')
"""Options after --ros-args that take an argument."""
ARRAYS = {
    str: Parameter.Type.STRING_ARRAY, int: Parameter.Type.INTEGER_ARRAY,
    float: Parameter.Type.DOUBLE_ARRAY}
_RULE = re.compile(r'(?:(?P<node>[^:=]*):)?(?P<name>[^:=]+):=(?P<value>.*)', re.DOTALL)


def read_file(path: str, node: str) -> dict[str, Any]:
    """Return the parameters that a file gives the node, converted to their types.

    Raises HodynError, whose message is one line with file and line number.
    """
    values = parameter_file.read(path, node, _wrong)
    return {name: as_meant(name, value) for name, value in values.items()}


def read_arguments(argv: Sequence[str], node: str) -> dict[str, Any]:
    """Return the parameters on a node's command line.

    `-p` wins over files, and the last of several files or `-p` wins.
    Raises HodynError for a value, in a file or by `-p`, that its parameter cannot have, for an
    unknown name, and for words that ROS would ignore. With -h or --help it prints the usage and
    exits.
    """
    options, others = _options(argv[1:])
    if {'-h', '--help'} & set(others):
        try:
            print(usage(node), flush=True)
        except BrokenPipeError:
            raise SystemExit(discard_output()) from None
        raise SystemExit(0)
    if others:
        given = ' '.join(argv[1:]) if others[0] in OF_ROS else '-p NAME:=VALUE'
        raise HodynError(
            f'argument {others[0]!r} would be ignored; write {node} --ros-args {given}'
            + ('' if others[0] in OF_ROS else ', or --params-file FILE; the parameters are in '
               'docs/node.md, "The node" on the site'))
    name, namespace = node, ''
    for option, rule in options:
        left, _, right = rule.partition(':=')
        if option not in ('-r', '--remap'):
            continue
        if left.rpartition(':')[2] in ('__node', '__name'):
            name = right
        elif left.rpartition(':')[2] == '__ns':
            namespace = right
    full_name = parameter_file.full_name(name, namespace)
    found: dict[str, Any] = {}
    for option, word in options:
        if option == '--params-file':
            found.update(read_file(word, full_name))
    for option, word in options:
        if option in ('-p', '--param'):
            found.update(_read_rule(option, word, full_name))
    return found


def usage(node: str) -> str:
    """Return how a node is called, and its parameters with their defaults."""
    lines = [
        f'usage: {node} --ros-args [--params-file FILE] [-p NAME:=VALUE …] [-r FROM:=TO …]', '',
        f'  {node} --ros-args -p robot:=panda',
        f'  {node} --ros-args --params-file mine.yaml '
        '-p "locked_joints:=[\'finger_joint1=0.04\']"', '',
        'A value by -p overrides files; of two files, or two -p, the last one counts. Parameters '
        'and defaults:', '']
    for name, row in TABLE.items():
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        choices = row.metadata['choices']
        meaning = row.metadata['description'] + (
            f' One of {", ".join(choices)}.' if choices else '')
        lines += [f'{name}:={json.dumps(default)}', *textwrap.wrap(
            meaning, 96, initial_indent='    ', subsequent_indent='    ')]
    return '\n'.join(lines)


def undeclared(node: Node, changes: Sequence[Parameter[Any]]) -> str:
    """Return an error for the first parameter that a node does not have; empty if it has all.

    rclpy would refuse them before any callback, in a message that does not name them.
    """
    for change in changes:
        if not node.has_parameter(change.name):
            return unknown(change.name) or (
                f'{change.name}: can only be given at start, by -p or a parameter file')
    return ''


def as_overrides(values: Mapping[str, Any]) -> list[Parameter[Any]]:
    """Return values as parameters of rclpy, with the types that the table gives them."""
    overrides = []
    for name, value in values.items():
        row = row_of(name)
        if row is None:  # a parameter of ROS itself
            continue
        kind = ARRAYS[type(row.default[0])] if isinstance(row.default, tuple) else None
        overrides.append(Parameter(name, kind, value))
    return overrides


def _read_rule(option: str, rule: str, node: str) -> dict[str, Any]:
    """Return the parameter that one `-p` gives the node, if any."""
    parts = _RULE.fullmatch(rule)
    if parts is None:
        if ':=' not in rule and '=' in rule:
            raise HodynError(f'{option} {rule}: write {option} {rule.replace("=", ":=", 1)}')
        return {}  # ROS reports the error
    if re.search(r'(^|\.)\d', parts['name']):
        raise HodynError(
            f'{option} {rule}: ROS takes no name with a part that begins with a digit on the '
            'command line; write it in a parameter file (--params-file FILE)')
    if parts['node'] and not parameter_file.is_for(parts['node'], node):
        return {}
    name = parts['name']
    if not parts['value']:
        raise HodynError(f"{option} {rule}: no value; write {name}:=\"''\" for an empty text")
    value = strict_yaml.load(parts['value'], f'{option} {rule}')
    if wrong := _wrong(name, value):
        raise HodynError(f'{option} {rule}: {wrong}')
    return {name: as_meant(name, value)}


def _wrong(name: str, value: Any) -> str:
    """Return what is wrong with a given parameter, or empty."""
    if (row := row_of(name)) is not None:
        return fault_of(name, as_meant(name, value), row)
    if name == 'use_sim_time' and not isinstance(value, bool):
        return f'{name} is {value!r}; expected a truth value (true or false)'
    return unknown(name) or parameter_file.fault_of_qos(name, value)


def _options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options of ROS with their arguments, and the words that belong to no option."""
    options: list[tuple[str, str]] = []
    others: list[str] = []
    is_of_ros, option = False, ''
    for word in words:
        if option:
            options.append((option, word))
            option = ''
        elif word == '--ros-args':
            is_of_ros = True
        elif word == '--':
            is_of_ros = False
        elif not is_of_ros:
            others.append(word)
        elif word in OF_ROS:
            option = word
        elif ':=' in word and not word.startswith('-'):
            raise HodynError(
                f'argument {word!r}: write -p {word} for a parameter, -r {word} for a topic')
        elif not word.startswith(('--enable-', '--disable-')):
            near = did_you_mean(word, OF_ROS)
            raise HodynError(f'argument {word!r} after --ros-args is unknown to ROS{near}')
    return options, others
