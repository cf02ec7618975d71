"""Whatever comes in, in any order: what may happen to an active node, and to its base."""
import contextlib
import math

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
import numpy as np
from planned_work import Goal
import pytest
from supervised import HOME, PERIOD, SHIP, Swell, World, held

import hodyn_ros as hd
from hodyn_ros.feedforward.moving_base import feedforward_of
from hodyn_ros.feedforward.state_machine import UNREADY
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.robot import lie


class Happenings(RuleBasedStateMachine):
    """All that may happen to an active node, in any order."""

    def begun(self, **options):
        return World(**options)

    @initialize(at_measurement=st.booleans(), longest=st.sampled_from([0.01, 0.1, 1.0]))
    def begin(self, at_measurement, longest):
        self.options = {'at_measurement': at_measurement, 'max_time_step': longest}
        self.world = self.begun(**self.options)

    @rule(count=st.integers(1, 60))
    def states_come(self, count):
        self.world.states(count)

    @rule(size=st.integers(2, 15), count=st.integers(1, 6), repeats=st.sampled_from([1, 2, 10]))
    def states_come_together(self, size, count, repeats):
        for _ in range(count):
            self.world.group(size, repeats=repeats)

    @rule(count=st.integers(1, 20), period=st.sampled_from([0.001, 0.02, 0.05, 0.1]))
    def states_come_at_another_rate(self, count, period):
        self.world.states(count, elapsed=period)

    @rule(late=st.sampled_from([0.0, 0.003, 0.03]))
    def stamps_are_late(self, late):
        self.world.late = late

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

    @precondition(lambda self: (
        self.world.controller and self.world.report[0] == 'holding' and not self.world.plans.busy))
    @rule(
        joint=st.integers(0, 6), by=st.floats(-0.6, 0.6),
        time_constant=st.sampled_from([0.1, 1.0]), seconds=st.sampled_from([0.5, 5.0]))
    def the_arm_sinks(self, joint, by, time_constant, seconds):
        """Behind a soft controller, whose error carries a load that nobody knows of."""
        world = self.world
        place, away = world.controller.q[0].copy(), np.abs(world.arm - world.controller.q[0]).max()
        for _ in range(round(seconds / PERIOD)):
            arm = world.arm.copy()
            arm[joint] += (
                world.controller.q[0, joint] + by - arm[joint]) * PERIOD / time_constant
            world.lead(arm)
            if world.report[0] != 'holding':  # a sample that was streamed before is followed
                return
        sunk = np.abs(world.controller.q[0] - place).max()
        assert sunk <= 2.0 * (abs(by) + away) + 0.1, (sunk, by, away)

    @rule(seconds=st.sampled_from([0.02, 0.08, 0.5, 3.0]))
    def the_driver_falls_silent(self, seconds):
        self.world.pass_time(seconds)

    @rule(seconds=st.sampled_from([0.02, 0.3, 2.0]))
    def the_process_is_held_up(self, seconds):
        self.world.pass_time(seconds, watched=False)

    @rule(seconds=st.sampled_from([-3600.0, -0.5, -0.002, 0.085, 0.3, 0.8, 10.0]))
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
        self.ask(self.world.plan, goal)

    @rule(data=st.sampled_from([b'0.15', b'-0.1', b'wrong']), now=st.booleans())
    def a_goal_comes(self, data, now):
        goal = Goal()
        self.world.plans.is_ready = now
        if self.ask(self.world.plan, data, goal):
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
        robot = self.world.robot.with_payload('link7', mass, [0.0, 0.0, 0.1])
        model = feedforward_of(robot)
        try:
            supervisor.change_model(model)
        except hd.HodynError:
            assert supervisor.feedforward is before
        else:
            assert supervisor.feedforward is model
            planned = self.world.plans.robot
            assert planned.bodies[-1].mass == robot.bodies[-1].mass
            assert not planned.floating

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
        world.end()
        assert world.report[0] in ('inactive', 'waiting')
        supervisor.goals.close('deactivated')
        assert all(goal.outcome is not None for goal in world.goals)
        self.world = self.begun(**self.options)
        # Where several joints are beyond their ranges no arm is activated.
        limits = self.world.robot.limits
        self.world.arm = np.clip(world.arm, limits.position_min, limits.position_max)

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
            world.states(100)
            world.settle()
        open_goals = [goal for goal in world.goals if goal.outcome is None]
        assert not open_goals, world.report
        assert max(world.logged.values(), default=0) <= 40, world.logged.most_common(3)


class ShipHappenings(Happenings):
    """The same on a ship, and what may happen to the odometry of its deck."""

    def begun(self, **options):
        return super().begun(deck=Swell(), **options)

    @rule(sea=st.sampled_from([0.0, 0.3, 1.0]))
    def the_sea_changes(self, sea):
        self.world.deck.sea = sea

    @rule(by=st.floats(-3.0, 3.0))
    def the_odometry_jumps(self, by):
        self.world.deck.list = by

    @precondition(lambda self: self.world.controller)  # else three wrong ones are believed
    @rule(turn=st.tuples(*[st.floats(-3.0, 3.0)] * 3), count=st.integers(1, 2))
    def readings_of_the_base_are_wrong(self, turn, count):
        for _ in range(count):
            self.world.pass_time(0.002)
            self.world.odometry(turn=turn)

    @rule(spin=st.sampled_from([-19.0, 5.0, 19.0]), axis=st.integers(0, 2))
    def the_base_is_said_to_spin(self, spin, axis):
        for _ in range(5):
            self.world.pass_time(0.002)
            self.world.odometry(spin=spin * np.eye(3)[axis])

    @rule(wrong=st.sampled_from([
        {'frame': 'map'}, {'child': 'wheel'}, {'late': 3.0}, {'late': -2.0},
        {'spin': np.full(3, 1e3)}]))
    def odometry_that_is_not_of_the_base_now_is_refused(self, wrong):
        if self.world.controller is not None:
            self.world.due = self.world.at
            assert self.world.odometry(**wrong)

    @rule(
        seed=st.integers(0, 99), size=st.sampled_from([0.01, 0.03, 0.1, math.nan]),
        step=st.sampled_from([0.2, 0.3, 1.0]), start=st.sampled_from([None, -0.3, 0.2, 700.0]))
    def a_base_trajectory_comes(self, seed, size, step, start):
        """About where the base is, also with accelerations that it does not have."""
        world = self.world
        pose = world.deck.motion(world.at)[0]
        shifts = size * np.random.default_rng(seed).normal(size=(seed % 5 + 1, 6))
        poses = [pose, *(
            lie.pose(pose[:3, :3] @ lie.rotation_exp(2.0 * shift[:3]), pose[:3, 3] + shift[3:])
            for shift in shifts)]
        stamp = 0 if start is None else round((world.at + start) * 1e9) + world.offset
        with contextlib.suppress(hd.HodynError):
            world.plan_base(step * np.arange(len(poses)), poses, stamp=max(stamp, 0))
        world.states(60)

    @rule()
    def a_base_trajectory_is_canceled(self):
        self.ask(self.world.plan_base, [], [])

    @rule(count=st.integers(1, 200))
    def the_odometry_falls_silent(self, count):
        self.world.is_measured = False
        self.world.states(count)

    @rule()
    def the_odometry_comes_back(self):
        self.world.is_measured = True


@pytest.mark.parametrize(('machine', 'examples'), [
    (Happenings, 25), (ShipHappenings, 10),
    *(pytest.param(machine, examples, marks=pytest.mark.siege) for machine, examples in (
        (Happenings, 400), (ShipHappenings, 400)))])
def test_whatever_happens_nothing_steps_and_goals_are_answered(machine, examples):
    run_state_machine_as_test(machine, settings=settings(
        max_examples=examples, stateful_step_count=30, deadline=None,
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        suppress_health_check=list(HealthCheck)))


@st.composite
def harsh_plans(draw):
    """Return times and shifts there and back, some faster than is taken."""
    step = draw(st.sampled_from([0.005, 0.15, 0.4, 1.0]))
    most = np.repeat([4.5, 1.8], 3) * step**2 * draw(st.sampled_from([0.1, 0.5, 0.8]))
    shift = draw(st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 6)) * most / np.sqrt(3.0)
    return step * np.arange(4), [0.0 * shift, shift, 0.0 * shift, -shift]


HAPPENINGS = st.one_of(
    st.tuples(st.just('plan'), harsh_plans(), st.sampled_from([None, -0.1, 0.2])),
    st.tuples(st.just('plan'), harsh_plans(), st.just(None)),
    st.tuples(st.sampled_from(['cancel', 'silence', 'hold-up', 'arm', 'stop', 'back'])),
    st.tuples(st.just('list'), st.floats(-2.0, 2.0)),
    st.tuples(st.just('sea'), st.floats(0.0, 1.0)),
    st.tuples(st.just('payload'), st.floats(0.0, 3.0)))


@pytest.mark.parametrize('examples', [4, pytest.param(100, marks=pytest.mark.siege)])
def test_whatever_is_planned_for_a_base_or_canceled_nothing_steps(examples):
    settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))(
        given(st.lists(st.tuples(HAPPENINGS, st.integers(1, 80)), min_size=3, max_size=12),
              st.booleans())(keeps_limits))()


def keeps_limits(events, measures):
    """The base does not do what is planned: each cycle of the world checks what is published."""
    world = World(
        deck=Swell(), at_measurement=measures, base_tolerance=(9.0, 9.0, 20.0, 20.0))
    world.states(20)
    for (what, *how), cycles in events:
        supervisor = world.supervisor
        with contextlib.suppress(hd.HodynError):
            if what == 'plan':
                (times, shifts), start = how
                pose = world.deck.motion(world.at)[0]
                world.plan_base(times, [
                    pose @ lie.pose(lie.rotation_exp(shift[:3]), shift[3:]) for shift in shifts],
                    stamp=0 if start is None else round((world.at + start) * 1e9) + world.offset)
            elif what == 'cancel':
                world.plan_base([], [])
            elif what == 'arm':
                world.plan(b'0.2')
            elif what == 'stop':
                supervisor.hold('held on request')
            elif what == 'payload':
                supervisor.change_model(
                    feedforward_of(SHIP.with_payload('link7', how[0], [0.0, 0.0, 0.1])))
        if what in ('list', 'sea'):
            setattr(world.deck, what, how[0])
        elif what in ('silence', 'hold-up'):
            world.pass_time(0.3, watched=what == 'silence')
        elif what == 'back':
            world.offset -= 2_000_000_000
        world.states(cycles)
    world.settle()
    for _ in range(800):  # until the longest plan has ended
        if world.supervisor.base_reference.mode == 'none':
            break
        world.state()
    assert world.supervisor.base_reference.mode == 'none'
    world.deck.sea = 0.0
    world.states(300)
    expected = held(world.controller.q[0], world.tilt, model=world.supervisor.feedforward)
    np.testing.assert_allclose(world.controller.output[0], expected[0, :7], rtol=0.0, atol=1e-5)
