"""Bags made from known motions, for tests of what reads them."""
from dataclasses import dataclass, replace

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from hodyn_ros import load_robot
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag, JointStates
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.robot.joint_names import JointNames

TYPES = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = 'sensor_msgs/msg/JointState'
PANDA = load_robot('panda')

FORMS = {
    'sqlite3': {'storage': StoragePlugin.SQLITE3},
    'mcap': {'storage': StoragePlugin.MCAP},
    'mcap chunks': {
        'storage': StoragePlugin.MCAP,
        'compression': (CompressionMode.STORAGE, CompressionFormat.ZSTD)},
    'messages': {'compression': (CompressionMode.MESSAGE, CompressionFormat.ZSTD)},
    'file': {'compression': (CompressionMode.FILE, CompressionFormat.ZSTD)},
}


@dataclass
class Recording:
    """Joint states as they are to be written, and the truth at their instants."""

    stamp: np.ndarray
    received: np.ndarray
    names: list
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    q: np.ndarray
    torque: np.ndarray

    def __getitem__(self, index):
        return replace(self, **{
            name: getattr(self, name)[index] for name in (
                'stamp', 'received', 'position', 'velocity', 'effort', 'q', 'torque')})


def motion(time, robot=PANDA, bandwidth=1.0):
    """Return smooth q … q⁗ (T, 5, n): two sines a joint, the faster of `bandwidth` Hz."""
    n = robot.n
    rng = np.random.default_rng(5)
    low = np.where(np.isfinite(robot.limits.position_min), robot.limits.position_min, -3.0)
    high = np.where(np.isfinite(robot.limits.position_max), robot.limits.position_max, 3.0)
    q = np.zeros((len(time), 5, n))
    q[:, 0] = 0.5 * (low + high)
    for share in (0.37, 1.0):
        omega = 2 * np.pi * bandwidth * share * rng.uniform(0.8, 1.0, n)
        amplitude = 0.12 / share ** 2 * rng.uniform(0.5, 1.0, n)
        phase = rng.uniform(0, 2 * np.pi, n)
        for k in range(5):
            q[:, k] += amplitude * omega ** k * np.sin(
                time[:, None] * omega + phase + k * np.pi / 2)
    return q


def record(
    rate=100.0, duration=10.0, *, robot=PANDA, prefix='fer_', jitter=0.0, position_noise=1e-5,
    velocity_noise=1e-3, effort_noise=0.05, velocity=True, seed=1, bandwidth=1.0,
):
    """Return a recording of `motion` with Gaussian noise; jitter is a share of the period."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(rate * duration)) / rate
    time = time + jitter / rate * rng.uniform(-0.5, 0.5, len(time)) + 100.0
    stamp = np.round(time * 1e9).astype(np.int64)
    q = motion(stamp * 1e-9 - 100.0, robot, bandwidth)
    torque = FeedForward(robot).torque(q)
    shape = (len(time), robot.n)
    return Recording(
        stamp=stamp, received=stamp + 250_000,
        names=[prefix + name for name in robot.joint_names],
        position=q[:, 0] + position_noise * rng.standard_normal(shape),
        velocity=q[:, 1] + velocity_noise * rng.standard_normal(shape) if velocity
        else np.empty((len(time), 0)),
        effort=torque[:, 0] + effort_noise * rng.standard_normal(shape),
        q=q, torque=torque)


def joint_state(stamp, names, position=(), velocity=(), effort=()):
    """Return one message."""
    types = TYPES.types
    return types[JOINT_STATE](
        header=types['std_msgs/msg/Header'](
            stamp=types['builtin_interfaces/msg/Time'](
                sec=int(stamp // 10 ** 9), nanosec=int(stamp % 10 ** 9)), frame_id='base'),
        name=list(names), position=np.array(position, float), velocity=np.array(velocity, float),
        effort=np.array(effort, float))


def messages(recording):
    """Return (received, message) pairs."""
    return [
        (int(recording.received[i]), joint_state(
            recording.stamp[i], recording.names, recording.position[i], recording.velocity[i],
            recording.effort[i]))
        for i in range(len(recording.stamp))]


def write(path, topics, *, storage=None, compression=None):
    """Write a bag from {topic: [(received, joint state), …]}; return its path."""
    options = {} if storage is None else {'storage_plugin': storage}
    writer = Writer(path, version=8, **options)
    if compression is not None:
        writer.set_compression(*compression)
    with writer:
        for topic, pairs in topics.items():
            connection = writer.add_connection(topic, JOINT_STATE, typestore=TYPES)
            for received, message in pairs:
                writer.write(connection, received, TYPES.serialize_cdr(message, JOINT_STATE))
    return path


def read(path, topic=None, prefix=''):
    """Return the joint states of a bag, and the bag."""
    with JointStateBag(path, JointNames(PANDA, prefix=prefix), topic) as bag:
        return JointStates.joined(list(bag.blocks())), bag


def states(recording):
    """Return the joint states of a recording, as they are read."""
    return JointStates(*(getattr(recording, name) for name in (
        'stamp', 'received', 'position', 'velocity', 'effort')))


def assert_same(states, recording):
    """Compare joint states that were read with those that were written, bit for bit."""
    np.testing.assert_array_equal(states.stamp, recording.stamp)
    np.testing.assert_array_equal(states.received, recording.received)
    np.testing.assert_array_equal(states.position, recording.position)
    np.testing.assert_array_equal(states.velocity, recording.velocity)
    np.testing.assert_array_equal(states.effort, recording.effort)


def damage(path):
    """Spoil the last chunk of an MCAP bag, so that it opens and reading stops on the way."""
    file = next(path.glob('*.mcap'))
    raw = bytearray(file.read_bytes())
    at = int(0.9 * len(raw))
    raw[at:at + 200] = bytes(200)
    file.write_bytes(raw)


def with_fingers(count):
    """Return a Panda whose flange carries prismatic joints, of 15 g each."""
    data = robot_keys('panda')
    for number in range(count):
        data['bodies'].append({
            'name': f'finger{number}', 'parent': 6, 'type': 'prismatic',
            'axis': [0.0, 1.0 - 2.0 * (number % 2), 0.0], 'mass': 0.015,
            'placement': [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.165], [0, 0, 0, 1]],
            'com': [0.0, 0.0, 0.02], 'inertia': [[2e-6, 0, 0], [0, 2e-6, 0], [0, 0, 1e-6]]})
    for key in ('limits', 'friction', 'reflexes'):
        data.pop(key, None)
    return load_robot(data)
