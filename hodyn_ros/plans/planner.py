"""Turns serialized trajectories into plans for the reference, without delaying a cycle."""
from dataclasses import replace

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward.plan_answer import Accepted, Refused
from hodyn_ros.messages import cdr
from hodyn_ros.plans.plan_request import ONE_CLOCK, PlanSettings
from hodyn_ros.plans.worker import BaseJob, Job, PlanWorker
from hodyn_ros.reference.manager import MAX_WAITING, ReferenceManager
from hodyn_ros.robot import Robot

# Bounds of the headroom, s, and number of preparations of a plan before it is refused.
MIN_HEADROOM, MAX_HEADROOM = 0.05, 20.0
TRIES = 4
LONGEST_WAIT = 600.0
"""Longest wait for a plan's start, s: a stamp from a wrong clock would start it unexpectedly."""


class Planner:
    """Has trajectories fitted and checked in another process, and passes on the finished plans.

    If the reference moves, a plan must start where the reference will be when the plan is ready.
    So its start lies ahead by the expected preparation time (headroom); if the preparation takes
    longer, it is repeated with more headroom. While the reference holds, it may take any time.
    """

    def __init__(self, worker: PlanWorker, robot: Robot, settings: PlanSettings) -> None:
        self.robot = robot
        self.settings = settings
        self._revision = 0
        self._worker = worker
        self._headroom = MIN_HEADROOM
        self._tries = 0
        self._submitted = self._finished = self._submitted_base = 0

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._finished < self._submitted

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` s for the worker to compile kernels; return whether it has."""
        return self._worker.wait(timeout)

    def use(self, robot: Robot, settings: PlanSettings) -> None:
        """Make plans for a robot with settings from now on.

        A plan in preparation is prepared again.
        """
        self.robot, self.settings = robot, settings
        self._revision += 1

    def change_robot(self, robot: Robot) -> None:
        """Make plans for another model of the robot, for example with another payload."""
        self.use(robot, self.settings)

    def bind(self, driver_prefix: str) -> None:
        """Accept only plans of the arm whose joint states have this prefix.

        The headroom is reset, since other processes may have delayed earlier preparations.
        """
        self.use(self.robot, replace(self.settings, driver_prefix=driver_prefix))
        self._headroom = MIN_HEADROOM

    def submit(
        self, data: bytes, reference: ReferenceManager, now: int, *, annotate: bool,
        left_out: int = 0,
    ) -> None:
        """Have a trajectory prepared, to be followed from its stamp on; without one, from now on.

        A trajectory that is being prepared is dropped. The reference's instants are `left_out` ns
        behind the stamps. Raises HodynError if the message is too short, or its stamp more than
        `LONGEST_WAIT` ahead.
        """
        self._tries = 0
        stamp = _stamp(data, now + left_out)
        self._send(
            data, reference, now, stamp - left_out if stamp else None, left_out, annotate=annotate)

    def poll(self, reference: ReferenceManager, now: int) -> Accepted | Refused | None:
        """Let the reference follow a finished plan; return the answer, None if none is ready."""
        if not self.busy:
            return None
        found = self._worker.poll(Job)
        if found is None or found[0].number < self._submitted:
            return None
        job, prepared = found
        self._finished = job.number
        if prepared.refusal or prepared.plan is None:
            return Refused(prepared.refusal, prepared.fault, prepared.traceback)
        if reference.streaming:
            return Refused('a streamed reference is followed; let it end first')
        if reference.is_full:
            return Refused(f'{MAX_WAITING} plans already wait for their start')
        start = job.start
        # The plan was checked with this reference and robot model: both must be current.
        fits = (
            job.reference_revision == reference.revision and job.revision == self._revision)
        if fits and job.requested is None and reference.is_idle(now) and np.array_equal(
                job.state, reference.state_at(now)):
            start = now
        elif not fits or now > start:
            self._tries += 1
            if self._tries >= TRIES:
                return Refused(('the reference moved on' if job.revision == self._revision else
                                'the payload, or another part of the model, changed') + (
                    f' each time before the plan was ready, which took {prepared.seconds:.2f} s'))
            self._headroom = min(2.0 * max(prepared.seconds, self._headroom), MAX_HEADROOM)
            self._send(
                job.data, reference, now, job.requested, job.left_out, annotate=job.annotate)
            return None
        self._headroom = min(max(2.0 * prepared.seconds, MIN_HEADROOM), MAX_HEADROOM)
        dropped = reference.follow(prepared.plan, start)
        # A retimed plan is not slowed down by a single factor, so it has no pace.
        is_retimed = prepared.plan.interpolation == 'retimed'
        pace = None if is_retimed else 1.0 / (prepared.stretch or 1.0)
        return Accepted(
            prepared.plan, pace, prepared.summary, prepared.message, (start - now) * 1e-9, dropped,
            prepared.late, '; '.join(one for one in prepared.doubts if one.endswith('?')))

    def submit_base(self, data: bytes, placement: Array, now: int) -> int:
        """Have poses of a base prepared; return their start's stamp, `now` if they have none.

        See `PlanMaker.submit_base`. Raises HodynError as `submit` does.
        """
        start = _stamp(data, now) or now
        self._submitted_base += 1
        self._worker.submit(BaseJob(
            data, (placement, (now - start) * 1e-9), self._submitted_base))
        return start

    def poll_base(self) -> Accepted | Refused | None:
        """Return the answer about the last poses of a base; None if none is ready."""
        found = self._worker.poll(BaseJob)
        if found is None or found[0].number < self._submitted_base:
            return None
        prepared = found[1]
        if prepared.plan is None:
            return Refused(prepared.refusal, prepared.fault, prepared.traceback)
        return Accepted(prepared.plan)

    def cancel(self) -> bool:
        """Drop the plan that is being made; return whether there was one."""
        was_busy = self.busy
        self._worker.drop(Job)
        self._submitted += 1
        self._finished = self._submitted
        return was_busy

    def abandon(self) -> None:
        """Drop all plans that are being made, without waiting for the one that has begun."""
        self.cancel()
        self._submitted_base += 1
        self._worker.abandon()

    def close(self) -> None:
        """End the worker."""
        self._worker.close()

    def _send(
        self, data: bytes, reference: ReferenceManager, now: int, requested: int | None,
        left_out: int, *, annotate: bool,
    ) -> None:
        at_once = reference.is_idle(now) and requested is None
        earliest = now if at_once else now + round(self._headroom * 1e9)
        start = earliest if requested is None else max(requested, earliest)
        self._submitted += 1
        self._worker.submit(Job(
            data, self.robot, self.settings, self._revision, annotate,
            reference.state_at(start), start, requested, left_out, reference.revision,
            self._submitted))


def _stamp(data: bytes, now: int) -> int:
    """Return the stamp of a trajectory, ns; refuse one too far ahead of the stamp `now`."""
    stamp = cdr.stamp(data)
    if stamp and (wait := (stamp - now) * 1e-9) > LONGEST_WAIT:
        raise HodynError(
            f'header.stamp is {wait:.0f} s ahead of the joint states; a plan waits at most '
            f'{LONGEST_WAIT:.0f} s for its start: {ONE_CLOCK}')
    return stamp
