"""Whether the reference, which follows the stamps of joint states, keeps pace with real time."""

# Paces, in s of the reference per s of time, at which a driver's clock is wrong.
FASTEST, SLOWEST = 1.25, 0.5
# How far ahead of the fastest pace, and behind the slowest, the reference may be, s: states that
# wait are delivered together, and the reference leaves out the time of hold-ups.
AHEAD, BEHIND = 0.4, 1.0
ADVICE = (
    'check the seconds and nanoseconds of the stamps, or use use_sim_time: true in a simulation')
FAST = (
    'the stamps of the joint states advance faster than time, by {pace:.3g} s per s, and so would '
    f'a motion: {ADVICE}')
SLOW = (
    'the reference only advances by {pace:.3g} s per s, as the stamps of the joint states stay '
    f'behind time: {ADVICE}')


class StampPace:
    """Compares the time of the reference with a monotonic clock; a simulation has no pace."""

    def __init__(self, *, is_simulated: bool) -> None:
        self._is_simulated = is_simulated
        self.forget()

    def forget(self) -> None:
        """Begin again, as after a time without joint states."""
        #: Why no motion can be followed; empty if one can
        self.too_fast = ''
        #: What is wrong with a pace that is only too slow; empty if nothing is
        self.too_slow = ''
        self._ahead = self._behind = 0.0
        self._last = self._since = 0.0, 0

    def see(self, now: int, at: float) -> None:
        """Note the instant of the reference, ns, at a time, s; neither goes back."""
        if self._is_simulated:
            return
        if not self._last[0]:
            self._last = self._since = at, now
        passed, step = at - self._last[0], (now - self._last[1]) * 1e-9
        self._last = at, now
        self._ahead = min(max(self._ahead + step - FASTEST * passed, 0.0), 2.0 * AHEAD)
        self._behind = min(max(self._behind + SLOWEST * passed - step, 0.0), 2.0 * BEHIND)
        if not self._ahead and not self._behind:
            self._since = self._last
        seconds = at - self._since[0]
        pace = (now - self._since[1]) * 1e-9 / seconds if seconds else 1.0
        self.too_fast = FAST.format(pace=pace) if self._ahead > AHEAD else ''
        self.too_slow = SLOW.format(pace=pace) if self._behind > BEHIND else ''
