"""Two nodes in one process, on one executor that others may drive too."""
import sys

import numpy as np
import pytest
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.live

HOST = """
import rclpy
from rclpy.signals import SignalHandlerOptions
from hodyn_ros.ros.feedforward_node import FeedforwardNode
from hodyn_ros.ros.spinning import StopFlag, make_executor

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
stop = StopFlag()
common = ['--ros-args', '-p', 'state_timeout:=60.0', '-p', 'max_time_step:=0.5', '-p',
           'tracking_tolerance:=[-1.0]']
nodes = [
    FeedforwardNode(cli_args=[*common, *extra], use_global_arguments=False)
    for extra in (
        ['-p', 'robot:=panda'],
        ['-p', 'robot:=iiwa14', '-r', '__ns:=/second', '-r', 'joint_states:=/joint_states'])]
executor = make_executor()
for node in nodes:
    executor.add_node(node)
while not stop.is_set:
    executor.spin_once(timeout_sec=0.1)
for node in nodes:
    node.finish()
    node.destroy_node()
rclpy.try_shutdown()
"""


def test_two_nodes_share_a_process_and_an_executor(live, home):
    node = live(command=[sys.executable, '-c', HOST])
    lbr = [f'lbr_A{i}' for i in range(1, 8)]
    found = node.subscribe(JointState, '/second/feedforward/torque')
    both = [*node.joints, *lbr]
    node.first_answer(999.9, [*home, *home], name=both)
    for k in range(50):
        assert node.answer(1000.0 + 0.1 * k, [*home, *home], name=both) is not None
        if found:
            break
    assert list(found[-1].name) == lbr
    np.testing.assert_array_equal(found[-1].position, home)
    assert node.end() == 0
    assert node.log.count('inactive') == 2
    assert 'Traceback' not in node.log
