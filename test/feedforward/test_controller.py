from dataclasses import replace

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joints import Actuators, JointActuator
from hodyn_ros.actuators.laws import ExponentialAntagonism, Rigid
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import MOST_CHANGES, Cycle, CycleOptions
from hodyn_ros.reference import fit_plan

MS = 1_000_000
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STEP = MS


@pytest.fixture(scope='module')
def panda():
    return hd.load_robot('panda')


@pytest.fixture(scope='module')
def feedforward(panda):
    return FeedForward(panda)


def cycle_at_home(feedforward, **options):
    return Cycle(feedforward, HOME, 0, CycleOptions(**options))


def plan_to(cycle, goal, seconds, start):
    return fit_plan([seconds], [goal], start=cycle.schedule.state_at(start))


def run(cycle, first, last, step=STEP, measured=None):
    """Evaluate from first to last (ns); return the references (T, 5, n) and outputs (T, 3, n)."""
    q, output = [], []
    for now in range(first, last, step):
        cycle.evaluate(now, measured)
        q.append(cycle.q.copy())
        output.append(cycle.output.copy())
    return np.array(q), np.array(output)


def assert_is_its_own_integral(values, dt, tolerance):
    """Each row is the derivative of the one above, between all samples: so there is no step."""
    for k in range(values.shape[1] - 1):
        change = np.diff(values[:, k], axis=0)
        mean = 0.5 * (values[1:, k + 1] + values[:-1, k + 1]) * dt
        scale = max(1.0, np.abs(values[:, k]).max())
        assert np.abs(change - mean).max() <= tolerance * scale, f'order {k}'


def test_it_holds_then_follows_then_holds(feedforward):
    cycle = cycle_at_home(feedforward)
    goal = HOME + 0.2
    cycle.schedule.follow(plan_to(cycle, goal, 1.0, 200 * MS), 200 * MS)
    for now, mode in ((0, 'holding'), (200 * MS, 'following'), (1200 * MS, 'holding')):
        cycle.evaluate(now)
        assert cycle.schedule.mode(now) == mode
        np.testing.assert_array_equal(cycle.torque, feedforward.torque(cycle.q))
    np.testing.assert_allclose(cycle.q[0], goal, rtol=0, atol=1e-12)


def test_a_plan_that_waits_is_dropped_for_an_earlier_one_and_kept_for_a_later_one(feedforward):
    cycle = cycle_at_home(feedforward)
    first = plan_to(cycle, HOME + 0.3, 1.0, 0)
    cycle.schedule.follow(first, 0)
    turn = 400 * MS
    second = plan_to(cycle, HOME - 0.2, 1.0, turn)
    cycle.schedule.follow(second, turn)
    for now in (0, 200 * MS, turn - 1, turn, turn + 500 * MS, turn + 2000 * MS):
        cycle.evaluate(now)
        plan, start = (first, 0) if now < turn else (second, turn)
        np.testing.assert_array_equal(cycle.q, plan.evaluate((now - start) * 1e-9))


@pytest.mark.parametrize('disturbance', ['plan', 'stop', 'jump back', 'jump ahead', 'stream'])
def test_nothing_steps_whatever_interrupts_a_motion(feedforward, disturbance):
    cycle = cycle_at_home(feedforward)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.4, 1.5, 0), 0)
    q, output = run(cycle, 0, 700 * MS)
    now = 700 * MS - STEP
    if disturbance == 'plan':
        cycle.schedule.follow(plan_to(cycle, HOME - 0.3, 1.5, now), now)
    elif disturbance == 'stop':
        cycle.stop(now)
    elif disturbance.startswith('jump'):
        now += 3_600_000 * MS * (1 if disturbance.endswith('ahead') else -1)
        cycle.jump(now)
    else:
        cycle.schedule.aim(now, HOME + 0.1, np.zeros(7))
    later_q, later_output = run(cycle, now, now + 2500 * MS)
    for k in range(5):
        assert np.abs(later_q[0, k] - q[-1, k]).max() <= 1e-9 * max(1, np.abs(q[:, k]).max())
    for k in range(3):
        assert np.abs(later_output[0, k] - output[-1, k]).max() <= (
            1e-9 * max(1, np.abs(output[:, k]).max()))
    assert_is_its_own_integral(np.concatenate([q, later_q[1:]])[:, :4], 1e-3, 1e-2)
    assert np.abs(later_q[-1, 1]).max() < 1e-6
    assert cycle.schedule.mode(now + 2500 * MS) in ('holding', 'streaming')


@pytest.mark.slow
def test_a_thousand_plans_replaced_in_mid_motion_leave_no_step(feedforward):
    rng = np.random.default_rng(7)
    cycle = cycle_at_home(feedforward)
    now = 0
    for _ in range(1000):
        cycle.evaluate(now)
        before = cycle.q.copy(), cycle.output.copy()
        goal = HOME + rng.uniform(-0.4, 0.4, 7)
        cycle.schedule.follow(plan_to(cycle, goal, rng.uniform(0.3, 2.0), now), now)
        cycle.evaluate(now)
        for old, new in zip(before, (cycle.q, cycle.output), strict=True):
            scale = np.maximum(1.0, np.abs(old).max(axis=1, keepdims=True))
            assert np.abs((new - old) / scale).max() <= 1e-9
        now += int(rng.integers(1, 500)) * MS
    assert now > 100_000 * MS


def test_the_output_appears_from_nothing_and_fades_to_nothing_without_gravity(feedforward):
    cycle = cycle_at_home(feedforward, gravity_in_output=False, fade=0.4)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.3, 0.8, 0), 0)
    _, output = run(cycle, 0, 700 * MS)
    assert np.array_equal(output[0], np.zeros((3, 7)))
    cycle.stop(700 * MS)
    assert cycle.schedule.mode(700 * MS) == 'stopping'
    _, stopping = run(cycle, 700 * MS, 1500 * MS)
    limits = feedforward.robot.limits
    assert (np.abs(stopping[:, 1]) <= limits.effort_rate).all()
    cycle.leave(1500 * MS)
    _, leaving = run(cycle, 1500 * MS, 1901 * MS)
    assert cycle.has_left(1901 * MS)
    assert np.array_equal(leaving[-1], np.zeros((3, 7)))
    assert_is_its_own_integral(np.concatenate([output, stopping, leaving]), 1e-3, 3e-2)


def test_with_gravity_it_fades_to_the_weight_and_never_to_nothing(feedforward):
    cycle = cycle_at_home(feedforward, fade=0.3)
    cycle.feel(6, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0]))
    run(cycle, 0, 1000 * MS)
    weight = np.zeros((5, 7))
    weight[0] = HOME
    weight = feedforward.torque(weight)
    assert np.abs(cycle.output[0] - weight[0]).max() > 1.0
    cycle.leave(1000 * MS)
    run(cycle, 1000 * MS, 1301 * MS)
    np.testing.assert_allclose(cycle.output, weight, rtol=0, atol=1e-9)
    assert np.abs(cycle.output[0]).max() > 10.0


def test_a_payload_is_taken_without_a_step(feedforward, panda):
    cycle = cycle_at_home(feedforward, fade=0.3)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.3, 1.5, 0), 0)
    _, before = run(cycle, 0, 500 * MS)
    loaded = FeedForward(panda.with_payload('link7', 2.0, [0.0, 0.0, 0.1]))
    cycle.replace(loaded, 500 * MS)
    _, after = run(cycle, 500 * MS, 1800 * MS)
    assert_is_its_own_integral(np.concatenate([before, after]), 1e-3, 1e-2)
    np.testing.assert_array_equal(cycle.output, loaded.torque(cycle.q))


def test_payloads_that_follow_each_other_while_one_fades_in_leave_no_step(feedforward, panda):
    cycle = cycle_at_home(feedforward, fade=0.3)
    outputs = [run(cycle, 0, 500 * MS)[1]]
    for k, mass in enumerate((3.0, 0.5, 2.0)):
        loaded = FeedForward(panda.with_payload('link7', mass, [0.0, 0.0, 0.1]))
        now = (500 + 100 * k) * MS
        cycle.replace(loaded, now)
        outputs.append(run(cycle, now, now + 100 * MS)[1])
    outputs.append(run(cycle, 800 * MS, 1200 * MS)[1])
    assert_is_its_own_integral(np.concatenate(outputs), 1e-3, 1e-2)
    np.testing.assert_array_equal(cycle.output, loaded.torque(cycle.q))


def test_too_many_payloads_at_once_are_refused(feedforward):
    cycle = cycle_at_home(feedforward)
    for _ in range(MOST_CHANGES):
        cycle.replace(feedforward, 0)
    with pytest.raises(ValueError, match='still being faded in'):
        cycle.replace(feedforward, 0)


@pytest.mark.parametrize('seconds', [-100.0, 100.0])
def test_a_clock_that_is_set_while_the_output_fades_in_leaves_no_step(feedforward, seconds):
    cycle = cycle_at_home(feedforward, gravity_in_output=False, fade=0.5)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.3, 1.0, 0), 0)
    _, before = run(cycle, 0, 250 * MS)
    now = cycle.now + round(seconds * 1e9)
    cycle.jump(now)
    _, after = run(cycle, now + MS, now + 600 * MS)
    assert_is_its_own_integral(np.concatenate([before, after]), 1e-3, 1e-2)


def test_time_does_not_go_back_by_itself(feedforward):
    cycle = cycle_at_home(feedforward)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.3, 1.0, 0), 0)
    run(cycle, 0, 500 * MS)
    reached = cycle.q.copy()
    cycle.evaluate(300 * MS)
    np.testing.assert_array_equal(cycle.q, reached)


def test_an_external_wrench_is_met_with_its_rates(feedforward, panda):
    cycle = cycle_at_home(feedforward)
    wrench = np.array([0.5, -1.0, 2.0, 10.0, -5.0, 8.0])
    run(cycle, 0, 100 * MS)
    cycle.feel(6, wrench)
    _, output = run(cycle, 100 * MS, 1100 * MS)
    assert_is_its_own_integral(output, 1e-3, 1e-2)
    settled = np.zeros((3, 7, 6))
    settled[0, 6] = wrench
    want = feedforward.torque(cycle.q, wrenches=settled)
    np.testing.assert_allclose(cycle.output, want, rtol=0, atol=1e-6)
    assert np.abs(want[0] - feedforward.torque(cycle.q)[0]).max() > 1.0


def test_at_the_measurement_the_model_is_evaluated_there(feedforward):
    cycle = cycle_at_home(feedforward, at_measurement=True)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.2, 1.0, 0), 0)
    measured = np.array([HOME + 0.02, np.full(7, 0.1)])
    run(cycle, 0, 600 * MS, measured=measured)
    point = cycle.q.copy()
    point[:2] = measured
    np.testing.assert_array_equal(cycle.torque, feedforward.torque(point))
    assert np.abs(cycle.q[0] - measured[0]).max() > 0.01


def test_a_clipped_output_keeps_to_the_limits_and_says_so(panda):
    limits = panda.limits
    cycle = Cycle(FeedForward(panda), HOME, 0, CycleOptions(limit_output=True))
    run(cycle, 0, 500 * MS)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.15, 0.12, 500 * MS), 500 * MS)
    clipped = []
    previous = None
    for now in range(500 * MS, 700 * MS, MS):
        cycle.evaluate(now)
        clipped.append(cycle.clipped)
        assert (np.abs(cycle.output[0]) <= limits.effort).all()
        if previous is not None:
            step = np.abs(cycle.output[0] - previous)
            assert (step <= limits.effort_rate * 1e-3 * (1 + 1e-9)).all()
        previous = cycle.output[0].copy()
    assert any(clipped)
    assert not clipped[0]


@pytest.fixture(scope='module')
def tendons(panda):
    laws = [JointActuator(Rigid(), Motor(0.5)) for _ in range(7)]
    laws[1] = JointActuator(ExponentialAntagonism(2.0, 20.0, 2000.0), Motor(0.5))
    return FeedForward(replace(panda, actuators=Actuators(panda.joint_names, tuple(laws))))


def test_motors_that_cannot_do_it_are_held_and_led_back_without_a_step(tendons):
    cycle = cycle_at_home(tendons, fade=0.3)
    cycle.schedule.follow(plan_to(cycle, HOME + 0.3, 2.0, 0), 0)
    enough = np.full(7, 2000.0)
    too_little = enough.copy()
    too_little[1] = 20.0
    references, held = [], []
    for k in range(3000):
        if k % 100 == 0:
            # Twice too little, the second time while it is still being led back.
            cycle.stiffen(too_little if 500 <= k < 900 or 1000 <= k < 1300 else enough)
        cycle.evaluate(k * MS)
        references.append(cycle.motors.reference.copy())
        held.append(bool(cycle.motors.held[1]))
        assert not cycle.motors.held[[0, *range(2, 7)]].any()
    theta, tau = np.array(references)[:, 0, 1:3], np.array(references)[:, 3, 1:3]
    assert 500 < held.index(True) < 700
    assert not held[-1]
    # It follows, stands still, and comes back: never faster than the motion, whose own torque is
    # steep where the tendons can hardly do it. To go back at once would take 0.24 rad, 1100 N m.
    assert np.abs(np.diff(theta, axis=0)).max() < 5e-3
    assert np.abs(np.diff(tau, axis=0)).max() < 20.0
    still = [k for k in range(1, 3000) if np.array_equal(theta[k], theta[k - 1]) and held[k]]
    assert len(still) > 300
    # θ̇ and θ̈ are those of θ, but where it is first held.
    rate = np.array(references)[:, 1, 1:3]
    change = np.diff(theta, axis=0) - 0.5 * MS * 1e-9 * (rate[1:] + rate[:-1])
    begins = [k for k in range(1, 3000) if held[k] and not rate[k].any() and rate[k - 1].any()]
    assert len(begins) == 2
    assert np.abs(np.delete(change, np.array(begins) - 1, axis=0)).max() < 1e-5
    # In the end it is as if nothing had been.
    calm = cycle_at_home(tendons)
    calm.schedule.follow(plan_to(calm, HOME + 0.3, 2.0, 0), 0)
    calm.evaluate(3000 * MS)
    np.testing.assert_allclose(cycle.motors.reference, calm.motors.reference, atol=1e-6)


def test_motors_that_never_could_do_it_stay_where_the_arm_is(panda, tendons):
    laws = [*tendons.robot.actuators.joints]
    laws[1] = JointActuator(ExponentialAntagonism(2.0, 20.0, 90.0), Motor(0.5))
    cycle = cycle_at_home(FeedForward(
        replace(panda, actuators=Actuators(panda.joint_names, tuple(laws)))))
    cycle.evaluate(0)
    cycle.evaluate(MS)
    assert cycle.motors.held.tolist() == [False, True, *[False] * 5]
    np.testing.assert_array_equal(cycle.motors.reference[0, 1:3], HOME[1])


def test_a_measurement_that_is_lost_is_forgotten_without_a_step(feedforward):
    cycle = cycle_at_home(feedforward, at_measurement=True, fade=0.2)
    measured = np.array([HOME + 0.05, np.full(7, 0.1)])
    elsewhere = np.array([HOME - 0.05, np.zeros(7)])
    torques = []
    for k in range(1000):
        # Lost, back elsewhere while it is still being forgotten, lost again.
        seen = measured if k < 100 else elsewhere if 200 <= k < 500 else None
        cycle.evaluate(k * MS, seen)
        torques.append(cycle.torque.copy())
        if k == 99:
            there = np.zeros((5, 7))
            there[:2] = measured
            np.testing.assert_allclose(cycle.torque, feedforward.torque(there), atol=1e-12)
        if k == 499:
            there[:2] = elsewhere
            np.testing.assert_allclose(cycle.torque, feedforward.torque(there), atol=1e-9)
    np.testing.assert_allclose(cycle.torque, feedforward.torque(cycle.q), atol=1e-9)
    changes = np.abs(np.diff(np.array(torques)[:, 0], axis=0)).max(axis=1)
    # What is measured may leap; what is not measured does not.
    assert changes[199] > changes[np.arange(999) != 199].max()
    assert changes[np.arange(999) != 199].max() < 0.3
