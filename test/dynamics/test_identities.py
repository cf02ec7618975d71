"""Identities between the algorithms, and laws of mechanics, on random robots."""
from dataclasses import replace
from math import comb

from cases import case_of, joined, random_case
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import assert_close, taylor

import hodyn_ros as hd
from hodyn_ros.robot import lie

SEEDS = st.integers(0, 2**32 - 1)
prove = settings(max_examples=25, deadline=None, derandomize=True)


def of_bases(test):
    """Prove a law of seeds for fixed and for floating bases."""
    return pytest.mark.parametrize('floating', [False, True])(prove(given(seed=SEEDS)(test)))


def some_case(seed, largest, floating=False, highest=6):
    """Return a case of any order, on an arm or a tree; a third of them has coupled joints."""
    rng = np.random.default_rng(seed)
    return random_case(
        rng, int(rng.integers(1, largest + 1)), int(rng.integers(0, highest + 1)),
        floating=floating, serial=bool(rng.random() < 0.5), coupled=seed % 3 == 0)


def slower(case):
    """Return the case with one derivative more, which is zero, and the last wrenches again."""
    return replace(
        case, q=np.vstack([case.q, 0.0 * case.q[:1]]),
        base=case.base and {**case.base, 'base_twist': np.vstack(
            [case.base['base_twist'], np.zeros(6)])},
        wrenches=np.concatenate([case.wrenches, case.wrenches[:1]]))


def external(case):
    return case.of(hd.external_efforts, case.wrenches, first=-2)


@of_bases
def test_recursions_agree(floating, seed):
    case = some_case(seed, 60, floating)
    assert_close(case.efforts(formulation='body_fixed'), case.efforts(), 1e-11)


@prove
@given(seed=SEEDS)
def test_closed_form_agrees(seed):
    case = some_case(seed, 12)
    assert_close(case.efforts(formulation='closed_form'), case.efforts(), 1e-11)


@of_bases
def test_equations_of_motion_give_the_inverse_dynamics(floating, seed):
    case = some_case(seed, 60, floating)
    terms, velocity = case.of(hd.equations_of_motion, first=-1), case.velocity
    collected = external(case) + terms.gravity + [
        sum(comb(k, a) * (
            terms.mass[a] @ velocity[k - a + 1] + terms.coriolis[a] @ velocity[k - a])
            for a in range(k + 1))
        for k in range(len(terms.mass))]
    assert_close(collected, case.efforts(), 1e-11)


@prove
@given(seed=SEEDS)
def test_both_closed_forms_agree(seed):
    case = some_case(seed, 12)
    body_fixed = case.pushed(hd.closed_form, first=-1)
    spatial = case.of(hd.equations_of_motion, first=-1)
    assert_close(body_fixed.mass, spatial.mass, 1e-11)
    assert_close(body_fixed.coriolis_skew, spatial.coriolis, 1e-11)
    assert_close(body_fixed.gravity, spatial.gravity, 1e-11)
    assert_close(body_fixed.external, external(case), 1e-11)


@of_bases
def test_passivity(floating, seed):
    terms = slower(some_case(seed, 60, floating)).of(hd.equations_of_motion, first=-1)
    for k in range(len(terms.mass) - 1):  # skew symmetry is carried over to the derivatives
        skew = terms.mass[k + 1] - 2.0 * terms.coriolis[k]
        scale = max(1.0, np.abs(terms.mass[k + 1]).max(), np.abs(terms.coriolis[k]).max())
        assert np.abs(skew + skew.T).max() < 1e-10 * scale
        assert np.array_equal(terms.mass[k], terms.mass[k].T)
    assert np.linalg.eigvalsh(terms.mass[0])[0] > 0.0


@of_bases
def test_power_balance(floating, seed):
    """The efforts less weight and environment do the work that kinetic energy gains."""
    case = slower(some_case(seed, 60, floating, highest=1))
    terms, velocity, effort = (
        case.of(hd.equations_of_motion, first=-1), case.velocity, case.efforts()[0])
    power = velocity[0] @ (effort - terms.gravity[0] - external(case)[0])
    gain = velocity[0] @ terms.mass[0] @ velocity[1]
    gain += 0.5 * velocity[0] @ terms.mass[1] @ velocity[0]
    scale = np.abs(velocity[0]) @ np.abs(effort) + np.abs(gain)
    assert abs(power - gain) < 1e-11 * max(1.0, scale)


@prove
@given(seed=SEEDS)
def test_christoffel_symbols_give_the_same_force(seed):
    case = some_case(seed, 12, highest=0)
    robot, q = case.robot, case.q
    symbols = hd.christoffel_symbols(robot, q[0])
    assert np.abs(symbols - symbols.transpose(0, 2, 1)).max() < 1e-12
    terms = hd.equations_of_motion(robot, [q[0], q[1], 0 * q[1]])
    coriolis = symbols @ q[1]
    scale = max(1.0, np.abs(coriolis).max())
    assert np.abs((coriolis - terms.coriolis[0]) @ q[1]).max() < 1e-11 * scale
    skew = terms.mass[1] - 2.0 * coriolis
    assert np.abs(skew + skew.T).max() < 1e-11 * scale


@of_bases
def test_forward_dynamics_inverts_inverse_dynamics(floating, seed):
    """To what conditioning leaves: the efforts of the motion found are the efforts given."""
    case = some_case(seed, 60, floating, highest=3)
    efforts = case.efforts()
    found = case.accelerations(efforts)
    assert_close(case.accelerated(found).efforts(), efforts, 1e-9)
    mass = case.of(hd.equations_of_motion, first=-1).mass[0]
    condition = np.linalg.cond(mass) if len(mass) else 1.0
    error = np.abs(found[0] - case.velocity[1]).max(initial=0.0)
    assert error < 1e-13 * condition * np.abs(efforts[0]).max(initial=1.0)


@of_bases
def test_hybrid_dynamics_finds_what_is_not_given(floating, seed):
    case = some_case(seed, 20, floating, highest=3)
    moved = np.random.default_rng(seed).random(case.robot.n) < 0.5
    names = [name for name, known in zip(case.robot.joint_names, moved, strict=True) if known]
    for of_base in ('base_wrench', 'base_motion')[:1 + floating]:
        known = np.append([of_base == 'base_motion'] * 6 * floating, moved).astype(bool)
        given = np.where(known, case.velocity[1:], case.efforts())
        found = joined(case.driven(hd.hybrid_dynamics, given, names, of_base=of_base))
        back = case.accelerated(np.where(known, given, found)).efforts()
        case.assert_close(back, np.where(known, found, given), 1e-9)


@pytest.mark.parametrize('distance', [10.0, 1e3])
def test_forward_dynamics_far_from_the_world_origin(distance):
    """Digits go with the distance, as in the given twist and wrench, not with its square."""
    case = replace(case_of(
        np.random.default_rng(0), hd.load_robot('aerial_manipulator'), 1), wrenches=None)
    offset = lie.pose(None, distance * np.array([1.0, -1.0, 1.0]))
    far, near = (np.eye(12) for _ in range(2))
    far[:6, :6], near[:6, :6] = lie.adjoint(offset), lie.adjoint(lie.inverse(offset))
    away = replace(case, base={
        'base_pose': offset @ case.base['base_pose'],
        'base_twist': case.base['base_twist'] @ far[:6, :6].T})
    found = away.accelerations(case.efforts() @ near)
    assert np.abs(found @ near.T - case.velocity[1:]).max() < 1e-11 * distance


@prove
@given(seed=SEEDS)
def test_time_derivatives_are_those_of_the_order_below(seed):
    """Along a polynomial motion, Q at a near time is the Taylor series of Q now."""
    case = replace(random_case(seed, 8, 6, serial=False), wrenches=None)
    later = replace(case, q=taylor(case.q, 1e-3)[:3])
    assert_close(later.efforts(), taylor(case.efforts(), 1e-3)[:1], 1e-10)
