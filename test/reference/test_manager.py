"""Which reference is followed, what waits, and what becomes of it when something else is asked."""
import numpy as np
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference import MotionLimits, extrema, fit_plan, stop_along
from hodyn_ros.reference.manager import ReferenceManager

S, MS = 10**9, 10**6
LIMITS = MotionLimits(*(np.full(1, value) for value in (-3.0, 3.0, 2.0, 10.0, 400.0)))


FIRST = fit_plan([0.0, 2.0], [[0.0], [1.0]])
# Those that it just keeps: in its middle it can only stop later.
TIGHT = MotionLimits(np.full(1, -3.0), np.full(1, 3.0), *(
    np.abs(extrema(FIRST, k)[0]).max(axis=0) for k in (1, 2, 3)))


def position(reference, now):
    out = np.empty((5, 1))
    reference.evaluate(now, out)
    return out.item(0)


@pytest.fixture
def idle():
    """Return a reference that holds 0."""
    return ReferenceManager(np.zeros(1), 50.0)


@pytest.fixture
def reference(idle):
    """Return one that goes from 0 to 1 within 2 s, and has two plans that wait."""
    idle.follow(FIRST, 0)
    position(idle, 0)
    idle.follow(fit_plan([0.0, 2.0], [[1.0], [2.0]]), 5 * S)
    idle.follow(fit_plan([0.0, 2.0], [[2.0], [0.0]]), 8 * S)
    return idle


def test_plans_that_wait_take_over_when_due_and_are_seen_ahead(reference):
    for now, expected in ((3 * S, 1.0), (7 * S, 2.0), (10 * S, 0.0)):
        assert reference.state_at(now)[0, 0] == pytest.approx(expected, abs=1e-12)
    for now, mode, expected in (
            (S, 'following', 0.5), (2 * S, 'holding', 1.0), (5 * S - 1, 'holding', 1.0),
            (6 * S, 'following', 1.5), (10 * S, 'holding', 0.0)):
        assert position(reference, now) == pytest.approx(expected, abs=1e-12)
        assert reference.mode(now) == mode
        assert reference.is_idle(now) == (now == 10 * S)


@pytest.mark.parametrize('ending', ['stop', 'drop', 'latch'])
def test_what_waits_is_given_up(reference, ending):
    """Guards plans that start seconds after a stop."""
    before = reference.revision
    if ending == 'stop':
        reference.stop(S, LIMITS)
    elif ending == 'drop':
        assert reference.drop_waiting()
        dropped = reference.revision
        assert not reference.drop_waiting()
        assert reference.revision == dropped
    else:
        reference.latch(np.array([0.25]))
    assert reference.revision > before
    rest = position(reference, 4 * S)
    assert rest == {'drop': 1.0, 'latch': 0.25}.get(ending, pytest.approx(rest))
    assert reference.is_idle(4 * S)
    assert position(reference, 20 * S) == rest


@pytest.mark.parametrize('stops', [(LIMITS,), (TIGHT, LIMITS)])
def test_a_plan_stops_on_its_way_is_given_up_and_holds(idle, stops):
    idle.follow(FIRST, 0)
    position(idle, S)
    for limits in stops:
        idle.stop(S, limits)
        assert idle.elapsed(FIRST, S) is None
        assert idle.progress(S) is None
        assert idle.mode(S) == 'stopping'
    position(idle, S + 100 * MS)
    assert idle.mode(S + 100 * MS) == 'stopping'
    assert idle.mode(4 * S) == 'holding'
    rest = position(idle, 4 * S)
    assert 0.5 < rest <= 1.0
    if len(stops) == 1:
        assert rest == pytest.approx(stop_along(FIRST, 1.0, LIMITS).evaluate(3.0)[0, 0])
    assert not idle.streaming


def test_a_held_reference_is_not_stopped():
    reference = ReferenceManager(np.array([0.4]), 50.0)
    reference.stop(S, LIMITS)
    assert reference.mode(S) == 'holding'
    assert position(reference, 2 * S) == 0.4
    assert reference.is_idle(2 * S)


def test_the_elapsed_time_of_a_plan_is_known_before_during_and_after(idle):
    idle.follow(FIRST, S)
    assert idle.elapsed(FIRST, 0) == -1.0
    assert idle.progress(0) is None
    for now, run in ((S, 0.0), (2 * S, 1.0), (5 * S, 4.0)):
        position(idle, now)
        assert idle.elapsed(FIRST, now) == pytest.approx(run)
        assert idle.progress(now) == (pytest.approx(min(run, 2.0)), 2.0)
    assert idle.elapsed(object(), 5 * S) is None
    idle.latch(np.zeros(1))
    assert idle.elapsed(FIRST, 5 * S) is None
    assert idle.progress(5 * S) is None


def test_a_stream_begins_and_ends_with_the_reference_holding(idle):
    before = idle.revision
    idle.set_target(0, np.array([0.3]), None, S, LIMITS)
    assert idle.streaming
    assert idle.mode(0) == 'streaming'
    assert idle.revision == before + 1
    idle.set_target(MS, np.array([0.3]), None, S, LIMITS)
    assert idle.revision == before + 1
    assert not idle.is_held_back
    assert idle.progress(0) is None
    assert 0.0 < idle.state_at(200 * MS)[0, 0] <= 0.3
    for now in range(0, 2 * S, MS):
        position(idle, now)
    idle.stop(2 * S, LIMITS)
    assert not idle.streaming
    for now in range(2 * S, 4 * S, 10 * MS):
        position(idle, now)
    assert idle.is_idle(4 * S)
    assert position(idle, 4 * S) == pytest.approx(0.3, abs=1e-5)


def test_no_stream_begins_while_a_plan_is_under_way_or_waits(reference):
    for now in (S, 4 * S):
        position(reference, now)
        with pytest.raises(HodynError, match='under way'):
            reference.set_target(now, np.array([0.3]), None, now + S, LIMITS)
