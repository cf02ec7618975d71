"""Identify arms simulated in MuJoCo from recordings, and judge the results by another recording.

    python tools/arm_cases.py --seeds 3 [--robot panda] [--first 0] [--keep DIR]

Each seed makes one arm. The masses and centres of mass of its links are off by 5 to 10 %, the
inertias by up to 21 %. Its joints have rotors, and friction with presliding and Stribeck's effect
(LuGre's law, IEEE TAC 40(3), 1995); its drives report quantised, noisy currents of unknown gain.
The arm tracks three motions of `hodyn excite`. `hodyn identify` gets two of the recordings; the
third judges the file that it writes.

Two other models are judged for comparison. Both know the true links, rotors and gains: `best law`
fits the same friction law to the same two recordings, and `all known` has the friction torque that
acted in the simulator. A friction law without memory cannot give this torque. All models get the
same motion, which is estimated from the third recording.
"""
import argparse
from dataclasses import dataclass, replace
from pathlib import Path
import tempfile

import numpy as np
from recordings import joint_state, write
import yaml

from hodyn_ros import load_robot
from hodyn_ros.cli.main import main as hodyn
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.excitation import design
from hodyn_ros.identification.payload import Payload, log_cholesky, rigid_body
from hodyn_ros.identification.recordings import Source
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.simulation.rigid_arm import SimulatedArm

STEP = 2.5e-4
CONTROL = 4  # steps
RATE = 250.0
TERMS = ('links', 'friction', 'viscous', 'rotor', 'gains')
PAIRS = (('identified', 'best law'), ('identified', 'all known'))


@dataclass
class Friction:
    """LuGre's law, one entry a joint: Coulomb, static, Stribeck velocity, stiffness, viscous."""

    coulomb: np.ndarray
    static: np.ndarray
    stribeck: np.ndarray
    stiffness: np.ndarray
    viscous: np.ndarray

    def __post_init__(self):
        self.bristle = np.zeros_like(self.coulomb)

    def step(self, velocity, dt):
        """Move the bristles by dt; return the torque that resists, (n,)."""
        level = self.coulomb + (self.static - self.coulomb) * np.exp(
            -(velocity / self.stribeck) ** 2)
        # Exact for a constant velocity: the bristles never stretch beyond their level.
        rate = self.stiffness * np.abs(velocity) / level
        end = np.sign(velocity) * level / self.stiffness
        self.bristle = end + (self.bristle - end) * np.exp(-rate * dt)
        return self.stiffness * self.bristle + self.viscous * velocity


@dataclass
class Arm:
    """The true robot, friction and gains of an arm, which its bags do not contain."""

    robot: object
    friction: Friction
    gain: np.ndarray


def make_arm(given, rng):
    """Return an arm near the given robot."""
    def off(size=None):
        return 1.0 + rng.choice([-1.0, 1.0], size) * rng.uniform(0.05, 0.10, size)

    bodies = []
    for body in given.bodies:
        factor = off()
        theta = log_cholesky(
            body.mass * factor, body.com * off(3), body.inertia * factor * off())
        bodies.append(replace(body, mass=body.mass * factor, com=theta[1:4],
                              inertia=rigid_body(theta).inertia))
    n = given.n
    coulomb = 0.1 * np.sqrt(given.limits.effort) * rng.uniform(0.7, 1.3, n)
    friction = Friction(
        coulomb, coulomb * rng.uniform(1.0, 1.3, n), rng.uniform(0.03, 0.1, n),
        coulomb / rng.uniform(1e-3, 5e-3, n), coulomb * rng.uniform(0.3, 1.0, n))
    rotor = 1e-3 * given.limits.effort * rng.uniform(0.7, 1.3, n)
    return Arm(
        replace(given, bodies=tuple(bodies), friction=None, rotor_inertia=rotor), friction,
        given.limits.effort / 8.0 * rng.uniform(0.8, 1.2, n))


def run_arm(arm, given, motion):
    """Track a motion (T, 5, n), one row per control step.

    Returns q, q̇, efforts and friction torques, (4, T, n).
    """
    plant = SimulatedArm(arm.robot, motion[0, 0])
    model = FeedForward(replace(given, friction=None))
    wanted = model.torque(motion)[:, 0]
    stiff = 6.0 * given.limits.effort
    damping = 0.06 * stiff
    rubbing = arm.friction
    rubbing.bristle[:] = 0.0
    out = np.zeros((4, len(motion), given.n))
    for t, q in enumerate(motion):
        torque = wanted[t] + stiff * (q[0] - plant.q) + damping * (q[1] - plant.qd)
        resists = 0.0
        out[:3, t] = plant.q, plant.qd, torque
        for _ in range(CONTROL):
            friction = rubbing.step(plant.qd, STEP)
            plant.step(torque - friction, STEP)
            resists = resists + friction / CONTROL
        out[3, t] = resists
    return out


def make_bag(path, arm, given, motion, rng):
    """Write the recording of a motion; return the friction torques at its samples, (T, n)."""
    q, qd, torque, friction = run_arm(arm, given, motion)
    every = round(1.0 / (RATE * CONTROL * STEP))
    rows = slice(None, None, every)
    stamp = 10 ** 11 + np.round(
        1e9 * CONTROL * STEP * np.arange(len(q))[rows]).astype(np.int64)
    shape = q[rows].shape
    current = torque[rows] / arm.gain + 0.01 * rng.standard_normal(shape)
    quantum = 0.01
    names = given.joint_names
    rows_of = (q[rows] + 2e-5 * rng.standard_normal(shape),
               qd[rows] + 1e-3 * rng.standard_normal(shape),
               quantum * np.round(current / quantum))
    write(path, {'/joint_states': [
        (int(s) + 250_000, joint_state(s, names, *values))
        for s, *values in zip(stamp, *rows_of, strict=True)]})
    return friction[rows]


def read(path, robot):
    """Return the motion as estimated and the currents of a bag."""
    pieces = list(Source(robot).motion(path).pieces())
    return (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ('q', 'effort'))


def error(file, path, arm):
    """Return the RMS errors of the currents that a robot file predicts for a bag, (n,).

    The true gains convert them to N m.
    """
    robot = load_robot(file)
    q, current = read(path, replace(robot, effort_gain=None))
    left = FeedForward(robot).torque(q)[:, 0] / robot.effort_gain - current
    return arm.gain * np.sqrt(np.mean(left ** 2, axis=0))


def case(seed, source, folder, *, duration, terms):
    """Make an arm and three bags, and judge each model by the third.

    Returns RMS errors (n,) by model, and the standard deviations (n,) of the efforts, N m.
    """
    rng = np.random.default_rng(seed)
    given = replace(load_robot(source), friction=None)
    arm = make_arm(given, rng)
    bags, frictions = [], []
    for k in range(3):
        motion = design(
            given, period=duration, seed=3 * seed + k, share=0.6, trials=50,
            points=round(duration / (CONTROL * STEP)) + 1).q
        bags.append(folder / f'bag{k}')
        frictions.append(make_bag(bags[-1], arm, given, motion, rng))
    keys = robot_keys(source)
    keys.pop('friction', None)
    start = folder / 'given.yaml'
    start.write_text(yaml.safe_dump(keys), 'utf-8')
    drives = {'effort_gain': arm.gain, 'rotor_inertia': arm.robot.rotor_inertia}
    truth = Estimate(joints=drives, links=tuple(
        Payload(body.mass, body.com, body.inertia) for body in arm.robot.bodies))
    write_robot(str(start), given, truth, folder / 'truth.yaml', force=True)
    files = {}
    for label, start, some in (
            ('identified', 'given', terms), ('best law', 'truth', ('friction', 'viscous'))):
        hodyn([
            'identify', *map(str, bags[:2]), '--robot', str(folder / f'{start}.yaml'),
            '--output', str(folder / label), '--force', '--terms', *some])
        files[label] = next((folder / label).glob('*_identified.yaml'))
    errors = {label: error(file, bags[2], arm) for label, file in files.items()}
    q, current = read(bags[2], arm.robot)
    assert len(q) == len(frictions[2])
    left = FeedForward(arm.robot).torque(q)[:, 0] + frictions[2] - arm.gain * current
    errors['all known'] = np.sqrt(np.mean(left ** 2, axis=0))
    signal = arm.gain * np.std(current, axis=0)
    return errors, signal


def main():
    """Judge arm after arm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--robot', default='panda')
    parser.add_argument('--duration', type=float, default=20.0, help='of each bag, s')
    parser.add_argument('--terms', nargs='+', default=TERMS)
    parser.add_argument('--keep', type=Path)
    options = parser.parse_args()
    table = []
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) if options.keep is None else options.keep / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            errors, signal = case(
                seed, options.robot, folder, duration=options.duration, terms=options.terms)
        table.append(errors)
        for label, values in {'signal': signal, **errors}.items():
            print(f'{seed:3d} {label:12s}', ' '.join(f'{value:8.4f}' for value in values))
        for one, other in PAIRS:
            print(f'{seed:3d} {one} / {other}:', ' '.join(
                f'{value:6.3f}' for value in errors[one] / errors[other]), flush=True)
    for one, other in PAIRS:
        ratios = np.array([row[one] / row[other] for row in table])
        print(f'{one} / {other}: at most {ratios.max():.3f}, median {np.median(ratios):.3f} of '
              f'{ratios.size} joints')


if __name__ == '__main__':
    main()
