"""Made logs of joint states whose instants are known."""
from dataclasses import dataclass, replace

import numpy as np
from recordings import motion

from hodyn_ros.estimation.sampling_clock import sampling_instants
from hodyn_ros.estimation.timing import Run, StampStatus, analyse
from hodyn_ros.messages.joint_state_bag import JointStates

PERIOD = 1e-3
POSITION_NOISE, VELOCITY_NOISE = 5e-6, 1e-3


def states(stamps, instants, seed, *, velocity=True, lag=0.0, joints=7):
    """Return joint states sampled at instants; equal instants are one sample that was reread."""
    rng = np.random.default_rng(seed)
    instants, sample = np.unique(instants, return_inverse=True)
    q, late = (motion(time)[:, :, :joints] for time in (instants, instants - lag))
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


@dataclass(frozen=True, eq=False)
class Log:
    """Messages, their stamps and the true instants of their samples, s; `period` is the clock's.

    `older` are the last stamps under which older samples were seen, if some were read again.
    """

    time: np.ndarray
    stamps: np.ndarray
    period: float
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    older: np.ndarray | None = None

    def __getitem__(self, index):
        return replace(self, **{
            name: getattr(self, name)[index] for name in (
                'time', 'stamps', 'position', 'velocity', 'effort')})

    def instants(self):
        """Return the instants that are found if each message is a new sample."""
        older = never(self.stamps) if self.older is None else self.older
        return sampling_instants(self.stamps, older, self.position, self.velocity)

    def states(self):
        """Return the joint states as a bag has them."""
        stamp = np.round(1e9 * (self.stamps + 3.0)).astype(np.int64)
        return JointStates(stamp, stamp + 250_000, self.position, self.velocity, self.effort)

    def timing(self):
        """Return what `analyse` finds in the messages."""
        return analyse(self.states())

    def errors(self, parts):
        """Return the errors of each part's instants, s, less the delay that is common to all."""
        found, begin = [], 0
        for part in parts:
            message = part.first_message if isinstance(part, Run) else (
                begin + np.arange(len(part.time)))
            begin += len(part.time)
            off = part.time - self.time[message]
            found.append(off - np.median(off))
        return found


def never(stamps):
    """Return when older samples were seen, of a reader who receives each one once."""
    return np.append(-np.inf, stamps[:-1])


def swinging(
    time, stamps, period, noise=1e-6, *, clock=None, slow=1.0, recorded=True, older=None,
):
    """Return a log of joints that swing, as fast as for a sampling period or slower."""
    position, velocity = moving(time / slow, period, noise)
    velocity = velocity / slow if recorded else np.full_like(velocity, np.nan)
    return Log(time, stamps, clock or period, position, velocity,
               np.full_like(position, np.nan), older)


def of_panda(time, stamps, seed, period=PERIOD, *, velocity=True):
    """Return a log of `states`."""
    found = states(stamps, time, seed, velocity=velocity)
    return Log(time, stamps, period, found.position, found.velocity, found.effort)


def received(period, count, seed, *, late=0.7, lost=0.0, noise=1e-6):
    """Return the log of a reader who receives each sample once, up to `late` periods late."""
    rng = np.random.default_rng(seed)
    time = 5.0 + period * np.arange(count)
    time = time[rng.random(count) >= lost]
    return swinging(time, time + period * rng.uniform(0.02, late, len(time)), period, noise)


def newest(period, count, seed, *, beat=1e-3, jitter=0.05, noise=1e-6):
    """Return the log of a reader of the newest sample, whose period is longer by `beat` periods.

    Samples that are read again are in it once, with the last stamps of older ones.
    """
    rng = np.random.default_rng(seed)
    ticks = 5.0 + period * np.arange(count + 2)
    reads = ticks[0] + period * (1.0 + beat) * np.arange(count) + period * rng.uniform(
        0.0, jitter, count) + 0.3 * period
    reads = np.sort(reads[reads < ticks[-1]])
    seen = np.searchsorted(ticks, reads, side='right') - 1
    first = np.append(True, np.diff(seen) > 0)
    older = np.append(-np.inf, reads[:-1])[first]
    return swinging(ticks[seen[first]], reads[first], period, noise, older=older)


def sent_in_bursts(seed, count=5000, most=20, lost=0.0, period=PERIOD):
    """Return instants and stamps of samples of which 1 to `most` are sent at once, some lost."""
    rng = np.random.default_rng(seed)
    time = period * np.arange(count)
    ends = np.cumsum(rng.integers(1, most + 1, count))
    last = np.minimum(ends[np.searchsorted(ends, np.arange(count), side='right')], count) - 1
    stamps = np.maximum.accumulate(
        time[last] + period * rng.uniform(0.1, 0.3, count)[last] + 1e-5 * rng.random(count))
    stamps += 1e-8 * np.arange(count)
    kept = rng.random(count) >= lost
    return time[kept], stamps[kept]


def of_full_buffers(size, period=4e-3, count=1800, jump=0.0, at=None):
    """Return a log of a buffer that is sent when it is full: samples 10 µs apart, then nothing.

    The clock of its stamps is set by `jump` periods, in the middle or with the sample `at`.
    """
    index = np.arange(count)
    time = period * index
    stamps = time[np.minimum((index // size + 1) * size, count) - 1] + 1e-5 * (index % size)
    stamps += period * jump * (index >= (count // 2 // size * size if at is None else at))
    return swinging(time, stamps, 5e-3 if at else period, clock=period)


def assert_as_promised(
    log, found, *, off=0.05, step=None, rms=None, most=None, rel=1e-4, count=1, spaced=False,
    apart=None,
):
    """Compare the instants found with the true ones; all bounds are in periods of the clock.

    `off` bounds each error, `step` each error of an interval, `rms` the error of all, and `most`
    all errors but one in 200. `rel` is the tolerance of the period, None if none is determined;
    `apart` is the typical interval of the messages.
    """
    parts = getattr(found, 'runs', found)
    assert count is None or len(parts) == count
    if found is not parts and count == 1:  # nothing is left out
        assert set(found.status[1:]) == {StampStatus.FOLLOWS}
    assert apart is None or abs(found.period / log.period / apart - 1.0) < 0.03
    for part, errors in zip(parts, log.errors(parts), strict=True):
        errors = errors / log.period
        assert np.all(np.diff(part.time) > 0.0)
        assert part.evenly_spaced == spaced
        assert np.isnan(part.sampling_period) if rel is None else (
            abs(part.sampling_period / log.period - 1.0) < rel)
        for bound, error in (
                (off, np.abs(errors).max()), (step, np.abs(np.diff(errors)).max()),
                (rms, np.sqrt(np.mean(errors ** 2))),
                (most, np.quantile(np.abs(errors), 0.995))):
            assert bound is None or error < bound
