"""Against Pinocchio: order 0, and order 1 by its derivatives. Its vectors are linear first."""
from cases import random_case
import numpy as np
import pytest
from random_robots import assert_close

import hodyn_ros as hd
from hodyn_ros.robot import lie

pin = pytest.importorskip('pinocchio')
from pinocchio_models import pinocchio_model  # noqa: E402

SEEDS = pytest.mark.parametrize('seed', range(8))


def _linear_first(v):
    return np.concatenate([v[3:], v[:3]])


def _whole(upper):
    """Return the symmetric matrix of which Pinocchio fills in the upper half."""
    return np.triu(upper) + np.triu(upper, 1).T


class Twin:
    """Pinocchio's model of a case and its state: joints depth first, the base's twist body-fixed.

    Attributes
    ----------
    joints : (n,) array of int
        Our joints in the order of Pinocchio's.
    state : list of arrays
        Its configuration, velocity and further derivatives.

    """

    def __init__(self, case):
        robot, self.case = case.robot, case

        def below(i):
            return [i, *(k for j, body in enumerate(robot.bodies) if body.parent == i
                         for k in below(j))]
        self.order = below(-1)[1:]  # which its derivatives rely on
        self.model = pinocchio_model(robot, self.order)
        self.data = self.model.createData()
        self.joints = np.array(self.order[robot.floating:]) - robot.floating
        self.state = list(case.q[:, self.joints])
        self.forces = pin.StdVec_Force()
        self.forces.append(pin.Force.Zero())
        for i in self.order:
            w = case.wrenches[0, i]
            self.forces.append(pin.Force(w[3:], w[:3] - np.cross(robot.bodies[i].point, w[3:])))
        if robot.floating:
            pose, twist = case.base.values()
            self.to_body = lie.adjoint(lie.inverse(pose))
            # V_b = Ad⁻¹ V, V̇_b = Ad⁻¹ V̇ since ad_V V = 0, V̈_b = Ad⁻¹ (V̈ − ad_V V̇).
            local = twist @ self.to_body.T
            local[2:] -= self.to_body @ lie.ad(twist[0]) @ twist[1]
            quaternion = pin.SE3ToXYZQUAT(pin.SE3(pose[:3, :3], pose[:3, 3]))
            self.state = [np.concatenate([base, q]) for base, q in zip(
                [quaternion, *map(_linear_first, local)], self.state, strict=True)]

    def call(self, function, *arguments):
        return function(self.model, self.data, *arguments)

    def in_world(self, wrench):
        """Return the spatial wrench of a body-fixed one of Pinocchio's."""
        return self.to_body.T @ _linear_first(wrench)


@SEEDS
def test_fixed_base(seed):
    case = random_case(seed, 12, 1, serial=seed % 2 == 0)
    robot, q, pushed = case.robot, case.q, {'external_wrenches': case.wrenches[:1]}
    twin = Twin(case)
    order, forces, p = twin.order, twin.forces, twin.state
    torque = np.empty(robot.n)
    torque[order] = twin.call(pin.rnea, *p[:3], forces)
    for formulation in ('spatial', 'body_fixed', 'closed_form'):
        assert_close(
            hd.inverse_dynamics(robot, q[:3], formulation=formulation, **pushed), [torque], 1e-12)

    by_q, by_rate, mass = twin.call(pin.computeRNEADerivatives, *p[:3])
    mass = _whole(mass)
    rate = by_q @ p[1] + by_rate @ p[2] + mass @ p[3]
    assert_close(hd.inverse_dynamics(robot, q)[1:, order], [rate], 1e-12)

    found = hd.inverse_dynamics_derivatives(robot, q[:3])[0]
    assert_close(found[:, order][:, :, order], [by_q, by_rate, mass], 1e-12)
    partials = twin.call(pin.computeRNEADerivatives, *p[:3], forces)
    found = hd.inverse_dynamics_derivatives(robot, q[:3], **pushed)[0]
    assert_close(found[:2, order][:, :, order], partials[:2], 1e-12)
    partials = twin.call(pin.computeABADerivatives, *p[:2], torque[order], forces)
    derivatives = hd.forward_dynamics_derivatives(robot, q[:2], [torque], **pushed)
    for ours, theirs in zip(derivatives, (*partials[:2], _whole(partials[2])), strict=True):
        assert_close([ours[order][:, order]], [theirs], 1e-9)

    terms = hd.equations_of_motion(robot, q[:2])
    assert_close(terms.mass[:, order][:, :, order], [mass], 1e-12)
    assert_close(
        terms.gravity[:, order], [twin.call(pin.computeGeneralizedGravity, p[0])], 1e-12)
    assert_close(
        [(terms.coriolis[0] @ q[1] + terms.gravity[0])[order]],
        [twin.call(pin.nonLinearEffects, *p[:2])], 1e-12)
    found = hd.forward_dynamics(robot, q[:2], [torque], **pushed)
    assert_close(found[:, order], [twin.call(pin.aba, *p[:2], torque[order], forces)], 1e-9)


@SEEDS
def test_wrenches_between_bodies(seed):
    """Its data.f, at each joint about the origin of the frame on the joint's point."""
    case = random_case(seed, 8, 0, serial=False)
    twin = Twin(case)
    twin.call(pin.rnea, *twin.state, twin.forces)
    found = case.pushed(hd.joint_wrenches)[0]
    for k, i in enumerate(twin.order):
        force = twin.data.f[k + 1]
        moment = force.angular + np.cross(case.robot.bodies[i].point, force.linear)
        assert_close([found[i]], [np.concatenate([moment, force.linear])], 1e-12)


@SEEDS
def test_floating_base(seed):
    case = random_case(seed, 8, 0, floating=True, serial=False)
    twin = Twin(case)
    theirs = twin.call(pin.rnea, *twin.state, twin.forces)
    expected = np.empty(6 + case.robot.n)
    expected[:6], expected[6 + twin.joints] = twin.in_world(theirs[:6]), theirs[6:]
    for formulation in ('spatial', 'body_fixed'):
        case.assert_close(case.efforts(formulation=formulation), [expected], 1e-12)
    case.assert_close(case.accelerations(expected[np.newaxis]), case.velocity[1:], 1e-9)


@SEEDS
def test_regressors_of_a_floating_base(seed):
    """Body by body, with the parameters of any other body."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, 6, 0, floating=True, serial=False)
    twin = Twin(case)
    expected = twin.call(pin.computeJointTorqueRegressor, *twin.state)
    torque, wrench = case.of(hd.torque_regressor)
    for k, b in enumerate(twin.order):
        com, inertia = rng.normal(size=3), np.diag(rng.uniform(1.0, 1.5, size=3))
        efforts = expected[:, 10 * k:10 * k + 10] @ pin.Inertia(
            2.0, com - case.robot.bodies[b].point, inertia).toDynamicParameters()
        parameters = hd.inertial_parameters(2.0, com, inertia)
        assert_close(torque[:, twin.joints, b] @ parameters, [efforts[6:]], 1e-12)
        assert_close(wrench[:, :, b] @ parameters, [twin.in_world(efforts[:6])], 1e-12)


@SEEDS
def test_first_order_on_a_floating_base(seed):
    case = random_case(seed, 8, 1, floating=True, serial=False)
    twin = Twin(case)
    configuration, *rates = twin.state
    by_q, by_rate, mass = twin.call(pin.computeRNEADerivatives, configuration, *rates[:2])
    mass = _whole(mass)
    change = by_q @ rates[0] + by_rate @ rates[1] + mass @ rates[2]
    found, (pose, twist) = case.of(hd.inverse_dynamics_derivatives, first=3), case.base.values()
    joints = 6 + twin.joints
    for ours, theirs in zip(found[0][..., joints], (by_q, by_rate, mass), strict=True):
        assert_close([ours[joints]], [theirs[6:, 6:]], 1e-12)
        in_base = lie.adjoint(pose).T @ ours[:6]
        assert_close([np.vstack([in_base[3:], in_base[:3]])], [theirs[:6, 6:]], 1e-12)

    for formulation in ('spatial', 'body_fixed'):
        torque, wrench = case.of(hd.inverse_dynamics, formulation=formulation)
        assert_close([torque[1, twin.joints]], [change[6:]], 1e-12)
        in_base = hd.body_wrench(pose, twist[:1], wrench)
        assert_close([in_base[1]], [_linear_first(change[:6])], 1e-12)
