"""The printed second-order formulas, against the terms of any order that the package computes."""
from cases import random_case
import numpy as np
import pytest
from random_robots import assert_close
from rigid_bodies import mass_matrix, screw
from scipy.linalg import expm

import hodyn_ros as hd
from hodyn_ros.robot import lie


class PrintedForms:
    """MK21 eqs. (9)–(53) as they are printed, errata mended, on body frames and serial arms."""

    def __init__(self, robot, q):
        n = robot.n
        screws, self.inertia = np.zeros((6 * n, n)), np.zeros((6 * n, 6 * n))
        poses, ads = [], []
        for i, body in enumerate(robot.bodies):
            screws[6 * i:6 * i + 6, i] = screw(body)
            ads.append(lie.ad(screw(body)))
            poses.append((poses[-1] if poses else np.eye(4)) @ body.placement
                         @ _exponential(screw(body), q[0, i]))
            block = slice(6 * i, 6 * i + 6)
            self.inertia[block, block] = mass_matrix(body)
        self.path = np.block([
            [lie.adjoint(lie.inverse(poses[i]) @ poses[j]) if j <= i else np.zeros((6, 6))
             for j in range(n)] for i in range(n)])
        self.jacobian = self.path @ screws
        self.up = np.vstack([lie.adjoint(lie.inverse(pose)) for pose in poses])
        self.weight = -np.concatenate([np.zeros(3), robot.gravity])
        self.a, self.a1 = (
            _block_diagonal([x * ad for x, ad in zip(rate, ads, strict=True)]) for rate in q[1:3])
        twist = self.jacobian @ q[1]
        twist1 = self.jacobian @ q[2] - self.path @ self.a @ twist  # (15)
        self.b, self.b1 = (
            _block_diagonal([lie.ad(v) for v in x.reshape(n, 6)]) for x in (twist, twist1))

    def reduced(self, system):
        return self.jacobian.T @ system @ self.jacobian

    def mass(self):
        """Return M (20), Ṁ (29, 30) and M̈ (40, 44)."""
        aa, m = self.path @ self.a, self.inertia
        first = -m @ aa - (m @ aa).T
        second = m @ (2 * aa @ aa - self.path @ self.a1 - aa @ self.a)
        second = second + second.T + 2 * aa.T @ m @ aa
        return [self.reduced(x) for x in (m, first, second)], first, second

    def coriolis(self):
        """Return C (20, 22) and Ċ (31, 35)."""
        aa, m = self.path @ self.a, self.inertia
        zeroth = -m @ aa - self.b.T @ m
        first = (
            -m @ self.path @ self.a1 - self.b1.T @ m + self.b.T @ m @ aa + aa.T @ self.b.T @ m
            + aa.T @ m @ aa + 2 * m @ aa @ aa - m @ aa @ self.a)
        return [self.reduced(x) for x in (zeroth, first)]

    def gravity(self):
        """Return Q_grav (25) and its derivatives (36, 52)."""
        _, first, second = self.mass()
        return [self.jacobian.T @ x @ self.up @ self.weight
                for x in (self.inertia, first, second)]

    def external(self, wrench):
        """Return Q_ext (27) and its derivatives (37, 53)."""
        aa = self.path @ self.a
        second = 2 * aa @ aa - self.path @ self.a1 - aa @ self.a
        return [self.jacobian.T @ x for x in (
            wrench[0], wrench[1] - aa.T @ wrench[0],
            wrench[2] - 2 * aa.T @ wrench[1] + second.T @ wrench[0])]


def _block_diagonal(blocks):
    n = len(blocks)
    return np.block([[blocks[i] if i == j else np.zeros((6, 6)) for j in range(n)]
                     for i in range(n)])


def _exponential(twist, q):
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = lie.skew(twist[:3]), twist[3:]
    return expm(generator * q)


@pytest.mark.parametrize('seed', range(4))
def test_printed_second_order_formulas(seed):
    case = random_case(seed, 5, 2)
    robot, q, wrench = case.robot, case.q[:4], case.wrenches
    printed, terms = PrintedForms(robot, q), hd.closed_form(robot, q, external_wrenches=-wrench)
    assert_close(terms.mass, printed.mass()[0], 1e-12)
    assert_close(terms.coriolis[:2], printed.coriolis(), 1e-12)
    assert_close(terms.gravity, printed.gravity(), 1e-12)
    assert_close(terms.external, printed.external(wrench.reshape(3, -1)), 1e-12)


def test_planar_arm():
    """The equations of MK21, section 6.1, of the planar arm with point masses."""
    robot = hd.load_robot('twolink')
    l1, l2, m1, m2, g = 0.7, 0.5, 2.0, 1.3, 9.81
    rng = np.random.default_rng(0)
    for q, w, a in rng.normal(size=(20, 3, 2)):
        sine, cosine = np.sin(q[1]), np.cos(q[1])
        both, first = np.cos(q[0] + q[1]), np.cos(q[0])
        expected = [
            (m1 + m2) * l1**2 * a[0] + m2 * l2**2 * (a[0] + a[1])
            + m2 * l1 * l2 * (cosine * (2 * a[0] + a[1]) - sine * (w[1]**2 + 2 * w[0] * w[1]))
            + m2 * g * l2 * both + (m1 + m2) * g * l1 * first,
            m2 * l2 * (l1 * sine * w[0]**2 + l2 * (a[0] + a[1]) + g * both + l1 * a[0] * cosine)]
        for formulation in ('spatial', 'body_fixed', 'closed_form'):
            actual = hd.inverse_dynamics(robot, [q, w, a], formulation=formulation)
            assert_close(actual, [expected], 1e-13)


@pytest.mark.parametrize('seed', range(3))
def test_gravity_wrenches_follow_the_mended_formulas(seed):
    """AGF26 (63), (64): minus M21 (23)–(25), with the sign of M ad_V̇ mended; a floating body."""
    case = random_case(seed, 1, 0, floating=True)
    robot, (pose, twist) = case.robot, case.base.values()
    body, = robot.bodies
    up = lie.adjoint(lie.inverse(pose))
    inertia = up.T @ mass_matrix(body) @ up
    ad, ad1 = lie.ad(twist[0]), lie.ad(twist[1])
    bent = inertia @ ad @ ad + ad.T @ inertia @ ad - inertia @ ad1
    weight = np.concatenate([np.zeros(3), robot.gravity])
    expected = [inertia @ weight, -(inertia @ ad + ad.T @ inertia) @ weight,
                (bent + bent.T) @ weight]
    actual = case.of(hd.gravity_wrenches)
    assert_close(actual[:, 0], expected, 1e-12)


@pytest.mark.parametrize(('seed', 'coupled'), [(0, False), (1, True), (2, False)])
def test_coefficients_times_derivatives_are_the_torques(seed, coupled):
    """KM21 eqs. (48) and (49), against the recursion."""
    case = random_case(seed, 5, 4, serial=False, coupled=coupled)
    q, expected = case.q, case.efforts()
    terms = case.pushed(hd.closed_form, first=-1)
    for order in range(5):
        inertial = sum(terms.coefficient(order, k) @ q[k] for k in range(1, order + 3))
        torque = inertial + terms.gravity[order] + terms.external[order]
        assert_close([torque], expected[order:order + 1], 1e-11)
    assert np.array_equal(terms.coefficient(3, 5), terms.mass[0])
    assert np.array_equal(terms.coefficient(3, 1), terms.coriolis[3])


@pytest.mark.parametrize('coupled', [False, True])
def test_the_system_jacobian_has_those_of_the_bodies(coupled):
    case = random_case(4, 6, 2, serial=False, coupled=coupled)
    terms, kind = case.of(hd.closed_form), {'representation': 'body_fixed'}
    _, twists = case.of(hd.forward_kinematics, **kind)
    for i, body in enumerate(case.robot.bodies):
        rows = slice(6 * i, 6 * i + 6)
        expected = case.of(hd.jacobian, body.name, **kind)
        assert_close(terms.system_jacobian[:, rows], expected[:-1], 1e-12)
        assert_close(terms.system_twist[:, rows], twists[:, i], 1e-12)
