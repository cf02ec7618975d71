"""A live node under attack: whatever comes in, no message beyond a limit, and no step.

`python tools/siege.py --minutes 30 --seed 7` starts one node and a driver whose arm follows
what the node publishes, and lets loose on them a generator of all that may come in. What happens
as event number k follows from the seed and k alone: `--events 120-124` does these again.
"""
import argparse
from collections import Counter
import itertools
import os
from pathlib import Path
import sys
import tempfile
import time

from attacks import ATTACKS, Event
from besieged import HOME, TRANSPORT, Besieged
from cycle_watch import Finding
import numpy as np

PEACE_TIMEOUT = 60.0
EVENTS_BETWEEN_TRUCES = 40
WINDOW = 2.0  # around a violation, within which events are shown, s


class Siege(Besieged):
    """A besieged node, and all that happens to it by the generator of a seed."""

    def __init__(self, folder: Path, seed: int, rate: float = 250.0) -> None:
        self.seed = seed
        self.events: list[Event] = []
        super().__init__(folder, rate)

    def run(
        self, seconds: float, numbers: range | None = None, *, quiet: bool = True,
    ) -> None:
        """Attack for a time, or with the events of some numbers; then see that peace returns."""
        self.await_start()
        weights = np.array([often for _, often in ATTACKS])
        end = time.monotonic() + seconds
        for count, number in enumerate(numbers or itertools.count(), 1):
            if time.monotonic() > end or self.failures:
                break
            rng = np.random.default_rng([self.seed, number])
            attack = ATTACKS[rng.choice(len(ATTACKS), p=weights / weights.sum())][0]
            event = Event(number, attack.__name__, time.monotonic())
            self.events.append(event)
            if not quiet:
                print(f'{number} {event.kind} {len(self.watch.violations)} violations', flush=True)
            self.busy += 1
            self.schedule(event.time, attack(self, rng, event))
            self.spin(min(time.monotonic() + rng.exponential(0.6), end + 1.0))
            # No more than three at a time.
            self.spin_while(lambda: self.busy > 2, 30.0)
            self.check_process()
            if count % EVENTS_BETWEEN_TRUCES == 0:
                self._make_peace()
        if not self.failures:
            self._make_peace()
        self.watch.judge(np.inf)

    def _make_peace(self) -> None:
        """End all attacks; the node must come to rest, and follow a plain plan."""
        if not self.spin_while(lambda: self.busy > 0, 30.0):
            self.failures.append('an attack does not end')
        self.check_process()
        if self.failures:
            return
        event = Event(-1, 'peace', time.monotonic())
        self.events.append(event)
        self.silent_until = self.pushed_until = 0.0
        self.set_payload(0.0, 'link7', [0.0, 0.0, 0.0])
        self.spin(time.monotonic() + 1.0)
        if not self.spin_while(lambda: self.word != 'holding', PEACE_TIMEOUT):
            self.failures.append(f'it does not come to rest: {self.watch.said[-1]}')
            return
        goal = HOME + np.random.default_rng(self.seed).uniform(-0.2, 0.2, 7)
        duration = max(2.0, 3.0 * float(np.abs(goal - self.target).max()))
        tries, end = 3, time.monotonic() + 2.0 * PEACE_TIMEOUT
        while tries > 0 and time.monotonic() < end:
            sent = time.monotonic()
            self.send_plan([(duration, goal)])
            followed = self.spin_while(lambda: self.word != 'following', 5.0)
            self.spin_while(lambda: self.word == 'following', duration + PEACE_TIMEOUT)
            if followed and np.abs(self.target - goal).max() < 1e-6:
                event.detail = f'a plan of {duration:.1f} s was followed'
                return
            self.spin_while(lambda: self.word != 'holding', PEACE_TIMEOUT)
            # A busy machine may silence the driver meanwhile, which ends a plan.
            tries -= not any(
                'joint states' in one.reason for one in self.watch.said if one.time > sent)
        self.failures.append(f'a plain plan is not followed: {self.log[-3000:]}')

    def report(self, most: int = 5) -> str:
        """Return what was seen."""
        watch = self.watch
        kinds = Counter(event.kind for event in self.events)
        lines = [
            f'seed {self.seed}, {len(self.events)} events: '
            + ', '.join(f'{kind} {count}' for kind, count in kinds.most_common()),
            'messages: ' + ', '.join(f'{key} {n}' for key, n in watch.counts.most_common()),
            'states: ' + ', '.join(f'{key} {n}' for key, n in Counter(
                one.word for one in watch.said).most_common()),
            'largest use of limits: ' + ', '.join(
                f'{name} {use:.4f}' for name, use in zip(
                    ('q', 'q̇', 'Q', 'Q̇', 'q̈', 'q⃛'), watch.use.max(axis=1), strict=True)),
            'largest residual between neighbours, of what may be: ' + ', '.join(
                f'{name} {one:.3g}' for name, one in zip(
                    ('q', 'q̇', 'Q', 'Q̇'), watch.residual, strict=True)),
            f"the driver's longest delay: {self.largest_delay * 1e3:.0f} ms",
            f'{len(watch.departures)} departures that ~/state explains:',
        ]
        lines += [f'  {n} × {why}' for why, n in Counter(
            one.explanation for one in watch.departures).most_common(20)]
        lines += [f'  e.g. {one.what}, {one.times} ×' for one in watch.departures[:most]]
        lines.append(f'{len(watch.violations) + len(self.failures)} violations')
        lines += self.failures[:most]
        for one in watch.violations[:most]:
            lines += [
                f'VIOLATION at {one.time:.3f}: {one.what}, {one.times} ×', *self._around(one)]
        return '\n'.join(lines)

    def _around(self, finding: Finding) -> list[str]:
        """Return what happened around a finding, in order."""
        moment = finding.time
        found = [
            (event.time, f'event {event.number} {event.kind}: {event.detail}')
            for event in self.events if -3 * WINDOW < event.time - moment < 0.5]
        found += [
            (one.time, f'state {one.word}: {one.reason}') for one in self.watch.said
            if abs(one.time - moment) < WINDOW]
        for cycle in finding.near:
            rows = np.array2string(cycle.rows, precision=5, max_line_width=200)
            found.append((
                cycle.time, f'stamp {cycle.stamp * 1e-9:.6f} q, q̇, Q, Q̇, Q̈:\n{rows}'))
        return [f'  {when - moment:+.3f} s {what}' for when, what in sorted(found)]


def main() -> int:
    """Lay siege from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--rate', type=float, default=250.0, help='of the driver, Hz')
    parser.add_argument('--events', help='only those of these numbers, such as 120-124')
    parser.add_argument('--most', type=int, default=5, help='violations shown')
    parser.add_argument('--quiet', action='store_true')
    given = parser.parse_args()
    numbers = None
    if given.events:
        first, _, last = given.events.partition('-')
        numbers = range(int(first), int(last or first) + 1)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['FASTDDS_BUILTIN_TRANSPORTS'] = TRANSPORT
    os.environ['ROS_DOMAIN_ID'] = str(10 + os.getpid() % 90)
    with tempfile.TemporaryDirectory() as folder:
        siege = Siege(Path(folder), given.seed, given.rate)
        try:
            siege.run(60.0 * given.minutes, numbers, quiet=given.quiet)
        finally:
            siege.close()
        print(siege.report(given.most))
    return 1 if siege.failures or siege.watch.violations else 0


if __name__ == '__main__':
    sys.exit(main())
