"""The node, alive in another process, driven state by state."""
from controllers import still
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import fit_plan

pytestmark = pytest.mark.live

NOW = 1000.0


def expected(q: np.ndarray, robot: str = 'panda', **terms: bool) -> np.ndarray:
    return FeedForward(hd.load_robot(robot)).torque(np.ascontiguousarray(q), **terms)


def efforts(answers: list) -> np.ndarray:
    return np.array([message.effort for message in answers])


def test_holds_the_position_latched_at_activation(live, home):
    node = live()
    answers = node.first_answer(NOW, home)
    np.testing.assert_allclose(efforts(answers), expected(still(home)), rtol=0, atol=1e-12)
    assert np.array_equal(efforts(answers)[1:], np.zeros((2, 7)))
    # The arm sags: the reference stays where it was at activation.
    moved = node.answer(NOW + 0.001, [x + 0.01 for x in home])
    assert moved is not None
    np.testing.assert_array_equal(moved[0].position, home)
    assert node.spin_until(lambda: 'holding' in node.states, 5.0)
    assert 'joint states are back' not in node.log  # they were never lost


def test_answers_carry_one_stamp_and_the_drivers_names_in_the_robots_order(live, home):
    node = live()
    node.first_answer(NOW, home)
    shuffled = [*reversed(node.joints), 'fer_finger_joint1']
    answers = node.answer(NOW + 0.5, [*reversed(home), 0.04], name=shuffled)
    assert answers is not None
    for message in answers:
        assert list(message.name) == node.joints
        np.testing.assert_array_equal(message.position, home)
        assert message.header.stamp.nanosec == 500_000_000


def test_follows_a_trajectory_then_holds_its_end(live, home):
    node = live()
    node.first_answer(NOW, home)
    goal = [x + 0.1 for x in home]
    begin = NOW + 20.0
    node.send_trajectory((1.0, goal), start=begin)
    node.send_states_until_log('trajectory accepted', NOW + 2e-3, home)
    plan = fit_plan([1.0], [goal], start=still(home))
    count = 0
    for t in np.linspace(-0.1, 1.2, 27).round(3):
        answers = node.reach(begin + t, home)
        assert answers is not None
        q = plan.evaluate(float(t))
        np.testing.assert_allclose(answers[0].position, q[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(answers[0].velocity, q[1], rtol=0, atol=1e-9)
        want = expected(q)
        for k in range(3):
            scale = max(1.0, np.abs(want[k]).max())
            np.testing.assert_allclose(
                efforts(answers)[k], want[k], rtol=0, atol=1e-6 * scale)
        count += 1
    assert count == 27
    np.testing.assert_array_equal(answers[0].position, goal)
    assert node.spin_until(lambda: node.states[-1] == 'holding', 5.0)
    assert 'following' in node.log


def test_a_trajectory_without_a_stamp_starts_at_the_cycle_that_takes_it(live, home):
    node = live()
    node.first_answer(NOW, home)
    node.send_trajectory((1.0, [x + 0.1 for x in home]))
    begin = node.send_states_until_log('trajectory accepted', NOW + 0.001, home)
    answers = node.reach(begin + 0.5, home)
    assert answers is not None
    np.testing.assert_allclose(
        answers[0].position, np.array(home) + 0.05, rtol=0, atol=1e-9)


def test_gravity_and_friction_can_be_left_out(live, home):
    node = live('gravity_in_output:=false', 'friction_in_output:=false')
    node.first_answer(NOW, home)
    node.send_trajectory((1.0, [x + 0.1 for x in home]), start=NOW + 20.0)
    node.send_states_until_log('trajectory accepted', NOW + 2e-3, home)
    answers = node.reach(NOW + 20.5, home)
    assert answers is not None
    q = fit_plan([1.0], [[x + 0.1 for x in home]], start=still(home)).evaluate(0.5)
    want = expected(q, gravity=False, friction=False)
    np.testing.assert_allclose(efforts(answers)[0], want[0], rtol=0, atol=1e-6)
    assert np.abs(want[0] - expected(q)[0]).max() > 1.0


@pytest.mark.parametrize(('points', 'fields', 'reason'), [
    ([(1.0, [0.0] * 7)], {'names': [f'fer_joint{i}' for i in range(2, 9)]}, "'fer_joint1'"),
    ([(1.0, [0.0] * 7)], {'names': [f'fr3_joint{i}' for i in range(1, 8)]}, "'fr3_joint1'"),
    ([(1.0, [0.0] * 8)],
     {'names': [*(f'fer_joint{i}' for i in range(1, 8)), 'rail']}, "'rail'"),
    ([(1.0, [0.0] * 6)], {}, 'point 0: 6 positions for 7 joints'),
    ([(1.0, [0.0] * 7)], {'velocities': [0.0] * 3}, 'point 0: 3 velocities'),
    ([(1.0, [0.0] * 6 + [float('nan')])], {}, "'fer_joint7': nan"),
    ([(1.0, [0.0] * 7), (0.5, [0.1] * 7)], {}, 'does not increase'),
    ([(0.0, [1.0] * 7), (1.0, [0.1] * 7)], {}, 'at time 0'),
])
def test_a_bad_trajectory_is_rejected_with_its_reason_and_changes_nothing(
        live, home, points, fields, reason):
    node = live()
    node.first_answer(NOW, home)
    node.send_trajectory(*points, **fields)
    last = node.send_states_until_log('joint_trajectory rejected', NOW + 0.001, home)
    assert reason in node.log
    answers = node.answer(last + 0.1, home)
    assert answers is not None
    np.testing.assert_array_equal(answers[0].position, home)


def test_states_that_cannot_be_used_are_left_out_and_the_next_is_answered(live, home):
    node = live()
    node.first_answer(NOW, home)
    node.send_state(NOW + 0.1, [float('nan'), *home[1:]])
    node.wait_log("'fer_joint1' is not finite")
    node.send_state(NOW + 0.2, home[:3])
    node.wait_log('7 names but 3 entries of position', timeout=10.0)
    node.send_state(NOW + 0.3, [0.04], name=['fer_finger_joint1'])
    answers = node.answer(NOW + 0.4, home)
    assert answers is not None
    left_out = {int(NOW * 1e9) + k * 100_000_000 for k in (1, 2, 3)}
    assert not any(left_out & set(found) for found in node.answers.values())


def test_another_robot_under_its_drivers_names(live):
    node = live('robot:=iiwa14', joints=[f'lbr_A{i}' for i in range(1, 8)])
    want = expected(still([0.3] * 7), 'iiwa14')
    np.testing.assert_allclose(
        efforts(node.first_answer(NOW, [0.3] * 7)), want, rtol=0, atol=1e-12)


def test_an_unknown_robot_is_one_clear_line_and_code_2(live):
    node = live('robot:=nobody', ready=False)
    assert node.process.wait(30.0) == 2
    assert "no robot 'nobody'" in node.log
    assert 'Traceback' not in node.log
