"""C for one robot, written to a folder."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
import warnings

from hodyn_ros.codegen.files import file_names, files
from hodyn_ros.codegen.functions import Function, functions
from hodyn_ros.codegen.origin import MARK
from hodyn_ros.codegen.settings import STEEP, Settings
from hodyn_ros.common.output_files import UNFINISHED, Contents, replacing
from hodyn_ros.feedforward.torque import ORDER
from hodyn_ros.robot import Robot
from hodyn_ros.robot.robot_check import check_robot

_TOP = 300  # length of a file's top in which the mark is searched, bytes


@dataclass(frozen=True)
class GeneratedContents(Contents):
    """The files of generated code.

    By the mark in its files, an earlier result is recognised, even if it is for another robot.
    """

    def present(self, folder: Path) -> list[Path]:
        """Return the files to be replaced: all, if the folder has only generated code."""
        if self.foreign(folder):
            return super().present(folder)
        return [path for path in sorted(folder.iterdir()) if not path.name.startswith(UNFINISHED)]

    def foreign(self, folder: Path) -> list[Path]:
        """Return the files that are not generated code of any robot."""
        return [path for path in super().foreign(folder) if not _is_generated(path)]

    def is_result(self, folder: Path) -> bool:
        """Whether a folder has only generated code."""
        present = [folder / name for name in self.all_files() if (folder / name).is_file()]
        return bool(present) and not self.foreign(folder) and all(
            _is_generated(path) for path in present)


def _is_generated(path: Path) -> bool:
    """Whether a file, or each file of a folder, has the mark."""
    if path.is_symlink():
        return False
    if path.is_dir():
        inner = list(path.iterdir())
        return bool(inner) and all(map(_is_generated, inner))
    return path.is_file() and MARK.encode() in path.read_bytes()[:_TOP]


@dataclass(frozen=True)
class GeneratedCode:
    """The result of `generate_c`.

    Attributes
    ----------
    files : tuple of Path
        Header, source, CMakeLists.txt and package.xml.
    operations : dict
        Largest number of operations of each C function; a function of math.h counts as one.
    left_out : tuple of str
        Parts of the robot that the code lacks: friction, rotor inertia, actuators.

    """

    files: tuple[Path, ...]
    operations: dict[str, int]
    left_out: tuple[str, ...] = ()


def generated_contents(robot: Robot, prefix: str = '') -> Contents:
    """Return the contents of the folder for a robot; the default prefix is the robot's name."""
    return GeneratedContents(frozenset(file_names(Settings(robot, prefix).prefix)))


def generate_c(
    robot: Robot,
    output: str | Path,
    *,
    order: int = ORDER,
    friction: bool = False,
    actuators: bool = False,
    single_precision: bool = False,
    prefix: str = '',
    gravity_argument: bool = False,
    payload_link: str | None = None,
    force: bool = False,
) -> GeneratedCode:
    """Write C99 of a robot's inverse dynamics to a folder, on request with friction and motors.

    The body-fixed recursion of this package (KM21, section II) and the laws of friction and
    actuators run on expressions instead of numbers, with the robot's constants folded.
    `docs/c_code.md` says how to use the code.

    Parameters
    ----------
    robot : Robot
        An arm or tree. On a floating base the C function takes the motion of the base and returns
        the wrench on it, as `inverse_dynamics` does.
    output : str or Path
        The folder for `{prefix}.h`, `{prefix}.c`, `CMakeLists.txt` and `package.xml`.
    order : int
        Order of the highest derivative of Q, 0 to 4.
    friction, actuators : bool
        Whether to add functions for the friction of the joints, and for the reference of the
        motors behind their springs; the robot must have them.
    single_precision : bool
        ``float`` instead of ``double``.
    prefix : str
        Prefix of all names in C; by default the robot's name.
    gravity_argument : bool
        Whether gravity is an argument of the C function instead of the robot's constant.
    payload_link : str, optional
        Link whose payload is an argument of the C function.
    force : bool
        Whether to replace also files that were not generated.

    Raises
    ------
    HodynError
        For a robot without joints, for an unknown link, for laws that need more digits than
        `float` has, and for orders at which friction or motors are not available.
    OSError
        If other files are in the way, or files cannot be written.

    """
    check_robot(robot)
    settings = Settings(
        robot, prefix, order, friction, actuators, single_precision, gravity_argument,
        payload_link)
    if steep := settings.steep_in_float:
        warnings.warn(
            f'friction of {", ".join(steep)}: with slopes above {STEEP:g} s/rad, Q̈ in single '
            'precision can be wrong by 0.1 % of its value; use double precision where Q̈ matters',
            stacklevel=2)
    made = functions(settings)
    texts = files(settings, made)
    return write_generated(
        output, generated_contents(robot, prefix), texts, settings, made, force=force)


def write_generated(
    output: str | Path, contents: Contents, texts: Mapping[str, str], settings: Settings,
    made: Iterable[Function], *, force: bool,
) -> GeneratedCode:
    """Write the texts of files, by their path in the output folder; return what was made."""
    with replacing(Path(output), contents, force=force) as folder:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, 'utf-8')
    return GeneratedCode(
        tuple(Path(output) / name for name in texts),
        {f'{settings.prefix}_{function.name}': function.operations for function in made},
        settings.left_out)
