"""Builds a MuJoCo model from a robot: links, gravity and, if given, motors behind springs."""
from typing import Any
from xml.etree import ElementTree

import numpy as np

from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators
from hodyn_ros.actuators.laws import LINEAR
from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import how_to_install
from hodyn_ros.robot import Body, HodynError, Robot, lie
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot.mass_matrix import massless_fault

_MUJOCO_JOINT = {'revolute': 'hinge', 'prismatic': 'slide'}
_MIN_MASS, _MIN_INERTIA = 1e-9, 1e-12  # kg and kg m²: MuJoCo refuses 0
_TRIANGLE_MARGIN = 1e-12  # least slack in the triangle inequality, over the largest inertia


def check_uncoupled(robot: Robot) -> None:
    """Raise HodynError for a robot with coupled joints, which cannot be simulated."""
    leaders = {body.mimic.joint: None for body in robot.bodies if body.mimic is not None}
    if leaders:
        raise HodynError(
            f'robot {robot.name!r} has coupled joints, which the simulation cannot couple: lock '
            f'the joints that the others follow: {", ".join(leaders)}')


def build_model(robot: Robot, actuators: Actuators | None = None) -> Any:
    """Return the compiled ``mujoco.MjModel`` of a robot, with the motors and springs of actuators.

    The coordinates are those of the joints, then those of motors behind springs. Linear springs
    and their dampers are tendons; the caller computes the forces of other springs. Inertias that
    no rigid body has are replaced by the nearest ones that MuJoCo accepts.

    Raises
    ------
    ImportError
        MuJoCo is not installed.
    HodynError
        The robot has a joint of a type that the simulation lacks, coupled joints, or a joint that
        moves neither a mass nor a rigidly coupled motor; or MuJoCo refuses the robot.

    """
    try:
        import mujoco
    except ImportError as error:
        raise ImportError(f'the simulation needs MuJoCo: {how_to_install("sim")}') from error
    check_uncoupled(robot)
    armatures = robot.rotor_inertia if actuators is None else _rigid_inertia(actuators)
    if fault := massless_fault(robot, armatures):
        raise HodynError(
            f'robot {robot.name!r}: {fault}; the simulation needs a mass: give the body one, or '
            'lock the joint')
    root = ElementTree.Element('mujoco', model=robot.name)
    ElementTree.SubElement(root, 'compiler', angle='radian', inertiafromgeom='false')
    option = ElementTree.SubElement(root, 'option', gravity=_numbers(robot.gravity))
    # The model has no contacts, limits or actuators; to look for them would take time.
    ElementTree.SubElement(
        option, 'flag', contact='disable', constraint='disable', actuation='disable')
    world = ElementTree.SubElement(root, 'worldbody')
    elements: list[ElementTree.Element] = []
    for body in robot.bodies:
        elements.append(_add_body(world if body.parent < 0 else elements[body.parent], body))
    if armatures is not None:
        for element, armature in zip(elements, armatures, strict=True):
            element[0].set('armature', repr(float(armature)))
    if actuators is not None:
        _add_motors(root, world, robot, actuators)
    try:
        return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))
    except ValueError as error:
        raise HodynError(f'MuJoCo refuses robot {robot.name!r}: {error}') from None


def _rigid_inertia(actuators: Actuators) -> Array:
    """Return the inertia that rigidly coupled motors add to each joint, (n,), kg m²."""
    inertia = np.zeros(actuators.n)
    rigid = actuators.rigid
    inertia[rigid] = actuators.motors[rigid[actuators.motor_joints], INERTIA]
    return inertia


def _add_body(parent: ElementTree.Element, body: Body) -> ElementTree.Element:
    if body.type not in _MUJOCO_JOINT:
        raise HodynError(
            f'joint {body.joint!r} is {body.type}: the simulation has only revolute and '
            'prismatic joints')
    element = ElementTree.SubElement(
        parent, 'body', name=body.name, pos=_numbers(body.placement[:3, 3]),
        quat=_numbers(lie.quaternion(body.placement[:3, :3])))
    ElementTree.SubElement(
        element, 'joint', name=body.joint, type=_MUJOCO_JOINT[body.type],
        axis=_numbers(body.axis), pos=_numbers(body.point))
    principal, axes = np.linalg.eigh(body.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    accepted = inertias.nearest_principal(
        principal, max(_MIN_INERTIA, _TRIANGLE_MARGIN * principal[2]))
    ElementTree.SubElement(
        element, 'inertial', mass=repr(max(float(body.mass), _MIN_MASS)),
        pos=_numbers(body.com),
        quat=_numbers(lie.quaternion(axes)), diaginertia=_numbers(accepted))
    return element


def _add_motors(
    root: ElementTree.Element, world: ElementTree.Element, robot: Robot, actuators: Actuators,
) -> None:
    """Add the motors behind springs as bodies, and linear springs as tendons."""
    tendons = ElementTree.SubElement(root, 'tendon')
    for motor, joint in enumerate(actuators.motor_joints):
        if actuators.rigid[joint]:
            continue
        name = f'motor{motor}'
        body = ElementTree.SubElement(world, 'body', name=name)
        # The rotor's inertia is the joint's armature, but MuJoCo also needs a body with a mass. It
        # turns about its centre of mass, so gravity has no effect on it.
        ElementTree.SubElement(
            body, 'joint', name=name, type='hinge', axis='0 0 1',
            armature=repr(float(actuators.motors[motor, INERTIA])))
        ElementTree.SubElement(
            body, 'inertial', mass='1', pos='0 0 0',
            diaginertia=_numbers(np.full(3, _MIN_INERTIA)))
        if actuators.kinds[joint] == LINEAR:
            stiffness, damping = actuators.parameters[joint, :2]
            tendon = ElementTree.SubElement(
                tendons, 'fixed', name=f'spring{motor}', springlength='0',
                stiffness=repr(float(stiffness)), damping=repr(float(damping)))
            ElementTree.SubElement(tendon, 'joint', joint=robot.joint_names[joint], coef='1')
            ElementTree.SubElement(tendon, 'joint', joint=name, coef='-1')


def _numbers(values: Array) -> str:
    return ' '.join(repr(float(value)) for value in values)
