"""The motors get the whole torque, rest at each end and begin where the arm is."""
import contextlib

from controllers import (
    HOME,
    MOTOR,
    MS,
    AtHome,
    assert_is_its_own_integral,
    driven,
    limited,
    still,
    with_tendons,
)
import numpy as np
import pytest
from supervised import World, running

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.laws import AntagonisticExponential, LinearSpring, Rigid
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.torque_output import is_finite
from hodyn_ros.feedforward.transitions import State


@pytest.mark.parametrize('row', range(4))
@pytest.mark.parametrize('where', ['reference', 'motors'])
def test_numbers_that_are_none_are_not_published_wherever_they_come_from(
        tendons, monkeypatch, where, row):
    controller = AtHome(tendons)
    controller.evaluate(0)
    assert controller.may_be_published
    part = controller.reference if where == 'reference' else controller.motors.side
    true = part.evaluate

    def wrong(*arguments, **options):
        result = true(*arguments, **options)
        (arguments[1] if where == 'reference' else result)[row, 2] = np.nan
        return result

    with monkeypatch.context() as patched:
        patched.setattr(part, 'evaluate', wrong)
        controller.evaluate(MS)
        assert not controller.may_be_published
        assert is_finite(controller.output)
    controller.evaluate(2 * MS)
    assert controller.may_be_published
    assert is_finite(controller.q)
    assert is_finite(controller.motors.reference)


def test_springs_that_the_weight_deflects_too_far_carry_no_arm(panda):
    """With a stiffness in N m/deg, the first reference of the motors threw the arm."""
    world = World(model=with_tendons(panda, LinearSpring(3.0)))
    world.states(5)
    name, reason = world.report
    assert name == 'waiting'
    assert 'the weight deflects the spring of joint2 by' in reason
    assert 'is its stiffness in N m/deg? Give it in N m/rad' in reason
    assert running(model=with_tendons(panda, LinearSpring(400.0)))


@pytest.mark.parametrize(('given', 'is_held'), [(np.inf, False), (0.3, False), (1.0, True)])
def test_a_soft_spring_is_meant_if_the_file_gives_its_largest_deflection(panda, given, is_held):
    load = abs(FeedForward(panda).torque(still(HOME))[0, 1])
    springs = driven(panda, JointActuator(Rigid(), MOTOR), joint2=JointActuator(
        LinearSpring(load / 0.7), MOTOR, max_deflection=given))
    world = World(model=FeedForward(springs))
    world.states(50)
    assert (world.report[0] == 'holding') == is_held


def test_a_payload_that_deflects_a_spring_too_far_is_refused_in_motion_as_at_the_start(panda):
    load = abs(FeedForward(panda).torque(still(HOME))[0, 1])
    heavier = panda.with_payload('link7', 2.0, [0.0, 0.0, 0.1])
    light, heavy = (
        with_tendons(robot, LinearSpring(load / 0.45)) for robot in (panda, heavier))
    controller = AtHome(light)
    assert not controller.excess_of_weight
    refusal = AtHome(heavy).excess_of_weight
    assert 'the spring of joint2' in refusal
    with pytest.raises(hd.HodynError) as caught:
        controller.replace(heavy)
    assert str(caught.value) == refusal


def test_motors_that_cannot_do_it_are_held_and_led_back_without_a_step(tendons):
    """The stiffness is enough for the weight at home, not for that on the way."""
    loads = np.abs([tendons.torque(still(HOME + by))[0, 1] for by in np.linspace(0.0, 0.3, 20)])
    assert loads[0] + 0.5 < loads.max()
    enough = 20.0 * (0.5 * (loads[0] + loads.max()) + 4.0)
    controller = AtHome(with_tendons(
        tendons.robot, AntagonisticExponential(2.0, 20.0, enough)), fade=0.3)
    controller.evaluate(0)
    references, held = [], []
    for k in range(7000):
        if k % 1000 == 0:
            goal = HOME + (0.3 if k % 2000 == 0 and k < 5000 else 0.0)
            controller.follow(goal, 0.9, k * MS)
        controller.evaluate(k * MS)
        references.append(controller.motors.reference.copy())
        held.append(bool(controller.motors.held[1]))
        assert not controller.motors.held[[0, *range(2, 7)]].any()
    assert sum(held) > 500
    assert not held[0]
    assert not held[-1]
    theta, tau = np.array(references)[:, :3, 1:3], np.array(references)[:, 3, 1:3]
    # θ̇ and θ̈ are those of θ, all along.
    assert_is_its_own_integral(theta[:, :2], 1e-3, 1e-3)
    assert np.abs(np.diff(theta[:, 1], axis=0)).max() < 0.25
    assert np.abs(np.diff(tau, axis=0)).max() < 20.0
    calm = MotorSide(controller.motors.actuators)
    np.testing.assert_allclose(
        controller.motors.reference, calm.evaluate(controller.q, controller.torque), atol=1e-6)


def test_motors_are_given_the_whole_torque_whatever_the_output_leaves_out(tendons):
    controller = AtHome(tendons, gravity_in_output=False, friction_in_output=False)
    controller.follow(HOME + 0.2, 1.0)
    controller.run(300 * MS)
    expected = MotorSide(tendons.robot.actuators).evaluate(
        controller.q, tendons.torque(controller.q))
    np.testing.assert_allclose(controller.motors.reference, expected, rtol=1e-12)


def test_motors_that_never_could_do_it_stay_where_the_arm_is(panda):
    controller = AtHome(with_tendons(
        panda, AntagonisticExponential(2.0, 20.0, 90.0)))
    controller.evaluate(0)
    controller.evaluate(MS)
    assert controller.motors.held.tolist() == [False, True, *[False] * 5]
    np.testing.assert_array_equal(controller.motors.reference[0, 1:3], HOME[1])


@pytest.mark.parametrize('end', ['deactivated', 'lost'])
@pytest.mark.parametrize('damping', [5.0, 120.0])
def test_an_end_waits_until_damped_springs_have_relaxed(panda, damping, end):
    """The torque rests up to a second before the spring."""
    world = running(model=with_tendons(panda, LinearSpring(1200.0, damping)))
    world.plan(b'0.3')
    world.states(200)
    controller = world.controller
    assert np.abs(controller.q[1]).max() > 0.05
    if end == 'deactivated':
        world.end()
    else:
        world.pass_time(10.0)
        assert world.supervisor.state is State.SILENT
    assert np.abs(controller.motors.reference[1, 1]) < 1e-3
    assert np.abs(controller.motors.reference[2, 1]) < 0.05
    assert controller.motors.reference[3, 1] == pytest.approx(controller.torque[0, 1], abs=0.05)


def test_after_a_hiccup_motors_go_on_smoothly(tendons):
    """The driver was not restarted, and holds the last position."""
    world = running(model=tendons)
    world.states(50)
    last = world.controller.motors.reference.copy()
    while world.supervisor.state is not State.SILENT:
        world.pass_time(0.002)
    world.leap(slice(None), 0.3)
    assert any(world.state() for _ in range(150))
    assert 'is held where it is' in world.report[1]
    assert np.abs(world.controller.motors.reference[0] - last[0]).max() < 1e-3


def test_an_end_after_a_silence_publishes_nothing(tendons):
    world = running(model=tendons)
    for _ in range(500):
        world.pass_time(0.002)
    assert world.supervisor.state is State.SILENT
    world.supervisor.deactivate()
    assert world.supervisor.state is State.ENDED


@pytest.mark.parametrize(('is_simulated', 'away'), [(True, 0.4), (True, 0.0), (False, 0.4)])
@pytest.mark.parametrize('silence', [0.0, 0.3])
def test_after_the_reset_of_a_simulator_motors_begin_where_the_arm_is(
        tendons, silence, is_simulated, away):
    """Its arm was thrown to where it had been. Motors of a real arm do not follow at once."""
    world = running(model=tendons, is_simulated=is_simulated)
    world.states(50)
    before = world.controller.motors.reference[0].copy()
    for _ in range(round(silence / 0.002)):
        world.pass_time(0.002)
    world.offset -= 1_000_000_000
    world.leap(slice(None), away)
    for _ in range(200):
        world.state()
        if 'is held where it is' in world.report[1]:
            break
    assert ('is held where it is' in world.report[1]) == (away > 0.0)
    world.away = np.zeros(7)
    world.state()
    moved = world.controller.motors.reference[0] - before
    assert np.abs(moved - away * is_simulated).max() < (0.2 if is_simulated and away else 2e-3)
    world.states(5)
    if is_simulated:  # only once: an arm that a hand moves later is one as any other
        before, held = world.controller.motors.reference[0].copy(), world.controller.q[0].copy()
        for world.away in np.outer(np.linspace(0.0, 0.3, 300), np.ones(7)):
            world.state()
            if (world.controller.q[0] != held).any():
                break
        else:
            raise AssertionError(world.report)
        world.away = np.zeros(7)
        world.state()
        assert np.abs(world.controller.motors.reference[0] - before).max() < 0.05


@pytest.mark.parametrize('is_simulated', [True, False])
def test_a_simulator_that_is_reset_in_motion_is_held_at_once(tendons, is_simulated):
    """Its arm was pulled to where the plan had been. The reference of a real arm stops first."""
    world = running(model=tendons, is_simulated=is_simulated)
    world.plan(b'0.8')
    world.states(250)
    controller = world.controller
    assert np.abs(controller.q[1]).max() > 0.05
    world.offset -= 1_000_000_000
    start = world.arm - 0.4
    for _ in range(1000):
        world.leap(slice(None), start - controller.q[0])  # it stays where it was reset to
        world.state()
        if 'is held where it is' in world.report[1]:
            break
    world.states(1)
    apart = np.abs(controller.motors.reference[0] - start[tendons.robot.actuators.motor_joints])
    assert (np.delete(apart, [1, 2]).max() < 1e-9) == is_simulated
    assert (world.said('stopping') == 0) == is_simulated


@pytest.mark.parametrize('turn', [2.0 * np.pi, -2.0 * np.pi, 5.9, -6.6])
@pytest.mark.parametrize('arm', ['known', 'new', 'lost'])
def test_motors_do_not_turn_round_with_a_driver_that_wraps_positions(panda, turn, arm):
    """They went to the place one turn away, though the arm was said to be held."""
    free = limited(panda, position_min=-9.0, position_max=9.0)
    world = running(model=with_tendons(free, AntagonisticExponential(2.0, 20.0, 2000.0)))
    controller, thetas = world.controller, []

    def send(count=400):
        for _ in range(count):
            world.state()
            thetas.append(controller.motors.reference[0].copy())
        return thetas[-1]

    # An arm that has just been found may have been measured wrongly.
    before, q = send(20 if arm == 'new' else 400), controller.q[0].copy()
    world.leap(6, turn)
    if arm == 'lost':
        world.pass_time(0.6)
        assert world.supervisor.state in (State.LOST, State.SILENT)
    np.testing.assert_allclose(send(), before, atol=2e-3)
    np.testing.assert_allclose(controller.q[0], q, atol=2e-3)
    assert ('have jumped faster than any arm can move' if arm == 'known' else (
        'and no plan is followed until the joint is back')) in world.report[1]
    with contextlib.suppress(hd.HodynError):
        world.plan(b'0.3')
    send()
    assert np.abs(controller.q[0] - q).max() < 0.1
    world.leap(6, 0.0)
    send(400)
    world.plan(b'0.1')
    send(1000)
    np.testing.assert_allclose(controller.q[0], HOME + 0.1, atol=2e-3)
    assert world.report == ('holding', '')
    assert np.abs(np.diff(thetas, axis=0)).max() < 0.02


def test_after_a_silence_motors_begin_where_the_arm_is(tendons):
    """A restarted driver, whose motors stood there, was pulled to where the arm had been."""
    world = running(model=tendons)
    world.states(50)
    for _ in range(1000):
        world.pass_time(0.002)
    assert world.supervisor.state is State.SILENT
    world.leap(slice(None), 0.4)
    assert any(world.state() for _ in range(150))
    assert 'is held where it is' in world.report[1]
    first = world.controller.motors.reference
    apart = np.abs(first[0] - world.arm[tendons.robot.actuators.motor_joints])
    assert np.delete(apart, [1, 2]).max() < 1e-9
    assert apart[1:3].max() < 0.2  # the deflection of the tendons
    assert np.abs(first[1:3]).max() < 0.01
    world.away = np.zeros(7)  # the driver holds the arm there
    thetas = []
    for _ in range(500):
        world.state()
        thetas.append(world.controller.motors.reference[0].copy())
    assert np.abs(np.diff(thetas, axis=0)).max() < 2e-3
