"""Whether the reference, which follows the stamps of joint states, keeps pace with real time."""

# Paces, in s of the reference per s of time, beyond which a driver's clock is wrong.
FASTEST, SLOWEST = 1.25, 0.5
# How far ahead of the fastest pace, and behind the slowest, the reference may be, s: states that
# wait are delivered together, and the reference leaves out the time of hold-ups.
AHEAD, BEHIND = 0.4, 1.0
WRONG = (
    'the motion runs at {pace:.2g} s per s of time, as the stamps of the joint states do: check '
    'their seconds and nanoseconds, or set use_sim_time: true in a simulation')


class StampPace:
    """Compares the time of the reference with a monotonic clock; a simulation has no pace."""

    def __init__(self, *, is_simulated: bool) -> None:
        self._is_simulated = is_simulated
        self.forget()

    def forget(self) -> None:
        """Begin again, as after a time without joint states."""
        self._ahead = self._behind = 0.0
        self._last = self._since = 0.0, 0

    def wrong(self, now: int, at: float) -> str:
        """Return what is wrong with the pace, or empty.

        `now` is the instant of the reference, ns, at a time, s. Neither goes back.
        """
        if self._is_simulated:
            return ''
        if not self._last[0]:
            self._last = self._since = at, now
        passed, step = at - self._last[0], (now - self._last[1]) * 1e-9
        self._last = at, now
        self._ahead = min(max(self._ahead + step - FASTEST * passed, 0.0), 2.0 * AHEAD)
        self._behind = min(max(self._behind + SLOWEST * passed - step, 0.0), 2.0 * BEHIND)
        if not self._ahead and not self._behind:
            self._since = self._last
        if self._ahead <= AHEAD and self._behind <= BEHIND:
            return ''
        return WRONG.format(pace=(now - self._since[1]) * 1e-9 / (at - self._since[0]))
