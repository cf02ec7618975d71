"""Writes a robot file with impossible inertias replaced by the nearest possible ones.

The nearest inertia has the least Frobenius norm of the change. Any source can be written as YAML;
a URDF can also be written as a URDF, in which only the numbers of impossible inertias change.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
import re

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import write_text
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot.files import strict_yaml, urdf
from hodyn_ros.robot.files.bodies import read_inertia
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.files.sources import MAX_FILE_BYTES, robot_keys, robot_names
from hodyn_ros.robot.files.xml_elements import first_tag

_TAG = re.compile(rb'<inertia(?:[^>"\']|"[^"]*"|\'[^\']*\')*>')


@dataclass(frozen=True, eq=False)
class Repair:
    """An inertia that no body can have, and the nearest possible one."""

    link: str  #: Name of the link
    index: int  #: Index of the body in the source
    mass: float  #: kg
    com: Array  #: (3,), m, in the link's frame
    #: `given`, `proposed`: (3, 3), about the centre of mass, in the link's axes, kg m²
    given: Array
    proposed: Array

    @property
    def given_principal(self) -> Array:
        """Principal values of the given inertia's symmetric part, (3,), ascending."""
        values = np.linalg.eigvalsh(0.5 * (self.given + self.given.T))
        return np.asarray(values, dtype=np.float64)

    @property
    def proposed_principal(self) -> Array:
        """Principal values of the proposed inertia, (3,), ascending."""
        values = np.linalg.eigvalsh(self.proposed)
        return np.maximum(np.asarray(values, dtype=np.float64), 0.0)  # round-off may be below 0

    @property
    def axes(self) -> Array:
        """Principal axes of both inertias in the link's axes: columns of a rotation, (3, 3)."""
        _, axes = np.linalg.eigh(self.proposed)
        return np.column_stack([axes[:, 0] * np.linalg.det(axes), axes[:, 1:]])

    @property
    def change(self) -> float:
        """Frobenius norm of the change over the norm of the given inertia."""
        return float(
            np.linalg.norm(self.proposed - self.given) / np.linalg.norm(self.given))


def repairs(source: str | Path) -> list[Repair]:
    """Return the repairs that a robot from any source needs, in the order of its links.

    Raises HodynError when masses or inertias are missing or not numbers, naming the body.
    """
    found = []
    for index, body in enumerate(robot_keys(source).get('bodies') or ()):
        section = CheckedMapping(
            body, f'robot {str(source)!r}, body {index}',
            list(body) if isinstance(body, Mapping) else [])
        mass, com, given = read_inertia(section, symmetric=False)
        if inertias.asymmetry(given) or inertias.physical_fault(mass, given):
            found.append(Repair(
                section.text('name'), index, mass, com, given, inertias.nearest_physical(given)))
    return found


def write_repaired(
    source: str | Path, changes: Sequence[Repair], path: Path, *, force: bool = False,
) -> None:
    """Write a robot with the proposed inertias.

    HodynError: the path ends neither in .yaml or .yml nor, for a URDF, in .urdf.
    FileExistsError: the file exists already, without `force`.
    """
    if path.suffix == '.urdf':
        text = '' if source in robot_names() else strict_yaml.read_text(
            Path(source), MAX_FILE_BYTES, 'a robot file')
        if first_tag(text) != 'robot':
            raise HodynError(f'{path}: {source} is not a URDF: write the repaired robot as .yaml')
        write_text(path, _urdf(text, str(source), changes), force=force)
    elif path.suffix in ('.yaml', '.yml'):
        keys = robot_keys(source)
        for change in changes:
            keys['bodies'][change.index]['inertia'] = change.proposed.tolist()
        write_text(path, strict_yaml.dump(keys), force=force)
    else:
        raise HodynError(f'{path}: a repaired robot is written as .yaml, or a URDF as .urdf')


def _urdf(text: str, context: str, changes: Sequence[Repair]) -> str:
    encoded = text.encode()
    proposed = {change.link: change.proposed for change in changes}
    pieces, done = [], 0
    for link in urdf.read_root(text, context).all('link'):
        if link.attributes.get('name') not in proposed:
            continue
        inertial = link.one('inertial')
        inertia = None if inertial is None else inertial.one('inertia')
        if inertial is None or inertia is None:
            continue
        rotation = urdf.read_pose(inertial)[:3, :3]
        tensor = rotation.T @ proposed[link.attributes['name']] @ rotation
        numbers = ' '.join(
            f'i{"xyz"[row]}{"xyz"[column]}="{float(tensor[row, column])!r}"'
            for row in range(3) for column in range(row, 3))
        tag = _TAG.match(encoded, inertia.at)
        assert tag  # the parser found it there
        closing = '/>' if tag[0].endswith(b'/>') else '>'
        pieces += [encoded[done:tag.start()].decode(), f'<inertia {numbers}{closing}']
        done = tag.end()
    return ''.join([*pieces, encoded[done:].decode()])
