"""Poses, twists and Jacobians of bodies, links and tools; derivatives of poses from twists."""
import math

from cases import case_of, random_case
from hypothesis import given, settings
from hypothesis import strategies as st
import mpmath
import numpy as np
import pytest
from random_robots import (
    assert_close,
    random_base_motion,
    random_mapping,
    random_pose,
    random_robot,
    taylor,
)
from rigid_bodies import one_body, screw

import hodyn_ros as hd
from hodyn_ros.robot import lie

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')


def seen(pose, velocity, representation):
    """Return the twist of a pose (4, 4) that changes at this rate (4, 4)."""
    spatial = velocity @ lie.inverse(pose)
    vector = np.array([spatial[2, 1], spatial[0, 2], spatial[1, 0], *spatial[:3, 3]])
    if representation == 'body_fixed':
        return lie.adjoint(lie.inverse(pose)) @ vector
    if representation == 'hybrid':
        return np.concatenate([vector[:3], velocity[:3, 3]])
    return vector


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), serial=st.booleans())
@settings(max_examples=15, deadline=None)
def test_twists_are_the_motion_of_the_poses(representation, seed, n, serial):
    case, h = random_case(seed, n, 2, serial=serial), 1e-5
    motion = 0.5 * case.q
    (poses, twists), (ahead, twists_ahead), (behind, twists_behind) = (
        hd.forward_kinematics(case.robot, taylor(motion, t), representation=representation)
        for t in (0.0, h, -h))
    for i in range(n):
        expected = seen(poses[i], (ahead[i] - behind[i]) / (2 * h), representation)
        scale = 1 + np.abs(expected).max()
        np.testing.assert_allclose(twists[0, i], expected, rtol=0, atol=1e-6 * scale)
    rates = (twists_ahead - twists_behind)[:-1] / (2 * h)
    for k in range(3):
        # Rounding of the difference: the last digits of the size of the next derivative over h.
        scale = 1 + np.abs(rates[k]).max() + np.abs(twists[k]).max()
        np.testing.assert_allclose(twists[k + 1], rates[k], rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize('seed', range(3))
def test_fourth_order_twists_against_high_precision(seed):
    """The twist of the last pose, differentiated at 50 digits, on all kinds of joints."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 4)
    motion = rng.normal(size=(5, 4))
    _, twists = hd.forward_kinematics(robot, motion, 'body3')
    screws = []
    for body in robot.bodies:
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = lie.skew(screw(body)[:3]), screw(body)[3:]
        screws.append(mpmath.matrix(matrix.tolist()))

    def pose(t):
        result = mpmath.eye(4)
        for i, body in enumerate(robot.bodies):
            q = sum(
                mpmath.mpf(float(motion[k, i])) * t**k / mpmath.factorial(k) for k in range(5))
            result *= mpmath.matrix(body.placement.tolist()) * mpmath.expm(screws[i] * q)
        return result

    with mpmath.workdps(50):
        step = mpmath.mpf('1e-5')
        times = [i * step for i in range(-4, 5)]
        vandermonde = mpmath.matrix(
            [[t**k / mpmath.factorial(k) for k in range(9)] for t in times])
        weights = vandermonde**-1
        poses = [pose(t) for t in times]
        derivatives = [  # C, Ċ, … at t = 0
            sum((weights[k, i] * poses[i] for i in range(9)), mpmath.zeros(4)) for k in range(5)]
        # C⁽ᵏ⁺¹⁾ = Σ binomial(k, a) Ṽ⁽ᵃ⁾ C⁽ᵏ⁻ᵃ⁾, solved for the last of the V.
        found = []
        for k in range(4):
            rest = derivatives[k + 1]
            for a in range(k):
                rest = rest - mpmath.binomial(k, a) * found[a] * derivatives[k - a]
            found.append(rest * derivatives[0]**-1)
        expected = [
            [float(v[2, 1]), float(v[0, 2]), float(v[1, 0]),
             float(v[0, 3]), float(v[1, 3]), float(v[2, 3])] for v in found]
    assert_close(twists, expected, 1e-12)


@given(
    seed=st.integers(0, 10**6), n=st.integers(2, 60), order=st.integers(0, 6),
    floating=st.booleans())
@settings(max_examples=20, deadline=None)
def test_jacobians_and_their_derivatives_give_the_twist(seed, n, order, floating):
    case = random_case(seed, n, order, serial=False, floating=floating)
    link = case.robot.bodies[-1].name
    derivatives = case.of(hd.jacobian, link)
    _, twist = case.of(hd.forward_kinematics, link)
    expected = np.array([
        sum(math.comb(k, a) * derivatives[a] @ case.q[k - a + 1] for a in range(k + 1))
        for k in range(order + 2)])
    assert_close(twist - case.base.get('base_twist', 0.0), expected, 1e-12)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('link', ['body0', 'body3', 'body5'])
@pytest.mark.parametrize('batch', [False, True])
def test_a_jacobian_with_the_base_gives_the_whole_twist(representation, link, batch):
    rng = np.random.default_rng(5)
    robot = random_robot(rng, 6, floating=True, serial=False, coupled=True)
    case = case_of(rng, robot, 1, 2 if batch else None)
    place = {'link': link, 'representation': representation}
    found, rates = case.of(hd.jacobian, **place, base_columns=True), case.velocity
    assert found.shape[-2:] == (6, 6 + robot.n)
    np.testing.assert_array_equal(found[..., 6:], case.of(hd.jacobian, **place))
    _, expected = case.of(hd.forward_kinematics, **place)
    for k in range(3):
        total = sum(
            math.comb(k, a) * np.einsum('...ij,...j->...i', found[..., a, :, :],
                                        rates[..., k - a, :]) for a in range(k + 1))
        np.testing.assert_allclose(total, expected[..., k, :], rtol=0, atol=1e-11)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_against_pinocchio(representation):
    pin = pytest.importorskip('pinocchio')
    from pinocchio_models import pinocchio_model

    rng = np.random.default_rng(5)
    robot = random_robot(rng, 7, kinds=('revolute', 'prismatic'))
    model = pinocchio_model(robot)
    tip = model.addFrame(pin.Frame(
        'tip', 7, 0, pin.SE3(np.eye(3), -robot.bodies[-1].point), pin.FrameType.OP_FRAME))
    data, motion = model.createData(), rng.normal(size=(3, 7))
    pin.forwardKinematics(model, data, *motion)
    pin.computeJointJacobiansTimeVariation(model, data, motion[0], motion[1])
    pin.updateFramePlacements(model, data)
    frame = {
        'spatial': pin.ReferenceFrame.WORLD, 'body_fixed': pin.ReferenceFrame.LOCAL,
        'hybrid': pin.ReferenceFrame.LOCAL_WORLD_ALIGNED}[representation]
    acceleration = (
        pin.getFrameClassicalAcceleration if representation == 'hybrid'
        else pin.getFrameAcceleration)
    swap = [3, 4, 5, 0, 1, 2]
    kind = {'representation': representation}
    pose, twist = hd.forward_kinematics(robot, motion, 'body6', **kind)
    jacobian = hd.jacobian(robot, motion, 'body6', **kind)
    np.testing.assert_allclose(pose, data.oMf[tip].homogeneous, atol=1e-13)
    np.testing.assert_allclose(
        twist[0], pin.getFrameVelocity(model, data, tip, frame).vector[swap], atol=1e-12)
    np.testing.assert_allclose(
        twist[1], acceleration(model, data, tip, frame).vector[swap], atol=1e-11)
    np.testing.assert_allclose(
        jacobian[0], pin.getFrameJacobian(model, data, tip, frame)[swap], atol=1e-12)
    np.testing.assert_allclose(
        jacobian[0] @ motion[2] + jacobian[1] @ motion[1], twist[1], atol=1e-11)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_tools_and_links_fixed_to_the_world(representation):
    rng = np.random.default_rng(6)
    mapping, placement = random_mapping(rng, 4), random_pose(rng)
    mapping['tool'] = {'link': 'body1', 'placement': placement}
    mapping['bodies'].append(
        {'name': 'stand', 'type': 'fixed', 'parent': -1, 'placement': random_pose(rng)})
    robot = hd.load_robot(mapping)
    motion = rng.normal(size=(6, 4, 4))
    kind = {'representation': representation}
    poses, twists = hd.forward_kinematics(robot, motion, **kind)
    assert poses.shape == (6, 4, 4, 4)
    assert twists.shape == (6, 3, 4, 6)
    tool, tool_twist = hd.forward_kinematics(robot, motion, 'tool', **kind)
    np.testing.assert_allclose(tool, poses[:, 1] @ placement, atol=1e-14)
    jacobians = hd.jacobian(robot, motion, 'tool', **kind)
    np.testing.assert_allclose(
        tool_twist[:, 0], np.einsum('tij,tj->ti', jacobians[:, 0], motion[:, 1]), atol=1e-12)
    stand, still = hd.forward_kinematics(robot, motion[0], 'stand', **kind)
    np.testing.assert_array_equal(stand, robot.frame('stand')[1])
    assert not still.any()
    assert not hd.jacobian(robot, motion[0], 'stand', **kind).any()


@pytest.mark.parametrize('angle', [0.0, *np.geomspace(1e-12, np.pi, 25)])
def test_whole_turns_change_nothing_but_rounding(angle):
    rng = np.random.default_rng(8)
    robot = random_robot(rng, 6, kinds=('revolute',))
    motion = rng.normal(size=(4, 6))
    motion[0] = angle * rng.choice([-1.0, 1.0], size=6)
    poses, twists = hd.forward_kinematics(robot, motion)
    for turns in (1, -3, 10**3, 10**6):
        turned = motion + 2 * np.pi * turns * np.eye(4, 1)
        rounding = 1e-15 * abs(turns) * 2 * np.pi  # of the angles themselves
        for found, expected in zip(
                hd.forward_kinematics(robot, turned), (poses, twists), strict=True):
            np.testing.assert_allclose(
                found, expected, rtol=0, atol=20 * rounding * (1 + np.abs(expected).max()))


def test_positions_alone_give_poses_alone(panda):
    pose, twist = hd.forward_kinematics(panda, np.zeros((1, 7)), 'link7')
    assert twist.shape == (0, 6)
    np.testing.assert_allclose(
        pose, [[1, 0, 0, 0.088], [0, -1, 0, 0], [0, 0, -1, 1.033], [0, 0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('batch', [(), (3,)])
@pytest.mark.parametrize('order', [0, 1, 6])
def test_twists_come_back_from_derivatives_of_poses(representation, batch, order):
    rng = np.random.default_rng(order)
    poses = np.array([random_base_motion(rng, 0)[0] for _ in range(3)])
    pose = poses if batch else poses[0]
    twist = rng.normal(size=(*batch, order, 6))
    derivatives = hd.pose_derivatives(pose, twist, representation=representation)
    assert derivatives.shape == (*batch, order + 1, 4, 4)
    back = hd.pose_twist(derivatives, representation=representation)
    np.testing.assert_allclose(back, twist, rtol=0, atol=1e-10 * 4.0**order)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('seed', range(3))
def test_derivatives_of_poses_are_those_of_the_kinematics(representation, seed):
    """A chain of joints moves a link; each representation is computed by other kernels."""
    case = random_case(seed, 5, 3, floating=True, serial=False)
    here, spatial = case.of(hd.forward_kinematics, 'body4')
    _, other = case.of(hd.forward_kinematics, 'body4', representation=representation)
    derivatives = hd.pose_derivatives(here, spatial)
    assert_close(
        hd.pose_derivatives(here, other, representation=representation), derivatives, 1e-11)
    assert_close(hd.pose_twist(derivatives, representation=representation), other, 1e-11)


@pytest.mark.parametrize('representation', ['spatial', 'body_fixed'])
def test_a_constant_twist_is_an_exponential(representation):
    """Its derivatives with 40 digits: [V]ᵏ exp([V] t) C."""
    rng = np.random.default_rng(1)
    pose, _ = random_base_motion(rng, 0)
    twist = np.zeros((5, 6))
    twist[0] = rng.normal(size=6)
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = lie.skew(twist[0, :3]), twist[0, 3:]
    with mpmath.workdps(40):
        power, expected = mpmath.matrix(pose.tolist()), [pose]
        for _ in range(5):
            power = (
                mpmath.matrix(generator.tolist()) * power if representation == 'spatial'
                else power * mpmath.matrix(generator.tolist()))
            expected.append(np.array(power.tolist(), dtype=float))
    found = hd.pose_derivatives(pose, twist, representation=representation)
    assert_close(found, expected, 1e-14)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_derivatives_of_poses_are_those_of_the_poses_nearby(representation):
    """The pose a time h later, by its Taylor sum, has the twist a time h later."""
    rng = np.random.default_rng(2)
    order, h = 12, 0.02
    pose, twist = random_base_motion(rng, order - 2)
    derivatives = hd.pose_derivatives(pose, twist, representation=representation)
    powers = [
        [h**(j - k) / np.prod(np.arange(1.0, j - k + 1)) if j >= k else 0.0
         for j in range(order + 1)] for k in range(6)]
    later = np.einsum('kj,jab->kab', powers, derivatives)
    expected = np.einsum('kj,ja->ka', np.array(powers)[:5, :order], twist)
    assert_close(hd.pose_twist(later, representation=representation), expected, 1e-9)
    later[1:, 3] += 1e-12  # as of differences of poses
    assert_close(hd.pose_twist(later, representation=representation), expected, 1e-9)


def test_a_base_in_hybrid_twists_gets_the_spatial_ones_of_the_dynamics():
    """A drone on a circle: forces are those of its centre of mass."""
    robot = one_body('floating', inertia=0.01, gravity=[0, 0, -9.81])
    pose = lie.pose(None, [3.0, 1.0, 2.0])
    turn, velocity = [0.3, -0.2, 0.5], np.array([[1, 2, 0], [0.5, 0, 1], [-1, 3, 2], [0, 1, 0]])
    hybrid = np.zeros((4, 6))
    hybrid[0, :3], hybrid[:, 3:] = turn, velocity
    spatial = hd.pose_twist(hd.pose_derivatives(pose, hybrid, representation='hybrid'))
    _, wrench = hd.inverse_dynamics(
        robot, np.zeros((5, 0)), base_pose=pose, base_twist=spatial)
    expected = 2.0 * velocity[1:]
    expected[0, 2] += 2.0 * 9.81
    assert_close(wrench[:, 3:], expected, 1e-13)
