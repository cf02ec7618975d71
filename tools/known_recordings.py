"""Noisy efforts of a Panda whose payload, friction, offsets and links are known."""
from dataclasses import replace
import json
from pathlib import Path

import numpy as np
from recordings import PANDA, messages, motion, record, write
from rigid_bodies import link

from hodyn_ros import load_robot
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.payload import Payload
from hodyn_ros.replay.replay_bag import replay

PAYLOAD = Payload(1.3, np.array([0.02, -0.03, 0.12]), np.diag([0.004, 0.005, 0.003]))
FRICTION = SigmoidFriction(
    np.array([0.9, 1.1, 0.5, 0.8, 0.4, 0.35, 0.3]),
    np.array([8.0, 20.0, 12.0, 6.0, 15.0, 30.0, 25.0]),
    np.array([0.02, -0.01, 0.0, 0.03, -0.02, 0.01, 0.0]))
OFFSET = np.array([0.1, -0.2, 0.05, 0.3, 0.0, -0.1, 0.02])
SPREAD = np.array([0.3, 0.3, 0.3, 0.3, 0.1, 0.1, 0.05])
PLAIN = replace(PANDA, friction=None)
NONE = np.zeros(7)
NO_FRICTION = SigmoidFriction(NONE, np.ones(7), NONE)
RATE = 25.0  # of bags, Hz


def scara():
    """Return a SCARA, of which only the joint that slides carries weight, the same everywhere."""
    places = np.tile(np.eye(4), (4, 1, 1))
    places[0, 2, 3], places[1, 0, 3], places[2, 0, 3] = 0.4, 0.35, 0.3
    links = (('revolute', 5.0, 0.1, 0.1), ('revolute', 3.0, 0.1, 0.06),
             ('prismatic', 1.0, 0.0, 4e-3), ('revolute', 0.4, 0.015, 3e-4))
    return load_robot({
        'name': 'scara',
        'bodies': [
            link(f'link{k}', k - 1, kind, joint=f'joint{k}', axis=[0, 0, 1], mass=mass,
                 com=[com, 0.0, 0.02], inertia=inertia * np.eye(3), placement=places[k])
            for k, (kind, mass, com, inertia) in enumerate(links)],
        'limits': {'position': [[-2.0, 2.0], [-2.0, 2.0], [-2.0, 2.0], [-6.0, 6.0]]},
        'friction': {'law': 'sigmoid', 'amplitude': [4.0, 2.4, 6.0, 0.2],
                     'slope': [30.0, 30.0, 60.0, 20.0], 'velocity_offset': [0.0] * 4,
                     'viscous': [0.8, 0.4, 5.0, 0.01]}})


def palletizer():
    """Return an arm with a coupling that keeps the axis of its tool almost upright."""
    masses, reach = (80.0, 55.0, 40.0, 12.0, 20.0), (0.1, 0.5, 0.5, 0.05, 0.0)
    joints, axes = ('turn', 'lower', 'upper', 'level', 'tool'), (2, 1, 1, 1, 2)
    places = np.tile(np.eye(4), (5, 1, 1))
    places[1:, 0, 3], places[2, 2, 3] = (0.3, 0.0, 1.2, 0.1), 1.1
    bodies = [
        link(f'{joint}_link', k - 1, joint=joint, axis=np.eye(3)[axes[k]], mass=masses[k],
             com=[reach[k], 0.02, 0.1], inertia=0.05 * masses[k] * np.eye(3), placement=places[k])
        for k, joint in enumerate(joints)]
    bodies[3]['mimic'] = {'joint': 'upper', 'multiplier': -1.0, 'offset': 0.1}
    return load_robot({'name': 'palletizer', 'bodies': bodies, 'limits': {
        'position': [[-3.0, 3.0], [-1.0, 1.4], [-1.5, 1.5], [-6.0, 6.0]]}})


def lifted_arm(*more, **options):
    """Return an arm of three joints on a vertical slide; only the last one tilts its link.

    `more` are keys of bodies behind it, `options` of `load_robot`.
    """
    places = np.tile(np.eye(4), (4, 1, 1))
    places[0, 2, 3], places[1, 0, 3], places[2, 0, 3], places[3, 0, 3] = 0.4, 0.1, 0.35, 0.3
    links = (
        ('lift', 'prismatic', 2, 6.0, [0.05, 0.0, 0.02], 0.05),
        ('shoulder', 'revolute', 2, 4.0, [0.18, 0.01, 0.03], 0.06),
        ('elbow', 'revolute', 2, 2.5, [0.14, -0.01, 0.0], 0.03),
        ('tilt', 'revolute', 1, 0.8, [0.02, 0.0, -0.08], 0.003))
    return load_robot({
        'name': 'lifted_arm',
        'bodies': [
            link(f'{joint}_link', k - 1, kind, joint=joint, axis=np.eye(3)[axis], mass=mass,
                 com=com, inertia=inertia * np.eye(3), placement=places[k])
            for k, (joint, kind, axis, mass, com, inertia) in enumerate(links)] + list(more),
        'limits': {'position': [[0.0, 0.6], [-2.5, 2.5], [-2.6, 2.6], [-1.5, 1.5]],
                   'effort': [400.0, 120.0, 60.0, 15.0]}}, **options)


def screw_scara():
    """Return a SCARA whose lift and quill are screws, with a light wrist, and with friction."""
    places = np.tile(np.eye(4), (6, 1, 1))
    places[0, 2, 3], places[1, 2, 3], places[2, 0, 3] = 0.1, 0.2, 0.1
    places[3, ::2, 3], places[4, 0, 3], places[5, 2, 3] = (0.3, 0.05), 0.25, -0.15
    links = (
        ('lift_motor', -1, 'revolute', 2.0, [0.0, 0.0, 0.4], [0.1, 0.1, 1e-4]),
        ('lift', -1, 'prismatic', 6.0, [0.05, 0.0, 0.05], [0.04, 0.05, 0.05]),
        ('shoulder', 1, 'revolute', 4.0, [0.15, 0.0, 0.02], [0.01, 0.05, 0.05]),
        ('elbow', 2, 'revolute', 3.0, [0.11, 0.01, 0.0], [8e-3, 0.03, 0.03]),
        ('quill', 3, 'helical', 0.6, [0.0, 0.002, -0.05], [3e-3, 3e-3, 3e-5]),
        ('wrist', 4, 'revolute', 0.5, [0.02, 0.0, -0.05], [1e-3, 1e-3, 4e-4]))
    bodies = [
        link(f'{joint}_link', parent, kind, joint=joint, mass=mass, com=com, placement=place,
             axis=[0, 1, 0] if joint == 'wrist' else [0, 0, 1], inertia=np.diag(inertia))
        for (joint, parent, kind, mass, com, inertia), place in zip(links, places, strict=True)]
    bodies[1]['mimic'] = {'joint': 'lift_motor', 'multiplier': 0.02 / (2.0 * np.pi)}
    bodies[4]['pitch'] = 0.016 / (2.0 * np.pi)
    return load_robot({
        'name': 'screw_scara', 'bodies': bodies,
        'limits': {'position': [
            [None, None], [-2.3, 2.3], [-2.5, 2.5], [-20.0, 20.0], [-1.8, 1.8]]},
        'friction': {'law': 'sigmoid', 'amplitude': [0.3, 3.0, 2.0, 0.1, 0.3],
                     'slope': [5.0, 20.0, 20.0, 8.0, 15.0], 'velocity_offset': [0.0] * 5,
                     'viscous': [4e-3, 0.6, 0.4, 4e-3, 0.05]}})


def of_screw_scara(true=None, seed=1):
    """Return 20 s of a SCARA with screws, which moves widely; the efforts are of `true`."""
    robot = screw_scara()
    recording = record(
        duration=20.0, robot=robot, prefix='', bandwidth=0.2, effort_noise=0.0)
    size = np.array([60.0, 1.0, 1.0, 8.0, 1.0]) / np.ptp(recording.q[:, 0], axis=0)
    centre, rng = recording.q[:, 0].mean(axis=0), np.random.default_rng(seed)
    recording.q = size * recording.q
    recording.q[:, 0] += np.array([60.0, 0.0, 0.0, 0.0, 0.0]) - size * centre
    recording.torque = FeedForward(true or robot).torque(recording.q)
    effort, shape = recording.torque[:, 0], recording.effort.shape
    recording.position = recording.q[:, 0] + 2e-5 * rng.standard_normal(shape)
    recording.velocity = recording.q[:, 1] + 2e-3 * rng.standard_normal(shape)
    recording.effort = effort + 0.01 * effort.std(axis=0) * rng.standard_normal(shape)
    return recording


def efforts(q, robot, payload, friction, offset, seed, *, gravity=True):
    """Return what noisy sensors with offsets report along a motion, (T, n)."""
    arm = robot if payload is None else payload.fixed_to(robot)
    effort = FeedForward(arm).torque(q, gravity=gravity, friction=False)[:, 0]
    effort = effort + friction.torque(q)[:, 0] + offset
    return effort + SPREAD * np.random.default_rng(seed).standard_normal(effort.shape)


def heavier(robot, rng, share):
    """Return a robot whose links are off, mass and inertia of each by one factor."""
    return replace(robot, bodies=tuple(
        replace(
            body, mass=body.mass * factor, com=body.com * (1 + share * rng.standard_normal(3)),
            inertia=body.inertia * factor)
        for body in robot.bodies for factor in [1 + share * rng.standard_normal()]))


def data(
    payload=PAYLOAD, duration=30.0, gravity=True, seed=0, rate=25.0, robot=PANDA,
    friction=FRICTION, offset=OFFSET,
):
    """Return noisy efforts along a known motion."""
    time = np.arange(round(duration * rate)) / rate
    q = motion(time)
    effort = efforts(q, robot, payload, friction, offset, seed, gravity=gravity)
    return Data(q, effort, time.astype(np.intp), gravity)


def bag(
    path, *, payload=None, amplitude=FRICTION.amplitude, gain=1.0, seed=0, duration=20.0,
    prefix='fer_', bandwidth=1.0, others=(), topic='/joint_states',
    gravity=True,
):
    """Write a recording of an arm with friction, noise and offsets of its sensors."""
    recording = record(rate=RATE, duration=duration, position_noise=1e-5, prefix=prefix,
                       bandwidth=bandwidth)
    friction = SigmoidFriction(amplitude, np.full(7, 20.0), NONE)
    recording.effort = efforts(
        recording.q, PANDA, payload, friction, OFFSET, seed, gravity=gravity) / gain
    return write(path, {topic: messages(recording), **dict(others)})


class Identified(dict):
    """What `hodyn identify` found: the keys of its summary, what it printed, and its file."""

    def __init__(self, folder, out):
        super().__init__(json.loads((folder / 'identification.json').read_text()))
        self.out, self.words = out, ' '.join(out.split())
        self.file, = folder.glob('*_identified.yaml')

    @property
    def robot(self):
        """Return the robot that was written."""
        return load_robot(self.file)

    def column(self, key):
        """Return a figure of all joints, (n,)."""
        return np.array([joint[key] for joint in self['joints']])


def replayed(path, recording, file):
    """Return the RMS errors of a robot file on a bag, (n,)."""
    robot = load_robot(file)
    with open_recording(recording, robot) as source:
        found = replay(source, FeedForward(robot), Path(path))
    return np.array([joint.rms_error for joint in found.joints])
