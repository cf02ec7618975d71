"""The `actuators` section of robot files: the law and the motor of each joint."""
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
import warnings

import numpy as np

from hodyn_ros.actuators import laws
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.common.errors import HodynError, check_names
from hodyn_ros.common.input_files import check_file
from hodyn_ros.robot.actuator_doubts import ask_of_actuators
from hodyn_ros.robot.files import strict_yaml
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.model import Robot
from hodyn_ros.robot.robot_check import check_robot

MAX_FILE_BYTES = 1024 * 1024

_SMALLEST_ROTOR = 1e-7  # kg m²: the rotors of arms have larger inertias

# The class of each law, its mandatory keys and its optional keys.
_LAWS: dict[str, tuple[Callable[..., laws.Law], tuple[str, ...], tuple[str, ...]]] = {
    'rigid': (laws.Rigid, (), ()),
    'spring': (laws.LinearSpring, ('stiffness',), ('damping',)),
    'cubic': (laws.CubicSpring, ('stiffness', 'cubic'), ()),
    'table': (laws.TabulatedSpring, ('deflection', 'torque'), ()),
    'variable': (laws.VariableStiffness, ('stiffness',), ()),
    'exponential': (laws.AntagonisticExponential, ('scale', 'rate', 'stiffness'), ('pushes',)),
    'quadratic': (laws.AntagonisticQuadratic, ('coefficient', 'stiffness'), ()),
}
_MOTOR_KEYS = ('viscous', 'coulomb', 'coulomb_velocity', 'max_velocity', 'max_effort')


def law_keys(law: laws.Law) -> dict[str, Any]:
    """Return the keys of a law, with their values, as in a robot file."""
    for name, (kind, mandatory, optional) in _LAWS.items():
        if kind is type(law):
            return {'law': name, **{key: getattr(law, key) for key in (*mandatory, *optional)}}
    raise HodynError(f'{type(law).__name__} is not a law that robot files know')


def with_actuators(
    robot: Robot, source: str | Path | Mapping[str, Any], *, locked: Collection[str] = (),
) -> Robot:
    """Return the robot with actuators from a separate file, for example for a URDF.

    Parameters
    ----------
    robot : Robot
        The robot that gets the actuators.
    source : str, Path or mapping
        Path of a YAML file, or a mapping, with only the key `actuators`: the law and the motor of
        each joint, as in a robot file.
    locked : collection of str
        Joints that were locked; if the file has them, they are ignored.

    Returns
    -------
    Robot
        The robot with these actuators and without `rotor_inertia`: its motors of inertia 0 at
        rigid joints get the `rotor_inertia` of `robot`; the others keep their own inertia.

    Raises
    ------
    HodynError
        When a joint or a key is missing, unknown or wrong, naming both.
    FileNotFoundError
        When there is no such file.

    Warns
    -----
    UserWarning
        When motors have other inertias than `rotor_inertia`, naming their joints.

    """
    check_robot(robot)
    data, context = source, f'robot {robot.name!r}'
    if not isinstance(source, (str, Path, Mapping)):
        raise HodynError(
            f'source is {type(source).__name__}; expected the path of a YAML file, or a mapping '
            'with the key actuators')
    if not isinstance(source, Mapping):
        path, context = Path(source), str(source)
        check_file(path, f'no actuator file {context!r}')
        text = strict_yaml.read_text(path, MAX_FILE_BYTES, 'an actuator file')
        is_xml = text.lstrip().startswith('<')
        data = text if is_xml else strict_yaml.load(text, context)
    why_not = _why_no_actuators(data, context)
    if why_not:
        raise HodynError(f'{context}: {why_not}')
    section = CheckedMapping(data, context, ['actuators'])
    section.get('actuators')
    actuators = read_actuators(section, list(robot.joint_names), check_names(locked, 'locked'))
    assert actuators is not None  # the section is there
    if robot.rotor_inertia is not None:
        actuators = with_rotors(actuators, robot.rotor_inertia.tolist(), context)
    found = replace(robot, actuators=actuators, rotor_inertia=None)
    ask_of_actuators(found, context)
    return found


def with_rotors(actuators: Actuators, rotors: Sequence[float], context: str) -> Actuators:
    """Return actuators whose motors of inertia 0 at rigid joints get the robot's rotor inertia.

    Warns of joints whose motor has another inertia than the robot's rotor.
    """
    joints, replaced = [], []
    for name, joint, rotor in zip(actuators.names, actuators.joints, rotors, strict=True):
        if isinstance(joint.law, laws.Rigid) and joint.motor.inertia == 0.0:
            joint = replace(joint, motor=replace(joint.motor, inertia=rotor))
        elif rotor > 0.0 and not np.isclose(joint.motor.inertia, rotor):
            replaced.append(f'{name} ({rotor:.4g} by {joint.motor.inertia:.4g})')
        joints.append(joint)
    if replaced:
        warnings.warn(
            f"{context}: the motors' inertias replace the rotor_inertia of the robot, kg m² "
            f'(prismatic: kg): {", ".join(replaced)}', stacklevel=3)
    return replace(actuators, joints=tuple(joints))


def _why_no_actuators(data: Any, context: str) -> str:
    """Return why data have no actuators; '' if they have."""
    if isinstance(data, Mapping) and 'bodies' in data:
        return 'this is a whole robot: give it as the robot, not as its actuators'
    if isinstance(data, Mapping) and data.get('actuators'):
        return ''
    given = 'nothing' if not data else (
        'keys ' + ', '.join(str(key) for key in list(data)[:3]) if isinstance(data, Mapping)
        else 'a URDF' if str(data).lstrip().startswith('<') else type(data).__name__)
    return (
        f'expected the key actuators with the law and the motor of each joint, got {given}. For '
        'example: actuators: {joint1: {law: spring, stiffness: 400, motor: {inertia: 0.4}}}')


def _warn_of_side(part: CheckedMapping, actuators: Actuators) -> None:
    """Warn of motors without a `side` whose inertia is far too small for the link's side."""
    doubtful = [
        name for name, motor in zip(
            actuators.names, (joint.motor for joint in actuators.joints), strict=True)
        if 0.0 < motor.inertia < _SMALLEST_ROTOR * motor.gear_ratio ** 2
        and 'side' not in part.get(name)['motor'] and motor.gear_ratio != 1.0]
    if doubtful:
        warnings.warn(
            f'{part.context}: gear_ratio of {", ".join(doubtful)} is given and side is not: '
            'inertia is taken at the link, where it is far too small for a rotor behind that '
            "gear; write `side: rotor` if it is the rotor's own, otherwise `side: link`",
            stacklevel=2)


def read_actuators(
    section: CheckedMapping, joints: list[str], locked: Sequence[str] = (),
) -> Actuators | None:
    """Return the actuators of a robot file; None when it has no such section.

    Locked joints in the section are ignored.

    Raises HodynError when a joint or a key is missing, unknown or wrong, naming both.
    """
    if not section.has('actuators'):
        return None
    part = CheckedMapping(
        section.get('actuators'), f'{section.context}, actuators', [*joints, *locked])
    missing = [joint for joint in joints if not part.has(joint)]
    if missing:
        raise HodynError(
            f'{part.context}: joint {missing[0]!r} is missing; give every joint, those without a '
            "spring with 'law: rigid'")
    actuators = Actuators(tuple(joints), tuple(
        _joint(part.get(joint), f'{part.context}, joint {joint!r}') for joint in joints))
    _warn_of_side(part, actuators)
    return actuators


def _joint(data: Any, context: str) -> JointActuator:
    name = data.get('law') if isinstance(data, Mapping) else None
    if name is not None and (not isinstance(name, str) or name not in _LAWS):
        raise HodynError(f"{context}, key 'law': expected one of {', '.join(_LAWS)}, got {name!r}")
    law, mandatory, optional = _LAWS[name or 'spring']
    section = CheckedMapping(
        data, context, {'law', 'motor', 'max_deflection', *mandatory, *optional})
    section.text('law')
    keys = [*mandatory, *(key for key in optional if section.has(key))]
    values = {key: _value(section, key) for key in keys}
    deflection = section.number('max_deflection') if section.has('max_deflection') else np.inf
    motor = _motor(section)
    try:
        return JointActuator(law(**values), motor, deflection)
    except HodynError as error:
        raise HodynError(f'{context}, {error}') from None


def _value(section: CheckedMapping, key: str) -> Any:
    value = section.get(key)
    if isinstance(value, bool) and key == 'pushes':
        return value
    if key == 'pushes':
        section.fail(key, f'expected true or false, got {value!r}')
    if key in ('deflection', 'torque'):
        return section.array(key, (len(value),) if isinstance(value, list) else (0,))
    return section.number(key)


def _motor(section: CheckedMapping) -> Motor:
    known = ('side', 'inertia', 'gear_ratio', *_MOTOR_KEYS)
    part = CheckedMapping(section.get('motor'), f'{section.context}, motor', known)
    side = part.data.get('side', 'link')
    if side not in ('link', 'rotor'):
        part.fail('side', f"expected 'link' or 'rotor', got {side!r}")
    ratio = part.number('gear_ratio') if side == 'rotor' or part.has('gear_ratio') else 1.0
    keys = [key for key in _MOTOR_KEYS if part.has(key)]
    values = {key: part.number(key) for key in ('inertia', *keys)}
    make = Motor.from_rotor if side == 'rotor' else Motor
    try:
        return make(gear_ratio=ratio, **values)
    except HodynError as error:
        raise HodynError(f'{part.context}, {error}') from None
