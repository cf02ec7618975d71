"""Whatever may be asked of a reference, in any order and timing, seeded; and what must hold."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.limits.velocity_bounds import velocity_bounds
from hodyn_ros.reference import MotionLimits, extrema, fit_plan
from hodyn_ros.reference.manager import ReferenceManager

MS = 1_000_000


def limits_of(robot, jerk: float = 400.0) -> MotionLimits:
    """Return the limits of a robot, with a jerk limit, and one of acceleration if it has none."""
    own = robot.limits
    return MotionLimits(
        own.position_min, own.position_max, own.velocity, np.minimum(own.acceleration, 15.0),
        np.minimum(own.jerk, jerk),
        law=own.velocity_law if own.depend_on_position.any() else None)


@dataclass
class Findings:
    """What was seen in a siege.

    Attributes
    ----------
    steps : int
        Instants at which the reference was evaluated.
    use : (4,) array
        Greatest |q̇|, |q̈|, |q⃛| in units of their limits, after how far q left its range, rad.
    residual : float
        Greatest residual of q, q̇, q̈ between neighbours to a motion with bounded snap, in units
        of that motion's own.
    beyond_law : float
        How much faster than its law allows at the position a joint moved, rad/s.
    modes : set of str
        The modes that were seen.

    """

    steps: int
    use: np.ndarray
    residual: float
    beyond_law: float
    modes: set


class Siege:
    """One reference under attack.

    Parameters
    ----------
    limits : MotionLimits
        The limits.
    seed : int
        Of the generator of all that is asked.
    bandwidth : float
        Bandwidth of streams, rad/s.

    """

    def __init__(self, limits: MotionLimits, seed: int, bandwidth: float = 50.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.limits = limits
        self.lower = np.maximum(limits.lower, -10.0)
        self.upper = np.minimum(limits.upper, 10.0)
        self.n = limits.lower.size
        self.now = int(self.rng.integers(0, 2**60))
        self.reference = ReferenceManager(self._anywhere(), bandwidth)
        self.q = np.empty((5, self.n))
        self._sample_at = self.now
        self._period = 4 * MS
        self._source = self._nothing
        self._sources = (
            self._slider, self._square_wave, self._ramp, self._sine, self._impossible_velocity,
            self._back_and_forth, self._noise, self._once, self._nothing, self._nothing)

    def run(self, steps: int) -> Findings:
        """Let so many instants pass, with all that happens between them."""
        use, residual, modes, beyond_law = np.zeros(4), 0.0, set(), 0.0
        limits, rng = self.limits, self.rng
        greatest = np.vstack((limits.velocity, limits.acceleration, limits.jerk))
        before = np.empty_like(self.q)
        self.reference.evaluate(self.now, before)
        strides = rng.choice(
            [MS // 2, MS, 2 * MS, 5 * MS, 40 * MS], steps,
            p=[0.1, 0.6, 0.2, 0.09, 0.01])
        events = rng.random(steps)
        for stride, event in zip(strides.tolist(), events.tolist(), strict=True):
            self.now += stride
            if event < 0.002:
                self._source = self._sources[rng.integers(len(self._sources))]
                self._period = int(rng.choice([1, 4, 10, 50, 200, 1000])) * MS
            elif event < 0.003:
                self.reference.stop(self.now, limits)
            elif event < 0.005:
                self._plan()
            if self.now >= self._sample_at:
                self._sample_at = self.now + self._period
                self._sample()
            self.reference.evaluate(self.now, self.q)
            modes.add(self.reference.mode(self.now))
            _use(self.q, limits.lower, limits.upper, greatest, use)
            if limits.law is not None:
                beyond_law = max(beyond_law, _beyond_law(self.q, limits.law))
            if stride <= 5 * MS:
                residual = max(residual, _residual(before, self.q, stride * 1e-9, limits.jerk))
            before[:] = self.q
        return Findings(steps, use, residual, beyond_law, modes)

    def _anywhere(self) -> np.ndarray:
        return self.rng.uniform(self.lower, self.upper)

    def _sample(self) -> None:
        found = self._source()
        if found is None:
            return
        position, velocity = found
        timeout = int(self.rng.choice([20, 100, 100, 1000])) * MS
        try:
            self.reference.set_target(
                self.now, position, velocity, self.now + timeout, self.limits)
        except HodynError:
            assert self.reference.mode(self.now) != 'streaming'

    def _plan(self) -> None:
        """Follow a plan from a state to come, if it is within the limits, as the node would."""
        start = self.now + int(self.rng.integers(0, 300)) * MS
        if self.reference.streaming or self.reference.is_full:
            return
        goals = np.array([self._anywhere() for _ in range(self.rng.integers(1, 4))])
        times = np.cumsum(self.rng.uniform(0.3, 4.0, len(goals)))
        plan = fit_plan(times, goals, start=self.reference.state_at(start))
        limits = self.limits
        for k, most in ((1, limits.velocity), (2, limits.acceleration), (3, limits.jerk)):
            if (np.abs(extrema(plan, k)[0]) > most).any():
                return
        low, high = extrema(plan, 0)[0]
        if limits.law is not None and any(
                _beyond_law(q, limits.law) for q in plan.evaluate(
                    np.linspace(0.0, plan.duration, 2000))):
            return
        if (low >= limits.lower).all() and (high <= limits.upper).all():
            self.reference.follow(plan, start)

    # What a stream may send: (position, velocity or None), or nothing.

    def _nothing(self):
        return None

    def _once(self):
        self._source = self._nothing
        return self._anywhere(), None

    def _slider(self):
        self._period = int(self.rng.choice([50, 100, 200, 1000])) * MS
        position = self.q[0].copy()
        joint = self.rng.integers(self.n)
        position[joint] = self._anywhere()[joint]
        return position, None

    def _square_wave(self):
        return np.where(self.rng.random(self.n) < 0.5, self.lower, self.upper), None

    def _ramp(self):
        velocity = self.rng.uniform(-1, 1) * self.limits.velocity
        return np.clip(self.q[0] + 0.01 * velocity, self.lower, self.upper), velocity

    def _sine(self):
        phase = self.now * 1e-9 * np.linspace(1.0, 9.0, self.n)
        half = 0.5 * (self.upper - self.lower)
        return self.lower + half * (1 + np.sin(phase)), half * np.linspace(1, 9, self.n) * np.cos(
            phase)

    def _impossible_velocity(self):
        return self._anywhere(), self.rng.choice([-1.0, 1.0], self.n) * 10 * self.limits.velocity

    def _back_and_forth(self):
        # Against the motion, each time at full speed.
        return self.q[0].copy(), -np.sign(self.q[1]) * self.limits.velocity

    def _noise(self):
        position = self.q[0] + self.rng.normal(0.0, 0.3, self.n)
        velocity = self.rng.normal(0.0, 1.0, self.n) if self.rng.random() < 0.5 else None
        return np.clip(position, self.lower, self.upper), velocity


@njit()
def _use(q, lower, upper, greatest, use):
    """Raise `use` to what a state, (5, n), uses of the limits."""
    for joint in range(q.shape[1]):
        use[0] = max(use[0], q[0, joint] - upper[joint], lower[joint] - q[0, joint])
        for k in range(3):
            use[k + 1] = max(use[k + 1], abs(q[k + 1, joint]) / greatest[k, joint])


@njit()
def _beyond_law(q, law):
    """Return by how much a state, (5, n), is faster than a law allows."""
    bounds = np.empty((2, q.shape[1]))
    velocity_bounds(q[0], law, bounds)
    worst = 0.0
    for joint in range(q.shape[1]):
        worst = max(worst, q[1, joint] - bounds[1, joint], bounds[0, joint] - q[1, joint])
    return worst


@njit()
def _residual(before, q, h, jerk):
    """Return how far two states are from a motion whose jerk stays within its limits.

    The corrected trapezoidal rule for q errs by at most h³/12 times what the jerk may change by,
    the plain one for q̇ by h²/4 of it; the acceleration changes by at most h times the jerk.
    """
    worst = 0.0
    for joint in range(q.shape[1]):
        change = 2.0 * jerk[joint]
        b0, b1, b2 = before[0, joint], before[1, joint], before[2, joint]
        q0, q1, q2 = q[0, joint], q[1, joint], q[2, joint]
        error = abs(q0 - b0 - 0.5 * h * (b1 + q1) + h * h / 12.0 * (q2 - b2))
        worst = max(worst, error / (h**3 / 12.0 * change + 1e-12 * (1.0 + abs(b0))))
        error = abs(q1 - b1 - 0.5 * h * (b2 + q2))
        worst = max(worst, error / (h**2 / 4.0 * change + 1e-10))
        worst = max(worst, abs(q2 - b2) / (0.5 * h * change + 1e-8))
    return worst


def main() -> None:
    """Run a siege by hand: python tools/reference_siege.py STEPS SEED."""
    import sys
    import time

    import hodyn_ros as hd
    steps, seed = int(float(sys.argv[1])), int(sys.argv[2])
    rng = np.random.default_rng(seed)
    begin, done = time.monotonic(), 0
    use, residual, beyond = np.zeros(4), 0.0, 0.0
    while done < steps:
        robot, bandwidth = str(rng.choice(['panda', 'fr3', 'iiwa14'])), rng.choice([5., 50., 500.])
        limits = limits_of(hd.load_robot(robot), jerk=rng.choice([100.0, 400.0, 5000.0]))
        own = int(rng.integers(2**31))
        found = Siege(limits, own, bandwidth).run(min(100_000, steps - done))
        done += found.steps
        use, residual = np.maximum(use, found.use), max(residual, found.residual)
        beyond = max(beyond, found.beyond_law)
        print(f'{done} steps, {time.monotonic() - begin:.0f} s: out of range by {use[0]:.1e}, '
              f'q̇ q̈ q⃛ {use[1:]} of their limits, residual {residual:.4f} of its bound, beyond the '
              f'law of its velocity {beyond:.1e} rad/s '
              f'({robot}, seed {own}, {bandwidth:g} rad/s)', flush=True)
        if use[0] > 1e-12 or (use[1:] > 1 + 1e-5).any() or residual > 1.0 or beyond > 1e-9:
            raise SystemExit(1)


if __name__ == '__main__':
    main()
