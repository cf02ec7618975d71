"""Times of several calls, taken in turns, so that a busy moment meets all of them."""
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from timeit import Timer
from typing import Any

CHUNK = 2e-3  # seconds of calls between two turns


@dataclass
class Contender:
    """One call to be timed.

    name
        Name of the row.
    call, arguments
        what is called with what.
    evaluations
        how many a call makes, so that batches are told per sample.
    target
        the largest wanted ratio to the baseline, or None.
    keeps
        what the call needs to stay in memory.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    evaluations: int = 1
    target: float | None = None
    keeps: Any = None
    seconds: list[float] = field(default_factory=list, repr=False)
    """Per evaluation, one entry a turn."""

    @property
    def nanoseconds(self) -> float:
        """Median time of an evaluation."""
        return 1e9 * median(self.seconds)

    def ratio(self, baseline: 'Contender') -> float:
        """Median of the ratios to the baseline within each turn."""
        return median(a / b for a, b in zip(self.seconds, baseline.seconds, strict=True))


def race(contenders: list[Contender], turns: int) -> None:
    """Time all contenders, one after another, in each of the turns."""
    timers = []
    for contender in contenders:
        contender.call(*contender.arguments)  # compile
        # Arguments by name, since unpacking them would be part of the time.
        names = {f'a{i}': value for i, value in enumerate(contender.arguments)}
        timer = Timer(f'call({", ".join(names)})', globals={'call': contender.call, **names})
        once = min(timer.repeat(5, 1))
        timers.append((contender, timer, max(1, round(CHUNK / once))))
    for _ in range(turns):
        for contender, timer, calls in timers:
            contender.seconds.append(timer.timeit(calls) / calls / contender.evaluations)
