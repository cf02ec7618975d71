"""Plans that are prepared at once, and clients of goals, for a supervisor."""
from controllers import HOME
import numpy as np

import hodyn_ros as hd
from hodyn_ros.feedforward.goal_tolerances import default_tolerances
from hodyn_ros.feedforward.plan_answer import Accepted, Refused
from hodyn_ros.plans.plan_request import PlanSettings
from hodyn_ros.plans.planner import Planner
from hodyn_ros.plans.planning_process import answer, prepare_base
from hodyn_ros.reference import fit_plan

PANDA = hd.load_robot('panda')


class AtOnce:
    """Prepares plans of a base where a `PlanWorker` would have a process for it."""

    def __init__(self):
        self.job = None

    def submit(self, job):
        self.job = job

    def poll(self, kind):
        job, self.job = self.job, None
        return job and (job, answer(prepare_base, job.data, *job.arguments))


class Plans:
    """Makes a plan of a number of bytes: a motion of all joints to a share of a radian."""

    def __init__(self):
        self.waiting, self.is_ready, self.robot = None, True, PANDA
        self.late = ''  # what its plans miss, as they begin after their stamps
        self.doubt = ''  # questions about their points
        of_base = Planner(AtOnce(), PANDA, PlanSettings())
        self.submit_base, self.poll_base = of_base.submit_base, of_base.poll_base

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
        plan = fit_plan([0.0, 0.4 + 4.0 * np.abs(goal - start).max()], [start, goal])
        reference.follow(plan, now)
        return Accepted(plan, late=self.late, doubt=self.doubt)

    def cancel(self):
        was_busy, self.waiting = self.busy, None
        return was_busy

    def change_robot(self, robot):
        self.robot = robot


class Goal:
    """A client that keeps what it is told."""

    def __init__(self, joints=PANDA.joint_names, point_times=(1.0,), **constraints):
        self.joints, self.point_times = joints, point_times
        self.constraints = {
            'goal_time': 0.1, 'stopped_velocity': 0.0, 'trajectory': {'joint1': 0.05},
            'goal': {'joint1': 0.05}, **constraints}
        self.told, self.feedback, self.outcome = [], [], None

    def tolerances(self, names):
        return default_tolerances(names[-1], **self.constraints)

    def begin(self):
        assert self.outcome is None
        self.told.append('begun')

    def progress(self, stamp, names, elapsed, point, desired, actual, effort):
        assert self.outcome is None
        self.feedback.append((elapsed, point, len(actual)))

    def end(self, code, text):
        assert self.outcome is None, 'a goal ends once'
        assert text
        self.outcome = code, text
