"""Robots from MuJoCo: MuJoCo compiles the MJCF, and the bodies come from the compiled model.

Armature is read as rotor inertia, and damping as viscous friction. Other features that the robot
format does not have are refused, or left out with a warning.
"""
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
import warnings

import numpy as np

from hodyn_ros.common.errors import HodynError, how_to_install
from hodyn_ros.robot import lie
from hodyn_ros.robot.coupling import Mimic, resolved, warn_of_broken_couplings
from hodyn_ros.robot.files.coupled_joints import JointLimits, limit_keys
from hodyn_ros.robot.files.joint_chains import coordinate_names

_KINDS = {
    'mjJNT_SLIDE': 'prismatic', 'mjJNT_HINGE': 'revolute', 'mjJNT_BALL': 'spherical'}
_OF_BODIES = ('mjEQ_CONNECT', 'mjEQ_WELD')
_UNLIMITED = -np.inf, np.inf
_ANY_SLOPE = 1.0  # slope of a sigmoid, s/rad; it has no effect, as the amplitude is 0
# Ranges, and right angles between frames, of an MJCF that gives angles in rad where MuJoCo reads
# degrees: less than 2π degrees, and π/2 or π degrees.
_RANGE_IN_RAD = np.deg2rad(1.05 * 2.0 * np.pi)
_TURNS_IN_RAD = np.deg2rad([0.5 * np.pi, np.pi])
_LEFT_OUT = {
    'jnt_stiffness': 'springs that pull a joint to its rest',
    'jnt_stiffnesspoly': 'the nonlinear part of such springs', 'dof_frictionloss': 'frictionloss',
    'dof_dampingpoly': 'the nonlinear part of damping'}
"""Fields of a compiled model that are left out, and their names in warnings. Older versions of
MuJoCo do not have all these fields."""


def is_model(source: object) -> bool:
    """Return whether this is a compiled ``mujoco.MjModel``, without importing MuJoCo."""
    kind = type(source)
    return kind.__name__ == 'MjModel' and kind.__module__.partition('.')[0] == 'mujoco'


def compiled(path: Path) -> Any:
    """Return the ``mujoco.MjModel`` of an MJCF file with its included files.

    HodynError: MuJoCo is not installed, or refuses the file.
    """
    try:
        import mujoco
    except ImportError:
        raise HodynError(
            f'{path} is MJCF, which MuJoCo reads: {how_to_install("sim")}') from None
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        words = ' '.join(str(error).split())
        raise HodynError(f'{path}: MuJoCo cannot read it: {words}') from None


def robot_mapping(model: Any, context: str, locked: Mapping[str, float]) -> dict[str, Any]:
    """Return a compiled model, one tree whose root may be free, as a mapping of the robot format.

    Bodies are in MuJoCo's order. A body with several joints becomes a chain, whose last link has
    the body's name and mass. Positions are MuJoCo's qpos, except those of ball joints. Couplings
    by which a joint of `locked` follows another are left out. `context` names the source in
    messages. HodynError, naming body or joint: the robot format cannot express the model.
    """
    mimics = _couplings(model, context, locked)
    bodies: list[dict[str, Any]] = []
    joint_of: dict[str, int] = {}  # by name of a coordinate: MuJoCo's index of its joint
    balls: list[int] = []
    for index in range(1, model.nbody):
        chain = _links(model, index, context)
        bodies += chain
        for j, link in enumerate(chain, int(model.body_jntadr[index])):
            if link['type'] in _KINDS.values():
                joint_of |= dict.fromkeys(coordinate_names(link['joint'], link['type']), j)
            if link['type'] == 'spherical':
                balls.append(j)
    name = model.names[:model.names.index(b'\0')].decode('utf-8', 'replace')
    import mujoco

    is_weightless = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    mapping: dict[str, Any] = {
        'name': name or 'mujoco model', 'bodies': bodies,
        'gravity': np.zeros(3) if is_weightless else np.array(model.opt.gravity)}
    for link in bodies:
        if link['joint'] in mimics:
            link['mimic'] = asdict(mimics[link['joint']])
    _warn_of_what_is_left_out(model, context, balls)
    if doubt := _doubt_of_angles(model):
        warnings.warn(
            f'{context}: {doubt}: are angles in rad? MuJoCo reads them in degrees without '
            '<compiler angle="radian"/>', stacklevel=2)
    if not joint_of:
        return mapping
    joints = list(joint_of.values())
    mapping['limits'] = limit_keys({
        name: JointLimits() if j in balls else _limits(model, j, context)
        for name, j in joint_of.items()
        if name not in mimics or mimics[name].joint not in locked}, mimics, context)
    dofs = model.jnt_dofadr[joints]
    # Armature and damping of ball joints are left out: MuJoCo's one value acts equally about all
    # axes, which no constant values in three coordinates can express.
    by_axis = np.isin(joints, balls, invert=True)
    armature, damping = (
        _reflected(dict(zip(joint_of, (by_axis * values[dofs]).tolist(), strict=True)), mimics)
        for values in (model.dof_armature, model.dof_damping))
    if any(armature):
        mapping['rotor_inertia'] = armature
    if any(damping):
        still = np.zeros(len(damping))
        mapping['friction'] = {
            'law': 'sigmoid', 'amplitude': still, 'slope': still + _ANY_SLOPE,
            'velocity_offset': still, 'viscous': np.array(damping)}
    for key, what in _LEFT_OUT.items():
        places = joints if key.startswith('jnt') else dofs
        those = dict.fromkeys(
            _name(model, 'jnt', j) for j, at in zip(joints, places, strict=True)
            if hasattr(model, key) and np.any(getattr(model, key)[at]))
        if those:
            warnings.warn(f'{context}: {what}: left out at {", ".join(those)}', stacklevel=2)
    return mapping


def _doubt_of_angles(model: Any) -> str:
    """Return what shows that angles in rad were read as degrees; empty if nothing does."""
    import mujoco

    limited = (model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE) & (model.jnt_limited > 0)
    spans = np.ptp(model.jnt_range[limited], axis=1)
    turns = 2.0 * np.arccos(np.clip(np.abs(model.body_quat[:, 0]), 0.0, 1.0))
    are_right = np.isclose(turns[:, np.newaxis], _TURNS_IN_RAD, rtol=1e-3)
    if len(spans) > 1 and spans.max() < _RANGE_IN_RAD:
        return f'the ranges of all joints are below {np.degrees(_RANGE_IN_RAD):.2g} degrees'
    return '' if not are_right.any() else (
        f'a frame is turned by {np.degrees(turns[are_right.any(axis=1)][0]):.4g} degrees')


def _reflected(values: dict[str, float], mimics: Mapping[str, Mimic]) -> list[float]:
    """Return the inertias or dampings of joints that follow no other, with their followers'."""
    felt = {name: value for name, value in values.items() if name not in mimics}
    for name, mimic in mimics.items():
        if mimic.joint in felt:
            felt[mimic.joint] += mimic.multiplier ** 2 * values[name]
    return list(felt.values())


def _warn_of_what_is_left_out(model: Any, context: str, balls: list[int]) -> None:
    import mujoco

    dofs = model.jnt_dofadr[balls]
    tendons = (
        'tendon_stiffness', 'tendon_stiffnesspoly', 'tendon_damping', 'tendon_dampingpoly',
        'tendon_frictionloss', 'tendon_armature')
    drives = ('actuator_armature', 'actuator_damping', 'actuator_dampingpoly')
    left_out = {
        'forces of tendons': any(np.any(getattr(model, name, 0.0)) for name in tendons),
        'armature and damping of actuators': any(
            np.any(getattr(model, name, 0.0)) for name in drives),
        'range, armature and damping of ball joints': np.any(model.jnt_limited[balls])
        or np.any(model.dof_armature[dofs]) or np.any(model.dof_damping[dofs]),
        'gravity compensation': np.any(model.body_gravcomp),
        'drag of a medium': model.opt.density or model.opt.viscosity,
        'equalities with bodies that a user moves (mocap)': any(
            model.eq_active0[e] and _holds_mocap(model, e) for e in range(model.neq)
            if mujoco.mjtEq(model.eq_type[e]).name in _OF_BODIES),
        'feedback of actuators': np.any(
            model.actuator_biastype != int(mujoco.mjtBias.mjBIAS_NONE))}
    for what in (what for what, there in left_out.items() if there):
        warnings.warn(f'{context}: {what}: left out', stacklevel=4)


def _links(model: Any, index: int, context: str) -> list[dict[str, Any]]:
    """Return the links of a body: one per joint, or a fixed one if it has no joint."""
    import mujoco

    name = _name(model, 'body', index)
    parent = int(model.body_parentid[index])
    placement = lie.pose(lie.rotation_of_quaternion(model.body_quat[index]), model.body_pos[index])
    rotation = lie.rotation_of_quaternion(model.body_iquat[index])
    mass = {
        'mass': float(model.body_mass[index]), 'com': np.array(model.body_ipos[index]),
        'inertia': rotation @ np.diag(model.body_inertia[index]) @ rotation.T}
    above = -1 if parent == 0 else _name(model, 'body', parent)
    first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
    links: list[dict[str, Any]] = []
    for j in range(first, first + count):
        kind = mujoco.mjtJoint(model.jnt_type[j]).name
        joint = _name(model, 'jnt', j)
        if kind == 'mjJNT_FREE':
            if np.count_nonzero(model.body_parentid[1:] == 0) > 1:
                raise HodynError(
                    f'{context}: body {name!r} is free, and the world has other bodies: a robot '
                    'is one tree; remove the others')
            links.append({'joint': joint, 'type': 'floating', 'placement': placement})
            continue
        axis, point = np.array(model.jnt_axis[j]), np.array(model.jnt_pos[j])
        links.append({'joint': joint, 'type': _KINDS[kind], 'point': point})
        if kind != 'mjJNT_BALL':
            links[-1]['axis'] = axis
            screw = [np.zeros(3), axis] if kind == 'mjJNT_SLIDE' else [
                axis, np.cross(point, axis)]
            placement = placement @ lie.exp(
                -model.qpos0[model.jnt_qposadr[j]] * np.concatenate(screw))
        links[-1]['placement'] = placement
        placement = np.eye(4)
    links = links or [{'joint': name, 'type': 'fixed', 'placement': placement}]
    for link in links:
        link['name'] = name if link is links[-1] else f'{name} {link["joint"]}'
        link['parent'] = above
        above = link['name']
    links[-1].update(mass)
    return links


def _limits(model: Any, joint: int, context: str) -> JointLimits:
    """Return a joint's range, and the effort that its force limit and its actuators allow."""
    import mujoco

    bounds = []
    if model.jnt_actfrclimited[joint]:
        bounds.append(np.abs(model.jnt_actfrcrange[joint]).min())
    at_joint = [int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)]
    driving = []
    for a in np.flatnonzero(
            np.isin(model.actuator_trntype, at_joint) & (model.actuator_trnid[:, 0] == joint)):
        gear = abs(model.actuator_gear[a, 0])
        plain = (
            model.actuator_gaintype[a] == int(mujoco.mjtGain.mjGAIN_FIXED)
            and model.actuator_biastype[a] == int(mujoco.mjtBias.mjBIAS_NONE))
        if model.actuator_forcelimited[a]:
            driving.append(gear * np.abs(model.actuator_forcerange[a]).min())
        elif plain and model.actuator_ctrllimited[a]:
            driving.append(
                gear * abs(model.actuator_gainprm[a, 0])
                * np.abs(model.actuator_ctrlrange[a]).min())
        else:
            driving.append(np.inf)
    if driving:
        bounds.append(sum(driving))
    limit = min(bounds, default=np.inf)
    if limit == 0.0:
        warnings.warn(
            f'{context}, joint {_name(model, "jnt", joint)!r}: each of its actuators pushes one '
            'way only: its effort limit is taken as unknown', stacklevel=3)
    lower, upper = model.jnt_range[joint].tolist() if model.jnt_limited[joint] else _UNLIMITED
    return JointLimits(lower, upper, effort=float(limit) if limit > 0.0 else np.inf)


def _couplings(model: Any, context: str, locked: Mapping[str, float]) -> dict[str, Mimic]:
    """Return the mimics of coupled joints; refuse equalities that close loops or are not linear.

    MuJoCo keeps y − y0 equal to a polynomial in x − x0, with the initial positions y0 and x0.
    """
    import mujoco

    mimics: dict[str, Mimic] = {}
    left_out: dict[str, Mimic] = {}
    for e in range(model.neq):
        kind = mujoco.mjtEq(model.eq_type[e]).name
        if not model.eq_active0[e]:
            continue
        if kind == 'mjEQ_TENDON':
            raise HodynError(
                f'{context}: an equality couples tendons; only equalities of joints are '
                'supported: remove it')
        if kind == 'mjEQ_JOINT':
            pair = [int(j) for j in (model.eq_obj1id[e], model.eq_obj2id[e]) if j >= 0]
            names = [_name(model, 'jnt', j) for j in pair]
            if names[0] in locked:
                if len(names) == 2:
                    left_out[names[0]] = Mimic(names[1])
                continue
            constant, slope, *rest = model.eq_data[e, :5].tolist()
            if len(names) < 2 or any(rest) or slope == 0.0 or names[0] in mimics:
                raise HodynError(
                    f'{context}: the equality of {" and ".join(map(repr, names))} is not '
                    'supported: an equality must be linear in two joints, and a joint may be the '
                    'first of one equality only. Lock the joints (locked_joints), or remove the '
                    'equality')
            first, other = (float(model.qpos0[model.jnt_qposadr[j]]) for j in pair)
            mimics[names[0]] = Mimic(names[1], slope, first + constant - slope * other)
        if kind in _OF_BODIES and not _holds_mocap(model, e):
            raise HodynError(
                f'{context}: an equality ({kind[5:].lower()}) closes a loop; loops are not '
                'supported')
    warn_of_broken_couplings({**mimics, **left_out}, locked, context)
    return resolved(mimics, context)


def _holds_mocap(model: Any, equality: int) -> bool:
    """Return whether an equality connects a mocap body, which only the user moves."""
    import mujoco

    ends = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
    if model.eq_objtype[equality] == int(mujoco.mjtObj.mjOBJ_SITE):
        ends = model.site_bodyid[ends].tolist()
    return bool((model.body_mocapid[ends] >= 0).any())


def _name(model: Any, kind: str, index: int) -> str:
    """Return the name of a body or joint; if it has none, its kind and number."""
    start = int(getattr(model, f'name_{kind}adr')[index])
    text: bytes = model.names[start:model.names.index(b'\0', start)]
    words = {'body': 'body', 'jnt': 'joint'}
    return text.decode('utf-8', 'replace') or f'{words[kind]}{index}'
