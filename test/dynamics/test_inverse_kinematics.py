from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import assert_close, random_pose, random_robot, taylor

import hodyn_ros as hd

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')


def regular(robot, q, link, joints=slice(None)):
    """Return whether the robot is far from singular, with these joints alone."""
    return np.linalg.cond(hd.jacobian(robot, q[None], link)[0][:, joints]) < 50


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@given(seed=st.integers(0, 10**6), order=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_six_joints_follow_the_twist(representation, seed, order):
    rng = np.random.default_rng(seed)
    robot, q = random_robot(rng, 6), rng.normal(size=6)
    assume(regular(robot, q, 'body5'))
    motion = np.concatenate([q[None], rng.normal(size=(order, 6))])
    kind = {'representation': representation}
    _, twist = hd.forward_kinematics(robot, motion, 'body5', **kind)
    found = hd.inverse_kinematics(robot, q, twist, 'body5', **kind)
    # The sums that make up the twist are larger than it, and every order multiplies the error.
    for k in range(1, order + 1):
        scale = np.abs(twist[:k]).max() + np.abs(motion).max()
        np.testing.assert_allclose(found[k], motion[k], rtol=0, atol=1e-12 * 10**k * scale)
    assert_close(hd.forward_kinematics(robot, found, 'body5', **kind)[1], twist, 1e-9)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_prescribed_joints_decompose_a_redundant_arm(seed):
    rng = np.random.default_rng(seed)
    robot, q = random_robot(rng, 8), rng.normal(size=8)
    assume(regular(robot, q, 'body7', [0, 1, 3, 4, 6, 7]))
    motion = np.concatenate([q[None], rng.normal(size=(4, 8))])
    _, twist = hd.forward_kinematics(robot, motion, 'body7')
    found = hd.inverse_kinematics(
        robot, q, twist, 'body7',
        prescribed={'joint2': motion[1:, 2], 'joint5': motion[1:, 5]})
    np.testing.assert_allclose(
        found, motion, rtol=0, atol=1e-10 * (np.abs(twist).max() + np.abs(motion).max()))
    np.testing.assert_allclose(found[:, [2, 5]], motion[:, [2, 5]], rtol=1e-15)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('damping', [0.0, 0.1])
@pytest.mark.parametrize('seed', range(5))
def test_redundant_rates_are_the_derivatives_of_the_least_norm_law(
    representation, damping, seed,
):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8)
    q = next(q for q in rng.normal(size=(1000, 8)) if regular(robot, q, 'body7'))
    twist = 0.3 * rng.normal(size=(4, 6))
    kind = {'representation': representation}
    found = hd.inverse_kinematics(robot, q, twist, 'body7', damping=damping, **kind)

    def law(t):
        jacobian = hd.jacobian(robot, taylor(found, t)[:1], 'body7', **kind)[0]
        return jacobian.T @ np.linalg.solve(
            jacobian @ jacobian.T + damping**2 * np.eye(6), taylor(twist, t)[0])

    np.testing.assert_allclose(found[1], law(0.0), rtol=1e-10, atol=1e-10)
    # q̈, q⃛, q⁗ against a polynomial through the law along the path that they describe.
    size = np.abs(found[2:]).max()
    times = np.arange(-4, 5) * 4e-3 / max(1.0, size ** (1 / 4))
    weights = np.linalg.inv(times[:, None] ** np.arange(9))
    rates = weights @ np.array([law(t) for t in times])
    for k, factorial, tolerance in ((1, 1, 1e-8), (2, 2, 1e-6), (3, 6, 1e-4)):
        np.testing.assert_allclose(
            found[k + 1], factorial * rates[k], rtol=0,
            atol=tolerance * max(1.0, np.abs(found[k + 1]).max()))
    if damping == 0.0:
        assert_close(hd.forward_kinematics(robot, found, 'body7', **kind)[1], twist, 1e-8)


def test_joints_off_the_way_to_the_link_rest():
    rng = np.random.default_rng(1)
    robot, q, twist = random_robot(rng, 7), rng.normal(size=7), rng.normal(size=(3, 6))
    found = hd.inverse_kinematics(robot, q, twist, 'body5')
    assert not found[1:, 6].any()
    assert_close(hd.forward_kinematics(robot, found, 'body5')[1], twist, 1e-9)


def test_the_panda_from_a_pose_to_the_fourth_order():
    """A straight line that starts from rest: only the fourth derivatives move."""
    panda = hd.load_robot('panda')
    ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    pose, _ = hd.forward_kinematics(panda, ready[None], 'link7')
    pose[0, 3] += 0.05
    q = hd.solve_pose(panda, pose, 'link7', ready, within_limits=True)
    reached, _ = hd.forward_kinematics(panda, q[None], 'link7')
    np.testing.assert_allclose(reached, pose, atol=1e-9)
    twist = np.zeros((4, 6))
    twist[3, 3] = 1.0
    motion = hd.inverse_kinematics(panda, q, twist, 'link7', representation='hybrid')
    assert motion.shape == (5, 7)
    assert not motion[1:4].any()
    jacobian = hd.jacobian(panda, motion[:1], 'link7', representation='hybrid')[0]
    np.testing.assert_allclose(jacobian @ motion[4], twist[3], atol=1e-12)


def test_a_singular_arm_names_what_it_cannot_do_and_damping_accepts_it():
    panda = hd.load_robot('panda')
    twist, rest = np.ones((2, 6)), np.zeros(2)
    with pytest.raises(ValueError, match=r"'panda' is singular: joints joint1.*cannot give"):
        hd.inverse_kinematics(panda, np.zeros(7), twist, 'link7', prescribed={'joint3': rest})
    motion = hd.inverse_kinematics(panda, np.zeros(7), twist, 'link7', damping=0.1)
    assert np.all(np.isfinite(motion))


@pytest.mark.parametrize(('change', 'message'), [
    ({'q': np.zeros(6)}, r'q has shape \(6,\)'),
    ({'q': np.full(7, np.inf)}, 'not finite'),
    ({'twist': np.zeros(6)}, r'twist has shape \(6,\)'),
    ({'twist': np.zeros((2, 5))}, r'twist has shape \(2, 5\)'),
    ({'link': 'hand'}, "no link 'hand'"),
    ({'link': 'link5'}, "link 'link5' .* moved by 5 free joints"),
    ({'damping': -1.0}, 'damping'),
    ({'representation': 'x'}, "representation 'x'"),
    ({'prescribed': {'joint9': [0.0, 0.0]}}, "prescribed joint 'joint9'"),
    ({'prescribed': {'joint1': [0.0]}}, r"prescribed\['joint1'\] has shape"),
    ({'prescribed': {'joint1': [0, 0], 'joint2': [0, 0]}}, 'moved by 5 free joints'),
])
def test_bad_input_is_named(change, message):
    arguments = {'q': np.ones(7), 'twist': np.zeros((2, 6)), 'link': 'link7', **change}
    with pytest.raises(ValueError, match=message):
        hd.inverse_kinematics(hd.load_robot('panda'), **arguments)


def test_a_floating_base_is_refused():
    rng = np.random.default_rng(0)
    robot = random_robot(rng, 8, floating=True)
    with pytest.raises(ValueError, match='floating base'):
        hd.inverse_kinematics(robot, np.zeros(7), np.zeros((1, 6)), 'body7')
    with pytest.raises(ValueError, match='floating base'):
        hd.solve_pose(robot, random_pose(rng), 'body7')
