"""Reasons for what the node does: lines that are logged once, and notices shown for a while."""
from collections.abc import Sequence
from dataclasses import dataclass
import math
import re
from typing import Literal

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.leaps import question_of_leap
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.stiffness import JudgedStiffness, doubt_of_softness
from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.limits.margins import both
from hodyn_ros.limits.quantities import QUANTITIES
from hodyn_ros.robot import Robot
from hodyn_ros.robot.actuator_doubts import doubt_of_stiffness

TELL = 1.0
"""How long a notice is shown after its last occurrence, s: long enough to be read."""

NEARLY = 0.2
"""A jump counts as one turn if it differs from 2π by less than this, rad, as the arm may move."""

FAR = 20.0
"""If requested and possible stiffness differ by this factor or more, the unit is questioned."""

WRAPS = 'it is off by one turn: the driver must not wrap positions'
UNREACHED = 'the desired stiffness is not reached: see the log'
HELD_BACK = 'the streamed target is not followed: the motion to it would exceed the limits'
CLIPPED_ON_BASE = 'the torque is cut to its limits: the base tilts or moves too far for the arm'
NOT_FINITE = 'the torque is not finite: check the reference and the payload'
UNLIKE = 'for three joint states in a row that agree with each other'
APART = (
    'for joint states whose stamps are less than 2 s apart: do their stamps have seconds and '
    'nanoseconds?')
ELSEWHERE = 'they come from another place than before: the arm is held there if they stay'
ZEROS = 'velocities of the joint states are 0 though positions move'
ASTRAY = (
    'positions of {joint} have jumped faster than any arm can move: joint states count as lost '
    'until they come from where the arm was. If the new positions are right, restart the driver '
    '(its silence must last longer than 1 s), or activate the node again')
LONGER = 'motions take longer, and are slower than the published velocities'
WHY_LONGER = (
    'the reference leaves out more than a tenth of the time. If joint states are lost or come in '
    'groups, let the driver send them evenly, or set max_time_step above the time between the '
    'states that arrive. Otherwise find out what holds this process up')
NOT_TURNED = 'motors stay where they are, and no plan is followed until the joint is back'
_AT_REFERENCE = 'the dynamics are evaluated at the reference'
NO_VELOCITY = f'the joint states have no velocity, or NaN in it: {_AT_REFERENCE}'
LEFT_OUT = f'velocities that contradict the positions are left out: {_AT_REFERENCE}'
# Notices about joint states, forgotten when joint states are no longer used.
OF_STATES = (
    'set back', 'hold-up', 'gap', 'set ahead', 'often', 'state', 'velocity', NO_VELOCITY, LEFT_OUT,
    'still', 'again')
GAPS = {'set back': 0.0, 'hold-up': 0.1, 'gap': 1.0, 'set ahead': math.inf}  # upper bounds, s
Level = Literal['info', 'warning', 'error']
# Numbers that are neither part of a word nor in quotes: names of joints may contain numbers.
_NUMBER = re.compile(
    r"(?<![\w.'])[-+]?(\d+(\.\d*)?(e[-+]?\d+)?|inf|nan)(?![\w'])", re.IGNORECASE)
OF_MOTORS = {
    'motor acceleration', 'motor position',
    *(row.title.replace('_', ' ') for row in QUANTITIES.values() if row.of == 'motor')}


@dataclass(frozen=True)
class Event:
    """A line to log; `topic` is the topic of a rejected input, else empty."""

    level: Level
    text: str
    topic: str = ''


class Reasons:
    """Collects reasons and log lines; times are on a monotonic clock, s."""

    def __init__(self, robot: Robot) -> None:
        #: Why the reference stopped or was set elsewhere, until it follows an input again
        self.why = ''
        self.events: list[Event] = []  #: Lines to log; the caller logs and removes them
        self._robot = robot
        # The text of each notice, until when it is shown, and when its values are renewed.
        self._told: dict[str, tuple[str, float, float]] = {}
        self._stiffness: JudgedStiffness | None = None
        self._out_of_reach = '', ''
        self._said_request, self._said_at = '', -math.inf

    def tell(self, level: Level, text: str, topic: str = '') -> None:
        """Queue a line for the log; `topic` is the topic of a rejected input, else empty."""
        self.events.append(Event(level, text, topic))

    def notice(self, kind: str, text: str, at: float, level: Level, line: str = '') -> None:
        """Show a condition that comes and goes; log it when it begins."""
        if self.show(kind, text, at):
            self.tell(level, line or text)

    def show(self, kind: str, text: str, at: float) -> bool:
        """Show a condition that comes and goes; return whether it begins.

        Values in the text, which may change in each cycle, are renewed once in `TELL`.
        """
        _, until, again = self._told.get(kind, ('', -math.inf, -math.inf))
        if at < again and at <= until:
            self._told[kind] = self._told[kind][0], at + TELL, again
        else:
            self._told[kind] = text, at + TELL, at + TELL
        return at > until

    def show_stay(self, why: str, at: float) -> None:
        """Show why a departed arm is not held where it is; log it when this begins."""
        if self.show('again', why, at):
            self.tell('error', why)
        self.why = ''

    def forget(self, *kinds: str) -> None:
        """Stop showing the notices of these kinds."""
        for kind in kinds:
            self._told.pop(kind, None)

    def text(self, at: float, why: str = '') -> str:
        """Return the reason and the current notices in one line; `why` replaces `self.why`."""
        if not self._told:
            return why or self.why
        self._told = {kind: told for kind, told in self._told.items() if at <= told[1]}
        return joined(why or self.why, *(text for text, *_ in self._told.values()))

    def _doubt_of_stiffness(self, before: JudgedStiffness | None, torque: Array) -> str:
        """Return a question about a new request's unit, at a torque (n,); empty without one."""
        judged, actuators = self._stiffness, self._robot.actuators
        if judged is None or actuators is None or (
                before is not None and np.array_equal(before.requested, judged.requested)):
            return ''
        varies = np.isin(self._robot.joint_names, actuators.variable_joints)
        stiffness = np.where(varies, judged.possible, np.nan)
        return doubt_of_stiffness(self._robot, stiffness) or doubt_of_softness(
            self._robot, stiffness, torque)

    def tell_resumed(self, lost: Sequence[str]) -> None:
        """Log that the stiffness of the last activation applies, except at the joints `lost`."""
        if lost:
            self.tell('warning', (
                f'motors of {", ".join(lost)} begin nearer to the stiffness of the robot file: '
                'with the stiffness of the last activation their springs cannot carry the arm'))
        else:
            self.tell('info', 'the stiffness of the last activation still applies')

    def notice_cycle(self, controller: FeedforwardController, at: float) -> None:
        """Notice what a cycle shows: an excess, motors that are held, a stream held back."""
        excess, motors = controller.excess, controller.motors
        if excess is not None:
            self.notice(
                f'{excess.quantity} {excess.place}', self.of_excess(excess), at, 'error')
        if motors is not None and motors.any_held:
            joints = self._robot.joint_names
            if not motors.feasible.all():
                self.forget('motors return')
                self.notice('motors held', (
                    f'the motors of {joints[int(np.argmin(motors.feasible))]} cannot follow the '
                    'motion: their reference is held'), at, 'warning')
            elif self._told.keys() & {'motors held', 'motors return'}:
                self.forget('motors held')
                self.notice('motors return', (
                    f'the motors of {joints[int(np.argmax(motors.held))]} return to the motion'),
                    at, 'warning')
        if controller.judged_stiffness is not self._stiffness:
            before, self._stiffness = self._stiffness, controller.judged_stiffness
            self._out_of_reach = self._of_stiffness()
            if doubt := self._doubt_of_stiffness(before, controller.torque[0]):
                self.notice('stiff', '', at, 'warning', f'requested {doubt}')
        if self._out_of_reach[0]:
            request, line = self._out_of_reach
            # Requests that come often, with other numbers, give one line per TELL.
            if request != self._said_request and at >= self._said_at + TELL:
                self._said_request, self._said_at = request, at
            self.notice(self._said_request, UNREACHED, at, 'warning', line)
        if controller.clipped and controller.base_wrench.size:
            self.notice('clipped', CLIPPED_ON_BASE, at, 'error')
        if controller.reference.is_held_back:
            self.why = HELD_BACK
            self.notice('held back', '', at, 'warning', HELD_BACK)

    def _of_stiffness(self) -> tuple[str, str]:
        """Return a key and a log line for the requests that are not reached; both may be empty."""
        judged = self._stiffness
        left = [] if judged is None else [each for each in zip(
            self._robot.joint_names, judged.requested, judged.possible, judged.limits,
            strict=True) if each[3]]
        if not left:
            return '', ''
        reached: dict[str, list[str]] = {}
        for name, requested, possible, limit in left:
            reached.setdefault(limit, []).append(
                f'{name}: {possible:.4g} of {requested:.4g} N m/rad')
        is_far = any(not 1.0 / FAR < each[1] / each[2] < FAR for each in left)
        return f'stiffness {[each[:2] for each in left]}', 'stiffness of ' + '; '.join(
            f'{", ".join(those)}, as far as {limit} allows' for limit, those in reached.items()
        ) + '. Is the request in N m/rad?' * is_far

    def of_excess(self, excess: EffortExcess) -> str:
        """Return the sentence that says what is beyond its limit."""
        names: Sequence[str] = self._robot.joint_names
        if excess.quantity in OF_MOTORS and self._robot.actuators is not None:
            names = self._robot.actuators.motor_names
        if not math.isfinite(excess.value):
            return NOT_FINITE
        if excess.is_refused:
            return (
                f'{excess.quantity} of {names[excess.place]} would be {excess.value:.4g}, which '
                'no motion within the limits reaches from the last published value: it is not '
                'published. Report it as a bug: no input should cause it')
        value, limit = both(excess.value, excess.limit, 4)
        return (
            f'{excess.quantity} of {names[excess.place]} is {value}, '
            f'beyond its limit of {limit}')

    def of_departure(
        self, watch: TrackingWatch, joints: Sequence[str], when: str = '',
    ) -> str:
        """Return a sentence with the watched joint and its distance from the reference."""
        tolerance = f'tracking_tolerance {watch.tolerance[watch.joint]:g}'
        return (
            f'{joints[watch.joint]} is {watch.error:+.3g} away from the reference{when} '
            f'({joined(tolerance, self.of_turn(watch.joint, watch.error), watch.question)})')

    def notice_missing_time(self, seconds: float, at: float, *, is_continued: bool) -> None:
        """Show how many seconds the reference left out; negative if a clock was set back."""
        missing = (
            f'{seconds:.3f} s are missing between cycles' if seconds > 0.0
            else f'the clock of the joint states was set back by {-seconds:.3f} s')
        # Each kind has its own notice: a short hold-up must not hide a clock set right after it.
        kind = next(kind for kind, most in GAPS.items() if seconds < most)
        continues = ': the reference continues from where it was' if is_continued else ''
        self.notice(kind, missing + continues, at, 'warning')

    def notice_wrong_velocity(self, joint: str, velocity: float, at: float) -> None:
        """Notice a velocity that contradicts the positions."""
        self.notice(
            'velocity', f'the velocity of {joint}, {velocity:.4g}, contradicts its positions: '
            'velocities are left out. Check their unit, and the delay of their filter', at,
            'warning')

    def notice_left_out(
        self, joint: str, position: float, velocity: float | None, at: float, cause: str,
    ) -> None:
        """Notice a state that contradicts the one before; `cause` is empty if it is unknown."""
        moving = '' if velocity is None else f', moving at {velocity:.4g},'
        self.notice('state', joined(
            f'{joint} at {position:.4g}{moving} contradicts the state before: this state is left '
            'out', cause or 'a late stamp, or a faulty reading'), at, 'warning')

    def notice_zeros(self, joint: str, at: float) -> None:
        """Notice velocities of 0 although a joint has moved."""
        self.notice('zeros', '', at, 'warning', (
            f'{ZEROS}: {joint} has moved. They count as missing; let the driver send what it '
            'measures, or leave velocity empty'))

    def notice_no_velocity(self, at: float, *, is_given: bool) -> None:
        """Notice that a state has no usable velocity, though the dynamics need one."""
        why = LEFT_OUT if is_given else NO_VELOCITY
        self.notice(why, why, at, 'error', (
            f'{why}; let the driver send {"what it measures" if is_given else "it"}, or set '
            'evaluate_at: reference'))

    def notice_turned(self, watch: TrackingWatch, joints: Sequence[str], at: float) -> None:
        """Show a notice of a joint with motors more than half a turn away: no plan is followed."""
        self.notice('turned', f'{self.of_departure(watch, joints)}: {NOT_TURNED}', at, 'error')

    def of_leap(self, position: Array, before: Array, joints: Sequence[str]) -> str:
        """Return why positions, (n,), may have leapt, though the arm has not; else empty."""
        if question := question_of_leap(self._robot, joints, position, before):
            return question
        change = position - before
        joint = int(np.abs(change).argmax())
        return self.of_turn(joint, change.item(joint))

    def of_turn(self, joint: int, change: float) -> str:
        """Return the cause of a joint's jump, rad, by one turn; empty for any other jump."""
        is_turn = abs(abs(change) - 2.0 * math.pi) < NEARLY
        return WRAPS if is_turn and self._robot.turns[joint] else ''


def cause_of(text: str) -> str:
    """Return a text with # for its numbers, which differ among messages with the same cause."""
    return _NUMBER.sub('#', text)


def renewed(before: str, why: str) -> str:
    """Return the reason that replaces another: numbers that change alone make no new one."""
    return before if cause_of(why) == cause_of(before) else why


def joined(*reasons: str) -> str:
    """Join the reasons that are not empty to one line, each once."""
    return '; '.join(dict.fromkeys(filter(None, reasons)))
