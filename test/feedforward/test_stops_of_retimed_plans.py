"""What is published after a retimed plan, which uses its limits up, is told to stop."""
from types import MethodType

import numpy as np
import pytest
from supervised import HOME, PANDA, PERIOD, running

from hodyn_ros.feedforward.plan_answer import Accepted
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans import PlanRequest, PlanSettings, prepare_plan

SOON = 2.2
"""Greatest time of a stop, s: it was up to 5.5 s, most of the way to the end of the plan."""


@pytest.fixture(scope='module')
def plan():
    points = HOME + np.random.default_rng(3).uniform(-0.7, 0.7, (6, PANDA.n))
    points[:, 3] = np.minimum(points[:, 3], -0.8)
    points[0] = HOME
    return prepare_plan(PlanRequest(
        JointWaypoints(PANDA.joint_names, 2.0 * np.arange(6), points), PANDA,
        PlanSettings(stretch='retime'))).plan


def follows(world, plan):
    """Let a node follow a plan that was prepared before."""
    def poll(plans, reference, now):
        data, plans.waiting = plans.waiting, None
        if data is None:
            return None
        reference.follow(plan, now)
        return Accepted(plan)

    world.plans.poll = MethodType(poll, world.plans)
    world.plan(b'a plan')
    world.states(3)
    assert world.report[0] == 'following'


@pytest.mark.parametrize('share', [0.2, 0.4, 0.6])
@pytest.mark.parametrize('what', ['a hold', 'lost states', 'an end'])
def test_it_stops_soon_whatever_the_cause(plan, what, share):
    """`World` checks in each cycle that the published torque keeps its limits and their rates."""
    world = running()
    follows(world, plan)
    world.states(int(share * plan.duration / PERIOD))
    assert world.report[0] == 'following'
    supervisor, begin = world.supervisor, world.at
    if what == 'a hold':
        supervisor.hold('held on request')
        world.states(int(SOON / PERIOD))
    elif what == 'lost states':
        world.pass_time(SOON + 0.3)  # after the timeout of joint states
    else:
        world.end()
        assert supervisor.state is State.ENDED
        assert world.at - begin < SOON + 0.3  # and the torque has faded
    assert not np.abs(supervisor.controller.q[1:]).any()
    assert world.report[0] in ('holding', 'fault', 'inactive')
