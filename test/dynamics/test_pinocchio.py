"""Against Pinocchio: order 0, and order 1 by its derivatives. Its vectors are linear first."""
import numpy as np
import pytest
from random_robots import assert_close, random_motion, random_pose, random_robot, random_wrenches

import hodyn_ros as hd
from hodyn_ros.robot import lie

pin = pytest.importorskip('pinocchio')
from pinocchio_models import pinocchio_model  # noqa: E402

SEEDS = range(8)


def _linear_first(v):
    return np.concatenate([v[3:], v[:3]])


def _depth_first(robot):
    """Return the body indices in the order that Pinocchio's derivatives rely on."""
    def below(i):
        return [i, *(k for j, body in enumerate(robot.bodies) if body.parent == i
                     for k in below(j))]
    return below(-1)[1:]


def _forces(robot, order, wrenches):
    forces = pin.StdVec_Force()
    forces.append(pin.Force.Zero())
    for i in order:
        w = wrenches[i]
        forces.append(pin.Force(w[3:], w[:3] - np.cross(robot.bodies[i].point, w[3:])))
    return forces


@pytest.mark.parametrize('seed', SEEDS)
def test_fixed_base(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 12, serial=seed % 2 == 0)
    order = _depth_first(robot)
    model = pinocchio_model(robot, order)
    data = model.createData()
    q = random_motion(rng, robot, 1)
    wrenches = random_wrenches(rng, robot, 0)
    forces, p = _forces(robot, order, wrenches[0]), q[:, order]
    torque = np.empty(robot.n)
    torque[order] = pin.rnea(model, data, p[0], p[1], p[2], forces)
    for formulation in ('spatial', 'body_fixed', 'closed_form'):
        assert_close(
            hd.inverse_dynamics(
                robot, q[:3], formulation=formulation, external_wrenches=wrenches),
            [torque], 1e-12)

    by_q, by_rate, mass = pin.computeRNEADerivatives(model, data, p[0], p[1], p[2])
    mass = np.triu(mass) + np.triu(mass, 1).T
    rate = by_q @ p[1] + by_rate @ p[2] + mass @ p[3]
    assert_close(hd.inverse_dynamics(robot, q)[1:, order], [rate], 1e-12)

    found = hd.inverse_dynamics_derivatives(robot, q[:3])[0]
    assert_close(found[:, order][:, :, order], [by_q, by_rate, mass], 1e-12)
    pushed = pin.computeRNEADerivatives(model, data, p[0], p[1], p[2], forces)
    found = hd.inverse_dynamics_derivatives(robot, q[:3], external_wrenches=wrenches)[0]
    assert_close(found[:2, order][:, :, order], pushed[:2], 1e-12)
    pushed = pin.computeABADerivatives(model, data, p[0], p[1], torque[order], forces)
    inverse = np.triu(pushed[2]) + np.triu(pushed[2], 1).T
    derivatives = hd.forward_dynamics_derivatives(
        robot, q[:2], [torque], external_wrenches=wrenches)
    for ours, theirs in zip(derivatives, (*pushed[:2], inverse), strict=True):
        assert_close([ours[order][:, order]], [theirs], 1e-9)

    terms = hd.equations_of_motion(robot, q[:2])
    assert_close(terms.mass[:, order][:, :, order], [mass], 1e-12)
    assert_close(
        terms.gravity[:, order], [pin.computeGeneralizedGravity(model, data, p[0])], 1e-12)
    assert_close(
        [(terms.coriolis[0] @ q[1] + terms.gravity[0])[order]],
        [pin.nonLinearEffects(model, data, p[0], p[1])], 1e-12)

    found = hd.forward_dynamics(robot, q[:2], [torque], external_wrenches=wrenches)
    assert_close(
        found[:, order], [pin.aba(model, data, p[0], p[1], torque[order], forces)], 1e-9)


@pytest.mark.parametrize('seed', SEEDS)
def test_wrenches_between_bodies(seed):
    """Its data.f, at each joint about the origin of the frame on the joint's point."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8, serial=False)
    order = _depth_first(robot)
    model = pinocchio_model(robot, order)
    data = model.createData()
    q, wrenches = random_motion(rng, robot, 0), random_wrenches(rng, robot, 0)
    pin.rnea(model, data, *q[:, order], _forces(robot, order, wrenches[0]))
    found = hd.joint_wrenches(robot, q, external_wrenches=wrenches)[0]
    for k, i in enumerate(order):
        force = data.f[k + 1]
        moment = force.angular + np.cross(robot.bodies[i].point, force.linear)
        assert_close([found[i]], [np.concatenate([moment, force.linear])], 1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_floating_base(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8, floating=True, serial=False)
    order = range(len(robot.bodies))
    model = pinocchio_model(robot, order)
    data = model.createData()
    q = random_motion(rng, robot, 0)
    wrenches = random_wrenches(rng, robot, 0)
    pose = random_pose(rng, 1.0)
    twist = rng.normal(size=(2, 6))
    # Pinocchio's twist is the body-fixed one: V_b = Ad⁻¹ V, V̇_b = Ad⁻¹ V̇ since ad_V V = 0.
    to_body = lie.adjoint(lie.inverse(pose))
    quaternion = pin.SE3ToXYZQUAT(pin.SE3(pose[:3, :3], pose[:3, 3]))
    configuration = np.concatenate([quaternion, q[0]])
    rates = [np.concatenate([_linear_first(to_body @ v), d])
             for v, d in zip(twist, q[1:], strict=True)]
    efforts = pin.rnea(model, data, configuration, *rates, _forces(robot, order, wrenches[0]))

    wrench = to_body.T @ _linear_first(efforts[:6])
    for formulation in ('spatial', 'body_fixed'):
        torque, base_wrench = hd.inverse_dynamics(
            robot, q, base_pose=pose, base_twist=twist, formulation=formulation,
            external_wrenches=wrenches)
        assert_close(torque, [efforts[6:]], 1e-12)
        assert_close(base_wrench, [wrench], 1e-12)

    found, base_found = hd.forward_dynamics(
        robot, q[:2], [efforts[6:]], base_pose=pose, base_twist=twist[:1], base_wrench=[wrench],
        external_wrenches=wrenches)
    assert_close(found, [q[2]], 1e-9)
    assert_close(base_found, [twist[1]], 1e-9)


@pytest.mark.parametrize('seed', SEEDS)
def test_regressors_of_a_floating_base(seed):
    """Body by body, with the parameters of any other body."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 6, floating=True, serial=False)
    model = pinocchio_model(robot)
    q, pose, twist = random_motion(rng, robot, 0), random_pose(rng, 1.0), rng.normal(size=(2, 6))
    to_body = lie.adjoint(lie.inverse(pose))
    expected = pin.computeJointTorqueRegressor(
        model, model.createData(),
        np.concatenate([pin.SE3ToXYZQUAT(pin.SE3(pose[:3, :3], pose[:3, 3])), q[0]]),
        *(np.concatenate([_linear_first(to_body @ v), d])
          for v, d in zip(twist, q[1:], strict=True)))
    torque, wrench = hd.torque_regressor(robot, q, base_pose=pose, base_twist=twist)
    for b, body in enumerate(robot.bodies):
        com, inertia = rng.normal(size=3), np.diag(rng.uniform(1.0, 1.5, size=3))
        efforts = expected[:, 10 * b:10 * b + 10] @ pin.Inertia(
            2.0, com - body.point, inertia).toDynamicParameters()
        parameters = hd.inertial_parameters(2.0, com, inertia)
        assert_close(torque[:, :, b] @ parameters, [efforts[6:]], 1e-12)
        assert_close(
            wrench[:, :, b] @ parameters, [to_body.T @ _linear_first(efforts[:6])], 1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_first_order_on_a_floating_base(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8, floating=True, serial=False)
    order = _depth_first(robot)
    model = pinocchio_model(robot, order)
    data = model.createData()
    joints = np.array(order[1:]) - 1
    q = random_motion(rng, robot, 1)
    pose = random_pose(rng, 1.0)
    twist = rng.normal(size=(3, 6))
    # Of Pinocchio's body-fixed twist: V̈_b = Ad⁻¹ (V̈ − ad_V V̇).
    to_body = lie.adjoint(lie.inverse(pose))
    local = [to_body @ twist[0], to_body @ twist[1],
             to_body @ (twist[2] - lie.ad(twist[0]) @ twist[1])]
    configuration = np.concatenate(
        [pin.SE3ToXYZQUAT(pin.SE3(pose[:3, :3], pose[:3, 3])), q[0, joints]])
    rates = [np.concatenate([_linear_first(v), d[joints]])
             for v, d in zip(local, q[1:], strict=True)]
    by_q, by_rate, mass = pin.computeRNEADerivatives(model, data, configuration, *rates[:2])
    mass = np.triu(mass) + np.triu(mass, 1).T
    change = by_q @ rates[0] + by_rate @ rates[1] + mass @ rates[2]
    found = hd.inverse_dynamics_derivatives(robot, q[:3], base_pose=pose, base_twist=twist[:2])
    for ours, theirs in zip(found[0][..., 6 + joints], (by_q, by_rate, mass), strict=True):
        assert_close([ours[6 + joints]], [theirs[6:, 6:]], 1e-12)
        in_base = lie.adjoint(pose).T @ ours[:6]
        assert_close([np.vstack([in_base[3:], in_base[:3]])], [theirs[:6, 6:]], 1e-12)

    for formulation in ('spatial', 'body_fixed'):
        torque, wrench = hd.inverse_dynamics(
            robot, q, base_pose=pose, base_twist=twist, formulation=formulation)
        assert_close([torque[1, joints]], [change[6:]], 1e-12)
        in_base = hd.body_wrench(pose, twist[:1], wrench)
        assert_close([in_base[1]], [_linear_first(change[:6])], 1e-12)
