"""The motors get the whole torque, and a stiffness that changes as streams do."""
from unittest.mock import Mock

from controllers import HOME, MS, AtHome, assert_is_its_own_integral, driven, still
import numpy as np
import pytest
from supervised import World, running

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    LinearSpring,
    Rigid,
    VariableStiffness,
)
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings
from hodyn_ros.feedforward.settings import SupervisorSettings
from hodyn_ros.feedforward.supervisor import Supervisor
from hodyn_ros.feedforward.torque_output import is_finite
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.messages.joint_states import JointStateReader, JointStateWriter
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.robot.joint_names import JointNames

MOTOR = Motor(0.5)


def with_tendons(robot, law, motor=MOTOR):
    """Return the feed-forward of an arm whose second joint is driven by two tendons."""
    return FeedForward(driven(
        robot, JointActuator(Rigid(), MOTOR), joint2=JointActuator(law, motor)))


@pytest.fixture(scope='module')
def tendons(panda):
    return with_tendons(panda, AntagonisticExponential(2.0, 20.0, 2000.0))


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


@pytest.mark.parametrize('bandwidth', [20.0, 100.0])
def test_the_stiffness_is_smoothed_as_streams_are(tendons, bandwidth):
    controller = AtHome(tendons, bandwidth=bandwidth)
    controller.evaluate(0)
    controller.set_stiffness(np.full(7, 1500.0))
    controller.evaluate(50 * MS)
    smooth = SmoothingFilter(np.full(7, 2000.0), bandwidth)
    smooth.set_target(np.full(7, 1500.0))
    expected = MotorSide(tendons.robot.actuators).evaluate(
        controller.q, controller.torque, smooth.advance(0.05)[:3].copy())
    np.testing.assert_allclose(controller.motors.reference, expected, rtol=1e-12)


def test_a_request_of_stiffness_names_the_variable_joints_alone(tendons):
    """A rigid joint may be named, with any value, and need not be."""
    names = tendons.robot.joint_names
    prefixed = [f'fer_{name}' for name in names]
    variable = tendons.robot.actuators.variable_joints
    assert variable == ('joint2',)
    reader = JointStateReader(JointNames(tendons.robot).of_driver(prefixed, variable))

    def asked(joints, values):
        supervisor = Supervisor(tendons, SupervisorSettings(
            ControllerSettings(), np.full(7, 0.2)), Mock(poll=lambda *_: None))
        supervisor.bind(prefixed)
        for stamp in range(4 * MS, 20 * MS, 4 * MS):
            if supervisor.take_state(HOME, np.zeros(7), stamp, 1000.0):
                supervisor.evaluate(stamp, 1000.0)
        writer = JointStateWriter(joints)
        writer.effort[:] = values
        supervisor.take_stiffness(reader.effort(writer.at(0)), 1000.0)
        return supervisor.controller._stiffness._taken[0]

    alone = asked(['fer_joint2'], [1500.0])
    assert alone[1] == 1500.0
    for rest in (0.0, -1.0, np.nan):
        np.testing.assert_array_equal(
            asked(prefixed, np.where(np.arange(7) == 1, 1500.0, rest)), alone)
    for joint, value, said in (
            ('fer_joint2', 0.0, "stiffness of joint 'fer_joint2' must be above 0"),
            ('fer_joint1', 1500.0, "no joint of robot 'panda' among the names"),
            ('panda_joint2', 1500.0, 'of another arm')):
        with pytest.raises(hd.HodynError, match=said):
            asked([joint], [value])


@pytest.mark.parametrize('rest', [0.0, np.nan])
def test_offline_the_stiffness_of_a_rigid_joint_is_not_read(tendons, rest):
    q = np.zeros((5, 5, 7))
    q[:, 0] = HOME
    torque = tendons.torque(q)
    given = np.tile(tendons.robot.actuators.constant_stiffness(), (5, 1, 1))
    rigid = np.where(tendons.robot.actuators.variable, given, rest)
    side, times = MotorSide(tendons.robot.actuators), np.arange(5.0)
    np.testing.assert_array_equal(
        side.along(times, q, torque, rigid), side.along(times, q, torque, given))


def test_motors_that_never_could_do_it_stay_where_the_arm_is(panda):
    controller = AtHome(with_tendons(
        panda, AntagonisticExponential(2.0, 20.0, 90.0)))
    controller.evaluate(0)
    controller.evaluate(MS)
    assert controller.motors.held.tolist() == [False, True, *[False] * 5]
    np.testing.assert_array_equal(controller.motors.reference[0, 1:3], HOME[1])


@pytest.mark.parametrize('law', [
    VariableStiffness(4000.0), AntagonisticExponential(2.0, 20.0, 2000.0)], ids=['one', 'pair'])
@pytest.mark.parametrize('seed', range(4))
def test_a_change_of_stiffness_uses_half_the_speed_of_the_motors(panda, law, seed):
    """Also from a soft spring to a hard one, and if requests follow upon each other."""
    controller = AtHome(with_tendons(
        panda, law, Motor(0.4, max_velocity=0.2, max_effort=150.0)))
    controller.evaluate(0)
    rng = np.random.default_rng(seed)
    begin, fastest = 0, 0.0
    for wanted in [100.0, 8000.0, *np.exp(rng.uniform(np.log(50.0), np.log(10_000.0), 10))]:
        controller.set_stiffness(np.full(7, wanted))
        end = begin + int(rng.uniform(0.05, 2.0) * 1e9)
        for now in range(begin + MS, end, 4 * MS):
            controller.evaluate(now)
            fastest = max(fastest, np.abs(controller.motors.wanted[1]).max())
        begin = end
    assert 0.25 * 0.2 < fastest < 0.53 * 0.2


@pytest.fixture
def changing(tendons):
    """Return a world whose stiffness has begun to change, with the motors in motion."""
    world = running(model=tendons)
    world.supervisor.take_stiffness(np.array([8000.0]), world.at)
    world.states(20)
    assert np.abs(world.controller.motors.reference[1]).max() > 0.05
    return world


def test_an_end_waits_until_the_motors_of_a_changing_stiffness_rest(changing):
    changing.end()
    assert np.abs(changing.controller.motors.reference[1:3]).max() < 1e-3


def test_without_joint_states_motors_rest_before_the_node_falls_silent(changing):
    for _ in range(5000):
        changing.pass_time(0.002)
        if changing.supervisor.state is State.SILENT:
            break
    assert changing.supervisor.state is State.SILENT
    assert np.abs(changing.controller.motors.reference[1:3]).max() < 1e-3


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
    world.away = np.full(7, 0.3)
    assert any(world.state() for _ in range(5))
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
    world.away = np.full(7, away)
    for _ in range(20):
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


def test_after_a_silence_motors_begin_where_the_arm_is(tendons):
    """A restarted driver, whose motors stood there, was pulled to where the arm had been."""
    world = running(model=tendons)
    world.states(50)
    for _ in range(1000):
        world.pass_time(0.002)
    assert world.supervisor.state is State.SILENT
    world.away = np.full(7, 0.4)
    assert any(world.state() for _ in range(5))
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


@pytest.mark.parametrize('payload', [0.0, 4.0])
def test_an_activation_begins_at_the_stiffness_of_the_last_one(changing, tendons, payload):
    """Motors were thrown to the stiffness of the file."""
    changing.states(2000)
    changing.end()
    held = changing.supervisor.held_stiffness
    file = tendons.robot.actuators.constant_stiffness()[0]
    assert held['joint2'] > 1.5 * file[1]
    last = changing.controller.motors.reference
    model = FeedForward(tendons.robot.with_payload('link7', payload, [0.0, 0.0, 0.1]))
    again = World(model=model)
    again.supervisor.stiffness = held
    again.states(10)
    first = again.controller.motors.reference
    bent = 0.0 if payload == 0.0 else 0.2
    assert np.abs(first[0] - last[0]).max() <= bent + 1e-9
    assert not first[1:3].any()
    assert again.controller.stiffness[0, 1] == pytest.approx(held['joint2'], rel=1e-9)
    assert again.said('the stiffness of the last activation still applies') == 1
    again.supervisor.take_stiffness(file[1:2], again.at)
    again.states(2000)
    assert again.controller.stiffness[0, 1] == pytest.approx(file[1], rel=1e-4)


def test_another_arm_does_not_begin_with_the_stiffness_of_the_last_one(tendons):
    world = World(model=tendons)
    world.supervisor.stiffness = {f'left_{name}': 5000.0 for name in tendons.robot.joint_names}
    world.supervisor.bind([f'right_{name}' for name in tendons.robot.joint_names])
    world.states(10)
    assert world.report[0] == 'holding'
    assert world.controller.stiffness is None
    assert world.supervisor.held_stiffness == {}
    assert not world.said('the stiffness of the last activation')


def test_an_end_at_rest_leaves_a_stiffness_that_the_payload_needs(tendons):
    """The way to the same stiffness began at that of the file, which cannot carry it."""
    soft = with_tendons(tendons.robot, AntagonisticExponential(2.0, 20.0, 400.0))
    loaded = FeedForward(soft.robot.with_payload('link7', 6.0, [0.0, 0.0, 0.1]))
    world = World(model=loaded)
    world.supervisor.stiffness = dict.fromkeys(soft.robot.joint_names, 1500.0)
    world.states(10)
    before = world.controller.motors.reference[0].copy()
    world.end()
    assert world.controller.motors.feasible.all()
    np.testing.assert_allclose(world.controller.motors.reference[0], before, atol=1e-9)


def test_a_stiffness_that_springs_do_not_have_any_more_is_not_resumed(tendons):
    """The weight of another payload, or at another position, wants more."""
    world = World(model=tendons)
    world.supervisor.stiffness = dict.fromkeys(tendons.robot.joint_names, 1.0)
    world.states(10)
    file = tendons.robot.actuators.constant_stiffness()[0]
    np.testing.assert_allclose(world.controller.stiffness[0], file)
    assert world.said('motors of joint2 begin at the stiffness of the robot file') == 1
    assert world.report[0] == 'holding'


def test_a_payload_raises_a_stiffness_that_was_possible_without_it(tendons):
    world = running(model=tendons)
    world.supervisor.take_stiffness(np.array([1.0]), world.at)
    world.states(1000)
    soft = world.controller.stiffness[0, 1]
    world.supervisor.change_model(FeedForward(
        tendons.robot.with_payload('link7', 3.0, [0.0, 0.0, 0.1])))
    world.states(1000)
    assert world.controller.stiffness[0, 1] > 1.05 * soft
    assert world.controller.motors.feasible.all()
    assert not world.controller.motors.any_held
