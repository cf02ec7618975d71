"""Made logs of joint states whose instants are known."""
import numpy as np
from recordings import motion

from hodyn_ros.estimation.timing import analyse
from hodyn_ros.messages.joint_state_bag import JointStates

PERIOD = 1e-3
POSITION_NOISE, VELOCITY_NOISE = 5e-6, 1e-3


def states(stamps, instants, seed, *, velocity=True, lag=0.0):
    """Return joint states sampled at instants; equal instants are one sample that was reread."""
    rng = np.random.default_rng(seed)
    instants, sample = np.unique(instants, return_inverse=True)
    q, late = motion(instants), motion(instants - lag)
    position = q[:, 0] + POSITION_NOISE * rng.standard_normal(q[:, 0].shape)
    speed = late[:, 1] + VELOCITY_NOISE * rng.standard_normal(q[:, 0].shape)
    if not velocity:
        speed = np.full_like(speed, np.nan)
    effort = rng.standard_normal(q[:, 0].shape)
    stamp = np.round(stamps * 1e9).astype(np.int64)
    return JointStates(stamp, stamp + 250_000, *(
        values[sample] for values in (position, speed, effort)))


def polled(seed, duration=6.0, drift=4e-4, jitter=0.2):
    """Return stamps of a reader of the newest state at 1 kHz, and the states' instants.

    Its clock and the controller's differ; now and then it is held up for some milliseconds.
    """
    rng = np.random.default_rng(seed)
    ticks = np.arange(int(duration / PERIOD)) * PERIOD * (1.0 + drift) + rng.uniform(0.0, PERIOD)
    reads = np.arange(len(ticks)) * PERIOD + jitter * PERIOD * rng.standard_normal(len(ticks))
    reads += (rng.random(len(ticks)) < 2e-3) * np.minimum(
        rng.exponential(2e-3, len(ticks)), 3e-3)
    reads = np.maximum.accumulate(reads + 1e-6 * np.arange(len(ticks)) / len(ticks))
    reads = reads[(reads > ticks[0]) & (reads < ticks[-1])]
    reads = reads[np.append(True, np.diff(np.round(reads * 1e9)) > 0)]
    return reads, ticks[np.searchsorted(ticks, reads, side='right') - 1]


def nearly_even(seed, duration=12.0):
    """Return stamps of a reader hardly slower than the controller, and the states' instants."""
    rng = np.random.default_rng(seed)
    ticks = np.arange(int(duration / PERIOD)) * PERIOD * (1.0 + 3e-5) + rng.uniform(0.0, PERIOD)
    reads = np.cumsum(PERIOD + rng.exponential(6e-7, len(ticks)))
    reads = reads[(reads > ticks[0]) & (reads < ticks[-1])]
    return reads, ticks[np.searchsorted(ticks, reads, side='right') - 1]


def moving(time, period, noise=1e-6):
    """Return positions and velocities of joints that swing, as fast as it is sampled."""
    omega = np.linspace(0.6, 2.0, 5) * min(1e-2 / period, 2.0)
    angle = omega * time[:, None] + np.linspace(0.0, 2.0, 5)
    rng = np.random.default_rng(0)
    return (np.sin(angle) + noise * rng.standard_normal(angle.shape), omega * np.cos(angle))


def analysed(stamps, position, velocity):
    """Return what is found of states that are stamped so."""
    stamp = np.round(1e9 * (stamps + 3.0)).astype(np.int64)
    return analyse(JointStates(stamp, stamp, position, velocity, np.full_like(position, np.nan)))
