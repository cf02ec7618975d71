"""Checks parameter files before ROS reads them: ROS would ignore unknown parameters."""
from collections.abc import Callable, Iterator, Mapping, Sequence
import difflib
from pathlib import Path
from typing import Any

import yaml

from hodyn_ros.common.errors import did_you_mean
from hodyn_ros.common.input_files import check_file
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import strict_yaml

MAX_BYTES = 1024 * 1024
VALUES = 'ros__parameters'
# Similarity from which a key is probably a mistyped `VALUES`, as difflib measures it.
NEAR = 0.8
# Parameters that the client library gives every node.
OF_EVERY_NODE = ('use_sim_time', 'start_type_description_service')
OF_EVERY_TOPIC = 'qos_overrides.'
QOS_VALUES: dict[str, Any] = {
    'reliability': ('reliable', 'best_effort', 'system_default'),
    'history': ('keep_last', 'keep_all', 'system_default'), 'depth': range(1, 100_000)}


def read(
    path: str | Path, node: str, fault: Callable[[str, Any], str],
) -> dict[str, Any]:
    """Return the parameters in a file for a node, given by its name with its namespace.

    `fault` returns what is wrong with a name and its value, or empty. Raises HodynError if the
    file cannot be read, or, with the line number, if it has no entry for the node or a parameter
    with a fault.
    """
    file = Path(path)
    try:
        check_file(file, f'parameter file {str(path)!r}: there is no such file')
    except FileNotFoundError as error:
        raise HodynError(error) from None
    try:
        text = strict_yaml.read_text(file, MAX_BYTES, 'a parameter file')
    except OSError as error:
        raise HodynError(f'parameter file {str(path)!r}: {error.strerror}') from None
    data = strict_yaml.load(text, str(path))
    if not isinstance(data, Mapping):
        raise HodynError(f'{path}: not a parameter file: it should begin with /**: and {VALUES}:')
    lines = _lines(text)
    for place, line in lines.items():
        if VALUES not in place and (*place, VALUES) not in lines and difflib.get_close_matches(
                place[-1], [VALUES], cutoff=NEAR):
            raise HodynError(
                f'{path}, line {line}: {place[-1]!r}: did you mean {VALUES!r}?')
    found: dict[str, Any] = {}
    entries = [
        (place[:-1], values) for place, values in _walk(data)
        if place[-1] == VALUES and VALUES not in place[:-1]]
    if not entries:
        raise HodynError(
            f'{path}, line {min(lines.values(), default=1)}: no {VALUES} in it; the parameters '
            f'belong under /**: and {VALUES}:')
    for names, values in entries:
        place = (*names, VALUES)
        if not isinstance(values, Mapping):
            raise HodynError(
                f'{path}, line {lines[place]}: {VALUES} is {values!r}; expected a mapping')
        if not is_for('/'.join(names), node):
            continue
        for keys, value in _walk(values):
            if isinstance(value, Mapping):
                continue
            name = '.'.join(keys)
            if wrong := fault(name, value):
                raise HodynError(f'{path}, line {lines[place + keys]}: {wrong}')
            found[name] = value
    if not any(is_for('/'.join(names), node) for names, _ in entries):
        others = ', '.join(repr('/'.join(names)) for names, _ in entries)
        raise HodynError(
            f'{path}, line {lines[entries[0][0]]}: nothing for the node {node!r}, only for '
            f'{others}; write /** or {node}')
    return found


def full_name(name: str, namespace: str) -> str:
    """Return the name of a node with its namespace, from the root."""
    return '/' + '/'.join([*filter(None, namespace.split('/')), name])


def unknown(name: str, known: Sequence[str]) -> str:
    """Return what is wrong with the name of a parameter, or empty."""
    if name in known or name in OF_EVERY_NODE or name.startswith(OF_EVERY_TOPIC):
        return ''
    parameter, _, key = name.partition('.')
    if parameter in known:
        return (
            f'parameter {parameter!r} is a mapping with the key {key!r}: it takes a value or a '
            'list, see docs/node.md')
    return f'unknown parameter {name!r}{did_you_mean(name, known)}'


def is_for(entry: str, node: str) -> bool:
    """Return whether an entry's name, which may have wildcards for whole parts, fits a node."""
    parts = [part for part in node.split('/') if part]
    ends = {0}  # possible numbers of parts that the entry matches so far
    for wanted in filter(None, entry.split('/')):
        ends = (
            set(range(min(ends, default=len(parts) + 1), len(parts) + 1)) if wanted == '**' else
            {end + 1 for end in ends if end < len(parts) and wanted in ('*', parts[end])})
    return len(parts) in ends


def _walk(
    data: Mapping[Any, Any], above: tuple[str, ...] = (),
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each entry of nested mappings: its keys from the outermost inward, and its value."""
    for key, value in data.items():
        place = (*above, str(key))
        yield place, value
        if isinstance(value, Mapping):
            yield from _walk(value, place)


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each entry that `_walk` yields, by its keys."""
    found: dict[tuple[str, ...], int] = {}
    loader = yaml.SafeLoader(text)

    def walk(node: Any, above: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            loader.flatten_mapping(node)
            for key, value in node.value:
                place = (*above, str(loader.construct_object(key)))
                found[place] = key.start_mark.line + 1
                walk(value, place)

    walk(loader.get_single_node(), ())
    return found


def fault_of_qos(name: str, value: Any) -> str:
    """Return what is wrong with a policy of `qos_overrides.…`, or empty."""
    policy = name.rpartition('.')[2]
    if not name.startswith(OF_EVERY_TOPIC) or value in QOS_VALUES.get(
            policy, (value,)):
        return ''
    allowed = QOS_VALUES[policy]
    return f'{name} is {value!r}; expected ' + (
        'a whole number above 0' if isinstance(allowed, range) else f'one of {", ".join(allowed)}')
