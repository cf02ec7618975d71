"""Measured wrenches: scaled down to their limits, and faded out when their messages stop."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.robot import HodynError, Robot, lie


class WrenchInputs:
    """The external wrenches that act; times are on a monotonic clock, s.

    `robot` may have its payload or not, as frames do not depend on it. A wrench beyond a limit,
    N and N m, is scaled down; after `timeout`, s, without a message it fades away.
    """

    def __init__(
        self, robot: Robot, max_force: float, max_moment: float, timeout: float,
    ) -> None:
        self._robot = robot
        self._max_force, self._max_moment = max_force, max_moment
        self._timeout = timeout
        self._heard: dict[int, tuple[float, str]] = {}

    def take(
        self, controller: FeedforwardController, link: str, wrench: Array, at: float,
    ) -> str:
        """Take a wrench, (6,), on a link, in its axes about its origin.

        Returns a line with the share that is applied and the limit that binds; empty if the whole
        wrench is applied. Raises HodynError for a link that does not exist or is fixed to the
        world.
        """
        body, frame = self._robot.frame(link)
        if body < 0:
            raise HodynError(f'link {link!r} is fixed to the world')
        self._heard[body] = at, link
        moment, force = float(np.linalg.norm(wrench[:3])), float(np.linalg.norm(wrench[3:]))
        share, name, most, unit = min([(1.0, '', 0.0, ''), *(
            (most / size, name, most, unit) for size, name, most, unit in (
                (force, 'max_force', self._max_force, 'N'),
                (moment, 'max_moment', self._max_moment, 'N m')) if size)])
        room, joint, quantity = controller.set_external_wrench(
            body, lie.adjoint(lie.inverse(frame)).T @ (share * wrench))
        if share * room >= 1.0:
            return ''
        why = f'{name} is {most:g} {unit}' if room >= 1.0 else (
            f'more might exceed the {quantity} limit of joint {self._robot.joint_names[joint]!r}')
        return (
            f'external_wrench on {link}, {force:.4g} N and {moment:.4g} N m, is scaled down to '
            f'{share * room:.3g} of it: {why}')

    def silent(self, controller: FeedforwardController, at: float) -> list[str]:
        """Fade out the wrenches without recent messages; return the links on which they act."""
        found = {
            body: link for body, (heard, link) in self._heard.items()
            if at - heard > self._timeout}
        for body in found:
            controller.set_external_wrench(body, np.zeros(6))
            del self._heard[body]
        return list(found.values())

    def forget(self, controller: FeedforwardController) -> None:
        """Drop all wrenches at once."""
        controller.drop_wrenches()
        self._heard.clear()
