"""Whatever may change what is published, seeded; and what must hold of each cycle."""
import contextlib
from dataclasses import dataclass, replace

import numpy as np

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators, JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    CubicSpring,
    LinearSpring,
    Rigid,
    VariableStiffness,
)
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.settings import ControllerSettings
from hodyn_ros.reference import extrema, fit_plan
from hodyn_ros.robot import Limits, lie

MS = 1_000_000
ROUND_OFF = 1e-6
HEAVIEST = 20.0  # of the arms, kg, kg m²
ROBOTS = ('panda', 'fr3', 'springs', 'tendons', 'mixed', 'free')


def mixed_robot() -> hd.Robot:
    """Return an arm with a prismatic, a helical and a continuous joint."""
    axes = {'revolute': [0, 0, 1], 'prismatic': [0, 1, 0], 'helical': [1, 0, 0]}
    bodies = []
    for k, kind in enumerate(('prismatic', 'revolute', 'helical', 'revolute', 'prismatic')):
        placement = np.eye(4)
        placement[:3, 3] = [0.1, 0.0, 0.3] if k else [0.0, 0.0, 0.0]
        placement[:3, :3] = lie.rotation_exp(0.4 * k * np.array([1.0, 0.3, 0.2]))
        body = {
            'name': f'link{k}', 'joint': f'axis{k}', 'parent': k - 1, 'type': kind,
            'placement': placement.tolist(), 'axis': axes[kind], 'mass': 4.0 - 0.5 * k,
            'com': [0.02, 0.01, 0.1], 'inertia': (0.05 * np.eye(3)).tolist()}
        if kind == 'helical':
            body['pitch'] = 0.05
        bodies.append(body)
    limits = {
        'position': [[-0.5, 0.5], [-np.inf, np.inf], [-3.0, 3.0], [-2.0, 2.0], [-0.3, 0.3]],
        'velocity': [0.5, 2.0, 3.0, 2.0, 0.5], 'effort': [300.0, 90.0, 60.0, 30.0, 60.0],
        'effort_rate': [2000.0, 900.0, 600.0, 300.0, 900.0]}
    limits['position'][1] = [-1e3, 1e3]
    return hd.load_robot({'name': 'mixed', 'bodies': bodies, 'limits': limits})


def robot_of(kind: str) -> hd.Robot:
    """Return one of the robots under siege."""
    if kind == 'mixed':
        return mixed_robot()
    panda = hd.load_robot('fr3' if kind == 'fr3' else 'panda')
    if kind == 'free':
        return replace(panda, limits=Limits.none(panda.n))
    if kind not in ('springs', 'tendons'):
        return panda
    laws = [
        LinearSpring(3000.0), LinearSpring(1500.0, 4.0), CubicSpring(900.0, 4000.0),
        CubicSpring(2000.0, -2000.0), LinearSpring(800.0), Rigid(), LinearSpring(400.0)]
    if kind == 'tendons':
        laws = [
            VariableStiffness(900.0), AntagonisticExponential(2.0, 10.0, 2000.0),
            AntagonisticQuadratic(4000.0, 1500.0),
            AntagonisticExponential(2.0, 10.0, 1800.0, pushes=True),
            LinearSpring(1000.0, 5.0), Rigid(), VariableStiffness(500.0)]
    motor = Motor(0.4, 0.5, 0.2, 0.02, max_velocity=4.0, max_effort=150.0)
    return replace(panda, actuators=Actuators(
        panda.joint_names, tuple(JointActuator(law, motor) for law in laws)))


@dataclass
class Findings:
    """What was seen, each the worst of its kind, in units of what may be.

    Attributes
    ----------
    cycles, causes : int
        How many were seen.
    effort, effort_rate, motor_velocity, motor_torque : float
        In units of the limits with their margin.
    jump : float
        By how much anything published changes at a cause, in the instant, relative to its size.
    step : float
        What values change by in a cycle, in units of what their rate limits allow.
    arrival : float
        How far torques are from what they should be when nothing has happened for long.
    residual : float
        How far values are from the integral of their rates, where cycles are so short that a
        jerk-limited motion shows between them.
    held : int
        Cycles in which motors were held or led back.
    saturated : int
        Cycles in which a limit was kept by publishing less.

    """

    cycles: int = 0
    causes: int = 0
    effort: float = 0.0
    effort_rate: float = 0.0
    motor_velocity: float = 0.0
    motor_torque: float = 0.0
    motor_acceleration: float = 0.0
    jump: float = 0.0
    step: float = 0.0
    arrival: float = 0.0
    residual: float = 0.0
    held: int = 0
    saturated: int = 0
    worst: str = ''

    def see(self, name: str, value: float, what: str) -> None:
        """Keep a value if it is the worst of its kind."""
        if value > getattr(self, name):
            setattr(self, name, float(value))
            if value > 1.0:
                self.worst = f'{name} {value:.4g} after {what}'


class OutputSiege:
    """One controller under attack; `kind` is one of ROBOTS."""

    def __init__(self, kind: str, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.robot = robot_of(kind)
        self.n = self.robot.n
        limits = self.robot.limits
        self.lower = np.maximum(limits.position_min, -3.0)
        self.upper = np.minimum(limits.position_max, 3.0)
        self.options = ControllerSettings(
            gravity_in_output=bool(rng.integers(2)), friction_in_output=bool(rng.integers(2)),
            limit_output=bool(rng.integers(2)), at_measurement=bool(rng.integers(2)),
            bandwidth=float(10.0 ** rng.uniform(0.5, 3.0)),
            wrench_bandwidth=float(10.0 ** rng.uniform(0.5, 3.0)),
            fade=float(rng.choice([0.2, 0.5, 2.0])))
        self.now = int(rng.integers(0, 2**60))
        self.model = FeedForward(self.robot)
        self.controller = FeedforwardController(
            self.model, self._anywhere(), self.now, self.options)
        self.found = Findings()
        self._measured: np.ndarray | None = None
        self._disturbed = 0.0
        self._what = 'the beginning'
        self._causes = (
            self._plan, self._plan, self._stream, self._stream, self._stream, self._stop,
            self._latch, self._payload, self._wrench, self._wrench, self._drop, self._measure,
            self._measure, self._stiffness, self._stiffness)

    def run(self, cycles: int) -> Findings:
        """Let so many cycles pass, with causes of change between them."""
        rng = self.rng
        controller, found = self.controller, self.found
        controller.evaluate(self.now)
        strides = rng.choice([MS // 2, MS, 2 * MS, 5 * MS, 30 * MS], cycles, p=[
            0.1, 0.6, 0.2, 0.09, 0.01])
        events = rng.random(cycles)
        for stride, event in zip(strides.tolist(), events.tolist(), strict=True):
            if event < 0.02:
                self._cause()
            before = self._published()
            self.now += stride
            measured = self._measured
            if measured is not None and rng.random() < 0.3:
                measured = measured + rng.normal(0.0, 1e-3, (2, self.n))
            controller.evaluate(self.now, measured)
            self._judge(before, self._published(), stride * 1e-9)
        found.cycles += cycles
        self._arrive()
        return found

    def _arrive(self) -> None:
        """See that what is published becomes what it should be when nothing happens any more."""
        controller = self.controller
        controller.stop(self.now)
        controller.drop_wrenches()
        for _ in range(15_000):
            self.now += 2 * MS
            controller.evaluate(self.now)
            if controller.reference.mode(self.now) == 'holding' and not controller.is_fading:
                break
        for each in controller._outputs:
            if (np.abs(each.wanted[0]) > self.robot.limits.effort).any():
                return  # less is published for good
            away = np.abs(each.stage.published[0] - each.wanted[0]).max()
            self.found.see('arrival', away / 1e-4, 'a quiet end')

    def _published(self) -> list[np.ndarray]:
        motors = self.controller.motors
        return [
            self.controller.output.copy(), self.controller.torque.copy(),
            *([] if motors is None else [motors.reference.copy()])]

    def _cause(self) -> None:
        before = self._published()
        cause = self._causes[self.rng.integers(len(self._causes))]
        self._what = cause.__name__
        cause()
        self.controller.evaluate(self.now, self._measured)
        self.found.causes += 1
        for a, b in zip(before, self._published(), strict=True):
            for row in range(len(a)):
                if len(a) == 4 and row == 2:
                    continue
                # At the top of a limit so much of it is not told apart.
                size = 1.0 + np.abs(a[row]).max() + (np.abs(a[2]).max() * 1e-3 if row else 0.0)
                allowed = 1e-4 * size
                if row == 2:  # of q⁗ a filter of bandwidth ω leaves digits of ω⁴ q
                    allowed += HEAVIEST * 1e-15 * self.options.bandwidth**4
                self.found.see('jump', np.abs(a[row] - b[row]).max() / allowed, self._what)

    def _judge(self, before, after, h: float) -> None:
        limits, found, what = self.robot.limits, self.found, self._what
        margin = 1.0 + self.options.limit_margin * (not self.options.limit_output)
        for torque in after[:2]:
            found.see('effort', (np.abs(torque[0]) / limits.effort).max() / margin, what)
            found.see('effort_rate', (np.abs(torque[1]) / limits.effort_rate).max() / (
                margin + ROUND_OFF), what)
        controller = self.controller
        found.saturated += controller.clipped
        if controller.motors is not None:
            velocity, effort, _ = controller.motors.actuators.motor_limits()
            found.see('motor_velocity', (np.abs(after[2][1]) / velocity).max() / (
                margin + ROUND_OFF), what)
            found.see('motor_torque', (np.abs(after[2][3]) / effort).max() / margin, what)
            found.held += controller.motors.any_held
            inertia = controller.motors.actuators.motors[:, INERTIA]
            carried = np.abs(controller.motors._load.published[0])
            found.see('motor_acceleration', (
                np.abs(after[2][1] - before[2][1]) * inertia / (
                    h * 1.1 * (effort + np.minimum(carried, effort)) + 1e-6)).max(), what)
        fastest = (limits.effort_rate, limits.effort_rate, *(
            [] if controller.motors is None else [velocity]))
        for k, (a, b) in enumerate(zip(before, after, strict=True)):
            reach = h * fastest[k] * (margin + ROUND_OFF) + 1e-9 * (1.0 + np.abs(a[0]))
            found.see('step', (np.abs(b[0] - a[0]) / reach).max(), f'{what} {k}')
            if h * max(self.options.bandwidth, self.options.wrench_bandwidth) > 0.2 or h > 5e-4:
                continue
            stage = (
                controller._output.stage, controller._whole.stage,
                controller.motors and controller.motors._theta)[k]
            if stage.is_saturated:
                continue
            # Of the corrected trapezoidal rule for values.
            wanted = 0.5 * h * (a[1] + b[1]) + h * h / 12.0 * (a[2] - b[2])
            spread = np.abs(a[2]) + np.abs(b[2]) + np.abs(b[2] - a[2])
            allowed = 1e-8 * (1.0 + np.abs(a[0])) + h * h * 0.5 * spread.max()
            found.see('residual', (np.abs(b[0] - a[0] - wanted) / allowed).max(), f'{what} {k}')

    def _anywhere(self) -> np.ndarray:
        return self.rng.uniform(self.lower, self.upper) * 0.9

    def _plan(self) -> None:
        reference = self.controller.reference
        if reference.streaming or reference.is_full:
            return
        goal = reference.state_at(self.now)[0] + self.rng.normal(0.0, 0.4, self.n)
        goal = np.clip(goal, self.lower, self.upper)
        try:
            plan = fit_plan(
                [self.rng.uniform(0.5, 3.0)], [goal], start=reference.state_at(self.now))
        except HodynError:  # one that would have to leap: a free joint may be rounds away
            return
        limits = self.robot.limits
        if (np.abs(extrema(plan, 1)[0]) > np.minimum(limits.velocity, 5.0)).any():
            return
        reference.follow(plan, self.now)

    def _stream(self) -> None:
        goal = np.clip(self.controller.q[0] + self.rng.normal(
            0.0, self.rng.choice([0.01, 0.1, 1.0]), self.n), self.lower, self.upper)
        velocity = self.rng.normal(0.0, 0.5, self.n) if self.rng.integers(2) else None
        try:
            self.controller.stream(self.now, goal, velocity, self.now + 100 * MS)
        except HodynError:
            assert self.controller.reference.mode(self.now) != 'streaming'

    def _stop(self) -> None:
        self.controller.stop(self.now)

    def _latch(self) -> None:
        by = self.rng.choice([0.01, 0.3, 3.0]) * self.rng.normal(size=self.n)
        self.controller.latch(self.controller.q[0] + by)

    def _payload(self) -> None:
        last = self.robot.bodies[-1].name
        mass = self.rng.uniform(0.0, 4.0)
        with contextlib.suppress(HodynError):  # one that is too heavy
            self.controller.replace(FeedForward(
                self.robot.with_payload(last, mass, self.rng.uniform(-0.1, 0.1, 3))))

    def _wrench(self) -> None:
        size = 10.0 ** self.rng.uniform(-1.0, 4.0)
        self.controller.set_external_wrench(
            int(self.rng.integers(len(self.robot.bodies))), size * self.rng.normal(size=6))

    def _drop(self) -> None:
        self.controller.drop_wrenches()

    def _measure(self) -> None:
        choice = self.rng.integers(4)
        self._measured = None
        if choice:
            size = (0.01, 0.3, 1e3)[choice - 1]
            self._measured = self.controller.q[:2] + size * self.rng.normal(size=(2, self.n))

    def _stiffness(self) -> None:
        if self.controller.motors is not None:
            self.controller.set_stiffness(10.0 ** self.rng.uniform(-3.0, 5.0, self.n))


def main() -> None:
    """Run a siege by hand: python tools/output_siege.py CYCLES SEED."""
    import sys
    import time
    cycles, seed = int(float(sys.argv[1])), int(sys.argv[2])
    rng = np.random.default_rng(seed)
    begin, done = time.monotonic(), 0
    while done < cycles:
        kind, own = str(rng.choice(ROBOTS)), int(rng.integers(2**31))
        found = OutputSiege(kind, own).run(min(20_000, cycles - done))
        done += found.cycles
        print(f'{done} cycles, {time.monotonic() - begin:.0f} s: {kind} {own} {found}', flush=True)
        if found.worst:
            raise SystemExit(1)


if __name__ == '__main__':
    main()
