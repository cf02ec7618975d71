"""The process that prepares plans: what it makes, and what becomes of it."""
from multiprocessing import active_children
import os
import time

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.messages.joint_trajectory import encode
from hodyn_ros.plans import worker as worker_module
from hodyn_ros.plans.prepare import PlanSettings
from hodyn_ros.plans.worker import DIED, Job, PlanWorker

pytestmark = pytest.mark.slow

HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
TIMEOUT = 120.0


class Unstartable:
    """What no process survives to be handed."""

    def __reduce__(self):
        return os._exit, (3,)


def job(robot, number, goal=HOME + 0.1):
    start = np.zeros((5, 7))
    start[0] = HOME
    data = encode(
        robot.joint_names, np.array([2.0]), np.array([[goal, 0 * goal, 0 * goal]]),
        np.zeros((1, 7)))
    return Job(data, robot, PlanSettings(), 0, False, start, 0, 0.0, 0, number)


def outcome(worker):
    """Wait for the next outcome."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        found = worker.poll()
        if found is not None:
            return found
        time.sleep(0.01)
    raise AssertionError('no outcome')


@pytest.fixture
def worker():
    worker = PlanWorker(hd.load_robot('panda'))
    assert worker.wait(TIMEOUT)
    yield worker
    worker.close()


def test_it_makes_one_plan_after_the_other(worker):
    robot = hd.load_robot('panda')
    for number, goal in enumerate((HOME + 0.1, HOME - 0.1)):
        worker.submit(job(robot, number, goal))
        made, prepared = outcome(worker)
        assert made.number == number
        assert prepared.refusal == ''
        np.testing.assert_allclose(prepared.plan.evaluate(5.0)[0], goal, atol=1e-12)


def test_another_takes_the_place_of_one_that_died(worker):
    robot = hd.load_robot('panda')
    [first] = active_children()
    first.kill()
    worker.submit(job(robot, 0))
    made, prepared = outcome(worker)
    assert made.number == 0
    assert prepared.refusal == DIED
    worker.submit(job(robot, 1))
    made, prepared = outcome(worker)
    assert made.number == 1
    assert prepared.refusal == ''
    [second] = active_children()
    assert second.pid != first.pid
    worker.close()
    assert not active_children()


def test_an_error_of_the_program_refuses_the_plan_with_its_traceback(monkeypatch):
    def fail(_):
        raise ZeroDivisionError('unforeseen')

    monkeypatch.setattr(worker_module, 'prepare_plan', fail)
    made = job(hd.load_robot('panda'), 0)
    prepared = worker_module._prepare(
        made.robot, made.settings, made.data, made.annotate, made.state, made.start, made.skipped)
    assert prepared.refusal == 'ZeroDivisionError: unforeseen'
    assert prepared.traceback.startswith('Traceback')
    # What the sender can mend has none.
    prepared = worker_module._prepare(
        made.robot, made.settings, b'', made.annotate, made.state, made.start, made.skipped)
    assert 'not a message in plain CDR' in prepared.refusal
    assert prepared.traceback == ''


def test_one_that_cannot_start_is_tried_once_for_each_plan_and_ends_when_asked():
    worker = PlanWorker(Unstartable())
    assert not worker.wait(TIMEOUT)
    robot = hd.load_robot('panda')
    for number in range(2):
        worker.submit(job(robot, number))
        made, prepared = outcome(worker)
        assert made.number == number
        assert prepared.refusal == DIED
        time.sleep(0.5)
        assert not active_children()
    worker.close()
    assert not active_children()
