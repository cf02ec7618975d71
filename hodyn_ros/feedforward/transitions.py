"""The states of an active node, and the table of the transitions between them."""
from dataclasses import dataclass
from enum import Enum
from typing import Literal


class State(Enum):
    """The states; a node that is `RUNNING` holds, follows, streams or stops."""

    WAITING = 'waits for joint states that agree with each other'
    RUNNING = 'follows, holds or stops the reference'
    DEPARTING = 'stops, as the arm is not where the reference is'
    ADRIFT = 'stops and holds, as no odometry of the base comes'
    LOST = 'stops by its own clock, as no joint state comes'
    SILENT = 'is at rest without joint states, and publishes nothing'
    ENDING = 'stops, as it is deactivated'
    FADING = 'fades the output to the torque that carries the weight of the arm'
    ENDED = 'is over'


class Cause(Enum):
    """The causes of transitions."""

    FOUND = 'three joint states agree with each other'
    LOST = 'no joint state came for longer than the timeout'
    BACK = 'joint states are back'
    BASE_LOST = 'no odometry of the base came for longer than the timeout'
    BASE_BACK = 'the odometry of the base is back'
    DEPARTED = 'the arm is beyond tracking_tolerance of a reference that moves'
    ELSEWHERE = 'the arm is beyond tracking_tolerance of a reference at rest'
    EXCEEDED = 'the motion needs an effort beyond its limit'
    HELD = 'a hold is requested'
    MISTAKEN = 'a streamed sample is where no arm can be'
    CANCELED = 'the goal that is followed is canceled'
    ABORTED = 'the arm left the tolerances of the goal that is followed'
    AT_REST = 'the reference came to rest'
    FADED = 'the output has faded'
    DEACTIVATED = 'the node is deactivated, or ends'


@dataclass(frozen=True)
class Transition:
    """A row of the table."""

    before: tuple[State, ...]  #: States in which the cause may come
    cause: Cause
    after: State | None = None  #: The state from then on; None to keep the state
    #: 'stop', 'latch' or '': whether the reference is brought to rest along its way, or set to the
    #: arm's position
    reference: Literal['stop', 'latch', ''] = ''
    #: Whether the requested motion (a plan in preparation, a goal, a stream) is given up
    gives_up: bool = False
    drops_wrenches: bool = False  #: Whether external wrenches are dropped
    #: 'info', 'error' or '': level of the log line; empty for none
    level: Literal['info', 'error', ''] = ''
    says: str = ''  #: The log line
    reason: str = ''  #: The reason in `~/state` from then on; empty to keep the previous one


_RUNS = State.RUNNING, State.DEPARTING
HEARING = *_RUNS, State.ADRIFT
"""States in which joint states are expected and answered."""
_ACTIVE = *HEARING, State.LOST, State.SILENT
DEACTIVATED = 'the node is deactivated'

TABLE = (
    Transition((State.WAITING,), Cause.FOUND, State.RUNNING),
    Transition(
        HEARING, Cause.LOST, State.LOST, 'stop', gives_up=True, drops_wrenches=True, level='error',
        says='no joint state{which} for {seconds:.3f} s: stopping',
        reason='joint states were lost'),
    Transition((State.LOST,), Cause.AT_REST, State.SILENT),
    Transition(
        (State.LOST, State.SILENT), Cause.BACK, State.RUNNING, level='info',
        says='joint states are back after {seconds:.3f} s'),
    Transition(
        _RUNS, Cause.BASE_LOST, State.ADRIFT, 'stop', gives_up=True, level='error',
        says='no odometry of the base for {seconds:.3f} s: stopping',
        reason='the odometry of the base was lost'),
    Transition(
        (State.ADRIFT,), Cause.BASE_BACK, State.RUNNING, level='info',
        says='the odometry of the base is back after {seconds:.3f} s, tilted by {tilt:.2g} rad'),
    Transition(
        (State.RUNNING,), Cause.DEPARTED, State.DEPARTING, 'stop', gives_up=True, level='error',
        says='{why}: stopping', reason='{why}'),
    Transition((State.DEPARTING,), Cause.AT_REST, State.RUNNING),
    Transition(
        _RUNS, Cause.ELSEWHERE, State.RUNNING, 'latch', gives_up=True, level='error',
        says='{why}: the arm is held {where}',
        reason='{why}: the arm is held {where}'),
    Transition(
        (State.ADRIFT,), Cause.ELSEWHERE, None, 'latch', level='error',
        says='{why}: the arm is held {where}', reason='{why}: the arm is held {where}'),
    Transition(
        # No log line: `Reasons` logs an excess when it begins, also at rest.
        (State.RUNNING,), Cause.EXCEEDED, None, 'stop', gives_up=True, reason='{why}'),
    Transition(
        _ACTIVE, Cause.HELD, None, 'stop', gives_up=True, level='info', says='{why}',
        reason='{why}'),
    Transition(
        # No log line: the sample is rejected in the same words.
        (State.RUNNING,), Cause.MISTAKEN, None, 'stop', gives_up=True,
        reason='the stream is stopped, as its other samples may be as wrong: {why}'),
    Transition(
        _ACTIVE, Cause.CANCELED, None, 'stop', level='info', says='the goal was canceled',
        reason='the goal was canceled'),
    Transition(
        HEARING, Cause.ABORTED, None, 'stop', level='error',
        says='the goal is aborted: {why}', reason='the goal is aborted: {why}'),
    Transition((State.WAITING,), Cause.DEACTIVATED, State.ENDED, reason=DEACTIVATED),
    Transition(
        (*HEARING, State.LOST), Cause.DEACTIVATED, State.ENDING, 'stop', gives_up=True,
        reason=DEACTIVATED),
    # No fade: a driver that was restarted in the silence must not be sent to the old place.
    Transition((State.SILENT,), Cause.DEACTIVATED, State.ENDED, gives_up=True, reason=DEACTIVATED),
    Transition((State.ENDING,), Cause.AT_REST, State.FADING, drops_wrenches=True),
    Transition((State.FADING,), Cause.FADED, State.ENDED),
)
TRANSITIONS = {(state, row.cause): row for row in TABLE for state in row.before}
