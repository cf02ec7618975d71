"""How goals are followed and end, and their tolerances, without the action."""
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import supervised

from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward.goal_tolerances import (
    JointTolerance,
    default_tolerances,
    goal_tolerances,
    violation,
)
from hodyn_ros.feedforward.plan_answer import Accepted, Refused
from hodyn_ros.feedforward.trajectory_goals import REACHED, ErrorCode, TrajectoryGoals
from hodyn_ros.reference import fit_plan
from hodyn_ros.reference.limits import MotionLimits
from hodyn_ros.reference.manager import ReferenceManager

NAMES = ['joint1', 'joint2']
SECOND = 10**9
LIMITS = MotionLimits(*(np.full(2, value) for value in (-np.inf, np.inf, 2.0, 10.0, 1000.0)))


Goal = partial(
    supervised.Goal, NAMES, [0.5, 1.0], goal_time=0.2, trajectory={}, goal={})


class Scene:
    """A reference of two joints that rests at 0, the goals, and an arm that is `away` from it."""

    def __init__(self):
        self.goals = TrajectoryGoals(NAMES, lookahead=0.0)
        self.goals.bind(['left_joint1', 'left_joint2'])
        self.reference = ReferenceManager(np.zeros(2), 50.0)
        self.now = 0
        self.away = np.zeros((2, 2))

    def run(self, seconds, has_velocity=True):
        """Let time pass in steps of 10 ms; return why the reference must stop, if it must."""
        for _ in range(round(seconds * 100)):
            self.now += SECOND // 100
            q = np.empty((5, 2))
            self.reference.evaluate(self.now, q)
            controller = SimpleNamespace(
                q=q, now=self.now, reference=self.reference, torque=np.zeros((3, 2)))
            measured = (q[:2] + self.away)[:1 + has_velocity]
            why = self.goals.watch(controller, measured, self.now)
            if why:
                return why
            self.goals.settle(is_stopping=self.reference.mode(self.now) == 'stopping')
        return ''

    def follow(self, goal, seconds=1.0, to=0.5, **fields):
        """Have the plan of a goal, or of a topic, None, taken."""
        self.goals.prepare(goal)
        self.take(to, seconds, **fields)
        self.goals.settle(is_stopping=False)

    def take(self, to=0.5, seconds=1.0, **fields):
        plan = fit_plan([0.0, seconds], [self.reference.state_at(self.now)[0], np.full(2, to)])
        self.reference.follow(plan, self.now)
        self.goals.take(Accepted(plan, **fields))

    def begin(self, **constraints):
        """Have the plan of a new goal taken; return the goal."""
        self.follow(goal := Goal(**constraints))
        return goal

    def stop(self):
        self.reference.stop(self.now, LIMITS)

    def stream(self, seconds):
        """Have the reference follow a stream for a time."""
        for _ in range(round(seconds * 100)):
            target = self.reference.state_at(self.now)[0] + 1e-3
            self.reference.set_target(self.now, target, None, self.now, LIMITS)
            self.run(0.01)


@pytest.fixture
def scene(monkeypatch):
    monkeypatch.setitem(TrajectoryGoals.watch.__globals__, 'FEEDBACK_PERIOD', 0.0)
    return Scene()


def test_a_goal_is_begun_followed_and_reached(scene):
    goal = scene.begin(trajectory={'joint1': 0.1}, goal={'joint1': 0.1})
    assert goal.told == ['begun']
    assert not scene.run(0.9)
    assert goal.outcome is None
    scene.run(0.2)
    assert goal.outcome == (ErrorCode.SUCCESSFUL, REACHED)
    assert goal.feedback[0][1] == 0


def test_points_are_counted_in_the_time_of_the_trajectory(scene):
    goal = Goal()
    scene.follow(goal, seconds=2.0, pace=0.5)  # points at 1 and 2 s
    scene.run(2.0)
    assert {point for _, point, _ in goal.feedback} == {0, 1}
    for elapsed, point, _ in goal.feedback:
        if min(abs(elapsed - 1.0), abs(elapsed - 2.0)) > 1e-6:
            assert point == (elapsed > 1.0)


def test_the_last_point_is_gone_to_after_the_end(scene):
    """There is none after it, and the index of the feedback is one of the goal's points."""
    goal = scene.begin(goal={'joint1': 0.1})
    scene.away[0, 0] = 0.3
    scene.run(1.1)
    assert goal.feedback[-1][:2] == (pytest.approx(1.1), 1)


def test_a_violated_path_stops_and_the_result_waits_for_rest(scene):
    goal = scene.begin(trajectory={'joint2': 0.1})
    scene.run(0.3)
    scene.away[0, 1] = -0.2
    why = scene.run(0.3)
    assert why == (
        'the position of left_joint2 is -0.2 away from the reference, beyond its path tolerance '
        'of 0.1')
    scene.stop()
    scene.run(0.05)
    assert goal.outcome is None
    scene.run(1.5)
    assert goal.outcome == (ErrorCode.PATH_TOLERANCE_VIOLATED, why)


@pytest.mark.parametrize(('goal_time', 'expected'), [
    (0.2, ErrorCode.GOAL_TOLERANCE_VIOLATED), (0.0, None)])
def test_the_end_is_waited_for_as_long_as_the_goal_says_and_0_for_ever(
        scene, goal_time, expected):
    goal = scene.begin(goal={'joint1': 0.1}, goal_time=goal_time)
    scene.away[0, 0] = 0.3
    scene.run(1.15)
    assert goal.outcome is None
    why = scene.run(5.0)  # what the node logs
    scene.run(0.01)
    assert why == (goal.outcome[1] if goal.outcome else '')
    assert (goal.outcome and goal.outcome[0]) == expected
    scene.away[:] = 0.0
    scene.run(0.1)
    assert goal.outcome[0] == (expected or ErrorCode.SUCCESSFUL)


@pytest.mark.parametrize('is_canceled', [True, False])
def test_a_stream_after_the_motion_leaves_no_client_without_an_answer(
        scene, is_canceled):
    """Where the goal is outside its tolerance for ever, and right after the rest of a stop."""
    goal = scene.begin(goal={'joint1': 0.1}, goal_time=0.0)
    scene.away[0, 0] = 0.3
    scene.run(0.3)
    if is_canceled:
        scene.goals.cancel(goal)
        scene.stop()
    while not scene.reference.is_idle(scene.now + SECOND // 100):
        scene.run(0.01)
    assert goal.outcome is None
    scene.now += SECOND // 100
    scene.reference.evaluate(scene.now, np.empty((5, 2)))
    scene.stream(0.05)
    assert goal.outcome == (
        (ErrorCode.SUCCESSFUL, 'canceled on request') if is_canceled
        else (ErrorCode.INVALID_GOAL, 'another reference took its place'))


def test_velocities_count_only_where_they_are_known(scene):
    goal = scene.begin(stopped_velocity=0.01)
    scene.away[1] = 0.1
    scene.run(1.1)
    assert goal.outcome is None
    assert goal.feedback[-1][2] == 2
    scene.run(0.05, has_velocity=False)
    assert goal.feedback[-1][2] == 1, 'positions alone'
    assert goal.outcome[0] == ErrorCode.SUCCESSFUL


@pytest.mark.parametrize('next_goal', [True, False])
def test_a_plan_that_is_taken_preempts_and_one_that_is_refused_does_not(scene, next_goal):
    first, refused, second = Goal(), Goal(), Goal() if next_goal else None
    scene.follow(first)
    scene.run(0.3)
    scene.goals.prepare(refused)
    scene.goals.take(Refused('no such joint', fault='joints'))
    scene.run(0.1)
    assert refused.outcome == (ErrorCode.INVALID_JOINTS, 'no such joint')
    assert refused.told == []
    assert first.outcome is None
    scene.follow(second, to=0.2)
    assert first.outcome == (ErrorCode.INVALID_GOAL, 'preempted by a newer trajectory')
    scene.run(1.2)
    if second is not None:
        assert second.outcome[0] == ErrorCode.SUCCESSFUL


def test_a_newer_trajectory_takes_the_place_of_one_in_preparation(scene):
    first, second = Goal(), Goal()
    scene.goals.prepare(first)
    scene.goals.prepare(second)
    assert first.outcome[0] == ErrorCode.INVALID_GOAL
    assert scene.goals.prepares
    scene.goals.prepare(None)
    assert second.outcome[0] == ErrorCode.INVALID_GOAL
    assert not scene.goals.prepares


def test_cancel_while_prepared_while_followed_and_of_another(scene):
    followed, *prepared = Goal(), Goal(), Goal()
    scene.follow(followed)
    for one in prepared:
        scene.goals.prepare(one)
        assert not scene.goals.cancel(one)
        assert one.outcome is None  # the protocol cancels it after this
    scene.run(0.1)
    assert [one.outcome for one in prepared] == (
        2 * [(ErrorCode.SUCCESSFUL, 'canceled on request')])
    assert not scene.goals.cancel(Goal())
    scene.run(0.2)
    assert followed.outcome is None
    assert scene.goals.cancel(followed)
    scene.stop()
    scene.run(0.05)
    assert followed.outcome is None  # it moves
    scene.run(1.0)
    assert followed.outcome == (ErrorCode.SUCCESSFUL, 'canceled on request')


def test_a_cancel_in_the_cycle_in_which_the_plan_is_taken_stops(scene):
    goal = Goal()
    scene.goals.prepare(goal)
    scene.take()
    assert not scene.goals.is_prepared(goal)
    assert scene.goals.cancel(goal)


def test_another_reference_or_a_stop_ends_the_goal_with_its_reason(scene):
    goal, other = Goal(), Goal()
    scene.follow(goal)
    scene.run(0.3)
    scene.reference.latch(np.zeros(2))
    scene.run(0.05)
    assert goal.outcome == (ErrorCode.INVALID_GOAL, 'another reference took its place')
    scene.follow(other)
    scene.run(0.3)
    scene.goals.stop(ErrorCode.INVALID_GOAL, 'joint states were lost')
    scene.goals.stop(ErrorCode.INVALID_GOAL, 'and more')
    scene.reference.latch(np.zeros(2))
    scene.run(0.05)
    assert other.outcome == (ErrorCode.INVALID_GOAL, 'joint states were lost')


def test_a_close_ends_all_goals(scene):
    followed, prepared = Goal(), Goal()
    scene.follow(followed)
    scene.goals.prepare(prepared)
    scene.goals.close('the node is deactivated')
    assert followed.outcome == prepared.outcome == (
        ErrorCode.INVALID_GOAL, 'the node is deactivated')


FREE = np.inf
JOINTS = ['joint1', 'joint2', 'joint3']
BOTH = [[f'left_fer_{joint}' for joint in JOINTS], JOINTS]


@pytest.fixture
def defaults():
    return default_tolerances(
        JOINTS, 0.5, 0.1, {'fer_joint1': 0.1, 'joint2': 0.2}, {'fer_joint3': 0.3})


def test_parameters_bound_what_they_name_and_zero_nothing():
    found = default_tolerances(JOINTS, 0.0, 0.0, {'joint1': 0.1, 'joint2': 0.0}, {'joint3': 0.0})
    np.testing.assert_array_equal(found.path, [[0.1, FREE, FREE], [FREE] * 3])
    assert np.isinf(found.goal).all()
    assert found.goal_time == 0.0


def test_joints_of_parameters_have_any_prefix_and_unknown_ones_are_named(defaults):
    np.testing.assert_array_equal(defaults.path[0], [0.1, 0.2, FREE])
    np.testing.assert_array_equal(defaults.goal, [[FREE, FREE, 0.3], [0.1] * 3])
    with pytest.raises(HodynError, match=r'constraints\.elbow\.goal: no such joint'):
        default_tolerances(JOINTS, 0.0, 0.0, {}, {'elbow': 0.1})


@pytest.mark.parametrize(('asked', 'path', 'goal', 'goal_time'), [
    (([], [], 0.0), [[0.1, 0.2, FREE], [FREE] * 3], [[FREE, FREE, 0.3], [0.1] * 3], 0.5),
    (([JointTolerance('joint3', 0.2, 0.3)],
      [JointTolerance('left_fer_joint2', 1.2, 2.2), JointTolerance('joint1', 1.1, 0.0)], 2.0),
     [[0.1, 0.2, 0.2], [FREE, FREE, 0.3]], [[1.1, 1.2, 0.3], [0.1, 2.2, 0.1]], 2.0),
    (([JointTolerance('joint1', -1.0, 0.0)], [JointTolerance('joint3', -1.0, -1.0)], -1.0),
     [[FREE, 0.2, FREE], [FREE] * 3], [[FREE] * 3, [0.1, 0.1, FREE]], 0.0),
], ids=['the defaults', 'any order and name of joints', '-1 is no bound'])
def test_a_goal_has_the_tolerances_that_it_asks_for(defaults, asked, path, goal, goal_time):
    """joint_trajectory_controller's test_tolerances_via_actions, first and last part."""
    found = goal_tolerances(defaults, BOTH, *asked)
    np.testing.assert_array_equal(found.path, path)
    np.testing.assert_array_equal(found.goal, goal)
    assert found.goal_time == goal_time


@pytest.mark.parametrize(('path', 'goal_time', 'expected'), [
    ([JointTolerance('joint1', -2.0, 0.0)], 0.0, "path_tolerance of joint 'joint1': position -2"),
    ([JointTolerance('joint1', 0.0, float('nan'))], 0.0, 'velocity nan is neither'),
    ([JointTolerance('elbow', 0.1, 0.0)], 0.0, "path_tolerance names joint 'elbow'"),
    ([], -2.0, 'goal_time_tolerance -2'),
])
def test_what_means_nothing_is_named(defaults, path, goal_time, expected):
    with pytest.raises(HodynError, match=expected):
        goal_tolerances(defaults, BOTH, path, [], goal_time)


def test_the_worst_of_what_is_beyond_is_told(defaults):
    error = np.array([[0.05, -0.3, 7.0], [0.0, 9.0, 0.0]])
    assert violation(defaults.path, error) == (0, 1)
    assert violation(defaults.goal, error) == (1, 1)
    assert violation(defaults.goal, error[:1]) == (0, 2)
    assert violation(defaults.path, np.zeros((2, 3))) is None
