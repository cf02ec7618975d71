"""What a recording is instead of what it is taken for, from some samples of its motion."""
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.misreading import Fit, find_misreading, wrong_velocities
from hodyn_ros.replay.shifted_zeros import MAX_SAMPLES

Array = NDArray[np.float64]

_FEW = 8  # number of pieces of a recording that are looked at


@dataclass(frozen=True)
class Diagnosis:
    """Whether a recording is what it is taken for.

    Attributes
    ----------
    names : tuple of str
        The driver's joint names in the robot's order.
    fit : Fit
        How well the efforts fit the model, and how the recording would have to be read to fit.
    wrong_velocities : list of str
        What the recorded velocities are instead of those of the positions, a clause each.

    """

    names: tuple[str, ...]
    fit: Fit
    wrong_velocities: list[str]

    @property
    def sentences(self) -> list[str]:
        """What is wrong with the recording, and what to do about it."""
        said = [self._misread] if self.fit.is_wrong else []
        if self.wrong_velocities:
            said.append(
                'Recorded velocities are not those of the positions, from which the motion is '
                f'estimated: {"; ".join(self.wrong_velocities)}. Correct the driver.')
        return said

    def without(self, terms: Collection[str]) -> 'Diagnosis':
        """Return what is left to say where terms are identified that find the cause."""
        reading = self.fit.reading
        if reading is None or reading.without(terms).changes:
            return self
        return Diagnosis(self.names, Fit(self.fit.left), self.wrong_velocities)

    @property
    def _misread(self) -> str:
        fit = self.fit
        said = (
            f'The recording does not fit the model, which leaves {100 * fit.unexplained:.0f} % of '
            'the efforts unexplained, whatever bias, friction and gain each joint has')
        if fit.reading is None:
            return said + (
                '. None of these explains it: swapped joints or efforts, opposite signs, zeros a '
                'quarter turn away, degrees, a load on the last link. Check that the robot is '
                'that of the recording.')
        causes = '; '.join(fit.reading.causes(self.names))
        return f'{said}; {100 * fit.left:.0f} % would be left if {causes}. ' + ' '.join(
            fit.reading.remedies)


class DiagnosisSamples:
    """Samples of the first pieces of a recording, by which it is diagnosed."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Array, Array, Array]] = []

    @property
    def are_enough(self) -> bool:
        """Whether no other piece is needed."""
        return len(self._pieces) >= _FEW

    def add(self, q: Array, effort: Array, velocity: Array) -> None:
        """Add the next piece, if it is needed.

        Parameters
        ----------
        q : (S, 5, n) array
            The estimated motion, rad/sᵏ.
        effort, velocity : (S, n) arrays
            The recorded effort within the bandwidth of the motion, N m; the recorded velocity,
            rad/s.

        """
        if len(q) and not self.are_enough:
            every = len(q) // MAX_SAMPLES + 1
            self._pieces.append((q[::every], effort[::every], velocity[::every]))

    def diagnosis(self, feedforward: FeedForward, names: tuple[str, ...]) -> Diagnosis:
        """Return what the recording is; `names` are the driver's of the joints."""
        if not self._pieces:
            return Diagnosis(names, Fit(np.nan), [])
        q, effort, velocity = (
            np.concatenate(values) for values in zip(*self._pieces, strict=True))
        every = len(q) // MAX_SAMPLES + 1
        turns = np.array([
            body.type != 'prismatic' for body in feedforward.robot.joint_bodies])
        return Diagnosis(
            names, find_misreading(feedforward, q[::every], effort[::every]),
            wrong_velocities(q[:, 1], velocity, names, turns))
