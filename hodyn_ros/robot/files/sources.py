"""Sources of robots: built-in names, files, URDF text, mappings, models of MuJoCo."""
from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.input_files import check_file
from hodyn_ros.robot.files import mjcf, strict_yaml, urdf
from hodyn_ros.robot.files.file_kinds import likeness
from hodyn_ros.robot.files.joint_chains import with_chains
from hodyn_ros.robot.files.plain_values import plain
from hodyn_ros.robot.files.xml_elements import first_tag

if TYPE_CHECKING:
    from mujoco import MjModel

Source: TypeAlias = 'str | Path | Mapping[str, Any] | MjModel'

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_YAML = 1024 * 1024  # characters: parsed in a second, and 10 times what 100 bodies need


def robot_names() -> list[str]:
    """Return the names of the built-in robots."""
    folder = resources.files('hodyn_ros.robot.builtin')
    return sorted(
        entry.name.removesuffix('.yaml') for entry in folder.iterdir()
        if entry.name.endswith('.yaml'))


def robot_keys(source: str | Path) -> dict[str, Any]:
    """Return the mapping of a robot from any source of `load_robot`, as a copy in plain values."""
    data, _ = read_source(source, {})
    return {key: plain(value) for key, value in data.items()}


def read_source(
    source: Source, locked: Mapping[str, float],
    max_bodies: int | None = None, *, floating_base: bool = False,
) -> tuple[Mapping[str, Any], str]:
    """Return the mapping of a robot, and the source's name in messages."""
    data, context = _read(source, locked, max_bodies)
    data = with_chains(data, context)
    if floating_base:
        data = _set_free(data, context)
    return data, context


def _set_free(data: Mapping[str, Any], context: str) -> Mapping[str, Any]:
    bodies = data.get('bodies')
    if isinstance(bodies, list) and bodies and isinstance(bodies[0], Mapping):
        first, *others = bodies
        if first.get('type') in ('fixed', 'floating'):
            return {**data, 'bodies': [{**first, 'type': 'floating'}, *others]}
    raise HodynError(
        f'{context}: floating_base is for robots whose first link is their base, as in URDF; in '
        'this format, make the base the first body, with `type: floating` and `parent: -1`, and '
        'name it as `parent` of the links that it carries')


def _read(
    source: Source, locked: Mapping[str, float],
    max_bodies: int | None,
) -> tuple[Mapping[str, Any], str]:
    if mjcf.is_model(source):
        return mjcf.robot_mapping(source, 'MjModel', locked), 'MjModel'
    if isinstance(source, Mapping):
        return source, str(source.get('name', 'robot'))
    if not isinstance(source, (str, os.PathLike)):
        raise HodynError(
            'expected the name of a robot, a path, URDF text, a mapping or a mujoco.MjModel, got '
            f'{source!r}')
    if isinstance(source, str) and source.lstrip('\ufeff \t\r\n').startswith('<'):
        return urdf.robot_mapping(source, 'URDF', locked, max_bodies), 'URDF'
    if str(source) in robot_names():
        folder = resources.files('hodyn_ros.robot.builtin')
        text = folder.joinpath(f'{source}.yaml').read_text('utf-8')
        return _from_yaml(text, str(source)), str(source)
    path = Path(source)
    names = robot_names()
    check_file(
        path, f'no robot {str(source)!r}: neither a file nor one of {", ".join(names)}', names)
    text = strict_yaml.read_text(path, MAX_FILE_BYTES, 'a robot file')
    if first_tag(text) == 'mujoco':
        return mjcf.robot_mapping(mjcf.compiled(path), str(path), locked), str(path)
    if path.suffix in ('.urdf', '.xacro', '.xml') or text.lstrip().startswith('<'):
        return urdf.robot_mapping(text, str(path), locked, max_bodies), str(path)
    return _from_yaml(text, str(path)), str(path)


def _from_yaml(text: str, context: str) -> Mapping[str, Any]:
    if len(text) > MAX_YAML:
        raise HodynError(f'{context}: YAML of more than {MAX_YAML} characters; is it a robot?')
    data = strict_yaml.load(text, context)
    if not isinstance(data, Mapping):
        is_table = '; it looks like a plan or a recording' * context.endswith('.csv')
        raise HodynError(
            f'{context}: a robot file is a mapping with at least name and bodies{is_table}')
    if 'bodies' not in data and (kind := likeness(data)):
        raise HodynError(f"{context}: not a robot file: key 'bodies' is missing{kind}")
    return data
