"""The check of numbers that the makers of plans and the stream filter share."""
from collections.abc import Sequence
import reprlib

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.pieces import Array


def numbers(values: ArrayLike | Sequence[ArrayLike], name: str) -> Array:
    """Return a C-contiguous copy as float64, or say that these are no numbers."""
    try:
        return np.array(values, dtype=np.float64, order='C')
    except (TypeError, ValueError, OverflowError):
        raise HodynError(f'{name}: expected numbers, got {reprlib.repr(values)}') from None
