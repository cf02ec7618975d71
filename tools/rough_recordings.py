"""Motions of the built-in arms with rough efforts: wrong links, friction, bias and noise."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.diagnosis import DiagnosisSamples

ROBOTS = [hd.load_robot(name) for name in ('panda', 'iiwa14', 'ur10e', 'fr3')]


def motion(rng, robot, size=1.0, count=100):
    """Return q … q⁗, (count, 5, n), of 10 s: two sines a joint within its range."""
    low, high = (np.clip(bound, -3.0, 3.0) for bound in (
        robot.limits.position_min, robot.limits.position_max))
    middle = low + (high - low) * rng.uniform(0.35, 0.65, robot.n)
    span = size * np.minimum(high - middle, middle - low) * rng.uniform(0.3, 0.8, robot.n)
    time, q = np.linspace(0.0, 10.0, count)[:, np.newaxis], np.zeros((count, 5, robot.n))
    q[:, 0] = middle
    for share in (0.7, 0.3):
        omega, phase = rng.uniform(0.6, 2.5, robot.n), rng.uniform(0.0, 6.3, robot.n)
        for k in range(5):
            q[:, k] += share * span * omega ** k * np.sin(time * omega + phase + k * np.pi / 2.0)
    return q


def recorded(rng, robot, *, off=0.0, size=1.0, count=100):
    """Return a motion and its efforts, of an arm whose links are off, with friction and noise."""
    bodies = tuple(replace(
        body, mass=body.mass * max(1.0 + off * rng.standard_normal(), 0.2),
        com=body.com + 0.2 * off * np.abs(body.com).max() * rng.standard_normal(3),
    ) for body in robot.bodies)
    q = motion(rng, robot, size, count)
    effort = FeedForward(replace(robot, bodies=bodies, friction=None)).torque(q)[:, 0]
    scale = np.sqrt(np.mean(effort ** 2, axis=0))
    slow = np.exp(-np.abs(q[:, 1]) / 0.05)
    effort += scale.max() * rng.uniform(0.0, 0.05, robot.n) * (1.0 + 0.5 * slow) * np.tanh(
        q[:, 1] / rng.uniform(0.005, 0.05, robot.n))
    effort += scale * rng.uniform(0.0, 0.1, robot.n) * q[:, 1]
    effort += scale.max() * rng.uniform(-0.02, 0.02, robot.n)
    effort += (0.01 + 0.03 * scale * rng.uniform()) * rng.standard_normal(effort.shape)
    q += np.array([1e-4, 1e-3, 5e-3, 0.0, 0.0])[:, np.newaxis] * rng.standard_normal(q.shape)
    return q, effort


def diagnosed(q, effort, velocity, robot=ROBOTS[0], **samples):
    """Return what a report says of the motion, efforts and velocities of a robot.

    `samples` are other slow efforts or instants, and where parts begin.
    """
    few = DiagnosisSamples(robot)
    few.add(SimpleNamespace(**{
        'q': q, 'slow': np.stack([effort, effort], axis=1),
        'instants': 100_000_000 * np.arange(len(q)), 'leap': np.zeros_like(effort),
        'states': SimpleNamespace(position=q[:, 0], velocity=velocity, effort=effort), **samples}))
    return few.diagnosis(FeedForward(robot), robot.joint_names, SimpleNamespace(
        gear_ratios=np.full(robot.n, np.nan), with_gravity=True, gravity_share=1.0))


def robots_of(seeds):
    """Yield for each seed its generator and its robot."""
    for seed in seeds:
        yield seed, np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
