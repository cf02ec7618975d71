"""Plans may name locked joints, and move those on which no torque depends."""
from grippers import gripper_urdf
import pytest
from rigid_bodies import link

from hodyn_ros import load_robot
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings, prepare_plan


@pytest.mark.parametrize('of_file', [False, True])
def test_a_locked_joint_that_a_plan_moves_is_named_with_where_it_is(tmp_path, of_file):
    """The check of a file answers as the node does."""
    (tmp_path / 'arm.urdf').write_text(gripper_urdf(centre='0 0 0'))
    arm = load_robot(str(tmp_path / 'arm.urdf'), locked_joints={'finger1': 0.02})
    settings = PlanSettings(leave_out_other_joints=of_file)

    def prepared(*fingers, name='finger1'):
        return prepare_plan(PlanRequest(JointWaypoints(
            ('arm_j1', name), [0.0, 5.0], [[0.1, fingers[0]], [0.2, fingers[-1]]]), arm, settings))

    for fingers, how in (
            ((0.0, 0.04), 'moves it from 0 to 0.04'), ((0.04,), 'has it at 0.04')):
        found = prepared(*fingers)
        assert found.refusal == (
            f'finger1 is locked at 0.02, and the plan {how}: leave it out of the plan, or do not '
            'lock it')
        assert found.fault == 'joints'
    still = prepared(0.0195, 0.021)
    assert (still.refusal, still.note, still.fault) == ('', '', '')
    other = prepared(0.0, 0.04, name='finger11')
    assert ("'finger11' is not one of robot" in other.refusal) != of_file


@pytest.mark.parametrize('prefix', ['', 'left_'])
@pytest.mark.parametrize('of_file', [False, True])
def test_a_joint_that_follows_a_locked_one_is_locked_in_a_plan(tmp_path, of_file, prefix):
    text = gripper_urdf(centre='0 0 0')
    assert '<mimic joint="finger1"/>' in text
    (tmp_path / 'arm.urdf').write_text(
        text.replace('<mimic joint="finger1"/>', '<mimic joint="finger1" multiplier="-1"/>'))
    arm = load_robot(str(tmp_path / 'arm.urdf'), locked_joints={'finger1': 0.02})
    names = tuple(prefix + name for name in ('arm_j1', 'finger1', 'finger2'))

    def prepared(*follower):
        points = [[0.1, 0.02, follower[0]], [0.2, 0.02, follower[-1]]]
        return prepare_plan(PlanRequest(
            JointWaypoints(names, [0.0, 5.0], points), arm,
            PlanSettings(leave_out_other_joints=of_file, allow_other_model=True)))

    good = prepared(-0.02)
    assert (good.refusal, good.note, good.fault) == ('', '', '')
    for follower, how in (
            ((0.02,), 'has it at 0.02'), ((-0.02, 0.9), 'moves it from -0.02 to 0.9')):
        found = prepared(*follower)
        assert found.refusal == (
            f'{names[2]} is locked at -0.02, and the plan {how}: leave it out of the plan, or do '
            'not lock it')
        assert found.fault == 'joints'


def test_a_plan_may_move_locked_joints_on_which_no_torque_depends():
    arm = load_robot({'name': 'cell', 'bodies': [
        link('lift', kind='prismatic'), link('wheel'), link('arm', 'lift')]},
        locked_joints={'jlift': 0.1, 'jwheel': 0.0})

    def prepared(joint, *asked):
        return prepare_plan(PlanRequest(
            JointWaypoints(('jarm', joint), [0.0, 5.0], [[0.1, asked[0]], [0.2, asked[-1]]]),
            arm, PlanSettings()))

    for good in (('jwheel', 0.0, 9.0), ('jlift', 0.9)):
        found = prepared(*good)
        assert not found.refusal
        assert found.note == f'{good[0]}: no torque depends on its position, left out'
    assert prepared('jlift', 0.1, 0.9).refusal == (
        'jlift is locked at 0.1, and the plan moves it from 0.1 to 0.9: leave it out of the plan, '
        'or do not lock it')
