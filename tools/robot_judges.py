"""Torques of a robot beside those of Pinocchio or MuJoCo, from the same file.

Pinocchio and MuJoCo know the torque alone: its derivatives are told by differences along a
polynomial motion, of which all derivatives are exact.
"""
from pathlib import Path
from xml.dom.expatbuilder import parseString

import numpy as np

import hodyn_ros as hd
from hodyn_ros.robot import Robot, lie
from hodyn_ros.robot.spherical import spherical_joints

STEP = 0.02  # s, between the samples of a difference
# Of nine samples: the first and the second derivative, to the eighth order of the step.
SLOPE = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
CURVATURE = np.array([
    -1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
TOLERANCES = 1e-9, 1e-6, 1e-4  # of the largest torque, or what it becomes per STEP and STEP²


def judged_by_pinocchio(path: Path, robot: Robot) -> str:
    """Return how far the torques are from Pinocchio's, relative, to order 2."""
    import pinocchio as pin

    # Prefixes need not be declared there either.
    document = parseString(path.read_text('utf-8-sig').strip(), namespaces=False)
    for element in document.getElementsByTagName('*'):
        for name, text in element.attributes.items():
            # urdfdom drops an inertia with a tab, or a space at its end.
            element.setAttribute(name, ' '.join(text.split()))
    try:
        model = pin.buildModelFromXML(document.documentElement.toxml())
    except Exception as error:
        return f'not judged: Pinocchio refuses it: {" ".join(str(error).split())[:60]}'
    kinds = [joint.shortname() for joint in model.joints]
    if any('Planar' in kind for kind in kinds):
        return 'not judged: velocities of planar joints are others there'
    model.gravity.linear = robot.gravity
    data = model.createData()
    bodies = robot.bodies[robot.floating:]
    if not all(model.existJointName(body.joint) for body in bodies):
        return 'not judged: spaces in names are others there'
    joints = [model.joints[model.getJointId(body.joint)] for body in bodies]
    free = [joint for joint in model.joints if joint.nq == 7]
    assert len(free) == robot.floating, 'Pinocchio has another base'

    def torque(q, pose, twist):
        place, speed, change = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for joint, (at, first, second) in zip(joints, robot.coupling.to_bodies(q).T, strict=True):
            if joint.nq == 2:
                place[joint.idx_q:joint.idx_q + 2] = np.cos(at), np.sin(at)
            else:
                place[joint.idx_q] = at
            speed[joint.idx_v], change[joint.idx_v] = first, second
        for joint in free:
            into = lie.adjoint(lie.inverse(pose))
            swap = np.r_[3:6, 0:3]
            place[joint.idx_q:joint.idx_q + 7] = pin.SE3ToXYZQUAT(pin.SE3(pose))
            speed[joint.idx_v:joint.idx_v + 6] = (into @ twist[0])[swap]
            change[joint.idx_v:joint.idx_v + 6] = (into @ twist[1])[swap]
        found = pin.rnea(model, data, place, speed, change)
        return robot.coupling.to_joints(
            np.array([found[joint.idx_v] for joint in joints])[np.newaxis])[0]

    return compared(robot, torque)


def judged_by_mujoco(path: Path, robot: Robot) -> str:
    """Return how far the torques are from MuJoCo's inverse dynamics, relative, to order 2."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    # What a robot has no word for: it was left out with a warning.
    for name in ('jnt_stiffness', 'dof_frictionloss', 'tendon_stiffness', 'tendon_damping',
                 'tendon_frictionloss', 'tendon_armature', 'body_gravcomp', 'jnt_stiffnesspoly',
                 'dof_dampingpoly', 'tendon_stiffnesspoly', 'tendon_dampingpoly',
                 'actuator_damping', 'actuator_dampingpoly', 'actuator_armature'):
        if hasattr(model, name):
            getattr(model, name)[:] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(
        mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    if robot.floating:  # inverse dynamics is of rigid bodies alone there
        model.dof_armature[:] = model.dof_damping[:] = 0.0
    data = mujoco.MjData(model)
    numbers = {
        mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) or f'joint{j}': j
        for j in range(model.njnt)}
    bodies = robot.bodies[robot.floating:]
    balls = {
        numbers[name]: hd.SphericalJoint(robot, name)
        for name in spherical_joints(robot) if name in numbers}
    for j in balls:  # this was left out, too
        dofs = slice(model.jnt_dofadr[j], model.jnt_dofadr[j] + 3)
        model.dof_armature[dofs] = model.dof_damping[dofs] = 0.0
    turning = [i for i, body in enumerate(bodies) if body.joint in numbers]
    joints = [numbers[bodies[i].joint] for i in turning]
    places, speeds = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    free = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]

    def torque(q, pose, twist):
        data.qpos[:] = model.qpos0
        data.qvel[:], data.qacc[:] = 0.0, 0.0
        data.qpos[places], data.qvel[speeds], data.qacc[speeds] = robot.coupling.to_bodies(q)[
            :, turning]
        for j, joint in balls.items():
            at, dof = model.jnt_qposadr[j], model.jnt_dofadr[j]
            rotation, velocity = joint.motion(q[:, joint.columns])
            data.qpos[at:at + 4] = lie.quaternion(rotation)
            data.qvel[dof:dof + 3], data.qacc[dof:dof + 3] = velocity
        for j in free:
            at, dof = model.jnt_qposadr[j], model.jnt_dofadr[j]
            back, origin = pose[:3, :3].T, pose[:3, 3]
            (turn, speed), (spin, push) = (half.reshape(2, 3) for half in twist)
            data.qpos[at:at + 7] = *origin, *lie.quaternion(pose[:3, :3])
            linear = speed + np.cross(turn, origin)
            data.qvel[dof:dof + 6] = *linear, *(back @ turn)
            data.qacc[dof:dof + 6] = (
                *(push + np.cross(spin, origin) + np.cross(turn, linear)), *(back @ spin))
        mujoco.mj_inverse(model, data)
        forces = np.zeros((1, len(bodies)))
        forces[0, turning] = data.qfrc_inverse[speeds]
        found = robot.coupling.to_joints(forces)[0]
        for j, joint in balls.items():
            moment = data.qfrc_inverse[model.jnt_dofadr[j]:][:3]
            found[joint.columns] = joint.torques(q[:1, joint.columns], moment[np.newaxis])[0]
        return found

    said = compared(robot, torque, None if robot.floating else hd.FeedForward(robot).torque)
    rng = np.random.default_rng(0)
    q, pose, twist = rng.normal(size=(3, robot.n)), lie.exp(np.ones(6)), rng.normal(size=(2, 6))
    base = {'base_pose': pose, 'base_twist': twist} if robot.floating else {}
    torque(q, pose, twist)
    for j in free:
        force, moment = data.qfrc_inverse[model.jnt_dofadr[j]:][:6].reshape(2, 3)
        moment = pose[:3, :3] @ moment + np.cross(pose[:3, 3], force)
        wrench = hd.inverse_dynamics(robot, q, **base)[1][0]
        off = np.abs(wrench - [*moment, *force]).max()
        assert off < 1e-9 * np.abs(wrench).max(), f'the wrench on the base is off by {off:.0e}'
    for i in range(1, model.nbody):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) or f'body{i}'
        if model.body_mocapid[i] < 0:
            found, _ = hd.forward_kinematics(robot, q, name, **base)
            off = np.abs(found - lie.pose(data.xmat[i].reshape(3, 3), data.xpos[i])).max()
            assert off < 1e-9 * max(1.0, np.abs(found).max()), f'{name} is off by {off:.0e}'
    return said


def compared(robot: Robot, torque, own=None) -> str:
    """Return the largest relative errors by order, of a random motion; of a floating base one."""
    rng = np.random.default_rng(robot.n)
    motion = rng.uniform(-1.0, 1.0, (5, robot.n))
    if robot.floating:
        pose, twist = lie.exp(rng.normal(size=6)), rng.normal(size=(2, 6))
        found, _ = hd.inverse_dynamics(robot, motion[:3], base_pose=pose, base_twist=twist)
        expected = torque(motion[:3], pose, twist)[np.newaxis]
    else:
        found = (own or (lambda q: hd.inverse_dynamics(robot, q)))(motion)
        samples = np.array([
            torque(derivatives(motion, k * STEP), None, None) for k in range(-4, 5)])
        expected = np.array([samples[4], SLOPE @ samples / STEP, CURVATURE @ samples / STEP**2])
    scale = max(np.abs(expected[0]).max(initial=0.0), 1e-9)
    errors = [
        float(np.abs(found[k] - expected[k]).max(initial=0.0) * STEP**k / scale)
        for k in range(len(expected))]
    said = ' '.join(f'{error:.0e}' for error in errors)
    assert all(
        error < bound for error, bound in zip(errors, TOLERANCES, strict=False)), f'off by {said}'
    return said


def derivatives(motion, t):
    """Return position, velocity and acceleration, (3, n), of a motion at a time from its start."""
    powers = np.array([1.0, t, t**2 / 2, t**3 / 6, t**4 / 24])
    return np.array([powers[:5 - k] @ motion[k:] for k in range(3)])
