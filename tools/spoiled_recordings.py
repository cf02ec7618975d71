"""Recordings with one mistake each, and the words by which `hodyn` replay and identify name it."""
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
import re

from known_recordings import RATE, lifted_arm, scara
import numpy as np
from recording_mistakes import (
    FRICTION,
    STIFFNESS,
    TILTED,
    WALL,
    biased_velocity,
    blanked,
    copied,
    exchanged,
    filtered_velocities,
    following,
    frozen,
    late,
    mounted,
    of_a_wrong_column,
    of_no_arm,
    offset,
    read_at_the_motors,
    renamed,
    resting,
    rubbing_and_swapped,
    scaled,
    shifted,
    slipped,
    standing,
    stretched,
    stuck_velocity,
    unchanged,
)
from recordings import PANDA, messages, motion, record, write

import hodyn_ros as hd
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.simulation.examples import with_example_actuators

DEGREES = 180.0 / np.pi
SCARA, ARM = scara(), lifted_arm()
TWOLINK, SLOW = hd.load_robot('twolink'), 0.04
TURNS = np.array([True, True, False, True])  # of the SCARA
HUNG_SCARA = SCARA.with_base_pose(np.diag([1.0, -1.0, -1.0, 1.0]))
ELASTIC_PANDA = with_example_actuators(PANDA, 'sea', STIFFNESS)
RUBBING_TWOLINK = replace(
    with_example_actuators(TWOLINK, 'sea', STIFFNESS), friction=SigmoidFriction(
        amplitude=[6.0, 2.0], slope=[20.0, 20.0], velocity_offset=[0.0, 0.0], viscous=[0.4, 0.2]))
LOADED_PANDA = PANDA.with_payload('link7', 1.3, [0.02, -0.01, 0.1])
# The follower has no mass, so that no torque depends on it.
COUPLED_ARM = lifted_arm({
    'name': 'pointer', 'joint': 'pointer_joint', 'type': 'revolute', 'axis': [0.0, 1.0, 0.0],
    'parent': 3, 'mass': 1e-6, 'com': [0.0, 0.0, 0.0], 'inertia': np.diag([1e-9] * 3).tolist(),
    'placement': np.eye(4).tolist(),
    'mimic': {'joint': 'tilt', 'multiplier': -1.1, 'offset': 0.05}})


def of(duration, rate=RATE, *, robot=PANDA, bandwidth=1.0):
    """Return a function that records a robot."""
    prefix = 'fer_' if robot.name == 'panda' and robot is not ELASTIC_PANDA else ''
    return partial(
        record, rate=rate, duration=duration, robot=robot, bandwidth=bandwidth, prefix=prefix)


def of_arm():
    """Return a recording of the arm on a slide, in its ranges, with friction."""
    recording = record(
        rate=100.0, duration=20.0, robot=ARM, prefix='', bandwidth=0.6, effort_noise=0.02)
    size, centre = np.array([0.15, 1.2, 1.2, 0.8]), np.array([0.3, 0.0, 0.0, 0.0])
    recording.position, recording.velocity = (
        centre + size * (recording.position - centre), size * recording.velocity)
    q = recording.q * size
    q[:, 0] += centre * (1.0 - size)
    recording.effort += FeedForward(ARM).torque(q)[:, 0] - recording.torque[:, 0] + (
        FRICTION * np.tanh(q[:, 1] / 0.03))
    return recording


def of_slow_arm(late=0.0):
    """Return a recording of a slow arm, with friction that bends over its usual velocities."""
    recording = record(
        rate=200.0, duration=50.0, robot=TWOLINK, prefix='', bandwidth=SLOW)
    q = motion(recording.stamp * 1e-9 - 100.0 - late, TWOLINK, SLOW)
    recording.effort += FeedForward(TWOLINK).torque(q)[:, 0] - recording.torque[:, 0] + (
        np.array([1.0, 0.5]) * np.tanh(30.0 * q[:, 1]))
    return recording


def of_rough_panda():
    """Return a recording in which friction hides what the last joint carries."""
    recording = record(duration=12.0, bandwidth=0.6, prefix='fer_')
    recording.effort += 0.3 * np.tanh(recording.velocity / 0.02)
    return recording


@dataclass(frozen=True)
class Spoiled:
    """A recording with a mistake, and what the commands say of it.

    `said` and `unsaid` are words or patterns of the output, and `code` is the exit code of
    `hodyn identify`, which lists the first of `said` among its findings.
    """

    name: str
    change: Callable = unchanged
    said: tuple = ()
    unsaid: tuple = ()
    code: int = 0
    options: tuple = ()
    commands: tuple = ('replay', 'identify')
    made: Callable = of(12.0, bandwidth=0.6)
    robot: object = 'panda'

    def written(self, folder):
        """Write bag and robot; return the bag's path and the options of a command."""
        folder.mkdir(exist_ok=True)
        recording, robot = self.made(), self.robot
        self.change(recording)
        if not isinstance(robot, str):
            robot = str(folder / 'robot.yaml')
            hd.save_robot(self.robot, robot)
        path = write(folder / 'bag', {'/joint_states': messages(recording)})
        return path, ('--robot', robot, *self.options)

    def printed(self, command, folder, capsys, *options):
        """Return the exit code of a command, and what it prints, in one line."""
        path, given = self.written(folder)
        code = main((command, str(path), *given, '--output', str(folder / 'out'), *options))
        said = ' '.join(' '.join(capsys.readouterr()).split())
        return code, said.replace(f'! {path}: ', '! ')


def contains(text, words):
    """Return whether a text has words, or a pattern."""
    return bool(words.search(text)) if isinstance(words, re.Pattern) else words in text


LAG = (
    re.compile(
        r'Recorded efforts of shoulder run behind the prediction by (98|99|100|101)(\.\d+)? ± '
        r'\S+ ms \(two standard deviations\), unlike those of other joints\.'),
    re.compile(
        r'joints\. Friction and inertia .*: shift only the efforts of shoulder by its own lag, or '
        'correct'))
LOCKED = re.compile(
    r'lift is locked, but moves from 0\.\d+ to 0\.\d+ in the recording: its accelerations are '
    r'left out\. Do not lock it\.')
FOLLOWS = re.compile(
    r'pointer_joint is at \S+ in the recording, but as it follows tilt, the torque is computed '
    r'for \S+\. Correct its `mimic` in the robot file')
OTHER_CAUSES = (
    'torque, neither', 'torque, more', 'torque, far', 'last link carries', "motor's side",
    'another unit than N m')
HANGS = ('gravity has the opposite sign; they are compared with torques of the model that contain '
         'gravity')
WITHOUT = ('without gravity', 'not contain gravity')
LOAD = ('The arm may carry a load that the model lacks', 'resolve the doubts above')
ALL_IN_DEGREES = {'position': DEGREES, 'velocity': DEGREES}
on_slide = partial(Spoiled, made=of_arm, robot=ARM)
on_scara = partial(Spoiled, made=of(20.0, 100.0, robot=SCARA, bandwidth=1.5), robot=SCARA)
on_springs = partial(
    Spoiled, made=of(30.0, robot=RUBBING_TWOLINK, bandwidth=0.6), robot=RUBBING_TWOLINK)
unlocked = partial(Spoiled, made=of(20.0, 50.0, bandwidth=0.5))
replayed = partial(Spoiled, commands=('replay',))
identified = partial(Spoiled, commands=('identify',))

SPOILED = [
    on_slide('sound', unsaid=(re.compile(' ! (?!The model has no friction)'),)),
    *(on_slide(f'times {factor} times as long', stretched(factor), (
        f'those of all moving joints are about {factor} times the estimated ones, so the stamps, '
        'or all velocities, are wrong by this factor: were the stamps made for another sampling '
        'rate? Correct the driver.',), commands=commands) for factor, commands in (
            (2, ('identify', 'replay')), (1.25, ('replay',)))),
    on_slide('an encoder that fails', frozen, (re.compile(
        r'Positions stand still while the recorded velocities go on: elbow \(for \S+ s or more'
        r'\)\. Did an encoder, or the driver, fail\?'),)),
    on_slide('an encoder that fails for a while', resting, (re.compile(
        r'velocities go on: elbow \(for \S+ s or more, with a leap by \S+ rad at t = 12 s\)\. Did '
        'an encoder, or the driver, fail'),), ('slip',)),
    on_slide('a velocity that stays', stuck_velocity, (re.compile(
        r'those of shoulder do not fit: they are \S+ rad/s \(RMS\) off the estimated ones, '
        r'which are \S+ rad/s\. They get almost no weight\. Correct the driver\.'),),
        (re.compile('those of (?!shoulder)'), 'does not fit the'), commands=('replay',)),
    on_slide('an encoder that slips', slipped, (
        'Positions of elbow leap by +0.1 rad at t = 12 s, faster than any joint moves, and stay '
        'there.',),
        ('does not fit the', 'jumped', 'sampled by a clock', 'stand still', 'zero of')),
    on_slide('messages of zeros', blanked, (
        '40 messages have exactly 0 for every position',), (
        'does not fit the', 'publishers', 'leap', 'jumped'), commands=('replay',)),
    on_slide('an offset of a velocity', biased_velocity, (
        'those of elbow have an offset of +0.15 rad/s',), ('does not fit the', 'do not fit')),
    *(on_slide(name, change, (f'{said}. Correct the driver.',), (
        'does not fit the', 'friction', 'Recorded velocities', 'run '), 2)
      for name, change, said in (
          ('exchanged', exchanged, 'velocities and efforts seem to be exchanged'),
          ('exchanged positions', of_a_wrong_column,
           'positions and velocities seem to be exchanged'),
          ('copied', copied, 'as by a wrong index'))),
    on_slide('filtered velocities', filtered_velocities, unsaid=('another sampling rate',)),
    on_slide('one late joint', late(1), LAG, ('for all',)),
    on_slide('all late', late(0, 1, 2, 3), ('estimated for all joints together',),
             ('unlike those',), commands=('replay',)),
    Spoiled('soft friction', unsaid=('efforts run',), made=of_slow_arm, robot='twolink'),
    Spoiled('soft friction, late', said=(re.compile(
        r'Recorded efforts run behind the prediction by 1[3-6]\d ± [\d.]+ ms'),),
        made=partial(of_slow_arm, 0.15), robot='twolink'),
    *(maker(f'all efforts in {unit}', scaled(effort=factor), (
        f"The efforts are about {factor:g} times the model's torques, similarly in most joints: "
        f'they seem to be in {unit} (',), OTHER_CAUSES, options=options, made=of_arm, robot=ARM)
      for factor, unit in ((1e3, 'N mm'), (1e-3, 'kN m'))
      for maker, options in ((replayed, ()), (identified, ('--terms', 'zeros', 'friction')))),
    *(on_slide(f'efforts {joint} {unit}', scaled(joint, effort=factor), (
        f'Efforts of {ARM.joint_names[joint]} are about {factor:g} times those of the model: are '
        f'they {unit}',), OTHER_CAUSES)
      for joint, factor, unit in (
          (1, 1e3, 'in N mm'), (2, 1e3, 'in N mm'), (3, 1e3, 'in N mm'), (3, 1e-3, 'in kN m'))),
    *(on_slide(f'a slide in {unit}, {speed:g}', scaled(0, position=factor, velocity=speed), (
        f'Positions of lift are about {factor:g} times as large as its range allows: are they in '
        f'{unit}? Let the driver send metres.',), (
        'degrees', 'Recorded velocities', 'does not fit the model', *WITHOUT, 'Beyond'),
        code=2)
      for factor, unit in ((1000.0, 'mm'), (100.0, 'cm')) for speed in (factor, 1.0)),
    *(on_slide(f'one joint in degrees, {speed:g}', scaled(2, position=DEGREES, velocity=speed), (
        'Positions of elbow are about 57.3 times as large as its range allows: are they in '
        'degrees? Let the driver send radians.',), (
        'Recorded velocities', 'does not fit the model', *WITHOUT, 'Beyond'), code=2)
      for speed in (DEGREES, 1.0)),
    on_slide('mm beside degrees', scaled(**dict.fromkeys(
        ('position', 'velocity'), np.array([1000.0, DEGREES, DEGREES, DEGREES]))), (
        'Positions of lift are about 1000 times as large',
        'positions and velocities are in degrees'), commands=('replay',)),
    on_slide('swapped columns', rubbing_and_swapped, (
        'Positions of lift are mostly outside the range. All are inside if the joints ',
        'lift and shoulder are swapped'), ('efforts without gravity',), code=2),
    *(on_slide(f'{name}, {state}', *more, robot=robot, options=options)
      for name, robot, options in (
          ('locked', ARM, ('--lock', 'lift=0.3')),
          ('locked in the file', lifted_arm(locked_joints={'lift': 0.3}), ()))
      for state, *more in (
          ('moves', unchanged, (LOCKED,)), ('stands', standing(0, 0.5), (), ('is locked',)))),
    on_slide('a follower', following(1), (), (FOLLOWS,), robot=COUPLED_ARM),
    on_slide('a follower elsewhere', following(-1), (FOLLOWS,), robot=COUPLED_ARM),
    *(row for both, what in ((True, 'positions and velocities'), (False, 'positions')) for row in (
        on_scara(f'{what} in degrees beside metres', scaled(
            position=np.where(TURNS, DEGREES, 1.0),
            velocity=np.where(TURNS & both, DEGREES, 1.0)),
            (f'if {what} are in degrees. Let the ',), ('Recorded velocities',), code=2),
        on_scara(f'{what} of all joints in degrees', scaled(
            position=DEGREES, velocity=DEGREES if both else 1.0), (
            f'if {what} are multiplied by 180/π as into degrees, also those of prismatic joints. '
            'Let the driver send radians and metres.',), ('Recorded velocities', 'gears'),
            code=2))),
    Spoiled('of a light joint in N mm', scaled(6, effort=1e3), (re.compile(
        r'Efforts are far beyond their limits \(fer_joint7: \d+ times the limit\): are they in '
        'another unit, such as N mm, or of a slide in place of its nut'),),
        (*OTHER_CAUSES, 'of the effort of fer_joint7'), commands=('replay',), made=of_rough_panda),
    Spoiled('of the motors', scaled(position=100.0, velocity=100.0, effort=0.01),
            ('positions and velocities are about 100 times too large',), ('degrees',), code=2),
    *(replayed(*more, made=of(30.0, 100.0, robot=ELASTIC_PANDA, bandwidth=0.2),
               robot=ELASTIC_PANDA)
      for more in (
          ('before springs', unchanged, (), ('positions are those of the motors',)),
          ('behind springs', read_at_the_motors, (
              'positions are those of the motors', '% of the efforts unexplained',
              'motor position minus Q/K')))),
    on_springs('before springs with friction', unsaid=('of the motors', 'efforts run')),
    on_springs('behind springs with friction', read_at_the_motors, ('those of the motors',),
               ('efforts run',), 2),
    unlocked('another lock in the file', standing(6, 0.04), (
        'joint7 is locked at 0, but stands at 0.04 in the recording: the torque is computed for '
        'the lock. Lock it at 0.04 instead, with --lock; if the robot file locks it, make that '
        'file again.',), robot=hd.load_robot('panda', locked_joints={'joint7': 0.0})),
    *(unlocked(f'locked at 0, {name}', standing(6, positions), *more, commands=('replay',),
               options=('--lock', 'joint7=0'))
      for name, positions, *more in (
          ('near', 0.005, (), ('is locked',)),
          ('moves a little', np.linspace(0.0, 0.04, 1000), (
              'joint7 is locked at 0, but moves from 0 to 0.04 in the recording: the torque is '
              'computed for the lock. Do not',)),
          ('far', 0.3, ('locked at 0, but stands at 0.3 in the recording: the model has '
                        'another posture',)),
          # A whole block of messages without its position.
          ('far and seldom known', np.r_[np.full(800, np.nan), np.full(200, 0.3)],
           ('joint7 is locked at 0, but stands at 0.3 in the recording',)),
          ('moves far', np.linspace(0.0, 0.3, 1000), (
              'locked at 0, but moves from 0 to 0.3 in the recording: the model has',)))),
    # It asked for gains: what is wrong is the unit of the positions.
    identified('positions in degrees', scaled(position=DEGREES),
               ('would be left if positions are in degrees',),
               ('the unit of the recorded efforts',), code=2, made=of(40.0)),
    identified('a sign that the gains find', scaled(1, effort=-1.0), (),
               ('does not fit the model',), options=('--terms', 'gains', 'friction')),
    identified('degrees that no zeros find', scaled(**ALL_IN_DEGREES),
               ('does not fit the model',), code=2, options=('--terms', 'gains', 'zeros')),
    # A constant weight resembles an offset of the sensor.
    *(maker(f'upright, {options}', unchanged, (), (*WITHOUT, HANGS), robot=SCARA,
            made=of(20.0, robot=SCARA), options=options)
      for maker, options in (
          (replayed, ()), (identified, ('--terms', 'friction', 'offsets')))),
    *(maker(f'hung, {terms}', unchanged, (HANGS,), WITHOUT, code=2, robot=SCARA,
            made=of(20.0, robot=HUNG_SCARA), options=('--terms', *terms) if terms else ())
      for maker, *terms in (
          (replayed,), (identified, 'friction', 'offsets'), (identified, 'links', 'payload'),
          (identified, 'gains', 'zeros'))),
    # They were compared with torques without gravity.
    Spoiled('offsets', offset(0.0, 18.0, 0.0, -9.0, 0.0, 0.0, 0.0), (),
            (*WITHOUT, *OTHER_CAUSES)),
    replayed('an offset beside a constant weight', offset(0.0, 0.0, 5.0, 0.0), (
        'zeros of joints, or offsets, units',), robot=SCARA, made=of(20.0, robot=SCARA)),
    *(identified(f'a load and {terms}', unchanged, *more, options=('--terms', *terms),
                 made=of(12.0, robot=LOADED_PANDA, bandwidth=0.3))
      for terms, *more in (
          (('friction',), LOAD), (('friction', 'payload'), (), LOAD),
          (('links', 'friction'), (), LOAD), (('gains',), (), LOAD))),
    Spoiled('motor currents', scaled(effort=np.array([2.0, 3.3, 4.0, 5.0, 8.0, 10.0, 12.0])), (
        "The efforts of each joint are a different multiple of the model's torques (", 'Are they '
        'motor currents, or in another unit?'), ('carry a load', 'does not fit')),
    Spoiled('a factor of one joint', scaled(3, effort=1.25), (re.compile(
        r'Efforts of fer_joint4 are about 1\.2\d times the model\'s torques, unlike .* [\d.]+ % '
        r'of the efforts would be unexplained instead of [\d.]+ %\. Check the gear ratio'),),
        ('Errors within the bandwidth', 'does not fit')),
    Spoiled('a factor of a joint that carries much', scaled(1, effort=1.4), (
        "Efforts of fer_joint2 are about 1.4 times the model's torques, unlike",),
        (*LOAD, *OTHER_CAUSES)),
    Spoiled('on a tilted base', mounted(TILTED), (re.compile(
        r'The base seems to be tilted by 15 degrees: with gravity along \[2\.5\d+, \S+, '
        r'-9\.4\d+\], 0?\.?\d+ % of the efforts would be unexplained'),), ('does not fit',)),
]
# Their motion or their efforts are another: the first sentence says it.
MISREAD = [
    Spoiled('swapped names', renamed, ('the joints fer_joint2 and fer_joint4 are swapped',),
            code=2),
    Spoiled('degrees', scaled(**ALL_IN_DEGREES), ('positions and velocities are in degrees',),
            code=2),
    Spoiled('sign of an effort', scaled(1, effort=-1.0),
            ('fer_joint2 has efforts of the opposite sign',), code=2),
    Spoiled('all signs of the motion', scaled(position=-1.0, velocity=-1.0), (
        'would be left if every joint has positions of the opposite sign.',), code=2),
    Spoiled('on a wall', mounted(WALL), (
        'left if the base is mounted so that gravity points along +x of its axes. Give the '
        'base_pose in the robot file, or write gravity: [9.807, 0, 0] there.',), code=2),
    Spoiled('zeros a quarter turn off', shifted(joint2=0.5 * np.pi, joint4=-0.5 * np.pi), (
        'positions of fer_joint2 are 0.5 π rad too large; positions of fer_joint4 are 0.5 π rad '
        'too small',), code=2),
    Spoiled('of no arm', of_no_arm, ('None of these, up to four at once, explains it',), code=2),
    # The motion is that of the positions.
    Spoiled('sign of a velocity', scaled(2, velocity=-1.0),
            ('those of fer_joint3 have the opposite sign',)),
    Spoiled('no velocities', scaled(velocity=0.0),
            ('the motion is estimated: those of fer_joint1, fer_joint2',)),
]
