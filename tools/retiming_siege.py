"""Random paths on random arms, retimed, and judged without any of the package's limits.

    python tools/retiming_siege.py --cases 300 --seed 1

A case is an arm (with stopping laws, springs, pairs of motors or none), a part of each of its
limits and of its motors', down to 0.05 where that still holds the arm (with its weight or
without), what it is commanded, and a path: waypoints, samples of a curve however far apart,
samples that jitter, waypoints with velocities. Pinocchio, the laws of friction and springs written
out here, and differences of the positions say what the motion takes; where velocity, acceleration
and torque alone bind, toppra says how long it must take at least.
"""
import argparse
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
import sys
import time

import numpy as np
from scipy.interpolate import CubicSpline

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import AntagonisticExponential, LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans import PlanRequest, PlanSettings, prepare_plan

sys.path.append(str(Path(__file__).parents[1]))
from benchmarks.peers import installed, pinocchio_model

PERIOD = 1e-3
# Differences over 1 ms are means of the derivatives, and no larger; positions have round-off.
TOLERANCE = 2e-4
ARMS = ('panda', 'fr3', 'iiwa14', 'ur10e')
TIGHT, LEAST = 0.3, 0.05
# Of what holding the arm takes at the points: between them it may take more.
ROOM = 1.3
BINDS = 0.98
LONG = 10.0  # s


@dataclass(frozen=True, eq=False)
class Case:
    """What is retimed; `part` is how much of each quantity's limit the arm has."""

    seed: int
    request: PlanRequest
    part: dict
    kind: str
    actuators: str

    def __str__(self):
        parts = ', '.join(f'{name} {np.min(part):.2f}' for name, part in self.part.items())
        return (
            f'seed {self.seed}: {self.request.robot.name} {self.actuators}, {self.kind}, '
            f'{len(self.request.trajectory.times)} points, '
            f'{self.request.settings.commands} commands; {parts}')

    @property
    def is_convex(self):
        """Whether toppra knows all that can bind."""
        robot = self.request.robot
        return not self.actuators and not robot.limits.depend_on_position.any() and all(
            np.isinf(self.part[name]) for name in ('jerk', 'effort_rate'))


def with_part(robot, part):
    """Return a robot with parts of its limits, and of its vendor's."""
    limits = replace(robot.limits, **{
        name: getattr(robot.limits, name) * share for name, share in part.items()})
    reflexes = robot.reflexes and replace(robot.reflexes, stops=tuple(
        replace(stop, limit=stop.limit * part.get(stop.quantity, 1.0))
        for stop in robot.reflexes.stops))
    return replace(robot, limits=limits, reflexes=reflexes)


def with_motors(rng, robot, kind, held, effort):
    """Return a robot whose motors are hardly faster, or hardly stronger, than its links.

    Of motor torque and deflection some are limited, to what `held` (n,) and a part of `effort`
    (n,) take.
    """
    if not kind:
        return robot
    law = LinearSpring(float(rng.uniform(1000.0, 5000.0))) if kind == 'sea' else (
        AntagonisticExponential(2.0, 10.0, float(rng.uniform(6000.0, 9000.0))))
    limited = rng.random(2) < 0.7
    loads = np.maximum(ROOM * held, a_part(rng, 2)[:, None] * effort)
    joints = []
    for speed, (strong, soft) in zip(robot.limits.velocity, loads.T, strict=True):
        motor = Motor(
            float(rng.uniform(0.1, 0.5)), viscous=float(rng.uniform(0.0, 2.0)),
            max_velocity=float(
                rng.uniform(0.8, 2.0) * (speed if np.isfinite(speed) else 3.0)),
            max_effort=float(pulled(law, strong)[0][0]) if limited[0] else np.inf)
        joints.append(JointActuator(
            law, motor, float(pulled(law, soft)[1][0]) if limited[1] else np.inf))
    return replace(robot, actuators=Actuators(robot.joint_names, tuple(joints)))


def pulled(law, load):
    """Return what each spring of a law carries, and by how much it is longer, under a load."""
    if isinstance(law, LinearSpring):
        return [load], [load / law.stiffness]
    # Two tendons of f = a (exp(b x) - 1): f1 - f2 = load, f1' + f2' = stiffness.
    sums = [law.stiffness / law.rate + sign * load for sign in (1.0, -1.0)]
    return ([0.5 * one - law.scale for one in sums],
            [np.log(one / (2.0 * law.scale)) / law.rate for one in sums])


def a_part(rng, count=None):
    """Return a part of a limit, evenly from octave to octave."""
    return np.exp(rng.uniform(np.log(LEAST), 0.0, count))


def with_stopping_law(rng, robot):
    """Return a robot whose speeds fall towards the ends of its range."""
    limits = robot.limits
    return replace(robot, limits=replace(
        limits, stopping_min=limits.position_min + 0.01, stopping_max=limits.position_max - 0.01,
        stopping_deceleration=rng.uniform(1.0, 10.0, robot.n),
        stopping_offset=rng.uniform(0.0, 0.3, robot.n)))


def points_in_range(rng, robot, count, reach):
    """Return random points, (count, n), of which a curve through them stays in range."""
    low, high = robot.limits.position_min, robot.limits.position_max
    if robot.limits.depend_on_position.any():
        # With the room that the law's offset takes.
        room = robot.limits.stopping_offset**2 / (2.0 * robot.limits.stopping_deceleration)
        low = np.maximum(low, robot.limits.stopping_min + room)
        high = np.minimum(high, robot.limits.stopping_max - room)
    low, high = np.maximum(low, -3.0), np.minimum(high, 3.0)
    return 0.5 * (low + high) + 0.5 * (high - low) * reach * rng.uniform(-1.0, 1.0, (
        count, robot.n))


def path(rng, robot):
    """Return the kind of a path, and times, positions, velocities and accelerations of it."""
    kind = str(rng.choice(['waypoints', 'samples', 'jittering samples', 'with velocities']))
    points = points_in_range(rng, robot, int(rng.integers(2, 9)), float(rng.uniform(0.1, 0.6)))
    if kind == 'waypoints':
        return kind, np.cumsum(rng.uniform(0.5, 4.0, len(points))), points, [], []
    if len(points) < 3:
        points = np.vstack((points, points[:1] + 0.1))
    curve = CubicSpline(np.arange(len(points)), points)
    count = int(rng.integers(60, 500)) if 'samples' in kind else 2 * len(points)
    at = np.linspace(0.0, len(points) - 1.0, count)
    spacing = float(np.exp(rng.uniform(np.log(2e-3), np.log(1.0))))
    q = curve(at)
    if 'jitter' in kind:
        q += 1e-5 * rng.standard_normal(q.shape)
    if 'samples' in kind:
        return kind, spacing * np.arange(count), q, [], []
    rate = at[1] / spacing
    velocity, acceleration = curve(at, 1) * rate, curve(at, 2) * rate**2
    velocity[[0, -1]] = acceleration[[0, -1]] = 0.0
    return kind, spacing * np.arange(count), q, velocity.tolist(), acceleration.tolist()


def made(seed):
    """Return a case."""
    rng = np.random.default_rng(seed)
    robot = hd.load_robot(str(rng.choice(ARMS)))
    if not robot.limits.depend_on_position.any() and rng.random() < 0.2:
        robot = with_stopping_law(rng, robot)
    kind, times, q, velocity, acceleration = path(rng, robot)
    lowest, highest = robot.limits.position_min + 0.02, robot.limits.position_max - 0.02
    q = np.clip(q, lowest, highest)
    tight = rng.random(4) < 0.6
    parts = np.where(tight, a_part(rng, 4), 1.0)
    has_rates = bool(rng.random() < 0.7)  # else toppra knows all that binds
    if not has_rates:
        parts[2:] = np.inf
    part = dict(zip(('velocity', 'acceleration', 'jerk', 'effort_rate'), parts, strict=True))
    if rng.random() < 0.4:
        robot = robot.with_gravity((0.0, 0.0, 0.0))
    held = holding(robot, q)
    part['effort'] = np.clip(ROOM * held / robot.limits.effort, a_part(rng), 1.0)
    actuators = str(rng.choice(['', 'sea', 'vsa'])) if has_rates else ''
    robot = with_motors(rng, with_part(robot, part), actuators, held, robot.limits.effort)
    settings = PlanSettings(
        stretch='retime', commands=str(rng.choice(['effort', 'position'])),
        allow_nonzero_velocity_at_end=True)
    return Case(seed, PlanRequest(
        JointWaypoints(
            robot.joint_names, (times - times[0]).tolist(), q.tolist(), velocity, acceleration),
        robot, settings), part, kind, actuators)


def holding(robot, q):
    """Return what it takes to hold the arm near points, and to move it slowly, (n,)."""
    curve = CubicSpline(np.arange(len(q)), q)
    still = np.zeros((400, 5, robot.n))
    still[:, 0] = curve(np.linspace(0.0, len(q) - 1.0, len(still)))
    needed = np.abs(FeedForward(robot).torque(still)[:, 0]).max(axis=0)
    return needed if robot.friction is None else needed + robot.friction.amplitude


def taken(pin, robot, plan):
    """Return by quantity the largest share of its limit that a plan takes, by differences."""
    count = int(np.ceil(plan.duration / PERIOD))
    rest = 6
    t = PERIOD * np.arange(-rest, count + rest + 1)
    q = plan.evaluate(t)[:, 0]
    v, a = (np.gradient(np.gradient(q, PERIOD, axis=0), PERIOD, axis=0) if k == 2
            else np.gradient(q, PERIOD, axis=0) for k in (1, 2))
    first = np.diff(q, axis=0) / PERIOD
    second, third = np.diff(first, axis=0) / PERIOD, np.diff(first, 2, axis=0) / PERIOD**2
    model = pinocchio_model(pin, robot)
    data = model.createData()
    rigid = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a, strict=True)])
    weight = np.array([pin.computeGeneralizedGravity(model, data, row) for row in q])
    others = np.zeros_like(rigid)
    law = robot.friction
    if law is not None:
        def sigmoid(speed):
            return law.amplitude / (1.0 + np.exp(-law.slope * (speed + law.velocity_offset)))

        others = sigmoid(v) - sigmoid(0.0)
        if np.size(law.viscous):
            others = others + law.viscous * v
    if robot.rotor_inertia is not None:
        others = others + robot.rotor_inertia * a
    torque = rigid + others
    limits = robot.limits
    found = {
        'position': max(0.0, 1.0 + float(np.maximum(
            limits.position_min - q, q - limits.position_max).max())),
        'acceleration': share(second, limits.acceleration), 'jerk': share(third, limits.jerk),
        'effort': share(torque, limits.effort),
        'effort_rate': share(np.diff(torque, axis=0) / PERIOD, limits.effort_rate),
        'velocity': velocity_share(limits, q, first)}
    if robot.reflexes is not None:
        commanded = torque if robot.reflexes.gravity else torque - weight
        rate = np.diff(commanded, axis=0) / PERIOD
        for stop in robot.reflexes.stops:
            values = {'velocity': first, 'acceleration': second, 'jerk': third, 'effort': torque,
                      'effort_rate': rate}[stop.quantity]
            found[f'{stop.commands}: {stop.name}'] = share(values, stop.limit[0])
    found.update(motors(robot, q, torque))
    return found


def share(values, limit):
    """Return the largest part of a limit that values take."""
    return float((np.abs(values) / limit).max())


def velocity_share(limits, q, velocity):
    """Return it of velocities, whose limits may fall towards the ends of the range."""
    middle = 0.5 * (q[1:] + q[:-1])
    bounds = []
    for room in (limits.stopping_max - middle, middle - limits.stopping_min):
        with np.errstate(invalid='ignore'):
            law = np.sqrt(2.0 * limits.stopping_deceleration * np.maximum(room, 0.0)) - (
                limits.stopping_offset)
        law = np.where(np.isfinite(limits.stopping_deceleration), np.maximum(law, 1e-9), np.inf)
        bounds.append(np.minimum(limits.velocity, law))
    return float((np.where(velocity > 0.0, velocity / bounds[0], -velocity / bounds[1])).max())


def motors(robot, q, torque):
    """Return it of the motors behind springs, and of the springs."""
    if robot.actuators is None:
        return {}
    found = {'motor_velocity': [], 'motor_effort': [], 'deflection': [], 'tension': []}
    for i, joint in enumerate(robot.actuators.joints):
        law, motor = joint.law, joint.motor
        carried, longer = pulled(law, torque[:, i])
        for sign, force, stretch in zip((1.0, -1.0), carried, longer, strict=False):
            turned = q[:, i] + sign * stretch
            speed = np.diff(turned) / PERIOD
            effort = sign * force[1:-1] + motor.inertia * np.diff(speed) / PERIOD + (
                motor.viscous * 0.5 * (speed[1:] + speed[:-1]))
            found['motor_velocity'].append(share(speed, motor.max_velocity))
            found['motor_effort'].append(share(effort, motor.max_effort))
            found['deflection'].append(share(stretch, joint.max_deflection))
            if len(carried) > 1:  # tendons do not push
                found['tension'].append(1.0 - float(force.min()) / law.scale)
    return {name: max(shares) for name, shares in found.items() if shares}


def judged(case, pin, toppra=None):
    """Return the prepared plan, what it takes, and the part of toppra's time, None unasked."""
    prepared = prepare_plan(case.request)
    if prepared.refusal:
        return prepared, {}, None
    other = 'position' if case.request.settings.commands == 'effort' else 'effort'
    shares = {
        name: part for name, part in taken(pin, case.request.robot, prepared.plan).items()
        if not name.startswith(other)}
    ratio = None
    if toppra is not None and case.is_convex:
        from benchmarks.retiming import toppra_duration

        ratio = prepared.plan.duration / toppra_duration(
            toppra, prepared.plan, case.request.robot)
    return prepared, shares, ratio


def main():
    """Run all, print what went wrong and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--cases', type=int, default=300)
    parser.add_argument('--seed', type=int, default=1, help='of the first case')
    options = parser.parse_args()
    pin, toppra = installed('pinocchio'), installed('toppra')
    refused, beyond, ratios, gains, seconds, slower = [], [], [], [], [], []
    binding = Counter()
    for seed in range(options.seed, options.seed + options.cases):
        case = made(seed)
        begin = time.perf_counter()
        prepared, shares, ratio = judged(case, pin, toppra)
        seconds.append(time.perf_counter() - begin if not prepared.retimed else (
            prepared.retimed.seconds))
        if prepared.refusal:
            refused.append(case)
            print(f'refused: {case}\n  {prepared.refusal}', flush=True)
            continue
        if seconds[-1] > LONG:
            print(f'{seconds[-1]:.1f} s: {case}', flush=True)
        binding.update(name for name, part in shares.items() if part > BINDS)
        worst = max(shares, key=shares.__getitem__)
        if shares[worst] > 1.0 + TOLERANCE:
            beyond.append(case)
            print(f'beyond: {case}\n  {worst} {shares[worst]:.5f} of its limit', flush=True)
        if ratio is not None:
            ratios.append(ratio)
            if ratio > 1.03:
                print(f'slow: {case}\n  {ratio:.4f} of the time of toppra', flush=True)
        uniform = prepared.retimed.uniform_stretch_duration
        if uniform is not None:
            if prepared.plan.duration > uniform * (1.0 + 1e-9):
                slower.append(case)
                print(f'slower than the uniform stretch: {case}', flush=True)
            if min(case.part['jerk'], case.part['effort_rate']) < TIGHT:
                gains.append(prepared.plan.duration / uniform)
    print(
        f'{options.cases} cases: {len(refused)} refused, {len(beyond)} beyond a limit, '
        f'{len(slower)} slower than the uniform stretch; '
        f'{median(seconds):.2f} s in the median, {max(seconds):.2f} s at most')
    print(f'within {1.0 - BINDS:.0%} of the limit in so many:',
          ', '.join(f'{name} {count}' for name, count in binding.most_common()))
    for name, values in (
            ("of toppra's time", ratios), ('of the uniform stretch, rates tight', gains)):
        if values:
            print(f'{name}: median {median(values):.4f}, worst {max(values):.4f} of {len(values)}')
    sys.exit(bool(refused or beyond or slower))


if __name__ == '__main__':
    main()
