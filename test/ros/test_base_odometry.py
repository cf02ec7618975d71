"""A live node for an arm on a ship, and the odometry of its deck."""
import math
import re
import sys
import time

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Transform, WrenchStamped
from live_motions import (
    assert_efforts_within,
    cycles,
    move,
    table,
    weight,
    write_robot_keys,
)
from live_node import NOTING_COMPILATION, to_stamp
from node_process import arguments
import numpy as np
import pytest
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

import hodyn_ros as hd
from hodyn_ros.feedforward.moving_base import BaseMotion, feedforward_of
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_keys

nav_msgs = pytest.importorskip('nav_msgs.msg', reason='nav_msgs is not installed')

pytestmark = pytest.mark.live

DECK = {
    'name': 'deck', 'parent': -1, 'type': 'floating', 'placement': np.eye(4).tolist(),
    'mass': 100.0, 'com': [0.0, 0.0, 0.0], 'inertia': (10.0 * np.eye(3)).tolist()}


@pytest.fixture
def ship_file(tmp_path):
    """Return the file of a Panda on a deck that moves."""
    keys = robot_keys('panda')
    keys['bodies'] = [DECK, *({**body, 'parent': body['parent'] + 1} for body in keys['bodies'])]
    return write_robot_keys(tmp_path / 'ship.yaml', keys)


class Deck:
    """A driver that sends joint states and the odometry of its deck at 200 Hz."""

    def __init__(self, node, home):
        self.node, self.home = node, home
        self.publisher = node.publisher(nav_msgs.Odometry, '/odom')
        self.roll = self.turns = 0.0
        self.changes = {}
        self.is_measured = True
        self.motion = None

    def odometry(self, at):
        message = nav_msgs.Odometry()
        message.header.stamp = to_stamp(at)
        message.header.frame_id, message.child_frame_id = 'odom', 'deck'
        turn = message.pose.pose.orientation
        turn.w, turn.x, turn.y, turn.z = lie.quaternion(lie.rotation_exp([self.roll, 0.0, 0.0]))
        message.twist.twist.angular.x = self.turns
        if self.motion is not None:
            pose = self.motion(at)
            rotation, twist = pose[0, :3, :3], hd.pose_twist(pose, representation='hybrid')[0]
            turn.w, turn.x, turn.y, turn.z = lie.quaternion(rotation)
            place, moves, turns = (
                message.pose.pose.position, message.twist.twist.linear,
                message.twist.twist.angular)
            place.x, place.y, place.z = pose[0, :3, 3]
            moves.x, moves.y, moves.z = rotation.T @ twist[3:]
            turns.x, turns.y, turns.z = rotation.T @ twist[:3]
        for name, value in self.changes.items():
            *path, last = name.split('.')
            owner = message
            for part in path:
                owner = getattr(owner, part)
            setattr(owner, last, value)
        return message

    def sail(self, seconds, *, until=None, sea=0.0):
        """Roll by `sea` rad in a period of 3 s, for a time or until something."""
        begin, phase = time.monotonic(), 2.0 * math.pi / 3.0
        while (t := time.monotonic() - begin) < seconds and not (until is not None and until()):
            self.turns = sea * phase * math.cos(phase * t)
            if sea:
                self.roll = sea * math.sin(phase * t)
            if self.is_measured:
                self.publisher.publish(self.odometry(time.time()))
            self.node.send_state(time.time(), self.home)
            self.node.spin(0.005)
        assert until is None or until(), self.node.log


def held(robot, position, roll):
    """Return torques and wrench that hold a position on a deck at rest."""
    still = np.zeros((5, 7))
    still[0] = position
    base = BaseMotion()
    base.rest(lie.rotation_exp([roll, 0.0, 0.0]))
    return feedforward_of(robot).on_base(still, base, np.empty((3, 13)))[0]


def test_a_node_on_a_ship_follows_its_odometry_and_stops_without(live, home, ship_file):
    node = live(command=[sys.executable, '-c', NOTING_COMPILATION, *arguments(
        f'robot:={ship_file}', 'state_timeout:=5.0', 'base_timeout:=1.0',
        'base_acceleration_bandwidth:=10.0')])
    compiled = node.log.count('COMPILES')
    assert compiled
    wrenches = {
        name: node.subscribe(WrenchStamped, f'/feedforward/{name}')
        for name in ('base_wrench', 'base_wrench_rate', 'base_wrench_accel')}
    deck = Deck(node, home)
    deck.is_measured = False
    deck.sail(1.0)
    assert node.states[-1] == 'waiting'
    assert not node.messages['torque']
    assert node.spin_until(lambda: 'no odometry yet' in node.reason, 10.0)
    deck.is_measured = True
    deck.roll = 0.3
    deck.sail(20.0, until=lambda: 'holding' in node.states)
    deck.sail(1.0)
    robot = hd.load_robot(ship_file)
    _, values = table(node, 'torque')
    expected = held(robot, values[-1][0], 0.3)
    assert np.abs(expected[:7] - weight(values[-1][0])).max() > 3.0
    np.testing.assert_allclose(values[-1][2], expected[:7], atol=1e-6)
    last = wrenches['base_wrench'][-1]
    assert last.header.frame_id == 'deck'
    np.testing.assert_allclose([
        *(getattr(last.wrench.torque, axis) for axis in 'xyz'),
        *(getattr(last.wrench.force, axis) for axis in 'xyz')], expected[7:], atol=1e-4)
    assert min(map(len, wrenches.values())) > 10
    deck.sail(4.0, sea=0.25)
    move(node, home, 0.2, 4.0)
    deck.sail(30.0, until=lambda: 'following' in node.states, sea=0.25)
    deck.is_measured = False
    deck.sail(20.0, until=lambda: node.states[-1] == 'fault')
    assert 'stopping' in node.states
    assert node.reason == 'the odometry of the base is lost'
    assert 'no odometry of the base for 1.' in node.log
    move(node, home)
    deck.sail(20.0, until=lambda: 'joint_trajectory rejected: the odometry of' in node.log)
    count = len(node.messages['torque'])
    deck.sail(2.0)
    # The arm is held all the while.
    deck.sail(20.0, until=lambda: len(node.messages['torque']) > count + 20)
    _, values = table(node, 'torque')
    assert not values[-1][1].any()
    np.testing.assert_allclose(
        values[-1][2], held(robot, values[-1][0], deck.roll)[:7], atol=1e-2)
    deck.is_measured = True
    deck.sail(20.0, until=lambda: node.states[-1] == 'holding')
    assert 'the odometry of the base is back' in node.log
    node.send_trajectory((2.0, home))
    deck.sail(30.0, until=lambda: node.states[-1] == 'following', sea=0.1)
    deck.sail(30.0, until=lambda: node.states[-1] == 'holding', sea=0.1)
    assert_efforts_within(node)
    assert node.log.count('COMPILES') == compiled, node.log  # none in a cycle


def base_trajectory(poses=(), *, seconds=1.0, frame='odom', x=None, begin=0.0):
    """Return the message of poses of the deck, one every so many seconds."""
    message = MultiDOFJointTrajectory(joint_names=['deck'])
    message.header.frame_id, message.header.stamp = frame, to_stamp(begin)
    for k, pose in enumerate(poses):
        transform = Transform()
        turn = transform.rotation
        turn.w, turn.x, turn.y, turn.z = lie.quaternion(pose[:3, :3])
        transform.translation.x = float(pose[0, 3] if x is None else x)
        time_from_start = to_stamp(k * seconds)
        message.points.append(MultiDOFJointTrajectoryPoint(
            transforms=[transform], time_from_start=Duration(
                sec=time_from_start.sec, nanosec=time_from_start.nanosec)))
    return message


def test_a_base_trajectory_gives_the_accelerations_without_delay(live, home, ship_file):
    node = live(command=[sys.executable, '-c', NOTING_COMPILATION, *arguments(
        f'robot:={ship_file}', 'state_timeout:=5.0', 'base_timeout:=2.0',
        'friction_in_output:=false', 'base_tolerance:=[0.8, 0.05, 0.2, 0.2]')])
    compiled = node.log.count('COMPILES')
    publisher = node.publisher(MultiDOFJointTrajectory, '/feedforward/base_trajectory')
    deck = Deck(node, home)
    deck.sail(20.0, until=lambda: 'holding' in node.states)
    poses = [lie.pose(lie.rotation_x(0.3 * math.sin(k)), [0.2 * k * (8 - k), 0.0, 0.0])
             for k in range(9)]
    for wrong, said in (
        (base_trajectory(poses, frame='map'), "its frame_id is 'map', and that of the odometry"),
        (base_trajectory(poses, x=math.nan), 'translation.x is not finite'),
        (base_trajectory(poses, x=1.0), 'its position is 1 m away (base_tolerance 0.8)'),
        (base_trajectory(poses[:1]), 'needs at least two poses, got 1'),
        (base_trajectory(poses, begin=time.time() - 60.0), 'it ends in the past'),
    ):
        publisher.publish(wrong)
        deck.sail(20.0, until=lambda said=said: said in node.log)
    assert node.log.count('base_trajectory rejected: ') == 5
    plan, begin = hd.fit_pose_plan(np.arange(9.0), poses), time.time() + 0.5
    deck.motion = lambda at: plan.evaluate(at - begin)
    publisher.publish(base_trajectory(poses, begin=begin))
    deck.sail(30.0, until=lambda: 'the base trajectory has ended' in node.log)
    assert 'the base trajectory is followed: its accelerations are used' in node.log
    assert 'left its trajectory' not in node.log
    stamps, values = cycles(node)
    robot, still = hd.load_robot(ship_file), np.zeros((5, 7))
    still[0] = values[-1, 0]
    chosen = np.flatnonzero((stamps > begin + 2.0) & (stamps < begin + 7.5))
    assert len(chosen) > 100
    sizes = []
    for i in chosen:
        pose = plan.evaluate(stamps[i] - begin)
        expected = hd.inverse_dynamics(
            robot, still, base_pose=pose[0], base_twist=hd.pose_twist(pose))[0]
        # Doubles have the time since 1970 to 0.24 µs; the torque changes by up to 83 N m/s here.
        np.testing.assert_allclose(values[i, 2], expected[0], rtol=0.0, atol=4e-5)
        sizes.append(expected[0])
    assert np.ptp(sizes, axis=0).max() > 3.0
    begin = time.time() + 0.2
    publisher.publish(base_trajectory(poses, begin=begin))
    deck.sail(20.0, until=lambda: node.log.count('trajectory is followed') == 2)
    publisher.publish(base_trajectory())
    deck.sail(20.0, until=lambda: 'given up: an empty base trajectory came' in node.log)
    deck.sail(2.0)
    assert_efforts_within(node)
    assert node.log.count('COMPILES') == compiled, node.log  # none in a cycle


def test_wrong_odometry_is_named_and_reaches_no_torque(live, home, ship_file):
    node = live(f'robot:={ship_file}', 'state_timeout:=5.0', 'base_timeout:=1.0')
    deck = Deck(node, home)
    deck.sail(20.0, until=lambda: 'holding' in node.states)
    deck.sail(0.5)
    before = table(node, 'torque')[1][-1][2]
    for changes, said in (
            ({'pose.pose.orientation.w': math.nan}, 'pose.pose.orientation.w is not finite'),
            ({'pose.pose.orientation.w': 0.0}, 'pose.pose.orientation is not a unit quaternion'),
            ({'child_frame_id': 'wheel'}, "its child_frame_id 'wheel' is not a link of the base"),
            ({'header.frame_id': 'map'}, "its frame_id is 'map', and was 'odom'"),
            ({'header.stamp': to_stamp(1000.0)}, 'behind that of the joint states'),
            ({'twist.twist.angular.z': 1e3}, 'twist.twist.angular is 1000 rad/s'),
            ({'twist.twist.linear.x': 300.0},
             'twist.twist.linear is 300 m/s; at most 100 are believed')):
        deck.changes = changes
        deck.sail(20.0, until=lambda: node.states[-1] == 'fault')
        assert node.reason.startswith('the odometry of the base is lost: ')
        assert said in node.reason
        assert re.search(f'odom rejected: .*{re.escape(said)}', node.log)
        np.testing.assert_allclose(table(node, 'torque')[1][-1][2], before, atol=1e-9)
        deck.changes = {}
        deck.sail(20.0, until=lambda: node.states[-1] == 'holding')
    # Of two that send it both are ignored: they pulled the torque back and forth.
    other = node.publisher(nav_msgs.Odometry, '/odom')
    deck.sail(20.0, until=lambda: node.states[-1] == 'fault')
    assert 'odom rejected: 2 nodes publish it' in node.log
    assert '2 nodes publish it' in node.reason
    node.node.destroy_publisher(other)
    deck.sail(20.0, until=lambda: node.states[-1] == 'holding')
    assert_efforts_within(node)
