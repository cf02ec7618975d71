"""What a node publishes of a recorded motion is what the library computes of it, to round-off."""
import numpy as np
import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.messages.joint_trajectory import decode, encode
from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
from hodyn_ros.plans.prepare import prepare_plan
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.robot.joint_names import JointNames

pytestmark = pytest.mark.live

BEGIN = 1020 * 10**9  # ns
SAMPLES = 300


def test_a_node_publishes_the_torques_that_are_computed_of_a_recording(live, real_bag, tmp_path):
    """Only ROS and the node's cycle lie between: names, order, stamps, clock, start and fade."""
    panda = hd.load_robot('panda')
    with JointStateBag(real_bag, JointNames(panda)) as bag:
        chunk = next(RecordedTorques(bag, hd.FeedForward(panda)).chunks())
        names = bag.names
    used = np.flatnonzero(chunk.used)
    new = np.diff(chunk.instants[used], prepend=0) > 10**6  # some messages repeat a sample
    used = used[new][:SAMPLES]
    measured, q = chunk.states.position[used], chunk.q[used]
    times = 1.0 + (chunk.instants[used] - chunk.instants[used[0]]) * 1e-9
    # What was recorded did happen, whatever the limits are; the arm begins and ends at rest.
    keys = robot_keys('panda')
    del keys['limits'], keys['reflexes']
    file = tmp_path / 'panda.yaml'
    file.write_text(yaml.safe_dump(keys), 'utf-8')
    rest = np.zeros((1, 5, 7))
    rest[0, 0] = q[-1, 0]
    motion = np.concatenate([q, rest])
    feedforward = hd.FeedForward(hd.load_robot(file))
    trajectory = encode(
        names, np.append(times, times[-1] + 1.0), motion, feedforward.torque(motion)[:, 0], BEGIN)
    start = np.zeros((5, 7))
    start[0] = measured[0]
    prepared = prepare_plan(PlanRequest(
        decode(trajectory), feedforward.robot,
        PlanSettings(stretch='off', interpolation='global'), start=start))
    assert prepared.plan is not None, prepared.refusal

    node = live(f'robot:={file}', 'interpolation:=global', joints=list(names))
    node.first_answer(1000.0, measured[0])
    node.trajectory_publisher.publish(trajectory)
    node.send_states_until_log('trajectory accepted', 1000.002, measured[0])
    assert node.reach(BEGIN * 1e-9 - 0.01, measured[0]) is not None
    stamps = BEGIN + np.round(times * 1e9).astype(np.int64)
    random, published = np.random.default_rng(3), []
    for stamp, position in zip(stamps, measured, strict=True):
        order = random.permutation(8)
        answers = node.reach(
            stamp * 1e-9, np.append(position, 0.02)[order],
            name=np.append(names, 'fer_finger_joint1')[order].tolist())
        assert answers is not None
        assert all(tuple(answer.name) == names for answer in answers)
        published.append([answer.effort for answer in answers])
    computed = feedforward.torque(prepared.plan.evaluate((stamps - BEGIN) * 1e-9))
    peaks = np.abs(computed).max(axis=(0, 2))
    assert len(published) == SAMPLES
    assert (peaks > 1.0).all()
    worst = np.abs(np.array(published) - computed).max(axis=(0, 2))
    assert (worst <= 1e-12 * peaks).all(), worst / peaks
