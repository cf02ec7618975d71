"""Planned motions of a base, in any order, that the base does not do."""
import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from supervised import SHIP, SHIP_MODEL, World

import hodyn_ros as hd
from hodyn_ros.feedforward.moving_base import BaseMotion, feedforward_of
from hodyn_ros.robot import lie


@st.composite
def harsh_plans(draw):
    """Return times and shifts there and back, some faster than is taken."""
    step = draw(st.sampled_from([0.005, 0.15, 0.4, 1.0]))
    most = np.repeat([4.5, 1.8], 3) * step**2 * draw(st.sampled_from([0.1, 0.5, 0.8]))
    shift = draw(st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 6)) * most / np.sqrt(3.0)
    return step * np.arange(4), [0.0 * shift, shift, 0.0 * shift, -shift]


HAPPENINGS = st.one_of(
    st.tuples(st.just('plan'), harsh_plans(), st.sampled_from([None, -0.1, 0.2])),
    st.tuples(st.just('plan'), harsh_plans(), st.just(None)),
    st.tuples(st.sampled_from(['cancel', 'silence', 'hold-up', 'arm', 'stop', 'back'])),
    st.tuples(st.just('list'), st.floats(-2.0, 2.0)),
    st.tuples(st.just('sea'), st.floats(0.0, 1.0)),
    st.tuples(st.just('payload'), st.floats(0.0, 3.0)))


HISTORY = given(
    st.lists(st.tuples(HAPPENINGS, st.integers(1, 80)), min_size=3, max_size=12), st.booleans())


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@HISTORY
def test_whatever_is_planned_or_canceled_nothing_steps(events, measures):
    keeps_limits(events, measures)


@pytest.mark.siege
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@HISTORY
def test_whatever_is_planned_or_canceled_nothing_steps_in_many(events, measures):
    keeps_limits(events, measures)


def keeps_limits(events, measures):
    """The base does not do what is planned: each cycle of the world checks what is published."""
    world = World(
        model=SHIP_MODEL, at_measurement=measures, base_tolerance=(9.0, 9.0, 20.0, 20.0))
    for _ in range(20):
        world.state()
    for (what, *how), cycles in events:
        supervisor = world.supervisor
        with contextlib.suppress(hd.HodynError):
            if what == 'plan':
                (times, shifts), start = how
                pose = lie.pose(world.deck()[0], world.place())
                world.plan_base(times, [
                    pose @ lie.pose(lie.rotation_exp(shift[:3]), shift[3:]) for shift in shifts],
                    stamp=0 if start is None else round((world.at + start) * 1e9) + world.offset)
            elif what == 'cancel':
                world.plan_base([], [])
            elif what == 'arm':
                supervisor.take_trajectory(b'0.2', None, annotate=False)
            elif what == 'stop':
                supervisor.hold('held on request')
            elif what == 'payload':
                supervisor.change_model(
                    feedforward_of(SHIP.with_payload('link7', how[0], [0.0, 0.0, 0.1])))
        if what in ('list', 'sea'):
            setattr(world, what, how[0])
        elif what in ('silence', 'hold-up'):
            world.pass_time(0.3, watched=what == 'silence')
        elif what == 'back':
            world.offset -= 2_000_000_000
        for _ in range(cycles):
            world.state()
    world.settle()
    for _ in range(800):  # until the longest plan has ended
        if world.supervisor.base_reference.mode == 'none':
            break
        world.state()
    assert world.supervisor.base_reference.mode == 'none'
    world.sea = 0.0
    for _ in range(300):
        world.state()
    np.testing.assert_allclose(
        world.supervisor.controller.output[0], held(world), rtol=0.0, atol=1e-5)


def held(world):
    """Return the torque that holds the arm of a world on its deck at rest."""
    supervisor, base = world.supervisor, BaseMotion()
    base.rest(world.deck()[0])
    still = np.zeros((5, 7))
    still[0] = supervisor.controller.q[0]
    return supervisor.feedforward.on_base(still, base, np.empty((3, 13)))[0, :7]
