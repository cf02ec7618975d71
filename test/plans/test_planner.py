"""When a finished plan is handed over, and when it is made again or refused."""
from dataclasses import replace

from controllers import HOME, still
import numpy as np
import pytest

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.motion_limits import motion_limits
from hodyn_ros.messages.joint_trajectory import decode, encode
from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
from hodyn_ros.plans.planner import MIN_HEADROOM, TRIES, Planner
from hodyn_ros.plans.planning_process import prepare
from hodyn_ros.plans.prepare import prepare_plan
from hodyn_ros.reference.manager import MAX_WAITING, ReferenceManager
from hodyn_ros.robot import HodynError

SECOND = 10**9


class Worker:
    """Prepares a job when it is let to."""

    def __init__(self) -> None:
        self.jobs = []
        self.outcomes = []
        self.seconds = 0.01

    def submit(self, job) -> None:
        self.jobs.append(job)

    def drop(self, kind) -> None:
        """Go on: a plan may be ready just before it is dropped."""

    def poll(self, kind):
        return self.outcomes.pop(0) if self.outcomes else None

    def work(self) -> None:
        job = self.jobs.pop(0)
        prepared = prepare_plan(PlanRequest(
            decode(job.data), job.robot, job.settings, start=job.state))
        self.outcomes.append((job, replace(prepared, seconds=self.seconds)))


def trajectory(robot, goal, seconds=2.0, stamp=0) -> bytes:
    rest = 0.0 * goal
    return encode(
        robot.joint_names, np.array([seconds]), np.array([[goal, rest, rest]]),
        np.zeros((1, 7)), stamp)


@pytest.fixture
def planner(panda):
    return Planner(Worker(), panda, PlanSettings())


def submit(planner, reference, now, goal, **fields):
    data = trajectory(planner.robot, goal, **fields)
    planner.submit(data, reference, now, annotate=False)


def polled(planner, reference, now):
    planner._worker.work()
    return planner.poll(reference, now)


def following(planner, goal):
    """Return a reference that goes to a goal from time 0 to 2 s."""
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, goal)
    assert polled(planner, reference, 0).plan
    return reference


def test_a_plan_for_mid_motion_that_is_ready_too_late_is_made_again(planner):
    reference = following(planner, HOME + 0.3)
    submit(planner, reference, SECOND, HOME - 0.3)
    late = 5 * SECOND
    assert polled(planner, reference, late) is None
    found = polled(planner, reference, late)
    assert found.plan
    np.testing.assert_allclose(reference.state_at(late)[0], HOME + 0.3, atol=1e-12)
    assert not reference.state_at(late)[1:].any()


def test_a_plan_is_made_again_when_the_payload_changed_meanwhile(planner, panda):
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3)
    planner._worker.work()
    planner.change_robot(panda.with_payload(panda.bodies[-1].name, 3.0, [0.0, 0.0, 0.1]))
    assert planner.poll(reference, 0) is None
    assert planner._worker.jobs[0].robot is planner.robot
    assert polled(planner, reference, 0).plan


def test_a_plan_that_was_made_for_another_reference_is_made_again(planner):
    """Guards plans that begin where the reference was when they were asked for."""
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3)
    planner._worker.work()
    reference.latch(HOME + 0.1)
    assert planner.poll(reference, 0) is None
    np.testing.assert_array_equal(planner._worker.jobs[0].state[0], HOME + 0.1)
    assert polled(planner, reference, 0).plan
    np.testing.assert_allclose(reference.state_at(0)[0], HOME + 0.1, atol=1e-12)


def test_plans_are_of_the_arm_that_became_known_meanwhile(planner):
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3)
    planner._worker.work()
    planner.bind('left_')
    assert planner.poll(reference, 0) is None
    assert planner._worker.jobs[0].settings.driver_prefix == 'left_'


def test_slow_preparations_before_an_activation_do_not_delay_later_plans(planner):
    """The start of a plan came to lie 20 s ahead: one that was due in 15 s was in the past."""
    planner._worker.seconds = 30.0
    following(planner, HOME + 0.3)
    planner.bind('')
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME, stamp=SECOND)
    assert planner._worker.jobs[0].start == SECOND


def test_a_plan_that_is_dropped_is_never_followed(planner):
    reference = ReferenceManager(HOME, 50.0)
    assert not planner.cancel()
    submit(planner, reference, 0, HOME + 0.3)
    assert planner.busy
    assert planner.cancel()
    assert not planner.busy
    planner._worker.work()
    assert planner.poll(reference, 0) is None
    assert reference.is_idle(0)
    # Nor does it pass for the next one.
    submit(planner, reference, 0, HOME - 0.2)
    assert planner.poll(reference, 0) is None
    assert polled(planner, reference, 0).plan
    np.testing.assert_allclose(reference.state_at(3 * SECOND)[0], HOME - 0.2, atol=1e-12)


def test_the_next_trajectory_takes_the_place_of_one_that_is_being_made(planner):
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3)
    submit(planner, reference, 0, HOME - 0.2)
    assert polled(planner, reference, 0) is None
    assert polled(planner, reference, 0).plan
    assert not planner.busy
    np.testing.assert_allclose(reference.state_at(3 * SECOND)[0], HOME - 0.2, atol=1e-12)


def test_a_reference_that_moves_on_each_time_is_given_up_after_some_tries(planner):
    reference = following(planner, HOME + 0.3)
    submit(planner, reference, SECOND, HOME - 0.3)
    starts = []
    for _ in range(TRIES - 1):
        starts.append(planner._worker.jobs[0].start)
        planner._worker.work()
        reference.revision += 1
        assert planner.poll(reference, SECOND) is None
    # Each try is given more time than the one before.
    assert (np.diff(starts) > 0).all()
    planner._worker.work()
    reference.revision += 1
    assert 'moved on each time' in planner.poll(reference, SECOND).why


def test_a_payload_that_changes_each_time_is_the_reason_of_a_refusal(planner, panda):
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3)
    for mass in range(1, TRIES + 1):
        planner._worker.work()
        planner.change_robot(panda.with_payload(panda.bodies[-1].name, mass, [0.0, 0.0, 0.1]))
        answer = planner.poll(reference, 0)
    assert answer.why.startswith('the payload, or another part of the model, changed each time')


def test_a_stamp_says_when_and_what_lies_before_now_is_left_out(planner):
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3, stamp=3 * SECOND)
    job, = planner._worker.jobs
    assert (job.start, job.requested, job.skipped) == (3 * SECOND, 3 * SECOND, 0.0)
    late = 3 * SECOND + SECOND // 2
    submit(planner, reference, late, HOME + 0.3, stamp=3 * SECOND)
    job = planner._worker.jobs[1]
    assert job.start == late + round(MIN_HEADROOM * 1e9)
    assert job.skipped == pytest.approx((job.start - 3 * SECOND) * 1e-9)
    planner.submit(
        trajectory(planner.robot, HOME, stamp=5 * SECOND), reference, 0, annotate=True,
        left_out=SECOND)
    job = planner._worker.jobs[2]
    assert (job.start, job.left_out, job.annotate) == (4 * SECOND, SECOND, True)


def test_a_plan_waits_for_ten_minutes_at_most(planner):
    """With a planner's clock a day ahead the arm would have started by itself, a day later."""
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, SECOND, HOME + 0.3, stamp=600 * SECOND)
    found = polled(planner, reference, SECOND)
    assert (found.wait, found.dropped) == (599.0, 0)
    with pytest.raises(HodynError, match=r'header.stamp is 86400 s ahead of the joint states'):
        submit(planner, reference, SECOND, HOME + 0.3, stamp=86401 * SECOND)
    submit(planner, reference, SECOND, HOME + 0.3, stamp=3 * SECOND)
    found = polled(planner, reference, SECOND)
    assert (found.wait, found.dropped) == (2.0, 1)
    assert reference.next_start(SECOND) == 2.0


def test_no_plan_is_taken_while_a_stream_is_followed(planner, panda):
    reference = ReferenceManager(HOME, 50.0)
    submit(planner, reference, 0, HOME + 0.3)
    reference.set_target(
        SECOND, HOME, None, 2 * SECOND, motion_limits(FeedForward(panda)))
    found = polled(planner, reference, SECOND)
    assert 'a streamed reference is followed' in found.why
    assert reference.streaming


def test_so_many_plans_may_wait(planner):
    reference = ReferenceManager(HOME, 50.0)
    for k in range(MAX_WAITING):
        submit(planner, reference, 0, HOME, stamp=(k + 10) * 10 * SECOND)
        assert polled(planner, reference, 0).plan
    submit(planner, reference, 0, HOME, stamp=500 * SECOND)
    before = reference.revision
    found = polled(planner, reference, 0)
    assert 'wait for their start' in found.why
    assert reference.revision == before


@pytest.mark.parametrize(('seconds', 'skipped', 'reason'), [
    (2.0, 2.5, r'its last point was due 0\.500 s ago: send it earlier; let planner and driver '
     r'use one clock \(in a simulation, use_sim_time: true for both\), or send a stamp of 0'),
    (4000.0, 0.0, 'it takes 4000 s; the longest is 3600 s: is it in milliseconds')])
def test_a_plan_in_the_past_or_of_more_than_an_hour_is_refused(panda, seconds, skipped, reason):
    data = trajectory(panda, HOME + 0.1, seconds)
    with pytest.raises(HodynError, match=reason):
        prepare(panda, PlanSettings(), data, False, still(HOME), 0, skipped)


@pytest.mark.parametrize(('seconds', 'most'), [(2.0, 402), (3000.0, 20_002)])
def test_a_long_plan_is_annotated_with_fewer_samples(panda, seconds, most):
    """A plan with times in ms was sampled every 5 ms, for 10 s and without a word."""
    data = trajectory(panda, HOME + 0.3, seconds)
    found = prepare(panda, PlanSettings(), data, True, still(HOME), 0, 0.0)
    assert most - 5 < len(decode(found.message).times) <= most
    assert ('are these milliseconds?' in found.note) == (seconds > 1000.0)
