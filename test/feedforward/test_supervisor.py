"""What an active node does about lost, strange or contradicting states, and what it says."""
from pathlib import Path
import re

from controllers import loaded
import numpy as np
from planned_work import Plans
import pytest
from supervised import HOME, MODEL, PANDA, PERIOD, World, running

from hodyn_ros.feedforward.plan_answer import Accepted
from hodyn_ros.feedforward.trajectory_goals import ErrorCode
from hodyn_ros.feedforward.transitions import TABLE, TRANSITIONS, Cause, State
from hodyn_ros.reference import fit_plan


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


@pytest.mark.parametrize(('why', 'said'), [
    ('', ''), ('position of joint4 is not finite', ': position of joint4 is not finite')])
def test_lost_states_say_why_and_leave_no_reason_behind(why, said):
    world = running()
    world.supervisor.why_no_state = why
    world.pass_time(1.0)
    assert world.report == ('fault', f'joint states are lost{said}')
    world.states(10)
    assert world.supervisor.why_no_state == ''
    assert world.report == ('holding', '')


def test_a_motion_stopped_by_a_pause_says_why_until_the_next_request():
    world = running()
    world.plan(b'0.2')
    world.states(100)
    assert world.report[0] == 'following'
    world.pass_time(1.5)
    world.states(10)
    assert world.report == ('holding', 'joint states were lost')
    world.plan(b'0.2')
    world.settle()
    assert world.report == ('holding', '')


def test_missing_time_is_told_while_states_are_taken_and_what_continues():
    world = running()
    world.pass_time(0.05, watched=False)
    world.state()
    assert 'missing' in world.report[1]
    assert not world.said('continues'), 'the arm is held'
    world.plan(b'0.2')
    world.states(50)
    world.pass_time(1.5, watched=False)
    world.state()
    assert 'missing' in world.report[1]
    assert any(text.endswith('the reference continues from where it was') for text in world.logged)
    world.supervisor.deactivate()
    assert world.report[1] == world.supervisor.why == 'the node is deactivated'


def test_an_end_after_lost_states_says_nothing_of_missing_time():
    """At each Ctrl-C after a driver that had ended, a reference was said to continue."""
    world = running()
    world.pass_time(2.7)
    world.end()
    assert not world.said('missing')


@pytest.mark.parametrize('at_measurement', [False, True])
def test_velocities_of_zero_while_positions_move_are_said_once_and_not_used(at_measurement):
    world = running(at_measurement=at_measurement)
    world.plan(b'-0.1')
    world.settle()
    world.states(400, velocity=np.zeros(7))
    assert not world.said('are 0 though'), 'the arm rests'
    world.plan(b'0.3')
    world.states(400, velocity=np.zeros(7))
    assert world.said('are 0 though positions move') == 1
    assert world.said('They count as missing; let the driver') == 1
    assert world.supervisor.state is State.RUNNING
    # Used again when it sends what it measures.
    assert ('left out' in ''.join(world.report)) == at_measurement
    world.state(velocity=np.full(7, 1e-3))
    world.pass_time(1.5, watched=False)
    world.states(5, velocity=np.full(7, 1e-3))
    assert 'no velocity' not in world.report[1]


@pytest.mark.parametrize('data', ['', b'0.3'])
def test_what_fades_while_states_are_lost_is_a_stop(data):
    """It was called holding, as if the node were ready."""
    world = running()
    if data:
        world.plan(data)
    world.states(50)
    world.supervisor.change_model(loaded(PANDA, 2.0))
    world.states(10)
    seen = []
    for _ in range(600):
        world.pass_time(0.005)
        seen.append(world.report)
    seen = [report for report in seen if 'are lost' in report[1]]
    assert seen.count(('stopping', 'joint states are lost')) > 10
    assert {name for name, _ in seen} == {'stopping', 'fault'}
    assert seen[-1] == ('fault', 'joint states are lost')
    world.states(50)
    assert world.report[0] == 'holding'


def test_repeated_hold_ups_by_a_busy_machine_are_logged_as_one_line():
    world = running()
    for _ in range(200):
        world.pass_time(0.05, watched=False)
        world.states(4)
    assert world.said('missing between cycles') == 1
    statistics = world.supervisor.statistics()
    assert int(statistics['time left out']) >= 190
    assert float(statistics['time left out (s)']) > 8.0


def test_excessive_weight_is_reported_once_and_ends_with_the_payload():
    world = World()
    world.supervisor.change_model(loaded(PANDA, 50.0))
    for _ in range(50):
        assert not world.state()
    assert world.report[0] == 'waiting'
    assert 'correct the payload' in world.report[1]
    assert sum(world.logged.values()) == 1
    world.supervisor.change_model(MODEL)
    world.settle()


@pytest.mark.parametrize(('happens', 'code'), [
    (lambda world: world.supervisor.hold('held'), ErrorCode.INVALID_GOAL),
    (lambda world: world.pass_time(2.0), ErrorCode.INVALID_GOAL),
    (lambda world: world.away.__setitem__(3, 0.5), ErrorCode.PATH_TOLERANCE_VIOLATED),
    (lambda world: world.away.__setitem__(0, 0.1), ErrorCode.PATH_TOLERANCE_VIOLATED),
    (lambda world: world.supervisor.cancel(world.goals[0]), ErrorCode.SUCCESSFUL),
    (lambda world: None, ErrorCode.SUCCESSFUL),
], ids=['hold', 'lost', 'departure', 'path', 'cancel', 'nothing'])
def test_what_the_goal_is_told_is_what_happened(happens, code):
    world = running()
    goal = world.goal(b'0.2')
    world.states(100)
    happens(world)
    world.states(1500)
    assert goal.outcome[0] == code


def test_an_arm_beyond_its_range_is_held_reported_and_can_be_led_back():
    world = World()
    world.arm[5] = PANDA.limits.position_max[5] + 0.3
    world.states(50)
    assert world.report[0] == 'holding'
    said = 'joint6 is at 4.053 rad, which is 0.3 rad beyond its range: held there'
    assert said in world.report[1]
    world.plan(b'0.0')
    world.settle()
    np.testing.assert_allclose(world.controller.q[0], HOME, atol=1e-9)


def test_the_timeout_of_an_uneven_driver_is_not_logged_again_and_again():
    world = running()
    rng = np.random.default_rng(0)
    for _ in range(2000):
        world.state(elapsed=float(rng.choice([0.004, 0.04, 0.1])))
    lines = [line for line in world.logged if line.startswith('joint states come every')]
    assert 1 <= len(lines) <= 12


def test_a_running_arm_may_be_pushed_beyond_several_ranges():
    """It was rejected as if in degrees: no torque, and a lasting fault."""
    world, target = running(), HOME.copy()
    target[[3, 5]] = PANDA.limits.position_max[[3, 5]] + 0.3
    for k in range(1500):
        assert world.lead(HOME + (target - HOME) * min(1.0, k / 1000))
    assert world.report[0] == 'holding'


class Later(Plans):
    """Accepts plans that start after as many seconds as they say."""

    def poll(self, reference, now):
        if self.waiting is None:
            return None
        wait, self.waiting = float(self.waiting), None
        plan = fit_plan([0.0, 2.0], [HOME, HOME + 0.1])
        dropped = reference.follow(plan, now + round(wait * 1e9))
        return Accepted(plan, summary='a plan', wait=wait, dropped=dropped)


@pytest.mark.parametrize('of_goal', [False, True])
def test_the_client_of_a_waiting_goal_is_told_that_it_is_dropped_and_no_topic_is(of_goal):
    """The log said so of the topic, also if a goal brought the plan."""
    world = running()
    world.supervisor._planner = Later()
    if of_goal:
        goal = world.goal(b'30')
    else:
        world.plan(b'30')
    world.state()
    world.supervisor.hold('held')
    world.states(50)
    assert world.said('plans that wait for their start are dropped: held') == (not of_goal)
    assert not of_goal or goal.outcome == (ErrorCode.INVALID_GOAL, 'held')


def test_a_plan_that_waits_is_said_and_so_is_one_that_is_dropped():
    world = running()
    world.supervisor._planner = Later()
    for wait in (b'30', b'3'):
        world.plan(wait)
        world.state()
        assert world.report == ('holding', 'a plan waits for its start')
        assert world.logged[f'trajectory accepted: a plan; it starts in {int(wait)}.0 s'] == 1
    assert any('waiting plan' in line and 'dropped' in line for line in world.logged)
    world.states(800)
    assert world.report == ('following', '')


@pytest.mark.parametrize(('happening', 'why'), [
    (lambda world: world.supervisor.hold('~/hold'), '~/hold'),
    (lambda world: world.end(), 'the node is deactivated'),
    (lambda world: world.pass_time(2.0), 'joint states were lost'),
    (lambda world: [world.lead(HOME + 0.3) for _ in range(400)], 'held where it is')])
def test_a_plan_that_waits_is_not_dropped_without_a_word(happening, why):
    world = running()
    world.supervisor._planner = Later()
    world.plan(b'30')
    world.state()
    world.logged.clear()
    happening(world)
    world.look()
    line, = (line for line in world.logged.elements() if 'plans that wait' in line)
    assert 'are dropped' in line
    assert why in line


def test_a_planner_that_sends_faster_than_plans_are_prepared_is_said():
    world = running()
    world.plans.is_ready = False
    for _ in range(3):
        world.plan(b'0.1')
        world.states(10)
    assert not world.said('send trajectories less often than they take to prepare')
    world.plan(b'0.1')
    world.states(10)
    assert world.said('send trajectories less often than they take to prepare') == 1


def test_a_goal_that_is_canceled_as_it_waits_is_told_alone():
    world = running()
    world.supervisor._planner = Later()
    goal = world.goal(b'30')
    world.state()
    world.supervisor.cancel(goal)
    world.look()
    assert not any('plans that wait' in line for line in world.logged)


@pytest.mark.parametrize('known', [True, False])
def test_a_state_without_velocity_is_not_said_to_move(known):
    world = running()
    world.state(velocity=np.full(7, 57.0))
    for k in range(401):
        world.at += 0.004
        world.supervisor.take_state(
            HOME + 0.9 * (k == 400), np.full(7, 57.0) if known and k == 400 else None,
            round(world.at * 1e9), world.at)
    world.look()
    line, = (line for line in world.logged if 'contradicts' in line and '0.9' in line)
    assert ('moving at 57' in line) == known


def test_an_arm_staying_beyond_its_range_is_held_at_the_end_of_it():
    """It was latched again each second, and plans were dropped each time."""
    world, end, beyond = running(), PANDA.limits.position_max[5], HOME.copy()
    for k in range(700):  # a hand leads it there, and holds it wherever it is
        beyond[5] = HOME[5] + (end + 0.3 - HOME[5]) * min(1.0, (k + 1) / 200)
        world.lead(beyond)
        if k % 20 == 0:
            world.supervisor.hold('~/hold')
    assert world.report[0] == 'holding'
    assert world.controller.q[0, 5] == pytest.approx(end, abs=0.2)
    world.logged.clear()
    world.states(500)
    assert not any('away from the reference' in line and 'held' in line for line in world.logged)
    world.plan(b'0.0')
    world.settle()
    np.testing.assert_allclose(world.controller.q[0], HOME, atol=1e-9)


def test_stamps_far_apart_are_named_while_it_waits():
    """Of stamps with milliseconds as seconds, states never agreed, and nothing said why."""
    world = World()
    for _ in range(20):
        world.offset += 4_000_000_000
        world.state()
    assert world.report == ('waiting', (
        'for joint states whose stamps are less than 2 s apart: do their stamps have seconds and '
        'nanoseconds?'))


def test_a_driver_that_becomes_slow_is_taken_as_it_is():
    """From 500 Hz to 5 Hz at once: each pause was a loss, for ever."""
    world = World()
    world.states(100, elapsed=0.002)
    world.states(15, elapsed=0.2)
    world.logged.clear()
    world.states(30, elapsed=0.2)
    assert world.report[0] == 'holding'
    assert not world.said('no joint state'), world.logged


def test_a_driver_whose_velocities_are_wrong_for_good_hides_no_departure():
    """In degrees a second, say: they are left out, and said; its positions still count."""
    world, reasons = running(), set()
    goal = world.goal(b'0.4')

    def drive(cycles):
        for _ in range(cycles):
            world.state(velocity=np.degrees(world.controller.q[1]))
            reasons.add(world.report[1])

    drive(150)
    assert goal.outcome is None
    assert any('velocities are left out' in reason for reason in reasons), reasons
    world.away[3] = 0.5
    drive(100)
    assert world.said('away from the reference')
    drive(1500)
    assert goal.outcome[0] == ErrorCode.PATH_TOLERANCE_VIOLATED


def test_an_arm_that_stays_away_from_its_reference_is_one_line():
    """An arm that sags was a line a second, for as long as the node ran."""
    world = running()
    world.logged.clear()
    for away in (0.15, 0.0, 0.15):
        world.away[3] = away
        world.states(1500)
    away = {line: n for line, n in world.logged.items() if 'away from the reference' in line}
    assert list(away.values()) == [2], world.logged


def test_two_contradicting_drivers_do_not_pull_the_reference_to_and_fro():
    """A driver that stalls let three states of the other through: it hopped by 0.5 rad."""
    world = running()
    rng = np.random.default_rng(5)
    arm = world.controller.q[0].copy()
    elsewhere, left = arm + 0.5, 0
    for _ in range(5000):
        left = left - 1 if left else int(rng.random() < 0.01) * int(rng.integers(30))
        if not left:  # the first is there, but for stalls of up to 30 ms
            world.state(arm.copy(), np.zeros(7), elapsed=0.0005)
        world.state(elsewhere.copy(), np.zeros(7), elapsed=0.0005)
        np.testing.assert_array_equal(world.controller.q[0], arm)
    for _ in range(300):  # the first has ended
        world.state(elsewhere.copy(), np.zeros(7), elapsed=0.001)
    np.testing.assert_array_equal(world.controller.q[0], arm)
    assert world.report[0] == 'fault'
    assert 'have jumped faster than any arm can move' in world.report[1]


def test_states_lost_to_a_clock_that_stands_still_are_said_to_be():
    world = running()
    stamp = world.stamp
    for _ in range(100):
        world.offset = stamp - round((world.at + PERIOD) * 1e9)
        world.state()
    assert world.report[0] == 'fault'
    assert world.report[1].startswith(
        'joint states are lost: the clock of the joint states stands still')
    world.offset = 0
    world.states(20)
    assert world.report == ('holding', '')
