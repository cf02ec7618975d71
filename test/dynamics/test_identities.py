"""Identities between the algorithms, and laws of mechanics, on random robots."""
from math import comb

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import (
    assert_close,
    random_base_motion,
    random_motion,
    random_robot,
    random_wrenches,
    taylor,
)

import hodyn_ros as hd
from hodyn_ros.dynamics.closed_form import closed_form
from hodyn_ros.robot import lie

SEEDS = st.integers(0, 2**32 - 1)
prove = settings(max_examples=25, deadline=None, derandomize=True)


def _case(seed, largest, floating, highest=6):
    """Return a robot, its motion, base motion as keywords, and wrenches.

    A third of the robots have coupled joints.
    """
    rng = np.random.default_rng(seed)
    robot = random_robot(
        rng, int(rng.integers(1, largest + 1)), floating=floating,
        serial=bool(rng.random() < 0.5), coupled=seed % 3 == 0)
    order = int(rng.integers(0, highest + 1))
    pose, twist = random_base_motion(rng, order)
    base = {'base_pose': pose, 'base_twist': twist} if floating else {}
    return robot, random_motion(rng, robot, order), base, random_wrenches(rng, robot, order)


def _generalized(result):
    """Return the efforts in the order of the equations of motion: base wrench, torques."""
    return np.hstack([result[1], result[0]]) if isinstance(result, tuple) else result


def _velocity(q, base):
    """Return ν and its derivatives."""
    return np.hstack([base['base_twist'], q[1:]]) if base else q[1:]


def _equations(robot, q, base):
    lower = {**base, 'base_twist': base['base_twist'][:-1]} if base else {}
    return hd.equations_of_motion(robot, q[:-1], **lower)


def _external(robot, q, base, wrenches):
    lower = {**base, 'base_twist': base['base_twist'][:-2]} if base else {}
    return hd.external_efforts(robot, q[:-2], wrenches, **lower)


@pytest.mark.parametrize('floating', [False, True])
@prove
@given(seed=SEEDS)
def test_recursions_agree(floating, seed):
    robot, q, base, wrenches = _case(seed, 60, floating)
    spatial, body_fixed = (
        _generalized(hd.inverse_dynamics(
            robot, q, formulation=formulation, external_wrenches=wrenches, **base))
        for formulation in ('spatial', 'body_fixed'))
    assert_close(body_fixed, spatial, 1e-11)


@prove
@given(seed=SEEDS)
def test_closed_form_agrees(seed):
    robot, q, _, wrenches = _case(seed, 12, False)
    assert_close(
        hd.inverse_dynamics(robot, q, formulation='closed_form', external_wrenches=wrenches),
        hd.inverse_dynamics(robot, q, external_wrenches=wrenches), 1e-11)


@pytest.mark.parametrize('floating', [False, True])
@prove
@given(seed=SEEDS)
def test_equations_of_motion_give_the_inverse_dynamics(floating, seed):
    robot, q, base, wrenches = _case(seed, 60, floating)
    terms, velocity = _equations(robot, q, base), _velocity(q, base)
    external = _external(robot, q, base, wrenches)
    collected = np.array([
        terms.gravity[k] + external[k] + sum(comb(k, a) * (
            terms.mass[a] @ velocity[k - a + 1] + terms.coriolis[a] @ velocity[k - a])
            for a in range(k + 1))
        for k in range(len(terms.mass))])
    expected = _generalized(
        hd.inverse_dynamics(robot, q, external_wrenches=wrenches, **base))
    assert_close(collected, expected, 1e-11)


@prove
@given(seed=SEEDS)
def test_both_closed_forms_agree(seed):
    robot, q, _, wrenches = _case(seed, 12, False)
    body_fixed = closed_form(robot, q[:-1], external_wrenches=wrenches)
    spatial = hd.equations_of_motion(robot, q[:-1])
    assert_close(body_fixed.mass, spatial.mass, 1e-11)
    assert_close(body_fixed.coriolis_skew, spatial.coriolis, 1e-11)
    assert_close(body_fixed.gravity, spatial.gravity, 1e-11)
    assert_close(
        body_fixed.external, hd.external_efforts(robot, q[:-2], wrenches), 1e-11)


@pytest.mark.parametrize('floating', [False, True])
@prove
@given(seed=SEEDS)
def test_passivity(floating, seed):
    robot, q, base, _ = _case(seed, 60, floating)
    q = np.vstack([q, np.zeros(robot.n)])
    if base:
        base['base_twist'] = np.vstack([base['base_twist'], np.zeros(6)])
    terms = _equations(robot, q, base)
    for k in range(len(terms.mass) - 1):  # skew symmetry is carried over to the derivatives
        skew = terms.mass[k + 1] - 2.0 * terms.coriolis[k]
        scale = max(1.0, np.abs(terms.mass[k + 1]).max(), np.abs(terms.coriolis[k]).max())
        assert np.abs(skew + skew.T).max() < 1e-10 * scale
        assert np.array_equal(terms.mass[k], terms.mass[k].T)
    assert np.linalg.eigvalsh(terms.mass[0])[0] > 0.0


@pytest.mark.parametrize('floating', [False, True])
@prove
@given(seed=SEEDS)
def test_power_balance(floating, seed):
    """The efforts less weight and environment do the work that kinetic energy gains."""
    robot, q, base, wrenches = _case(seed, 60, floating, highest=1)
    q = np.vstack([q, np.zeros(robot.n)])
    if base:
        base['base_twist'] = np.vstack([base['base_twist'], np.zeros(6)])
    wrenches = np.concatenate([wrenches, wrenches[:1]])
    terms, velocity = _equations(robot, q, base), _velocity(q, base)
    external = _external(robot, q, base, wrenches)
    effort = _generalized(hd.inverse_dynamics(robot, q, external_wrenches=wrenches, **base))
    power = velocity[0] @ (effort[0] - terms.gravity[0] - external[0])
    gain = velocity[0] @ terms.mass[0] @ velocity[1]
    gain += 0.5 * velocity[0] @ terms.mass[1] @ velocity[0]
    scale = np.abs(velocity[0]) @ np.abs(effort[0]) + np.abs(gain)
    assert abs(power - gain) < 1e-11 * max(1.0, scale)


@prove
@given(seed=SEEDS)
def test_christoffel_symbols_give_the_same_force(seed):
    robot, q, _, _ = _case(seed, 12, False, highest=0)
    symbols = hd.christoffel_symbols(robot, q[0])
    assert np.abs(symbols - symbols.transpose(0, 2, 1)).max() < 1e-12
    terms = hd.equations_of_motion(robot, [q[0], q[1], 0 * q[1]])
    coriolis = symbols @ q[1]
    scale = max(1.0, np.abs(coriolis).max())
    assert np.abs((coriolis - terms.coriolis[0]) @ q[1]).max() < 1e-11 * scale
    skew = terms.mass[1] - 2.0 * coriolis
    assert np.abs(skew + skew.T).max() < 1e-11 * scale


@pytest.mark.parametrize('floating', [False, True])
@prove
@given(seed=SEEDS)
def test_forward_dynamics_inverts_inverse_dynamics(floating, seed):
    """To what conditioning leaves: the efforts of the motion found are the efforts given."""
    robot, q, base, wrenches = _case(seed, 60, floating, highest=3)
    efforts = hd.inverse_dynamics(robot, q, external_wrenches=wrenches, **base)
    if floating:
        found, base_found = hd.forward_dynamics(
            robot, q[:2], efforts[0], base_wrench=efforts[1], external_wrenches=wrenches,
            base_pose=base['base_pose'], base_twist=base['base_twist'][:1])
        back = hd.inverse_dynamics(
            robot, np.vstack([q[:2], found]), external_wrenches=wrenches,
            base_pose=base['base_pose'],
            base_twist=np.vstack([base['base_twist'][:1], base_found]))
    else:
        found = hd.forward_dynamics(robot, q[:2], efforts, external_wrenches=wrenches)
        back = hd.inverse_dynamics(
            robot, np.vstack([q[:2], found]), external_wrenches=wrenches)
    assert_close(_generalized(back), _generalized(efforts), 1e-9)
    size = robot.n + 6 * floating
    condition = np.linalg.cond(_equations(robot, q, base).mass[0]) if size else 1.0
    assert np.abs(found[0] - q[2]).max(initial=0.0) < 1e-13 * condition * np.abs(efforts[0]).max(
        initial=1.0)


@pytest.mark.parametrize('floating', [False, True])
@prove
@given(seed=SEEDS)
def test_hybrid_dynamics_finds_what_is_not_given(floating, seed):
    robot, q, base, wrenches = _case(seed, 20, floating, highest=3)
    moved = np.random.default_rng(seed).random(robot.n) < 0.5
    names = [name for name, known in zip(robot.joint_names, moved, strict=True) if known]
    efforts = hd.inverse_dynamics(robot, q, external_wrenches=wrenches, **base)
    torque = efforts[0] if floating else efforts
    mixed = np.where(moved, q[2:], torque)
    if not floating:
        found = hd.hybrid_dynamics(robot, q[:2], mixed, names, external_wrenches=wrenches)
        motion = np.where(moved, mixed, found)
        back = hd.inverse_dynamics(
            robot, np.vstack([q[:2], motion]), external_wrenches=wrenches)
        assert_close(back, np.where(moved, found, mixed), 1e-9)
        return
    state = {'base_pose': base['base_pose'], 'external_wrenches': wrenches}
    twist = base['base_twist'][:1]
    for known in ({'base_wrench': efforts[1]}, {'base_motion': base['base_twist'][1:]}):
        found, base_found = hd.hybrid_dynamics(
            robot, q[:2], mixed, names, base_twist=twist, **state, **known)
        base_motion = known.get('base_motion', base_found)
        back = hd.inverse_dynamics(
            robot, np.vstack([q[:2], np.where(moved, mixed, found)]),
            base_twist=np.vstack([twist, base_motion]), **state)
        assert_close(back[0], np.where(moved, found, mixed), 1e-9)
        assert_close(back[1], known.get('base_wrench', base_found), 1e-9)


@pytest.mark.parametrize('distance', [10.0, 1e3])
def test_forward_dynamics_far_from_the_world_origin(distance):
    """Digits go with the distance, as in the given twist and wrench, not with its square."""
    rng = np.random.default_rng(0)
    robot = hd.load_robot('aerial_manipulator')
    q, (pose, twist) = random_motion(rng, robot, 1), random_base_motion(rng, 1)
    torque, wrench = hd.inverse_dynamics(robot, q, base_pose=pose, base_twist=twist)
    offset = lie.pose(None, distance * np.array([1.0, -1.0, 1.0]))
    far, near = lie.adjoint(offset), lie.adjoint(lie.inverse(offset))
    found, base_found = hd.forward_dynamics(
        robot, q[:2], torque, base_pose=offset @ pose, base_twist=twist[:1] @ far.T,
        base_wrench=wrench @ near)
    assert np.abs(found - q[2:]).max() < 1e-11 * distance
    assert np.abs(base_found @ near.T - twist[1:]).max() < 1e-11 * distance


@prove
@given(seed=SEEDS)
def test_time_derivatives_are_those_of_the_order_below(seed):
    """Along a polynomial motion, Q at a near time is the Taylor series of Q now."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8, serial=False)
    q = random_motion(rng, robot, 6)
    now = hd.inverse_dynamics(robot, q)
    later = hd.inverse_dynamics(robot, taylor(q, 1e-3)[:3])
    assert_close(later, taylor(now, 1e-3)[:1], 1e-10)
