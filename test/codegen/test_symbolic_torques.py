"""Torques as formulas: those that MK21 prints, those of Lagrange, and the kernels' numbers."""
import itertools
import sys
import time

import numpy as np
import pytest
from random_robots import assert_close, random_motion, random_robot
from rigid_bodies import link

import hodyn_ros as hd

sympy = pytest.importorskip('sympy')

L1, L2, M1, M2, G = sympy.symbols('L1 L2 m1 m2 g')
PLANAR = {
    'link1': {'mass': M1, 'com': [L1, 0, 0]},
    'link2': {'mass': M2, 'com': [L2, 0, 0],
              'placement': [[1, 0, 0, L1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}}


def planar(order, **options):
    return hd.symbolic_torques(
        hd.load_robot('twolink'), order, symbols=PLANAR, gravity=[0, -G, 0], **options)


def rate(formula, q):
    """Return the time derivative, by the chain rule of SymPy."""
    return sum(sympy.diff(formula, q[k, i]) * q[k + 1, i]
               for k in range(len(q) - 1) for i in range(q.shape[1]))


def printed(q):
    """Return τ of MK21, section 6.1."""
    (q1, q2), (w1, w2), (a1, a2) = q[:3]
    sin, cos = sympy.sin, sympy.cos
    return [
        L1**2 * a1 * M1 + L1**2 * a1 * M2 + L2**2 * a1 * M2 + L2**2 * a2 * M2
        + L2 * G * M2 * cos(q1 + q2) + L1 * G * M1 * cos(q1) + L1 * G * M2 * cos(q1)
        - L1 * L2 * w2**2 * M2 * sin(q2) + 2 * L1 * L2 * a1 * M2 * cos(q2)
        + L1 * L2 * a2 * M2 * cos(q2) - 2 * L1 * L2 * w1 * w2 * M2 * sin(q2),
        L2 * M2 * (L1 * sin(q2) * w1**2 + L2 * a1 + L2 * a2 + G * cos(q1 + q2)
                   + L1 * a1 * cos(q2))]


def test_the_printed_torques_of_the_planar_arm():
    """And their derivatives, term by term: what is collected is the same sum."""
    found = planar(2)
    expected = printed(found.q)
    terms = []
    for k in range(3):
        for i in range(2):
            assert sympy.expand(found.torque[k, i] - expected[i]) == 0
            terms.append(len(sympy.Add.make_args(found.torque[k, i])))
        expected = [rate(formula, found.q) for formula in expected]
    assert terms == [11, 5, 15, 8, 25, 16]  # as many as the paper prints


def test_without_collecting_they_are_equal():
    plain, collected = planar(1, simplify=False), planar(1)
    rng = np.random.default_rng(0)
    names = [L1, L2, M1, M2, G, *plain.q.flat]
    for one, other in zip(plain.torque.flat, collected.torque.flat, strict=True):
        values = rng.uniform(0.5, 2.0, (5, len(names)))
        a, b = (sympy.lambdify(names, x, 'math') for x in (one, other))
        for row in values.tolist():
            assert a(*row) == pytest.approx(b(*row), rel=1e-12)


def test_lagranges_equations_of_a_slider_with_a_pendulum():
    """A prismatic and a revolute joint, about an axis that is not z, and an inertia."""
    m, c, ixx, iyy, izz, ell = sympy.symbols('m c Ixx Iyy Izz l')
    robot = hd.load_robot({'name': 'crane', 'bodies': [
        link('slider', kind='prismatic', axis=[1, 0, 0], com=[0, 0, 0]),
        link('rod', 0, com=[0, 0, -1])]})
    found = hd.symbolic_torques(robot, 1, symbols={
        'slider': {'mass': c},
        'rod': {'mass': m, 'com': [0, 0, -ell], 'inertia': sympy.diag(ixx, iyy, izz)}},
        gravity=[0, 0, -G])
    q = found.q
    (x, angle), (v, w) = q[:2]
    place = sympy.Matrix([x - ell * sympy.sin(angle), -ell * sympy.cos(angle)])
    velocity = place.jacobian([x, angle]) * sympy.Matrix([v, w])
    lagrangian = (c * v**2 + m * velocity.dot(velocity) + iyy * w**2) / 2 - m * G * place[1]
    for i in range(2):
        expected = rate(sympy.diff(lagrangian, q[1, i]), q) - sympy.diff(lagrangian, q[0, i])
        assert sympy.simplify(found.torque[0, i] - expected) == 0
        assert sympy.simplify(found.torque[1, i] - rate(expected, q)) == 0


def assert_gives_the_torques(found, robot, q, values):
    """Put numbers in, those of the symbols too."""
    function = sympy.lambdify([*found.q.flat, *values], list(found.torque.flat), 'math', cse=True)
    torque = np.reshape(function(*q.ravel(), *values.values()), found.torque.shape)
    assert_close(torque, hd.inverse_dynamics(robot, q), 1e-11)


@pytest.mark.parametrize(('seed', 'coupled'), [(0, False), (1, True)])
def test_numbers_put_in_give_the_torques_of_the_library(seed, coupled):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 2 if coupled else 3, serial=False, coupled=coupled)
    found = hd.symbolic_torques(robot, 1, simplify=False)
    assert_gives_the_torques(found, robot, random_motion(rng, robot, 1), {})


def test_symbols_and_numbers_of_a_body_are_the_same_robot():
    """Symbols with values put in, in frames whose joints are anywhere."""
    rng = np.random.default_rng(4)
    robot = random_robot(rng, 2)
    symbols, values = {}, {}
    for body, key in itertools.product(robot.bodies, ('mass', 'com', 'inertia', 'placement')):
        array = np.array(getattr(body, key), dtype=object)
        for place, value in np.ndenumerate(array):
            if key != 'placement' or place[0] < 3:  # the last row is constant
                order = sorted(place) if key == 'inertia' else place
                array[place] = sympy.Symbol(f'{body.name}{key}{"".join(map(str, order))}')
                values[array[place]] = float(value)
        symbols.setdefault(body.name, {})[key] = array[()] if key == 'mass' else array
    found = hd.symbolic_torques(robot, 1, symbols=symbols, simplify=False)
    assert_gives_the_torques(found, robot, random_motion(rng, robot, 1), values)


def test_latex_has_dots():
    found = hd.symbolic_torques(hd.load_robot('twolink'), 3, simplify=False)
    printed = [sympy.latex(x) for x in found.q[:, 0]]
    assert printed[:3] == ['q_{1}', r'\dot{q}_{1}', r'\ddot{q}_{1}']
    assert len(set(found.q.flat)) == 12


@pytest.mark.parametrize(('options', 'message'), [
    ({'symbols': {'link9': {}}}, "no body 'link9'; its bodies are link1, link2"),
    ({'symbols': {'link1': {'axis': [0, 0, 1]}}}, "has no 'axis'; known keys are mass, com"),
    *(({'symbols': {'link1': given}}, words) for given, words in (
        ({'com': [L1]}, r'com has shape \(1,\)'),
        ({'com': {'x': 1}}, r'com has shape \(\)'),
        ({'com': [[0, 0], 1, 2]}, 'com: .* neither'),
        ({'mass': 'm'}, "mass: 'm' is neither"),
        ({'mass': sympy.I}, 'mass: I is neither'),
        ({'mass': sympy.nan}, 'mass: nan is neither'),
        ({'mass': sympy.Symbol('m', imaginary=True)}, 'mass: m is neither'),
        (['mass'], "symbols of 'link1': expected a mapping of some of mass"),
        (None, "symbols of 'link1': expected a mapping of some of mass"))),
    ({'symbols': ['m']}, r"symbols: expected a mapping from bodies to mappings, got \['m'\]"),
    ({'symbols': 'm'}, "symbols: expected a mapping from bodies to mappings, got 'm'"),
    ({'symbols': []}, 'symbols: expected a mapping from bodies'),
    ({'gravity': [0, np.inf, 0]}, 'gravity: inf is neither'),
    ({'gravity': None, 'symbols': {3: {}}}, 'no body 3; its bodies are'),
    ({'gravity': 9.81}, r'gravity has shape \(\); expected \(3,\)'),
    ({'order': -1}, 'order must be'),
])
def test_wrong_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        hd.symbolic_torques(hd.load_robot('twolink'), **options)


def test_a_floating_base_is_refused():
    with pytest.raises(ValueError, match='floating base'):
        hd.symbolic_torques(hd.load_robot('aerial_manipulator'))


def test_without_sympy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sympy', None)
    with pytest.raises(ValueError, match=r'need SymPy: pip install .*symbolic'):
        hd.symbolic_torques(hd.load_robot('twolink'))


def test_formulas_that_would_take_many_minutes_are_refused_at_once():
    began = time.monotonic()
    for name, order in (('panda', 0), ('ur10e', 2)):
        with pytest.raises(hd.HodynError, match=f'to order {order} may have .* use generate_c'):
            hd.symbolic_torques(hd.load_robot(name), order)
    assert time.monotonic() - began < 20.0  # not the hours that they would take
