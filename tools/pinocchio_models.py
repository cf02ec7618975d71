"""Robots as models of Pinocchio, for tests."""
import numpy as np
import pinocchio as pin

from hodyn_ros.robot import lie


def pinocchio_model(robot, order=None, balls=()):
    """Return a model whose joint frames are the body frames, moved to the joints' points.

    Parameters
    ----------
    robot : Robot
        With any joints.
    order : sequence of int, optional
        The order of the bodies, by default the robot's; Pinocchio's derivatives rely on the depth
        first.
    balls : collection of str
        Names of spherical joints, each of which is one joint of the model, NAME_z.

    """
    model = pin.Model()
    model.gravity.linear = robot.gravity
    place = {-1: 0}
    for i in range(len(robot.bodies)) if order is None else order:
        body, first = robot.bodies[i], robot.bodies[i]
        if body.joint[:-2] in balls:
            if not body.joint.endswith('_z'):
                continue
            first, joint = robot.bodies[i - 2], pin.JointModelSpherical()
        elif body.type == 'floating':
            joint = pin.JointModelFreeFlyer()
        elif body.type == 'revolute':
            joint = pin.JointModelRevoluteUnaligned(body.axis)
        elif body.type == 'prismatic':
            joint = pin.JointModelPrismaticUnaligned(body.axis)
        else:
            joint = pin.JointModelHelicalUnaligned(body.axis, body.pitch)
        back = robot.bodies[first.parent].point if first.parent >= 0 else np.zeros(3)
        placement = np.eye(4) if body.type == 'floating' else (
            lie.pose(None, -back) @ first.placement @ lie.pose(None, body.point))
        place[i] = model.addJoint(
            place[first.parent], joint, pin.SE3(placement[:3, :3], placement[:3, 3]), body.joint)
        model.appendBodyToJoint(
            place[i], pin.Inertia(body.mass, body.com - body.point, body.inertia),
            pin.SE3.Identity())
    return model
