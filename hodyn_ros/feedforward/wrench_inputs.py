"""Measured wrenches: as large as they may be, and no longer than they are heard of."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.robot import HodynError, Robot, lie

Array = NDArray[np.float64]


class WrenchInputs:
    """The external wrenches that are there; times are on a clock that nobody sets, s.

    Parameters
    ----------
    robot : Robot
        With any payload: frames do not hang on it.
    max_force, max_moment : float
        A wrench beyond is scaled down, N, N m.
    timeout : float
        After which one that is not heard of fades away, s.

    """

    def __init__(
        self, robot: Robot, max_force: float, max_moment: float, timeout: float,
    ) -> None:
        self._robot = robot
        self._most = max_moment, max_force
        self._timeout = timeout
        self._heard_at: dict[int, float] = {}

    def take(
        self, controller: FeedforwardController, link: str, wrench: Array, at: float,
    ) -> str:
        """Take a wrench, (6,), on a link, in its axes about its origin.

        Returns which share of it is taken, and what leaves no room for more, in a line; empty if
        all of it is. Raises HodynError for a link that there is not, or that does not move.
        """
        body, frame = self._robot.frame(link)
        if body < 0:
            raise HodynError(f'link {link!r} is fixed to the world')
        self._heard_at[body] = at
        moment, force = float(np.linalg.norm(wrench[:3])), float(np.linalg.norm(wrench[3:]))
        share = min([1.0, *(
            most / size for size, most in zip((moment, force), self._most, strict=True) if size)])
        room, joint = controller.set_external_wrench(
            body, lie.adjoint(lie.inverse(frame)).T @ (share * wrench))
        if share * room >= 1.0:
            return ''
        why = 'max_force and max_moment leave' if share < room else (
            f'the effort limits of joint {self._robot.joint_names[joint]!r} leave')
        return (
            f'external_wrench on {link}, {force:.4g} N and {moment:.4g} N m, is scaled down to '
            f'{share * room:.3g} of it: {why} no room for more')

    def silent(self, controller: FeedforwardController, at: float) -> list[str]:
        """Let fade away those that have not been heard of; return their links, each once."""
        found = [
            body for body, heard in self._heard_at.items() if at - heard > self._timeout]
        for body in found:
            controller.set_external_wrench(body, np.zeros(6))
            del self._heard_at[body]
        return [self._robot.bodies[body].name for body in found]

    def forget(self, controller: FeedforwardController) -> None:
        """Give up all of them, at once."""
        controller.drop_wrenches()
        self._heard_at.clear()
