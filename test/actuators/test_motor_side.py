"""The motor side against forward laws differentiated to 50 digits."""
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from laws_and_motions import LAWS, MOTOR, TABLE_Q, TABLE_X, Wave, actuators
import mpmath as mp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    CubicSpring,
    LinearSpring,
    TabulatedSpring,
    VariableStiffness,
)
from hodyn_ros.actuators.link_side import LinkSide
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.errors import HodynError

mp.mp.dps = 50
TIMES = (0.13, 0.71, 1.9)
Q_SIZE = 45.0


def spline_torque(x):
    spline = CubicSpline(TABLE_X, TABLE_Q)
    piece = int(np.searchsorted(TABLE_X, float(x), side='right') - 1)
    d = x - mp.mpf(float(TABLE_X[piece]))
    return sum(mp.mpf(float(c)) * d**(3 - k) for k, c in enumerate(spline.c[:, piece]))


def elongations_of(law, torque, stiffness, guess):
    """Solve the forward law for the elongations; knows nothing of the formulas under test."""
    if isinstance(law, CubicSpring):
        f = lambda x: mp.mpf(law.stiffness) * x + mp.mpf(law.cubic) * x**3 - torque  # noqa: E731
    elif isinstance(law, TabulatedSpring):
        f = lambda x: spline_torque(x) - torque  # noqa: E731
    elif isinstance(law, VariableStiffness):
        f = lambda x: stiffness * x - torque  # noqa: E731
    elif isinstance(law, LinearSpring):
        f = lambda x: mp.mpf(law.stiffness) * x - torque  # noqa: E731
    else:
        if isinstance(law, AntagonisticExponential):
            a, b = mp.mpf(law.scale), mp.mpf(law.rate)
            force, slope = (lambda x: a * (mp.exp(b * x) - 1)), (lambda x: a * b * mp.exp(b * x))
        else:
            k = mp.mpf(law.coefficient)
            force, slope = (lambda x: k * x**2 / 2), (lambda x: k * x)
        solution = mp.findroot(
            lambda x1, x2: [force(x1) - force(x2) - torque, slope(x1) + slope(x2) - stiffness],
            guess, tol=1e-80)
        return [solution[0], solution[1]]
    return [mp.findroot(f, guess[0], tol=1e-80)]


@pytest.mark.parametrize('name', [name for name in LAWS if name != 'rigid'])
def test_agrees_with_differentiation_of_the_forward_law_to_50_digits(name):
    law = LAWS[name]
    q, torque = Wave(1, 2.0), Wave(2, Q_SIZE)
    sigma = Wave(3, 500.0, offset=1500.0)
    side = MotorSide(actuators(law))
    times = np.array(TIMES)
    reference = side.along(
        times, q.derivatives(times, 4)[:, :, None], torque.derivatives(times, 2)[:, :, None],
        sigma.derivatives(times, 2)[:, :, None])
    for k, t in enumerate(TIMES):
        side.evaluate(
            q.derivatives(t, 4)[:, None], torque.derivatives(t, 2)[:, None],
            sigma.derivatives(t, 2)[:, None])
        guess = [mp.mpf(float(x)) for x in side.elongation]
        for motor, sign in enumerate((1, -1)[:law.motors]):
            def theta(s, motor=motor, sign=sign, guess=guess):
                return q.exact(s) + sign * elongations_of(
                    law, torque.exact(s), sigma.exact(s), guess)[motor]

            exact = [theta(mp.mpf(t)), mp.diff(theta, t), mp.diff(theta, t, 2)]
            scale = [1.0, 10.0, 100.0]
            for order in range(3):
                error = abs(reference[k, order, motor] - float(exact[order]))
                assert error < 1e-10 * max(abs(float(exact[order])), scale[order]), order
            if isinstance(law, AntagonisticExponential):
                carried = mp.mpf(law.scale) * (
                    mp.exp(mp.mpf(law.rate) * sign * (exact[0] - q.exact(t))) - 1) * sign
            elif isinstance(law, AntagonisticQuadratic):
                carried = sign * mp.mpf(law.coefficient) * (exact[0] - q.exact(t))**2 / 2
            else:
                carried = torque.exact(t)
            motor_torque = (
                MOTOR.inertia * exact[2] + MOTOR.viscous * exact[1]
                + MOTOR.coulomb * mp.tanh(exact[1] / MOTOR.coulomb_velocity) + carried)
            assert abs(reference[k, 3, motor] - float(motor_torque)) < 1e-10 * max(
                1.0, abs(float(motor_torque)))


@pytest.mark.parametrize('damping', [20.0, 1.0, 1e-3, 1e-9])
def test_damper_beside_the_spring_follows_its_differential_equation(damping):
    stiffness, start, step = 800.0, 0.4, 1e-3
    w, size = 5.0, 30.0
    times = start + step * np.arange(400)
    torque = np.stack([
        size * w**k * np.sin(w * times + k * np.pi / 2) for k in range(3)], axis=1)
    q = np.zeros((len(times), 5, 1))
    side = MotorSide(actuators(LinearSpring(stiffness, damping)))
    theta = side.along(times, q, torque[:, :, None])[:, :3, 0]
    # D x' + K x = Q: x = A sin(w t − φ) and a part that decays from how the recursion starts.
    amplitude = size / np.hypot(stiffness, damping * w)
    phase = np.arctan2(damping * w, stiffness)
    steady = np.stack([
        amplitude * w**k * np.sin(w * times - phase + k * np.pi / 2) for k in range(3)], axis=1)
    rate = stiffness / damping
    decay = np.exp(-rate * (times - start))
    expected = steady + (theta[0, 2] - steady[0, 2]) * decay[:, None] * np.array(
        [1 / rate**2, -1 / rate, 1.0])
    assert theta[0, 2] == torque[0, 2] / stiffness
    for order in range(3):
        scale = amplitude * w**order
        assert np.abs(theta[:, order] - expected[:, order]).max() < 1e-10 * scale


def test_damper_of_nothing_is_the_pure_spring():
    times = np.linspace(0.0, 0.3, 50)
    torque = Wave(4, 20.0).derivatives(times, 2)[:, :, None]
    q = Wave(5, 1.0).derivatives(times, 4)[:, :, None]
    pure = MotorSide(actuators(LinearSpring(500.0))).along(times, q, torque)
    damped = MotorSide(actuators(LinearSpring(500.0, 1e-12))).along(times, q, torque)
    assert np.abs(damped - pure).max() < 1e-9 * np.abs(pure).max()


def test_a_table_is_solved_to_round_off_whatever_its_shape():
    """On pieces whose slope nearly vanishes inside, at an end, or changes a thousandfold."""
    x = np.linspace(-1.0, 1.0, 9)
    for shape in (x**3 + 4e-3 * x, np.expm1(3 * x), -np.expm1(-3 * x), x + 0.12 * np.sin(6 * x)):
        law = TabulatedSpring(x, 100.0 * shape)
        model, curve = actuators(law), CubicSpline(law.deflection, law.torque)
        inside = np.concatenate([law.torque, np.linspace(*law.torque[[0, -1]], 5000)])
        torque = np.zeros((len(inside), 3, 1))
        torque[:, 0, 0] = inside
        theta = MotorSide(model).sample(np.zeros_like(torque), torque)[0][:, 0, 0]
        # The slope divides round-off of the torque.
        error = np.abs(curve(theta) - inside)
        assert error.max() < 1e-14 * np.abs(law.torque).max()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_link_side_undoes_the_motor_side(seed):
    rng = np.random.default_rng(seed)
    laws = list(LAWS.values())
    model = actuators(*laws)
    torque = rng.uniform(-50, 50, (3, len(laws)))
    stiffness = rng.uniform(1000, 3000, (3, len(laws)))
    q = rng.normal(size=(5, len(laws)))
    side = MotorSide(model)
    theta, rate, acceleration, motor_torque = side.evaluate(q, torque, stiffness)
    assert side.feasible.all()
    link = LinkSide(model)
    link.evaluate(q[0], q[1], theta, rate, stiffness[0])
    assert np.abs(link.torque[1:] - torque[0, 1:]).max() < 1e-10 * 50
    variable = model.variable
    assert np.allclose(link.stiffness[variable], stiffness[0, variable], rtol=1e-11)
    load = link.load + model.motors[:, 0] * acceleration
    load[0] += torque[0, 0]
    assert np.abs(motor_torque - load).max() < 1e-9 * np.abs(motor_torque).max()


def test_stiffness_is_the_slope_of_the_torque():
    laws = [law for name, law in LAWS.items() if name != 'rigid']
    model = actuators(*laws)
    side, link = MotorSide(model), LinkSide(model)
    q = np.zeros((5, len(laws)))
    torque = np.zeros((3, len(laws)))
    torque[0] = np.linspace(-40, 40, len(laws))
    theta = side.evaluate(q, torque)[0]
    h = 1e-6
    rest = np.zeros(model.n_motors)
    up = link.evaluate(q[0] + h, q[0], theta, rest).copy()
    down = link.evaluate(q[0] - h, q[0], theta, rest).copy()
    link.evaluate(q[0], q[0], theta, rest)
    assert np.allclose(link.stiffness, (down - up) / (2 * h), rtol=1e-6)


INFEASIBLE = [
    ('softening', 200.0, 1.0, r'gives way under 200 N m, which is \d+\.?\d* N m too much'),
    ('table', 300.0, 1.0, r'leaves its table under 300 N m'),
    ('variable', 10.0, -5.0, r'stiffness of -5 N m/rad .* short by 5 N m/rad'),
    ('exponential', 100.0, 800.0, r'stiffness of 800 N m/rad with a torque of 100 N m is short '
                                  r'by 48 N m/rad'),
    ('exponential that pushes', 100.0, 800.0, r'short by 0 N m/rad'),
    ('quadratic', 100.0, 800.0, r'short by 94.43 N m/rad'),
]


@pytest.mark.parametrize(('name', 'torque', 'stiffness', 'message'), INFEASIBLE)
def test_a_plan_beyond_the_joint_is_refused_with_joint_time_and_margin(
        name, torque, stiffness, message):
    side = MotorSide(actuators(LAWS['linear'], LAWS[name]))
    times = np.array([0.0, 0.25, 0.5])
    torques = np.zeros((3, 3, 2))
    sigma = np.zeros((3, 3, 2))
    sigma[:, 0] = 2000.0
    side.along(times, np.zeros((3, 5, 2)), torques, sigma)
    torques[1, 0, 1], sigma[1, 0, 1] = torque, stiffness
    with pytest.raises(ValueError, match=rf"joint 'j1' at 0.25 s: .*{message}"):
        side.along(times, np.zeros((3, 5, 2)), torques, sigma)


@pytest.mark.parametrize('name', [entry[0] for entry in INFEASIBLE])
def test_online_the_last_feasible_output_is_held_and_flagged(name):
    bad_torque, bad_stiffness = next(e[1:3] for e in INFEASIBLE if e[0] == name)
    side = MotorSide(actuators(LAWS['linear'], LAWS[name]))
    q = np.full((5, 2), 0.1)
    torque, sigma = np.full((3, 2), 20.0), np.full((3, 2), 50.0)
    sigma[0] = 2000.0
    good = side.evaluate(q, torque, sigma).copy()
    assert side.feasible.all()
    torque[0, 1], sigma[0, 1] = bad_torque, bad_stiffness
    q[0] = 0.2
    held = side.evaluate(q, torque, sigma)
    assert side.feasible.tolist() == [True, False]
    assert side.margin[1] < 0.0
    assert np.array_equal(held[[0, 3], 1:], good[[0, 3], 1:])
    assert not held[1:3, 1:].any()
    assert held[0, 0] == 0.2 + 20.0 / 1000.0
    torque[0, 1], sigma[0, 1] = 20.0, 2000.0
    assert side.evaluate(q, torque, sigma)[1, 1] != 0.0
    assert side.feasible.all()


def test_what_is_not_a_number_is_infeasible():
    side = MotorSide(actuators(LAWS['exponential']))
    sigma = np.array([[np.nan], [0.0], [0.0]])
    side.evaluate(np.zeros((5, 1)), np.zeros((3, 1)), sigma)
    assert not side.feasible[0]
    with pytest.raises(ValueError, match="joint 'j0' at 0 s"):
        side.along([0.0], np.zeros((1, 5, 1)), np.zeros((1, 3, 1)), sigma[None])


@pytest.mark.parametrize('wrong', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('row', range(3))
@pytest.mark.parametrize('where', ['q', 'torque'])
def test_a_cycle_that_is_not_finite_holds_its_joint_and_leaves_no_trace(where, row, wrong):
    laws = [LinearSpring(400.0, 20.0), LinearSpring(400.0), CubicSpring(300.0, 50.0)]
    times = np.linspace(0, 0.3, 300)
    q, torque = (
        np.stack([Wave(seed + i, 20.0).derivatives(times, k) for i in range(3)], axis=2)
        for seed, k in ((1, 4), (9, 2)))
    side, sound = (MotorSide(actuators(*laws)) for _ in range(2))
    dt = times[1]
    for k in range(len(times)):
        motion, load = q[k].copy(), torque[k].copy()
        is_wrong = k in (150, 151)
        if is_wrong:
            {'q': motion, 'torque': load}[where][row, 0] = wrong
        before = side.reference[:, 0].copy()
        found, right = side.evaluate(motion, load, dt=dt), sound.evaluate(q[k], torque[k], dt=dt)
        np.testing.assert_array_equal(side.feasible, [not is_wrong, True, True])
        np.testing.assert_array_equal(found[:, 1:], right[:, 1:])
        if is_wrong:
            np.testing.assert_array_equal(found[:, 0], [before[0], 0.0, 0.0, before[3]])
            assert side.margin[0] < 0.0
    # The damper was stepped over the gap as over a longer cycle.
    np.testing.assert_allclose(found[:3], right[:3], rtol=1e-3, atol=1e-3 * np.abs(right).max())


def test_a_first_cycle_that_is_not_finite_is_no_beginning():
    side, sound = (MotorSide(actuators(LinearSpring(400.0, 20.0))) for _ in range(2))
    q, torque = np.full((5, 1), 0.3), np.array([[8.0], [30.0], [200.0]])
    first = side.evaluate(q, np.full((3, 1), np.nan))
    assert not side.feasible.any()
    np.testing.assert_array_equal(first[:, 0], [0.3, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(side.evaluate(q, torque), sound.evaluate(q, torque))


def test_one_sample_after_another_is_the_whole_motion():
    laws = [*LAWS.values(), LinearSpring(700.0, 4.0)]
    times = np.linspace(0, 1, 60)
    q = np.stack([Wave(i, 1.0).derivatives(times, 4) for i in range(len(laws))], axis=2)
    torque = np.stack([Wave(9 + i, 40.0).derivatives(times, 2) for i in range(len(laws))], axis=2)
    side = MotorSide(actuators(*laws))
    whole = side.along(times, q, torque)
    single = [
        side.evaluate(q[k], torque[k], dt=times[k] - times[k - 1] if k else 0.0).copy()
        for k in range(len(times))]
    assert np.array_equal(whole, np.array(single))
    assert side.actuators.motor_names[-4:] == ('j7_motor2', 'j8_motor1', 'j8_motor2', 'j9')


def test_springs_with_dampers_are_told_the_time_or_refused():
    """Without it the motors of a damped spring would stand where the first call left them."""
    side = MotorSide(actuators(LAWS['linear'], LinearSpring(400.0, 20.0)))
    plain = MotorSide(actuators(LAWS['linear'], LAWS['exponential']))
    q, torque = np.zeros((5, 2)), np.ones((3, 2))
    for _ in range(2):
        plain.evaluate(q, torque)
        side.reset()
        side.evaluate(q, torque)
    before = side.reference.copy()
    with pytest.raises(HodynError, match=r"joint 'j1': a spring with a damper needs dt, the time"):
        side.evaluate(q, 2.0 * torque)
    for each, wrong in itertools.product((side, plain), (-1.0, np.nan, np.inf)):
        with pytest.raises(HodynError, match=r'dt is .* the time since the last call'):
            each.evaluate(q, torque, dt=wrong)
    assert np.array_equal(side.reference, before)
    side.evaluate(q, torque, dt=1e-3)


def test_a_time_that_is_no_number_is_refused():
    side = MotorSide(actuators(LAWS['linear']))
    for wrong in ('a', None):
        with pytest.raises(HodynError, match=f'^dt: expected numbers, got {wrong!r}$'):
            side.evaluate(np.zeros((5, 1)), np.zeros((3, 1)), dt=wrong)


@pytest.mark.parametrize('given', [None, 'robot', 1.0])
def test_what_are_no_actuators_is_refused(given):
    with pytest.raises(HodynError, match=r'expected Actuators: robot\.actuators'):
        MotorSide(given)


@pytest.mark.parametrize(('changes', 'said'), [
    ({'times': np.arange(5.0)[::-1]}, r'times\[1\] is 3, not after 4: expected increasing'),
    ({'times': np.zeros(5)}, 'not after 0'),
    ({'times': np.array([0.0, 1.0, np.nan, 3.0, 4.0])}, r'times\[2\] is nan: not finite'),
    ({'q': np.full((5, 5, 1), np.nan)}, r'q\[0, 0, 0\] is nan: not finite'),
    ({'torque': np.full((5, 3, 1), np.inf)}, r'torque\[0, 0, 0\] is inf: not finite')])
@pytest.mark.parametrize('law', [LAWS['linear'], LinearSpring(400.0, 20.0)])
def test_motions_that_are_none_are_refused(law, changes, said):
    motion = {
        'times': np.arange(5.0), 'q': np.zeros((5, 5, 1)), 'torque': np.zeros((5, 3, 1))}
    side = MotorSide(actuators(law))
    side.along(**motion)
    with pytest.raises(HodynError, match=said):
        side.along(**motion | changes)


def test_arrays_that_do_not_fit_are_refused_unless_told_otherwise():
    """Guards reading beyond their ends."""
    side = MotorSide(actuators(LAWS['linear'], LAWS['variable']))
    q, torque = np.zeros((5, 2)), np.zeros((3, 2))
    for wrong in ((q[:2], torque), (q[:, :1].copy(), torque), (q, torque[:2])):
        with pytest.raises(ValueError, match='shape'):
            side.evaluate(*wrong)
    with pytest.raises(ValueError, match='stiffness'):
        side.evaluate(q, torque, np.zeros((2, 2)))
