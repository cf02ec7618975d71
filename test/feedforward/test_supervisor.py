"""What an active node does, whatever comes in: a rule machine over all that may happen to it."""
from collections import Counter
import contextlib
from pathlib import Path
import re

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.goal_tolerances import default_tolerances
from hodyn_ros.feedforward.plan_answer import Accepted, Refused
from hodyn_ros.feedforward.settings import ControllerSettings, SupervisorSettings
from hodyn_ros.feedforward.state_machine import UNREADY
from hodyn_ros.feedforward.supervisor import WATCH_PERIOD, Supervisor
from hodyn_ros.feedforward.trajectory_goals import ErrorCode
from hodyn_ros.feedforward.transitions import TABLE, TRANSITIONS, Cause, State
from hodyn_ros.reference.rest_to_rest import move_plan

PANDA = hd.load_robot('panda')
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
PERIOD = 0.004
MARGIN = 0.05
FADE = 0.2
NAMES_OF_STATES = {
    'waiting', 'holding', 'following', 'streaming', 'stopping', 'fading', 'fault', 'inactive'}
MODEL = FeedForward(PANDA)


class Plans:
    """Makes a plan of a number of bytes: a motion of all joints to a share of a radian."""

    def __init__(self):
        self.waiting, self.is_ready, self.robot = None, True, PANDA

    @property
    def busy(self):
        return self.waiting is not None

    def submit(self, data, reference, now, *, annotate, left_out=0):
        self.waiting = data

    def poll(self, reference, now):
        if self.waiting is None or not self.is_ready:
            return None
        data, self.waiting = self.waiting, None
        if data == b'wrong':
            return Refused('no such joint', fault='joints')
        if reference.streaming or reference.is_full or not reference.is_idle(now):
            return Refused('not now')
        start = reference.state_at(now)[0]
        goal = HOME + (float(data) if data != b'away' else 0.0)
        plan = move_plan(start, goal, 0.4 + 4.0 * np.abs(goal - start).max())
        reference.follow(plan, now)
        return Accepted(plan)

    def cancel(self):
        was_busy, self.waiting = self.busy, None
        return was_busy

    def change_robot(self, robot):
        self.robot = robot


class Goal:
    """A client that waits."""

    joints = PANDA.joint_names
    point_times = (1.0,)

    def __init__(self):
        self.outcome = None

    def tolerances(self, names):
        return default_tolerances(
            names[-1], goal_time=0.1, stopped_velocity=0.0,
            trajectory={'joint1': 0.05}, goal={'joint1': 0.05})

    def begin(self):
        assert self.outcome is None

    def progress(self, *args):
        assert self.outcome is None

    def end(self, code, text):
        assert self.outcome is None, 'a goal ends once'
        assert text
        self.outcome = code


class World:
    """A supervisor and its driver, whose arm is where the reference is, and `away` from it."""

    def __init__(self, *, at_measurement=False):
        self.plans = Plans()
        self.supervisor = Supervisor(MODEL, SupervisorSettings(
            ControllerSettings(
                at_measurement=at_measurement, limit_margin=MARGIN, fade=FADE),
            np.full(7, 0.2)), self.plans)
        self.at = self.watched_at = 1000.0
        self.offset = self.stamp = 0
        self.away = np.zeros(7)
        self.arm = HOME.copy()
        self.goals = []
        self.logged = Counter()
        self.published = None

    def cycle(self, stamp):
        supervisor = self.supervisor
        before = supervisor.controller.now
        controller = supervisor.evaluate(stamp, self.at)
        assert controller.may_be_published
        limits = PANDA.limits
        for torque in (controller.output, controller.torque):
            assert (np.abs(torque[1]) <= limits.effort_rate * (1.0 + MARGIN) + 1e-6).all()
            assert (np.abs(torque[0]) <= limits.effort * (1.0 + MARGIN) + 1e-6).all()
        reach = (controller.now - before) * 1e-9 * limits.effort_rate * (1.0 + MARGIN) + 1e-6
        if self.published is not None:
            assert (np.abs(controller.output[0] - self.published) <= reach).all()
        self.published = controller.output[0].copy()
        supervisor.judge(self.at)
        return controller

    def state(self, position=None, velocity=None, elapsed=PERIOD):
        """Send a state, of the arm or of what is given instead; return whether it is answered."""
        self.pass_time(elapsed)
        supervisor = self.supervisor
        if supervisor.controller is not None:
            self.arm = supervisor.controller.q[0] + self.away
        self.stamp = round(self.at * 1e9) + self.offset
        speed = (
            np.zeros(7) if supervisor.controller is None or position is not None
            else supervisor.controller.q[1].copy())
        is_answered = False
        with contextlib.suppress(hd.HodynError):  # a stamp that is not newer than the last
            is_answered = supervisor.take_state(
                self.arm.copy() if position is None else position,
                speed if velocity is None else velocity, self.stamp, self.at)
        if is_answered:
            self.cycle(self.stamp)
            supervisor.compare(self.stamp, self.at)
        self.look()
        return is_answered

    def pass_time(self, seconds, *, watched=True):
        """Let time pass without a state; `watched` as by a process that runs."""
        end = self.at + seconds
        while watched and self.watched_at + WATCH_PERIOD <= end:
            self.at = self.watched_at = max(self.watched_at + WATCH_PERIOD, self.at)
            if self.supervisor.is_watched and self.supervisor.watch(self.at):
                self.cycle(self.supervisor.stamp_at(self.at))
            self.look()
        self.at = end

    def look(self):
        """See that what is said fits what is done."""
        supervisor = self.supervisor
        for event in supervisor.reasons.events:
            assert event.text
            assert '{' not in event.text
            self.logged[event.text] += 1
        supervisor.reasons.events.clear()
        name, reason = supervisor.report(self.at)
        assert name in NAMES_OF_STATES
        assert name != 'fault' or reason
        if supervisor.controller is None:
            assert supervisor.state in (State.WAITING, State.ENDED)
            return
        reference = supervisor.controller.reference
        mode = reference.mode(supervisor.controller.now)
        if supervisor.state is State.SILENT:
            assert mode == 'holding'
            assert name == 'fault'
        if supervisor.state in (State.LOST, State.SILENT):
            assert 'joint states are lost' in reason
            assert mode in ('stopping', 'holding', 'following')  # until a stop can begin
        if supervisor.state is State.RUNNING:
            assert name == mode
            assert 'are lost' not in reason
            if name in ('following', 'streaming') and not supervisor.controller.excess:
                assert 'stopp' not in reason
                assert 'held' not in reason.split(':')[0]
        if supervisor.state in UNREADY:
            assert supervisor.why_no_plan()

    def settle(self):
        """Let the arm be where the reference is, and states come, for a while."""
        self.away = np.zeros(7)
        for _ in range(5):
            self.state()
        if 'weight' in self.supervisor.why_waiting:
            self.supervisor.change_model(MODEL)
        for _ in range(4000):
            self.state()
            if self.supervisor.state is State.RUNNING and self.supervisor.report(
                    self.at)[0] == 'holding' and not self.supervisor.controller.is_fading:
                return
        raise AssertionError(self.supervisor.report(self.at))


@settings(
    max_examples=25, stateful_step_count=30, deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck))
class Happenings(RuleBasedStateMachine):
    """All that may happen to an active node, in any order."""

    @initialize(at_measurement=st.booleans())
    def begin(self, at_measurement):
        self.world = World(at_measurement=at_measurement)

    @rule(count=st.integers(1, 60))
    def states_come(self, count):
        for _ in range(count):
            self.world.state()

    @rule(joint=st.integers(0, 6), by=st.sampled_from([-3.0, 0.5, 1e4]), how=st.booleans())
    def one_reading_is_wrong(self, joint, by, how):
        wrong = np.zeros(7)
        wrong[joint] = by
        if how:
            self.world.state(position=self.world.arm + wrong)
        else:
            self.world.state(velocity=wrong)

    @rule()
    def a_driver_sends_zeros_once(self):
        self.world.state(position=np.zeros(7))

    @rule(joint=st.integers(0, 6), by=st.floats(-0.6, 0.6))
    def the_arm_is_pushed(self, joint, by):
        self.world.away[joint] = by

    @rule(seconds=st.sampled_from([0.02, 0.08, 0.5, 3.0]))
    def the_driver_falls_silent(self, seconds):
        self.world.pass_time(seconds)

    @rule(seconds=st.sampled_from([0.02, 0.3, 2.0]))
    def the_process_is_held_up(self, seconds):
        self.world.pass_time(seconds, watched=False)

    @rule(seconds=st.sampled_from([-3600.0, -0.5, -0.002, 0.3, 10.0]))
    def the_clock_of_the_driver_is_set(self, seconds):
        self.world.offset += round(seconds * 1e9)

    def ask(self, take, *arguments, **options):
        """Ask for something; while nothing can be taken, it must be refused."""
        supervisor = self.world.supervisor
        is_ready = supervisor.state not in UNREADY
        try:
            take(*arguments, **options)
        except hd.HodynError:
            return False
        assert is_ready
        return True

    @rule(goal=st.sampled_from([b'0.1', b'-0.2', b'0', b'wrong']), now=st.booleans())
    def a_plan_comes(self, goal, now):
        self.world.plans.is_ready = now
        self.ask(self.world.supervisor.take_trajectory, goal, None, annotate=False)

    @rule(data=st.sampled_from([b'0.15', b'-0.1', b'wrong']), now=st.booleans())
    def a_goal_comes(self, data, now):
        goal = Goal()
        self.world.plans.is_ready = now
        if self.ask(self.world.supervisor.take_trajectory, data, goal, annotate=False):
            self.world.goals.append(goal)

    @precondition(lambda self: self.world.goals)
    @rule(data=st.data())
    def a_goal_is_canceled(self, data):
        goal = data.draw(st.sampled_from(self.world.goals))
        if goal.outcome is None:
            self.world.supervisor.cancel(goal)

    @rule(to=st.floats(-0.3, 0.3), count=st.integers(1, 20), stamped=st.booleans())
    def samples_are_streamed(self, to, count, stamped):
        world = self.world
        for _ in range(count):
            world.supervisor.stream.heard(world.at)
            self.ask(
                world.supervisor.take_sample, HOME + to, None,
                round(world.at * 1e9) if stamped else None, world.at)
            world.state()

    @rule(force=st.sampled_from([1.0, 30.0, 1e5]), link=st.sampled_from(['link7', 'link3']))
    def a_wrench_comes(self, force, link):
        world = self.world
        for _ in range(5):
            self.ask(
                world.supervisor.take_wrench, link, np.array([0.0, 0, 0, 0, 0, force]), world.at)
            world.state()

    @rule(mass=st.sampled_from([0.0, 1.0, 2.5, 50.0]))
    def the_payload_changes(self, mass):
        supervisor = self.world.supervisor
        before = supervisor.feedforward
        model = FeedForward(PANDA.with_payload('link7', mass, [0.0, 0.0, 0.1]))
        try:
            supervisor.change_model(model)
        except hd.HodynError:
            assert supervisor.feedforward is before
        else:
            assert supervisor.feedforward is model
            assert self.world.plans.robot is model.robot

    @rule()
    def somebody_asks_to_hold(self):
        supervisor = self.world.supervisor
        if supervisor.state is State.WAITING:
            with pytest.raises(hd.HodynError, match='waits for a joint state'):
                supervisor.hold('held on request')
        else:
            supervisor.hold('held on request')
            assert not self.world.plans.busy

    @rule()
    def all_is_well_for_a_while(self):
        self.world.settle()
        assert self.world.supervisor.goals.prepares == self.world.plans.busy or (
            not self.world.supervisor.goals.prepares)

    @rule()
    def it_is_deactivated_and_activated_again(self):
        world = self.world
        supervisor = world.supervisor
        supervisor.deactivate()
        for _ in range(20_000):
            if supervisor.state is State.ENDED:
                break
            world.at += 0.001
            world.cycle(supervisor.stamp_at(world.at))
            world.look()
        assert supervisor.state is State.ENDED
        assert supervisor.report(world.at)[0] in ('inactive', 'waiting')
        supervisor.goals.close('deactivated')
        assert all(goal.outcome is not None for goal in world.goals)
        self.world = World(at_measurement=supervisor.settings.controller.at_measurement)
        self.world.arm = world.arm

    @invariant()
    def goals_are_told_how_they_end(self):
        world = self.world
        supervisor = world.supervisor
        world.look()
        if supervisor.state is State.SILENT:
            assert all(goal.outcome is not None for goal in world.goals)

    def teardown(self):
        world = getattr(self, 'world', None)
        if world is None:
            return
        world.settle()
        world.plans.is_ready = True
        for _ in range(2):
            for _ in range(100):
                world.state()
            world.settle()
        open_goals = [goal for goal in world.goals if goal.outcome is None]
        assert not open_goals, world.supervisor.report(world.at)
        assert max(world.logged.values(), default=0) <= 40, world.logged.most_common(3)


class ManyHappenings(Happenings):
    """The same, more of it."""


TestHappenings = Happenings.TestCase
TestManyHappenings = pytest.mark.slow(ManyHappenings.TestCase)
TestManyHappenings.settings = settings(Happenings.TestCase.settings, max_examples=400)


def running(**options):
    """Return a world whose node runs."""
    world = World(**options)
    for _ in range(20):
        world.state()
    assert world.supervisor.report(world.at) == ('holding', '')
    return world


def test_the_table_leads_from_each_state_to_an_end_without_idle_rows():
    reached, fresh = set(), {State.WAITING}
    while fresh:
        reached |= fresh
        fresh = {row.after for (state, _), row in TRANSITIONS.items() if state in reached}
        fresh -= {None, *reached}
    assert reached == set(State)
    assert {row.cause for row in TABLE} == set(Cause)
    for state in set(State) - {State.ENDED}:
        assert any(before is state and row.after for (before, _), row in TRANSITIONS.items())
    assert not any(state is State.ENDED for state, _ in TRANSITIONS)


def test_the_page_of_faults_has_the_words_of_each_row_of_the_table():
    page = (Path(__file__).parents[2] / 'docs' / 'faults.md').read_text('utf-8')
    for row in TABLE:
        for text in (row.says, row.reason):
            for part in re.split(r'\{.*?\}', text):
                words = part.strip(' :')
                assert words in page, (row.cause, words)


def test_a_driver_that_pauses_while_the_arm_holds_leaves_no_reason_behind():
    world = running()
    world.pass_time(1.0)
    assert world.supervisor.report(world.at) == ('fault', 'joint states are lost')
    for _ in range(10):
        world.state()
    assert world.supervisor.report(world.at) == ('holding', '')


def test_a_motion_stopped_by_a_pause_says_why_until_the_next_request():
    world = running()
    world.supervisor.take_trajectory(b'0.2', None, annotate=False)
    for _ in range(100):
        world.state()
    assert world.supervisor.report(world.at)[0] == 'following'
    world.pass_time(1.5)
    for _ in range(10):
        world.state()
    assert world.supervisor.report(world.at) == ('holding', 'joint states were lost')
    world.supervisor.take_trajectory(b'0.2', None, annotate=False)
    world.settle()
    assert world.supervisor.report(world.at) == ('holding', '')


def test_repeated_hold_ups_by_a_busy_machine_are_logged_as_one_line():
    world = running()
    for _ in range(200):
        world.pass_time(0.05, watched=False)
        for _ in range(4):
            world.state()
    lines = [text for text in world.logged if 'missing between cycles' in text]
    assert len(lines) == 1
    assert world.logged[lines[0]] == 1
    statistics = world.supervisor.statistics()
    assert int(statistics['time left out']) >= 190
    assert float(statistics['time left out (s)']) > 8.0


def test_excessive_weight_is_reported_once_and_ends_with_the_payload():
    model = FeedForward(PANDA.with_payload('link7', 50.0, [0.0, 0.0, 0.1]))
    world = World()
    world.supervisor.change_model(model)
    for _ in range(50):
        assert not world.state()
    assert world.supervisor.report(world.at)[0] == 'waiting'
    assert 'put the payload' in world.supervisor.report(world.at)[1]
    assert sum(world.logged.values()) == 1
    world.supervisor.change_model(MODEL)
    world.settle()


def test_what_the_goal_is_told_is_what_happened():
    for happens, code in (
            (lambda world: world.supervisor.hold('held'), ErrorCode.INVALID_GOAL),
            (lambda world: world.pass_time(2.0), ErrorCode.INVALID_GOAL),
            (lambda world: world.away.__setitem__(3, 0.5), ErrorCode.PATH_TOLERANCE_VIOLATED),
            (lambda world: world.away.__setitem__(0, 0.1), ErrorCode.PATH_TOLERANCE_VIOLATED),
            (lambda world: world.supervisor.cancel(world.goals[0]), ErrorCode.SUCCESSFUL),
            (lambda world: None, ErrorCode.SUCCESSFUL)):
        world = running()
        world.goals = [Goal()]
        world.supervisor.take_trajectory(b'0.2', world.goals[0], annotate=False)
        for _ in range(100):
            world.state()
        happens(world)
        for _ in range(1500):
            world.state()
        assert world.goals[0].outcome == code


def test_an_arm_beyond_its_range_is_held_reported_and_can_be_led_back():
    world = World()
    world.arm = HOME.copy()
    world.arm[5] = PANDA.limits.position_max[5] + 0.3
    for _ in range(50):
        world.state()
    name, reason = world.supervisor.report(world.at)
    assert name == 'holding'
    assert 'joint6 is at 4.053, 0.3 beyond its range: held there' in reason
    world.supervisor.take_trajectory(b'0.0', None, annotate=False)
    world.settle()
    np.testing.assert_allclose(world.supervisor.controller.q[0], HOME, atol=1e-9)


def test_no_arm_is_activated_on_joint_states_in_degrees():
    for arm, named in (
            (np.degrees(HOME), ('joint2', 'joint4', 'joint6', 'joint7')),
            (PANDA.limits.position_max + np.array([0.2, 0.2, 0, 0, 0, 0, 0]), (
                'joint1', 'joint2'))):
        world = World()
        world.arm = arm
        for _ in range(50):
            world.state()
        name, reason = world.supervisor.report(world.at)
        assert name == 'waiting'
        assert reason.endswith('no arm is there; positions are in rad: are these degrees?')
        assert [joint for joint in PANDA.joint_names if f'{joint} is at' in reason] == list(named)
        assert world.logged[reason] == 1
        world.arm = HOME.copy()
        for _ in range(50):
            world.state()
        assert world.supervisor.report(world.at)[0] == 'holding'


def test_of_joint_states_that_come_back_in_degrees_it_is_asked():
    world = running()
    world.pass_time(2.0)
    for _ in range(10):
        world.state(position=np.degrees(HOME))
    assert 'are these degrees?' in world.supervisor.report(world.at)[1]


def test_an_arm_staying_beyond_its_range_is_held_at_the_end_of_it():
    """It was latched again each second, and plans were dropped each time."""
    world = running()
    reach = PANDA.limits.position_max[5] - HOME[5] + 0.3
    for k in range(200):  # a hand leads it there, and it is held wherever it is
        world.away[5] = reach * (k + 1) / 200 - (world.supervisor.controller.q[0, 5] - HOME[5])
        world.state()
    end = PANDA.limits.position_max[5]
    for _ in range(500):
        world.away[5] = end + 0.3 - world.supervisor.controller.q[0, 5]
        world.state()
    assert world.supervisor.report(world.at)[0] == 'holding'
    assert world.supervisor.controller.q[0, 5] == pytest.approx(end, abs=0.2)
    world.logged.clear()
    for _ in range(500):
        world.state()
    assert not any('away from the reference' in line and 'held' in line for line in world.logged)
    world.supervisor.take_trajectory(b'0.0', None, annotate=False)
    world.settle()
    np.testing.assert_allclose(world.supervisor.controller.q[0], HOME, atol=1e-9)


def test_a_driver_that_becomes_slow_is_taken_as_it_is():
    """From 500 Hz to 5 Hz at once: each pause was a loss, for ever."""
    world = World()
    for _ in range(100):
        world.state(elapsed=0.002)
    for _ in range(15):
        world.state(elapsed=0.2)
    world.logged.clear()
    for _ in range(30):
        world.state(elapsed=0.2)
    assert world.supervisor.report(world.at)[0] == 'holding'
    assert not any('no joint state' in line for line in world.logged), world.logged


def test_a_driver_whose_velocities_are_wrong_for_good_hides_no_departure():
    """In degrees a second, say: they are left out, and said; its positions still count."""
    world = running()
    world.goals = [Goal()]
    world.supervisor.take_trajectory(b'0.4', world.goals[0], annotate=False)
    reasons = set()

    def drive(cycles):
        for _ in range(cycles):
            world.state(velocity=np.degrees(world.supervisor.controller.q[1]))
            reasons.add(world.supervisor.report(world.at)[1])

    drive(150)
    assert world.goals[0].outcome is None
    assert any('velocities are left out' in reason for reason in reasons), reasons
    world.away[3] = 0.5
    drive(100)
    assert any('away from the reference' in line for line in world.logged)
    drive(1500)
    assert world.goals[0].outcome == ErrorCode.PATH_TOLERANCE_VIOLATED


def test_an_arm_that_stays_away_from_its_reference_is_one_line():
    """An arm that sags was a line a second, for as long as the node ran."""
    world = running()
    world.logged.clear()
    for away in (0.15, 0.0, 0.15):
        world.away[3] = away
        for _ in range(1500):
            world.state()
    away = {line: n for line, n in world.logged.items() if 'away from the reference' in line}
    assert list(away.values()) == [2], world.logged


def test_two_contradicting_drivers_do_not_pull_the_reference_to_and_fro():
    """A driver that stalls let three states of the other through: it hopped by 0.5 rad."""
    world = running()
    rng = np.random.default_rng(5)
    arm = world.supervisor.controller.q[0].copy()
    elsewhere, left = arm + 0.5, 0
    for _ in range(5000):
        left = left - 1 if left else int(rng.random() < 0.01) * int(rng.integers(30))
        if not left:  # the first is there, but for stalls of up to 30 ms
            world.state(arm.copy(), np.zeros(7), elapsed=0.0005)
        world.state(elsewhere.copy(), np.zeros(7), elapsed=0.0005)
        np.testing.assert_array_equal(world.supervisor.controller.q[0], arm)
    for _ in range(300):  # the first has ended
        world.state(elsewhere.copy(), np.zeros(7), elapsed=0.001)
    np.testing.assert_allclose(world.supervisor.controller.q[0], elsewhere, atol=1e-9)
