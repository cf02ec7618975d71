"""Builds a MuJoCo model from a robot: links, gravity and, if given, motors behind springs."""
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import how_to_install
from hodyn_ros.robot import Body, HodynError, Robot, lie
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot.mass_matrix import massless_fault

Array = NDArray[np.float64]

_MUJOCO_JOINT = {'revolute': 'hinge', 'prismatic': 'slide'}
_MIN_MASS, _MIN_INERTIA = 1e-9, 1e-12
_TRIANGLE_MARGIN = 1e-12


@dataclass(frozen=True, eq=False)
class Springs:
    """Motors and springs as MuJoCo can represent them, in link-side units.

    Attributes
    ----------
    joints : m ints
        Index of the joint that each motor drives; a joint may have no, one or two motors.
    motor_inertia : (m,) array
        B, kg m² (prismatic: kg).
    stiffness : (m,) array
        K, N m/rad; 0 if MuJoCo does not compute the spring's force.
    damping : (m,) array
        Damping of the springs, N m s/rad.
    armature : (n,) array
        Inertia of motors that are rigidly coupled to their joints, kg m².

    """

    joints: tuple[int, ...]
    motor_inertia: Array
    stiffness: Array
    damping: Array
    armature: Array


def build_model(robot: Robot, springs: Springs | None = None) -> tuple[Any, Array]:
    """Return the compiled ``mujoco.MjModel``, and by how much each body's inertia was changed.

    Coordinates of joints come first, then those of motors. MuJoCo refuses inertias that no rigid
    body has: the nearest ones that it accepts replace them. The largest change of each body's
    principal inertias is returned, (n_bodies,), kg m².

    Raises
    ------
    ImportError
        MuJoCo is not installed.
    HodynError
        The robot has a joint of a type that is not simulated, coupled joints, or a joint that
        moves neither mass nor motor, or MuJoCo refuses it.

    """
    try:
        import mujoco
    except ImportError as error:
        raise ImportError(f'the simulation needs MuJoCo: {how_to_install("sim")}') from error
    if robot.coupling.followers.size:
        raise HodynError(
            f'robot {robot.name!r} has coupled joints, which the simulation does not have: lock '
            'the joints that they follow')
    armatures = robot.rotor_inertia if springs is None else springs.armature
    if armatures is None and (fault := massless_fault(robot)):
        raise HodynError(f'robot {robot.name!r}: {fault}: there is nothing to simulate; lock it')
    changes = np.zeros(len(robot.bodies))
    root = ElementTree.Element('mujoco', model=robot.name)
    ElementTree.SubElement(root, 'compiler', angle='radian', inertiafromgeom='false')
    option = ElementTree.SubElement(root, 'option', gravity=_numbers(robot.gravity))
    # The model has no contacts, limits or actuators, and to look for them would take time.
    ElementTree.SubElement(
        option, 'flag', contact='disable', constraint='disable', actuation='disable')
    world = ElementTree.SubElement(root, 'worldbody')
    elements: list[ElementTree.Element] = []
    for i, body in enumerate(robot.bodies):
        parent = world if body.parent < 0 else elements[body.parent]
        element, changes[i] = _add_body(parent, body)
        elements.append(element)
    if armatures is not None:
        for element, armature in zip(elements, armatures, strict=True):
            element[0].set('armature', repr(float(armature)))
    if springs is not None:
        _add_springs(root, world, robot, springs)
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))
    except ValueError as error:
        raise HodynError(f'MuJoCo refuses robot {robot.name!r}: {error}') from None
    return model, changes


def _add_body(parent: ElementTree.Element, body: Body) -> tuple[ElementTree.Element, float]:
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
    return element, float(np.abs(accepted - principal).max())


def _add_springs(
    root: ElementTree.Element, world: ElementTree.Element, robot: Robot, springs: Springs,
) -> None:
    tendons = ElementTree.SubElement(root, 'tendon')
    for k, joint in enumerate(springs.joints):
        name = f'motor{k}'
        body = ElementTree.SubElement(world, 'body', name=name)
        # The rotor's inertia is the joint's armature, but MuJoCo needs a body with mass. It turns
        # about its centre of mass, so that gravity does not act on it.
        ElementTree.SubElement(
            body, 'joint', name=name, type='hinge', axis='0 0 1',
            armature=repr(float(springs.motor_inertia[k])))
        ElementTree.SubElement(
            body, 'inertial', mass='1', pos='0 0 0',
            diaginertia=_numbers(np.full(3, _MIN_INERTIA)))
        if springs.stiffness[k] == 0.0 and springs.damping[k] == 0.0:
            continue
        tendon = ElementTree.SubElement(
            tendons, 'fixed', name=f'spring{k}', springlength='0',
            stiffness=repr(float(springs.stiffness[k])), damping=repr(float(springs.damping[k])))
        link_joint = robot.joint_names[joint]
        ElementTree.SubElement(tendon, 'joint', joint=link_joint, coef='1')
        ElementTree.SubElement(tendon, 'joint', joint=name, coef='-1')


def _numbers(values: Array) -> str:
    return ' '.join(repr(float(value)) for value in values)
