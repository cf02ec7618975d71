"""Whatever changes what is published, in any order: it keeps its limits and never steps."""
from controllers import HOME, controller_at_home
import numpy as np
from output_siege import MS, ROBOTS, OutputSiege, robot_of
import pytest

from hodyn_ros.actuators.joint_actuators import INERTIA
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import fit_plan


@pytest.mark.parametrize('kind', ROBOTS)
def test_no_cause_of_change_makes_a_step_or_passes_a_limit(kind):
    found = OutputSiege(kind, 7).run(2500)
    assert not found.worst
    assert found.causes > 30
    assert found.cycles == 2500
    if kind in ('springs', 'tendons'):
        assert found.held > 100
        assert found.motor_velocity > 0.1
    if kind != 'free':
        assert found.effort > 0.9


@pytest.mark.slow
@pytest.mark.parametrize('kind', ROBOTS)
def test_no_cause_of_change_in_a_long_siege(kind):
    assert not OutputSiege(kind, 100).run(20_000).worst


@pytest.mark.parametrize('kind', ['springs', 'tendons'])
@pytest.mark.parametrize('stiffness', [20.0, 5.0, 0.01])
def test_a_stop_on_soft_springs_asks_no_more_of_the_motors_than_they_have(kind, stiffness):
    """θ̇ went from −3.1 to 3.1 rad/s in 1.4 ms, which would have taken 25 times the limit."""
    robot = robot_of(kind)
    now = 0
    controller = controller_at_home(FeedForward(robot))
    controller.evaluate(now)
    inertia = robot.actuators.motors[:, INERTIA]
    velocity, effort, _ = robot.actuators.motor_limits()
    before = controller.motors.reference.copy()
    largest = 0.0

    def run(cycles):
        nonlocal now, before, largest
        for _ in range(cycles):
            now += 2 * MS
            controller.evaluate(now)
            after = controller.motors.reference.copy()
            taken = inertia * np.abs(after[1] - before[1]) / 2e-3
            assert (taken <= 2.0 * effort).all()
            assert (np.abs(after[1]) <= 1.051 * velocity).all()
            assert (np.abs(after[3]) <= 1.051 * effort).all()
            step = np.abs(after[0] - before[0] - 1e-3 * (after[1] + before[1]))
            assert (step <= 1e-6 + 2e-3**2 * effort / inertia).all()
            largest = max(largest, np.abs(after[1]).max())
            before = after

    run(10)
    controller.set_stiffness(np.full(7, stiffness))
    run(1500)
    controller.reference.follow(fit_plan([0.0, 2.0], [HOME, HOME + 0.5]), now)
    run(400)
    controller.stop(now)
    run(3000)
    assert largest > 0.5
    assert np.abs(controller.motors.reference[1]).max() < 1e-3
