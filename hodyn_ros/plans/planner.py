"""From serialized trajectories to plans in the reference, without a cycle waiting for them."""
from typing import NamedTuple

import numpy as np

from hodyn_ros.messages import cdr
from hodyn_ros.plans.prepare import PlanRequest
from hodyn_ros.plans.worker import Job, PlanWorker
from hodyn_ros.reference.manager import MAX_WAITING, ReferenceManager
from hodyn_ros.robot import HodynError

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MIN_HEADROOM, MAX_HEADROOM = 0.05, 20.0
TRIES = 4


class Adoption(NamedTuple):
    """Whether a plan was taken, a line about it, and the annotated plan as a message."""

    taken: bool
    line: str
    annotated: bytes = b''


class Planner:
    """Has trajectories fitted and judged elsewhere, and hands the finished plans over.

    A plan made while the reference moves must know where the reference will be when it takes
    over, so its start is put ahead by the time that the work may take (headroom); when the work
    took longer it is done again with more. While the reference holds, any time will do.

    Parameters
    ----------
    worker : PlanWorker
        Does the work.
    settings : PlanRequest
        What all requests have in common; another object when something of it changes.

    """

    def __init__(self, worker: PlanWorker, settings: PlanRequest) -> None:
        self.settings = settings
        self._worker = worker
        self._headroom = MIN_HEADROOM
        self._tries = 0
        self._submitted = self._finished = 0

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._finished < self._submitted

    def submit(
        self, data: bytes, reference: ReferenceManager, now: int, *, annotate: bool,
    ) -> None:
        """Have a trajectory prepared, to be followed from its stamp on, or from now on.

        It takes the place of one that is being prepared. Raises HodynError when the message is
        too large or too short.
        """
        if len(data) > MAX_MESSAGE_BYTES:
            raise HodynError(f'{len(data)} bytes; at most {MAX_MESSAGE_BYTES} are read')
        self._tries = 0
        self._send(data, reference, now, annotate=annotate)

    def adopt(self, reference: ReferenceManager, now: int) -> Adoption | None:
        """Hand a finished plan to the reference; return what became of it, None if none is."""
        if not self.busy:
            return None
        outcome = self._worker.poll()
        if outcome is None or outcome.job.number < self._submitted:
            return None
        self._finished = outcome.job.number
        job, prepared = outcome.job, outcome.prepared
        if prepared.refusal or prepared.plan is None:
            return Adoption(False, prepared.refusal)
        if reference.streaming:
            return Adoption(False, 'a streamed reference is followed; let it end first')
        if reference.is_full:
            return Adoption(False, f'{MAX_WAITING} plans wait for their start already')
        start = job.start
        # What it was judged by must still hold, the payload say.
        fits = job.revision == reference.revision and job.settings is self.settings
        if fits and not cdr.stamp(job.data) and reference.is_idle(now) and np.array_equal(
                job.state, reference.state_at(now)):
            start = now
        elif not fits or now > start:
            return self._again(job, outcome.seconds, reference, now)
        self._headroom = min(max(2.0 * outcome.seconds, MIN_HEADROOM), MAX_HEADROOM)
        reference.follow(prepared.plan, start)
        line = (
            f'{prepared.plan.times.size} knots, {prepared.plan.duration:.3f} s, '
            f'{prepared.plan.interpolation} interpolation, '
            f'prepared in {outcome.seconds * 1e3:.0f} ms')
        if prepared.stretch is not None and prepared.stretch > 1.0:
            line += f', made {prepared.stretch:.4f} times slower'
        if prepared.note:
            line += f'; {prepared.note}'
        return Adoption(True, line, outcome.annotated)

    def forget(self) -> bool:
        """Drop the plan that is being made; return whether there was one."""
        was_busy = self.busy
        self._submitted += 1
        self._finished = self._submitted
        return was_busy

    def close(self) -> None:
        """End the worker."""
        self._worker.close()

    def _again(
        self, job: Job, seconds: float, reference: ReferenceManager, now: int,
    ) -> Adoption | None:
        self._tries += 1
        if self._tries >= TRIES:
            return Adoption(
                False, 'the reference moved on each time before the plan was ready, '
                f'in {seconds:.2f} s')
        self._headroom = min(2.0 * max(seconds, self._headroom), MAX_HEADROOM)
        self._send(job.data, reference, now, annotate=job.annotate)
        return None

    def _send(self, data: bytes, reference: ReferenceManager, now: int, *, annotate: bool) -> None:
        stamp = cdr.stamp(data)
        at_once = reference.is_idle(now) and not stamp
        start = max(stamp, now if at_once else now + round(self._headroom * 1e9))
        skipped = (start - stamp) * 1e-9 if stamp else 0.0
        self._submitted += 1
        self._worker.submit(Job(
            data, self.settings, annotate, reference.state_at(start), start, skipped,
            reference.revision, self._submitted))
