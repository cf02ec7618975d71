"""Requests to an active node: plans, streamed samples, stiffness and external wrenches."""
from dataclasses import replace
import math

import numpy as np

from hodyn_ros.actuators.joint_actuators import Actuators
from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.contradicted_velocities import LONGEST
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.feedforward.plan_answer import Refused
from hodyn_ros.feedforward.rare_cycles import too_rare
from hodyn_ros.feedforward.reasons import joined
from hodyn_ros.feedforward.state_machine import NOTABLE_WAIT, StateMachine
from hodyn_ros.feedforward.stream_schedule import ImpossibleSample, beyond_speed, check_range
from hodyn_ros.feedforward.trajectory_goals import PLAN, REPLACED, Goal
from hodyn_ros.feedforward.transitions import Cause
from hodyn_ros.robot import HodynError

STOPPED = 'the arm was still stopping when it came: send it once the arm holds'
STARVING = 3  # trajectories in a row that are replaced before they are prepared: a stream of them
STARVED = (
    '; the trajectories before it were replaced as well: send trajectories less often than they '
    'take to prepare')
STREAMING = 'a streamed reference is followed; let it end first'
NOTABLE_WAY = 0.01  # way after a stream ends, rad or m, from which its end is said
AT_END = 10**12  # time after which any motion to a sample has ended, ns


class Requests(StateMachine):
    """Takes requests and lets the reference follow them; refused requests raise HodynError."""

    _was_stopping = False  # whether the arm was stopping when the last trajectory came
    _replaced = 0  # number of trajectories in a row that were replaced before they were prepared
    _too_fast_at = -math.inf  # when a streamed velocity was last beyond its limit, s

    def take_trajectory(self, data: bytes, goal: Goal | None, *, annotate: bool) -> None:
        """Have a serialized trajectory planned: that of a goal, or, without one, of the topic."""
        if refusal := self.why_no_plan():
            raise HodynError(refusal)
        controller = self._running
        self._replaced = self._replaced + 1 if self._planner.busy else 0
        replaced = REPLACED + (STARVED if self._replaced >= STARVING else '')
        if self._planner.busy and not self.goals.prepares:
            self.reasons.tell('error', replaced, PLAN)
        self._plan_on_base()
        self._was_stopping = controller.reference.mode(controller.now) == 'stopping'
        self._planner.submit(
            data, controller.reference, controller.now, annotate=annotate,
            left_out=self.clock.left_out)
        self.goals.prepare(goal, replaced)

    def take_sample(
        self, position: Array, velocity: Array | None, stamp: int | None, at: float,
    ) -> None:
        """Follow a streamed position and velocity, (n,), once due; `stamp` is the sender's, ns.

        A velocity beyond its limit, as in degrees, makes those after it doubtful too, down to the
        slow ones: the reference follows positions alone until all have kept their limits for 1 s.
        A position that no arm can have stops the stream until it pauses: its other positions may
        be as wrong.
        """
        controller = self._ready()
        if self.arrivals.too_slow:
            raise HodynError(self.arrivals.too_slow)
        try:
            check_range(
                self.feedforward.robot, self._joints, position, controller.q[0],
                self.settings.stream_delay)
        except ImpossibleSample as error:
            if controller.reference.streaming:
                self._go(Cause.MISTAKEN, why=str(error))
            self.stream.hold('a sample was where no arm can be')
            raise
        self.stream.check_pause()
        controller.reference.check_free(controller.now)
        judged = self._streamed_velocities
        if too_fast := beyond_speed(self.feedforward.robot, self._joints, velocity):
            self._too_fast_at = at
        is_used = not judged.are_wrong and at - self._too_fast_at > LONGEST
        self.stream.add(stamp, controller.now, position, velocity if is_used else None, at)
        if too_fast and not judged.are_wrong:
            self.reasons.notice('too fast', f'streamed {too_fast}: velocities are left out', at, (
                'warning'), f'streamed {too_fast}: velocities are left out until all keep their '
                f'limits for {LONGEST:g} s, so the reference follows the positions alone. Send '
                'velocities within the limits, in rad/s or m/s')
        if how := judged.add(at if stamp is None else 1e-9 * stamp, position, velocity):
            self.reasons.tell('warning', (
                f'streamed velocities of {self._joints[judged.joint]} contradict its positions: '
                f'{how}. Velocities are left out until samples pause for 1 s, so the reference '
                'follows the positions alone. Correct sign and unit of the velocities'))

    def take_wrench(self, link: str, wrench: Array, at: float) -> None:
        """Take an external wrench, (6,), on a link, in its axes about its origin."""
        if line := self._wrenches.take(self._ready(), link, wrench, at):
            self.counts['scaled wrenches'] += 1
            self.reasons.notice(
                'wrench', 'external_wrench is scaled down: see the log', at, 'warning', line)

    def take_stiffness(self, stiffness: Array) -> None:
        """Request the stiffness, N m/rad, of the variable joints, in their order."""
        actuators = self.check_stiffness_varies()
        wanted = actuators.constant_stiffness()[0]
        wanted[actuators.variable] = stiffness
        if np.any(stiffness <= 0.0):
            wrong = int(np.argmax(wanted <= 0.0))
            raise HodynError(f'stiffness of joint {self._joints[wrong]!r} must be above 0')
        self._running.set_stiffness(wanted)

    def check_stiffness_varies(self) -> Actuators:
        """Return the actuators; raise HodynError if no joint has a variable stiffness."""
        motors = self._ready().motors
        if motors is None or not motors.actuators.variable.any():
            raise HodynError('no joint of this robot has a variable stiffness')
        return motors.actuators

    def why_no_plan(self) -> str:
        """Return why no trajectory can be taken now; empty if one can."""
        try:
            controller = self._ready()
        except HodynError as error:
            return joined(str(error), self.arrivals.too_slow)
        return STREAMING if controller.reference.streaming else self.arrivals.too_slow

    def cancel(self, goal: Goal) -> None:
        """Give up a goal, and stop if it is followed."""
        if self.goals.is_prepared(goal):
            self._planner.cancel()
        if self.goals.cancel(goal):
            self._go(Cause.CANCELED)

    def _take_plan(self, now: int, at: float) -> None:
        """Let the reference follow a plan if one is ready."""
        answer = self._planner.poll(self._running.reference, now)
        if answer is None:
            return
        topic = self._topic
        if isinstance(answer, Refused) and self._was_stopping and not (
                answer.fault or answer.traceback):
            answer = replace(answer, why=joined(answer.why, STOPPED))
        self.goals.take(answer)
        if isinstance(answer, Refused):
            self.reasons.tell('error', answer.why, topic)
            if answer.traceback:
                self.reasons.tell('error', answer.traceback)
            return
        waits = f'; it starts in {answer.wait:.1f} s' if answer.wait > NOTABLE_WAIT else ''
        self.reasons.tell('info', f'trajectory accepted: {answer.summary}{waits}')
        rare = too_rare(
            answer.plan, 1e-9 * self.clock.period, self._tracking.tolerance,
            self.feedforward.robot, self._joints)
        for kind, doubt in (
                ('late plan', answer.late), ('rare cycles', rare), ('doubt', answer.doubt)):
            if doubt:
                self.reasons.notice(kind, doubt, at, 'warning')
        if answer.dropped:
            self.reasons.tell('warning', (
                f'{answer.dropped} waiting '
                + ('plan is dropped: this plan replaces it' if answer.dropped == 1
                   else 'plans are dropped: this plan replaces them')), PLAN)
        self.annotated = answer.message

    def _take_samples(self, now: int) -> None:
        """Let the reference follow the streamed samples that are due."""
        sample = self.stream.take(now)
        if sample is None:
            return
        try:
            self._running.stream(now, sample.position, sample.velocity, sample.until)
        except HodynError as error:
            self.stream.clear()
            self.reasons.tell('error', str(error), 'reference')

    def _watch_stream(self, at: float) -> None:
        """Say where the reference goes once samples stay away, or are refused."""
        controller = self._running
        reference = controller.reference
        if not (self.stream.fell_silent(at) and reference.streaming):
            return
        end = reference.state_at(controller.now + AT_END)[0]
        way = np.abs(end - controller.q[0])
        joint = int(way.argmax())
        does = 'stops'
        if way[joint] > NOTABLE_WAY:
            si = unit(self.feedforward.robot, joint, 'position')
            does = (
                f'goes on to where its last accepted sample leads ({self._joints[joint]} at '
                f'{end[joint]:.4g} {si}) and rests there')
        why = self.stream.refusal(at)
        self.reasons.tell('warning', (
            f'the reference {does}, as {why}' if why
            else f'the streamed reference fell silent: it {does}'))
