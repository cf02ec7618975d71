"""Whether the arm is where the reference says."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.plausible_state import PERSISTENCE
from hodyn_ros.reference.limits import largest_ratio

Array = NDArray[np.float64]

WARN_FRACTION = 0.5


class TrackingWatch:
    """Compares measured positions with the reference's.

    Parameters
    ----------
    tolerance : (n,) array
        How far each joint may be away, rad or m; infinite where it does not matter.

    Attributes
    ----------
    joint : int
        The joint that is away most, in proportion.
    error : float
        How far it is away, measured minus reference, rad or m.
    ratio : float
        Its error in units of its tolerance.
    has_departed : bool
        Whether a joint was beyond its tolerance in each of the last three comparisons.

    """

    def __init__(self, tolerance: Array) -> None:
        self.tolerance = tolerance
        self.joint = 0
        self.error = self.ratio = 0.0
        self._beyond = 0

    @property
    def is_beyond(self) -> bool:
        """Whether a joint was beyond its tolerance at the last comparison."""
        return self.ratio > 1.0

    @property
    def is_notable(self) -> bool:
        """Whether a joint is so far away that it should be told."""
        return self.ratio > WARN_FRACTION

    @property
    def has_departed(self) -> bool:
        """Whether a joint was beyond its tolerance each of the last times."""
        return self._beyond >= PERSISTENCE

    def compare(self, measured: Array, reference: Array, readings: int = 1) -> None:
        """Compare positions, (n,) each, of the same instant, of so many readings that agree."""
        error = measured - reference
        self.joint, self.ratio = largest_ratio(error, self.tolerance)
        self.error = error.item(self.joint)
        self._beyond = self._beyond + readings if self.ratio > 1.0 else 0

    def forget(self) -> None:
        """Begin anew: the reference was led to the arm."""
        self._beyond, self.ratio = 0, 0.0
