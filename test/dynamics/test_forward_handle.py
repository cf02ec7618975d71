"""The prepared forward dynamics: the same numbers as the checked function, and its refusals."""
import numpy as np
import pytest

import hodyn_ros as hd


@pytest.mark.parametrize('name', ['panda', 'twolink', 'aerial_manipulator'])
@pytest.mark.parametrize('order', [0, 1, 4])
def test_it_gives_what_the_function_gives(name, order):
    robot = hd.load_robot(name)
    random = np.random.default_rng(order)
    q, tau = random.normal(size=(2, robot.n)), random.normal(size=(order + 1, robot.n))
    out = np.empty_like(tau)
    handle = hd.ForwardDynamics(robot, order)
    if not robot.floating:
        handle(q, tau, out)
        assert np.array_equal(out, hd.forward_dynamics(robot, q, tau))
        return
    pose, twist = np.eye(4), random.normal(size=(1, 6))
    wrench, base = random.normal(size=(order + 1, 6)), np.empty((order + 1, 6))
    handle(q, tau, out, pose, twist, wrench, base)
    expected = hd.forward_dynamics(
        robot, q, tau, base_pose=pose, base_twist=twist, base_wrench=wrench)
    assert np.array_equal(out, expected[0])
    assert np.array_equal(base, expected[1])


def test_what_it_cannot_do_is_said():
    robot = hd.load_robot('panda')
    with pytest.raises(hd.HodynError, match='order'):
        hd.ForwardDynamics(robot, -1)
    handle = hd.ForwardDynamics(robot, 1)
    with pytest.raises(hd.HodynError, match='tau'):
        handle(np.zeros((2, 7)), np.zeros((1, 7)), np.zeros((2, 7)))
    with pytest.raises(TypeError, match='out'):
        handle(np.zeros((2, 7)), np.zeros((2, 7)), np.zeros((2, 7), dtype=np.float32))
    with pytest.raises(hd.HodynError, match='base_pose'):
        hd.ForwardDynamics(hd.load_robot('aerial_manipulator'))(
            np.zeros((2, 6)), np.zeros((1, 6)), np.zeros((1, 6)))
