"""Writes the package: fills in the templates beside this module for a robot."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
import re
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np

from hodyn_ros.codegen.build_files import package_name, package_version
from hodyn_ros.codegen.files import files as c_files
from hodyn_ros.codegen.functions import functions
from hodyn_ros.codegen.generate import GeneratedCode, GeneratedContents, write_generated
from hodyn_ros.codegen.origin import MARK
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files.writer import urdf_text
from hodyn_ros.robot.joint_names import driver_names
from hodyn_ros.robot.mass_matrix import mass_matrix
from hodyn_ros.robot.robot_check import check_robot

_ENDING = '_feedforward_controller'
_HEADERS = ('polynomials', 'plan', 'reference', 'output', 'robot', 'feedforward_controller')
_ROOT = ('CMakeLists.txt', 'README.md', 'package.xml', 'plugins.xml', 'solver_plugins.xml')
_HIDDEN = ('CMakeLists.txt', 'package.xml', 'launch/controller.launch.py')
"""Templates whose names end in .in here, lest tools take them for files of hodyn_ros."""
_SOURCES = ('feedforward_controller.cpp', 'inverse_dynamics_solver.cpp', 'parameters.yaml')
_STIFFNESS, _DAMPING = 4.0, 0.3
"""Largest stiffness (1/rad) and damping (s/rad) in the example, config/controllers.yaml, per N m
of the effort limit. For a Franka, they are lower than the gains in franka_ros2 at each joint."""
_FREQUENCY = 50.0
"""Largest natural frequency of the example's feedback at the inertias in the robot file, rad/s.
With it the feedback is stable at 1 kHz with a few ms of delay, even at a light wrist."""
_CONFIGURATIONS = 200
"""Number of random configurations at which inertias are computed."""


def generate_ros2_control(
    robot: Robot, output: str | Path, *, prefix: str = '', force: bool = False,
) -> GeneratedCode:
    """Write a package for ros2_control with the feed-forward of a robot.

    The ament_cmake package has the C of `generate_c`, with friction and motors if the robot has
    them, and a chainable controller around this C, as in `docs/ros2_control.md`.

    Parameters
    ----------
    robot : Robot
        An arm or tree on a fixed base.
    output : str or Path
        The folder, usually with the package's name, ``{prefix}_feedforward_controller``.
    prefix : str
        Prefix of the package's name and of all names in C; default is the robot's name.
    force : bool
        Whether existing files are replaced even if they were not generated.

    Raises
    ------
    HodynError
        For a floating base, a helical joint, joints with variable stiffness, springs with dampers.
    OSError
        When files are in the way, or cannot be written.

    """
    check_robot(robot)
    settings = _settings(robot, prefix)
    made = functions(settings)
    code = c_files(settings, made)
    texts = {
        f'src/{settings.prefix}.c': code[f'{settings.prefix}.c'].replace(
            f'#include "{settings.prefix}.h"',
            f'#include "{_package(settings)}/{settings.prefix}.h"', 1),
        f'include/{_package(settings)}/{settings.prefix}.h': code[f'{settings.prefix}.h'],
        'config/robot.urdf': _description(robot),
        **dict(_filled(settings))}
    return write_generated(
        output, controller_contents(robot, prefix), texts, settings, made, force=force)


def controller_contents(robot: Robot, prefix: str = '') -> Contents:
    """Return the contents of the folder of a robot's package."""
    settings = _settings(robot, prefix)
    headers = GeneratedContents(frozenset(
        {f'{name}.hpp' for name in _HEADERS} | {f'{settings.prefix}.h'}))
    return GeneratedContents(frozenset(_ROOT), {
        'include': GeneratedContents(frozenset(), {_package(settings): headers}),
        'src': GeneratedContents(frozenset({*_SOURCES, f'{settings.prefix}.c'})),
        'config': GeneratedContents(frozenset({'controllers.yaml', 'robot.urdf'})),
        'launch': GeneratedContents(frozenset({'controller.launch.py'}))})


def _settings(robot: Robot, prefix: str) -> Settings:
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; a controller of ros2_control is for a '
            'fixed one. `hodyn generate --output` writes C that takes the motion of the base')
    helical = [body.joint for body in robot.bodies if body.type == 'helical']
    if helical:
        raise HodynError(
            f'robot {robot.name!r}: a controller of ros2_control cannot have helical joints '
            f'({", ".join(helical)}), as its URDF cannot express them; `hodyn generate --output` '
            'writes plain C for them')
    settings = Settings(
        robot, prefix, friction=robot.friction is not None,
        actuators=robot.actuators is not None, gravity_argument=True)
    if settings.has_stiffness or settings.has_dampers:
        raise HodynError(
            f'robot {robot.name!r}: a controller of ros2_control supports neither joints with '
            'variable stiffness nor dampers beside springs; `hodyn generate --actuators` supports '
            'both')
    return settings


def _package(settings: Settings) -> str:
    return package_name(settings.prefix + _ENDING)


def _filled(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file that is made from a template."""
    words = _words(settings)
    package = _package(settings)
    here = resources(__package__)
    for name in (
            *_ROOT, *(f'include/{header}.hpp' for header in _HEADERS),
            *(f'src/{source}' for source in _SOURCES), 'config/controllers.yaml',
            'launch/controller.launch.py'):
        text = re.sub(
            '@([A-Za-z_]+)@', lambda word: words[word[1]],
            here.joinpath(f'{name}.in' if name in _HIDDEN else name).read_text('utf-8'))
        yield name.replace('include/', f'include/{package}/'), text


def _words(settings: Settings) -> Mapping[str, str]:
    """Return the texts that replace the names between @, by name."""
    robot, prefix, limits = settings.robot, settings.prefix, settings.robot.limits
    package = _package(settings)
    motors = _motor_names(robot)
    effort = np.where(np.isfinite(limits.effort), limits.effort, 100.0)
    gravity = robot.reflexes is None or robot.reflexes.gravity
    name = ''.join(c if c.isprintable() else ' ' for c in robot.name)
    listed = resources(__package__).joinpath('src/parameters.yaml').read_text('utf-8')
    parameters = re.findall(r'^  (\w+):', listed, re.MULTILINE)
    return {
        'mark': MARK, 'package': package, 'PACKAGE': package.upper(), 'prefix': prefix,
        'PREFIX': prefix.upper(), 'robot': name, 'robot_xml': escape(name),
        'version': package_version(), 'n': str(robot.n), 'm': str(len(motors)),
        'joints': _strings(driver_names(robot, robot.joint_names)), 'motors': _strings(motors),
        'gravity': str(gravity).lower(),
        'friction': str(robot.friction is not None and gravity).lower(),
        'zeros': _numbers(np.zeros(robot.n)),
        'max_effort': _numbers(limits.effort), 'max_effort_rate': _numbers(limits.effort_rate),
        'tracking': _numbers(robot.tracking_tolerance),
        'tracking_row': _numbers(robot.tracking_tolerance).strip('[]'),
        'feedback': _feedback(robot, effort, gravity),
        'down': ', '.join(repr(float(g)) for g in robot.gravity),
        'parameters': ', '.join(f'"{parameter}"' for parameter in parameters),
        **_calls(settings)}


def _feedback(robot: Robot, effort: Array, gravity: bool) -> str:
    """Return the lines with the controller's parameters for config/controllers.yaml."""
    lines = [
        '# The drives close the motor loop; the torque always contains gravity and friction.',
        '# All parameters have defaults; names and limits come from the robot file.']
    if robot.actuators is None:
        inertia = _least_inertia(robot)
        stiffness = np.minimum(_STIFFNESS * effort, _FREQUENCY**2 * inertia)
        damping = np.minimum(_DAMPING * effort, 2.0 * _FREQUENCY * inertia)
        lines = [
            '# Without feedback an arm drifts. These gains suit the inertias in the robot file.',
            *(['# The file has no rotor inertia; with it the gains could be higher.']
              if robot.rotor_inertia is None else []),
            *(f'{name}: {_numbers(np.array([float(f"{gain:.2g}") for gain in gains]))}'
              for name, gains in (('stiffness', stiffness), ('damping', damping))),
            f'gravity: {str(gravity).lower()}']
    return '\n'.join(f'      {line}' for line in lines)


def _least_inertia(robot: Robot) -> Array:
    """Return the least inertia that each joint feels, over configurations, if others are free."""
    limits = robot.limits
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (
        limits.position_min, limits.position_max))
    rotors = 1e-12 * np.eye(robot.n)  # a joint that moves no mass gets no gains
    if robot.rotor_inertia is not None:
        rotors += np.diag(robot.rotor_inertia)
    positions = np.random.default_rng(0).uniform(low, high, (_CONFIGURATIONS, robot.n))
    least: Array = np.min([
        1.0 / np.diag(np.linalg.inv(mass_matrix(robot, q)[0] + rotors)) for q in positions],
        axis=0)
    return least


def _calls(settings: Settings) -> dict[str, str]:
    """Return the lines of C++ that call the generated C, by the name between @."""
    prefix = settings.prefix
    whole = settings.friction or settings.has_rotors
    function = 'feed_forward' if whole else 'inverse_dynamics'
    torques = [f'{prefix}_{function}(q, gravity ? down : none, torque);']
    if settings.friction:
        torques += [
            'if (!friction) {', '  double part[3][JOINTS];', f'  {prefix}_friction(q, part);',
            '  for (std::size_t k = 0; k < 3 * JOINTS; ++k) {',
            '    torque[k / JOINTS][k % JOINTS] -= part[k / JOINTS][k % JOINTS];', '  }', '}']
    else:
        torques.append('static_cast<void>(friction);  // the robot file has none')

    def motors(function: str) -> str:
        if not settings.actuators:
            return _indented([
                'static_cast<void>(q), static_cast<void>(torque), static_cast<void>(motors);',
                'return 0;'])
        rows = 'reinterpret_cast<double (*)[MOTORS]>(motors.data())'
        return _indented([f'return {prefix}_{function}(q, torque, {rows});'])

    return {
        'torques': _indented(torques),
        'start_motors': motors('motor_start' if settings.has_start else 'motor_reference'),
        'move_motors': motors('motor_reference')}


def _description(robot: Robot) -> str:
    """Return a URDF with mock hardware that has the interfaces that the controller claims."""
    names = dict(zip(robot.joint_names, driver_names(robot, robot.joint_names), strict=True))
    limits = robot.limits
    none = np.full(robot.n, np.inf)  # these limits need URDF 1.2, which older readers refuse
    plain = replace(robot, limits=replace(limits, acceleration=none, jerk=none))
    root = ElementTree.fromstring(urdf_text(plain))
    for joint in root.iter('joint'):
        joint.set('name', names.get(joint.get('name', ''), joint.get('name', '')))
    control = ElementTree.SubElement(root, 'ros2_control', name='arm', type='system')
    hardware = ElementTree.SubElement(control, 'hardware')
    ElementTree.SubElement(hardware, 'plugin').text = 'mock_components/GenericSystem'
    low, high = limits.position_min, limits.position_max
    with np.errstate(invalid='ignore'):  # inf − inf at joints without ends
        middle = np.where(np.isfinite(high - low), 0.5 * (low + high), 0.0)
    for name, position in zip(names.values(), middle, strict=True):
        joint = ElementTree.SubElement(control, 'joint', name=name)
        if robot.actuators is None:
            ElementTree.SubElement(joint, 'command_interface', name='effort')
        for quantity in ('position', 'velocity', 'effort'):
            state = ElementTree.SubElement(joint, 'state_interface', name=quantity)
            value = position if quantity == 'position' else 0.0
            ElementTree.SubElement(
                state, 'param', name='initial_value').text = repr(float(value))
    for motor in _motor_names(robot):
        joint = ElementTree.SubElement(control, 'gpio', name=motor)
        for quantity in ('position', 'velocity', 'effort'):
            ElementTree.SubElement(joint, 'command_interface', name=quantity)
    ElementTree.indent(root)
    return f'<?xml version="1.0"?>\n<!-- {MARK}. -->\n{ElementTree.tostring(root, "unicode")}\n'


def _motor_names(robot: Robot) -> list[str]:
    """Return the names of the motors, which differ from the names of the joints."""
    if robot.actuators is None:
        return []
    return driver_names(robot, [
        name + ('_motor' if name in robot.joint_names else '')
        for name in robot.actuators.motor_names])


def _numbers(values: Array) -> str:
    """Return a list for YAML, with 0 for infinite values."""
    finite = np.where(np.isfinite(values), values, 0.0)
    return '[' + ', '.join(repr(round(float(value), 9)) for value in finite) + ']'


def _strings(names: tuple[str, ...] | list[str]) -> str:
    return '[' + ', '.join(f'"{name}"' for name in names) + ']'


def _indented(lines: list[str]) -> str:
    return '\n'.join(f'  {line}' for line in lines)
