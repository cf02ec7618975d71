"""Plans that begin after their stamp say what they miss, if they do not follow their motion."""
import re

from controllers import HOME, still
import numpy as np
import pytest
from supervised import running

import hodyn_ros as hd
from hodyn_ros.feedforward.trajectory_goals import REACHED, ErrorCode
from hodyn_ros.messages.joint_trajectory import encode
from hodyn_ros.plans.plan_request import PlanSettings
from hodyn_ros.plans.planning_process import prepare
from hodyn_ros.reference import fit_plan

PANDA = hd.load_robot('panda')


def prepared(times, motion, state, skipped):
    """Return the plan of a trajectory, (m, 3, n), that begins `skipped` s after its stamp."""
    data = encode(PANDA.joint_names, np.asarray(times), motion, np.zeros((len(times), 7)))
    return prepare(PANDA, PlanSettings(stretch='off'), data, False, state, 0, skipped)


@pytest.mark.parametrize('seed', range(25))
def test_only_plans_that_leave_their_motion_are_late(seed):
    """Of few points or samples; the reference still waits, or is where the motion should be."""
    rng = np.random.default_rng(seed)
    times = np.r_[0.0, np.cumsum(rng.uniform(2.0, 4.0, rng.integers(1, 4)))]
    goals = HOME + np.vstack([np.zeros(7), rng.uniform(-0.2, 0.2, (times.size - 1, 7))])
    whole = fit_plan(times, goals)
    if seed % 2:
        times = np.linspace(0.0, times[-1], int(50 * times[-1]))
    motion = whole.evaluate(times)[:, :3]
    skipped = float(min(10.0 ** rng.uniform(-3.0, 0.5), 0.8 * times[-1]))
    due = whole.evaluate(skipped)
    late = prepared(times, motion, still(HOME), skipped).late
    away = np.abs(due[0] - HOME).max()
    assert (not late) if away < 0.009 else late or away < 0.011
    if late:
        place, left, planned = map(float, re.search(
            r'motion to point (\d+) takes (\S+) s instead of (\S+) s from', late).groups())
        assert times[int(place)] == pytest.approx(planned, rel=1e-2)
        assert planned - left == pytest.approx(skipped, abs=1e-2 * planned)
        assert times[int(place) - 1] <= skipped < times[int(place)]
    assert not prepared(times, motion, due, skipped).late
    assert not prepared(times, motion, still(HOME), 0.0).late


def test_a_refusal_names_first_that_the_plan_is_late():
    times, motion = [0.0, 3.0, 3.5], np.zeros((3, 3, 7))
    motion[:, 0] = HOME, HOME + 0.5, HOME + 0.6
    on_time = prepared(times, motion, still(HOME), 0.0)
    assert on_time.refusal == on_time.late == ''
    late = prepared(times, motion, still(HOME), 3.2)
    assert late.refusal.startswith(
        'the plan begins 3.2 s after its header.stamp: points 0 to 1 are left out, and the motion '
        'to point 2 takes 0.3 s instead of 3.5 s from the start. Send it earlier, or with a stamp '
        'of 0 to follow it from its start; ')
    assert ', limit ' in late.refusal


def test_a_late_plan_is_named_in_log_state_and_answer():
    world = running()
    world.plans.late = late = 'the plan begins 2 s after its header.stamp: …'
    goal = world.goal(b'0.1')
    world.states(5)
    assert world.said(late) == 1
    assert world.report == ('following', late)
    world.settle()
    world.states(30)
    assert goal.outcome == (ErrorCode.SUCCESSFUL, f'{REACHED} But {late}')


def test_a_question_about_an_accepted_plan_is_in_log_and_state():
    world = running()
    world.plans.doubt = doubt = 'times are in s: are these milliseconds?'
    world.plan(b'0.1')
    world.states(5)
    assert world.said(doubt) == 1
    assert world.report == ('following', doubt)


def test_a_motion_to_the_first_point_that_is_cut_short_is_late():
    motion = np.zeros((1, 3, 7))
    motion[:, 0] = HOME + 0.2
    assert 'header.stamp: the motion to point 0 takes 1.5 s instead of 3 s' in prepared(
        [3.0], motion, still(HOME), 1.5).late
