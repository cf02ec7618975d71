"""The process that prepares plans: what it makes, and what becomes of it."""
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from controllers import HOME, still
import numpy as np
from processes import children, is_alive
import pytest
from serialized import base_trajectory

import hodyn_ros as hd
from hodyn_ros.messages.joint_trajectory import encode
from hodyn_ros.plans import planning_process
from hodyn_ros.plans.plan_request import PlanSettings
from hodyn_ros.plans.planner import Planner
from hodyn_ros.plans.worker import (
    DIED,
    MOST_TIME,
    PATIENCE,
    TOOK_TOO_LONG,
    BaseJob,
    Job,
    PlanWorker,
)
from hodyn_ros.reference.manager import ReferenceManager

pytestmark = pytest.mark.slow

TIMEOUT = 120.0


class Unstartable:
    """What no process survives to be handed."""

    def __reduce__(self):
        return os._exit, (3,)


def job(robot, number, goal=HOME + 0.1):
    data = encode(
        robot.joint_names, np.array([2.0]), np.array([[goal, 0 * goal, 0 * goal]]),
        np.zeros((1, 7)))
    return Job(data, robot, PlanSettings(), 0, False, still(HOME), 0, None, 0, 0, number)


def planners():
    """Return the planning processes of this one, which may have other children."""
    return [pid for pid in children(os.getpid())
            if planning_process.__name__ in Path(f'/proc/{pid}/cmdline').read_text()]


def wait_for(value, timeout=TIMEOUT):
    """Wait for a true value of a function, and return it."""
    end = time.monotonic() + timeout
    while not (found := value()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def outcome(worker):
    """Wait for the next outcome."""
    return wait_for(lambda: worker.poll(Job))


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


def test_plans_of_arm_and_base_do_not_take_each_others_place(worker):
    robot = hd.load_robot('panda')
    turned = [0.0, 0.0, 0.6, 0.8]
    poses = [(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (0.4, 0.0, 0.0, *turned)]
    for number in range(3):
        worker.submit(BaseJob(base_trajectory([0.0, 4.0], poses), (np.eye(4), 0.0), number))
        worker.submit(job(robot, number))
    worker.submit(BaseJob(base_trajectory([0.0, 4.0], poses), (np.eye(4), 9.0), 3))

    def last(kind, number):
        return wait_for(lambda: (found := worker.poll(kind)) and found[0].number == number
                        and found[1])

    assert last(Job, 2).refusal == ''
    assert last(BaseJob, 3).refusal.startswith('it ends in the past: its last point was due 5.0')
    worker.submit(BaseJob(base_trajectory([0.0, 4.0], poses), (np.eye(4), 0.0), 4))
    plan = last(BaseJob, 4).plan
    np.testing.assert_allclose(
        plan.evaluate(4.0)[0], [0.28, -0.96, 0.0, 0.96, 0.28, 0.0, 0.0, 0.0, 1.0, 0.4, 0.0, 0.0],
        rtol=0.0, atol=1e-13)  # round-off of coefficients up to 0.4 × 540


def test_another_takes_the_place_of_one_that_died(worker):
    robot = hd.load_robot('panda')
    [first] = planners()
    os.kill(first, signal.SIGKILL)
    worker.submit(job(robot, 0))
    made, prepared = outcome(worker)
    assert made.number == 0
    assert prepared.refusal == DIED
    worker.submit(job(robot, 1))
    made, prepared = outcome(worker)
    assert made.number == 1
    assert prepared.refusal == ''
    [second] = planners()
    assert second != first
    worker.close()
    assert not planners()


def test_another_takes_the_place_of_one_that_does_not_end(worker, monkeypatch):
    robot = hd.load_robot('panda')
    [first] = planners()
    os.kill(first, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr('hodyn_ros.plans.worker.MOST_TIME', 0.2)
        worker.submit(job(robot, 0))
        made, prepared = outcome(worker)
    assert (made.number, prepared.refusal) == (0, TOOK_TOO_LONG)
    wait_for(lambda: not is_alive(first))
    worker.submit(job(robot, 1))
    made, prepared = outcome(worker)
    assert (made.number, prepared.refusal) == (1, '')
    assert first not in planners()


def test_jobs_that_are_abandoned_delay_no_other_and_an_idle_process_stays(worker):
    robot = hd.load_robot('panda')
    [first] = planners()
    worker.abandon()
    worker.submit(job(robot, 0))
    assert outcome(worker)[1].refusal == ''
    worker.abandon()
    assert planners() == [first]
    os.kill(first, signal.SIGSTOP)  # as if it computed for minutes
    poses = [(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)] * 2
    worker.submit(job(robot, 1))
    time.sleep(0.2)
    worker.submit(job(robot, 2))
    worker.submit(BaseJob(base_trajectory([0.0, 4.0], poses), (np.eye(4), 0.0), 2))
    worker.abandon()
    assert worker.wait(TIMEOUT)  # for the other one
    assert not is_alive(first)
    assert worker.poll(Job) is worker.poll(BaseJob) is None
    worker.submit(job(robot, 3))
    made, prepared = outcome(worker)
    assert (made.number, prepared.refusal) == (3, '')
    assert worker.poll(BaseJob) is None


def test_a_planner_that_gives_up_its_plans_ends_the_process_at_once(worker):
    robot = hd.load_robot('panda')
    planner = Planner(worker, robot, PlanSettings())
    [first] = planners()
    os.kill(first, signal.SIGSTOP)  # as if it computed for minutes
    planner.submit(job(robot, 0).data, ReferenceManager(HOME, 50.0), 0, annotate=False)
    time.sleep(0.2)
    planner.cancel()  # as transitions do before
    planner.abandon()
    assert not planner.wait(0.0)
    wait_for(lambda: not is_alive(first), 0.5 * PATIENCE)


@pytest.mark.parametrize('dropped', [False, True])
def test_a_job_that_is_no_longer_wanted_delays_the_next_by_seconds(worker, dropped):
    robot = hd.load_robot('panda')
    [first] = planners()
    for number in range(3):  # of short jobs, none costs the process its life
        worker.submit(job(robot, number))
        if dropped:
            worker.drop(Job)
    worker.submit(job(robot, 3))
    wait_for(lambda: (found := worker.poll(Job)) and found[0].number == 3)
    assert planners() == [first]
    worker.submit(job(robot, 4))
    os.kill(first, signal.SIGSTOP)  # as if it computed for minutes
    time.sleep(0.2)
    if dropped:
        worker.drop(Job)
    worker.submit(job(robot, 5))
    assert wait_for(lambda: (found := worker.poll(Job)) and found[0].number == 5 and found[1],
                    0.1 * MOST_TIME).refusal == ''
    assert not is_alive(first)


def test_an_error_of_the_program_refuses_the_plan_with_its_traceback(monkeypatch):
    def fail(_):
        raise ZeroDivisionError('unforeseen')

    monkeypatch.setattr(planning_process, 'prepare_plan', fail)
    made = job(hd.load_robot('panda'), 0)

    def answer(data):
        return planning_process.answer(
            planning_process.prepare, made.robot, made.settings, data, *made.arguments)

    prepared = answer(made.data)
    assert prepared.refusal == 'ZeroDivisionError: unforeseen'
    assert prepared.traceback.startswith('Traceback')
    # What the sender can mend has none.
    prepared = answer(b'')
    assert 'not a message in plain CDR' in prepared.refusal
    assert prepared.traceback == ''


def test_a_worker_that_cannot_start_is_tried_once_for_each_plan():
    worker = PlanWorker(Unstartable())
    assert not worker.wait(TIMEOUT)
    robot = hd.load_robot('panda')
    for number in range(2):
        worker.submit(job(robot, number))
        made, prepared = outcome(worker)
        assert made.number == number
        assert prepared.refusal == DIED
        time.sleep(0.5)
        assert not planners()
    worker.close()
    assert not planners()


PARENT = """
import sys

from hodyn_ros.plans.worker import PlanWorker
from hodyn_ros import load_robot

worker = PlanWorker(load_robot('panda'))
if 'ready' in sys.argv:
    assert worker.wait(120.0)
print('up', flush=True)
worker.wait(120.0)
sys.stdin.read()
"""


@pytest.mark.parametrize('stage', ['started', 'compiling', 'ready', 'busy'])
def test_it_dies_with_its_parent_that_is_killed(stage, tmp_path):
    """Whatever it does then: import, compile, wait, or compute without a look at anything else."""
    # An empty folder of kernels, so that it has something to compile.
    kernels = {'NUMBA_CACHE_DIR': str(tmp_path)} if stage == 'compiling' else {}
    parent = subprocess.Popen(
        [sys.executable, '-c', PARENT, *(['ready'] if stage in ('ready', 'busy') else [])],
        env={**os.environ, **kernels}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert parent.stdout.readline() == b'up\n'
        found = wait_for(lambda: children(parent.pid))
        if stage == 'compiling':
            wait_for(lambda: any(tmp_path.iterdir()))
        if stage == 'busy':
            # It does not read, and its threads do not run, as in a kernel that takes long.
            os.kill(found[0], signal.SIGSTOP)
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: not any(map(is_alive, found)), 1.0)
