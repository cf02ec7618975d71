"""Torques as formulas: those that MK21 prints, those of Lagrange, and the kernels' numbers."""
import sys
import time

import numpy as np
import pytest
from random_robots import assert_close, random_motion, random_robot

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
    robot = hd.load_robot({'name': 'crane', 'gravity': [0, 0, -9.81], 'bodies': [
        {'name': 'slider', 'parent': -1, 'type': 'prismatic', 'axis': [1, 0, 0],
         'placement': np.eye(4), 'mass': 3.0, 'com': [0, 0, 0], 'inertia': 0.1 * np.eye(3)},
        {'name': 'rod', 'parent': 0, 'type': 'revolute', 'axis': [0, 1, 0],
         'placement': np.eye(4), 'mass': 1.0, 'com': [0, 0, -1], 'inertia': 0.1 * np.eye(3)}]})
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


@pytest.mark.parametrize(('seed', 'coupled'), [(0, False), (1, True)])
def test_numbers_put_in_give_the_torques_of_the_library(seed, coupled):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 2 if coupled else 3, serial=False, coupled=coupled)
    found = hd.symbolic_torques(robot, 1, simplify=False)
    q = random_motion(rng, robot, 1)
    function = sympy.lambdify(list(found.q.flat), list(found.torque.flat), 'math', cse=True)
    torque = np.reshape(function(*q.ravel()), found.torque.shape)
    assert_close(torque, hd.inverse_dynamics(robot, q), 1e-11)


def test_symbols_and_numbers_of_a_body_are_the_same_robot():
    """Symbols with values put in, in frames whose joints are anywhere."""
    rng = np.random.default_rng(4)
    robot = random_robot(rng, 2)
    bodies = robot.bodies
    symbols, values = {}, {}
    for body in bodies:
        given = {}
        for key in ('mass', 'com', 'inertia', 'placement'):
            number = np.array(getattr(body, key))
            array = np.empty(number.shape, dtype=object)
            for place, value in np.ndenumerate(number):
                constant = key == 'placement' and place[0] == 3
                name = sympy.Symbol(f'{body.name}{key}{"".join(map(str, sorted(place)))}') \
                    if key == 'inertia' else sympy.Symbol(
                        f'{body.name}{key}{"".join(map(str, place))}')
                array[place] = float(value) if constant else name
                if not constant:
                    values[name] = float(value)
            given[key] = array[()] if key == 'mass' else array
        symbols[body.name] = given
    found = hd.symbolic_torques(robot, 1, symbols=symbols, simplify=False)
    q = random_motion(rng, robot, 1)
    function = sympy.lambdify([*found.q.flat, *values], list(found.torque.flat), 'math', cse=True)
    torque = np.reshape(function(*q.ravel(), *values.values()), found.torque.shape)
    assert_close(torque, hd.inverse_dynamics(robot, q), 1e-11)


def test_latex_has_dots():
    found = hd.symbolic_torques(hd.load_robot('twolink'), 3, simplify=False)
    printed = [sympy.latex(x) for x in found.q[:, 0]]
    assert printed[:3] == ['q_{1}', r'\dot{q}_{1}', r'\ddot{q}_{1}']
    assert len(set(found.q.flat)) == 12


@pytest.mark.parametrize(('options', 'message'), [
    ({'symbols': {'link9': {}}}, "no body 'link9'; its bodies are link1, link2"),
    ({'symbols': {'link1': {'axis': [0, 0, 1]}}}, "has no 'axis'; known keys are mass, com"),
    ({'symbols': {'link1': {'com': [L1]}}}, r'com has shape \(1,\)'),
    ({'symbols': {'link1': {'mass': 'm'}}}, "mass: 'm' is neither"),
    ({'symbols': {'link1': {'mass': sympy.I}}}, 'mass: I is neither'),
    ({'symbols': {'link1': {'mass': sympy.nan}}}, 'mass: nan is neither'),
    ({'symbols': {'link1': {'mass': sympy.Symbol('m', imaginary=True)}}}, 'mass: m is neither'),
    ({'symbols': {'link1': {'com': {'x': 1}}}}, r'com has shape \(\)'),
    ({'symbols': {'link1': {'com': [[0, 0], 1, 2]}}}, 'com: .* neither'),
    ({'symbols': ['m']}, r"symbols: expected a mapping from bodies to mappings, got \['m'\]"),
    ({'symbols': 'm'}, "symbols: expected a mapping from bodies to mappings, got 'm'"),
    ({'symbols': []}, 'symbols: expected a mapping from bodies'),
    ({'symbols': {'link1': ['mass']}}, "symbols of 'link1': expected a mapping of some of mass"),
    ({'symbols': {'link1': None}}, "symbols of 'link1': expected a mapping of some of mass"),
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
