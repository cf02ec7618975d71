"""Why stamps leave no run of states that is long enough to differentiate."""
import numpy as np
from numpy.typing import NDArray

STAMP_THEM = 'Let the driver stamp each state with the time at which it was read.'
"""What to do about stamps that are not the times of the states."""


def stamp_faults(stamps: NDArray[np.int64], clock: str) -> str:
    """Return what is wrong with stamps, ns, of a recording, and what to do; empty if nothing is.

    `clock` is their source, ``header`` or ``receive``: receive times are used if most header
    stamps do not increase.
    """
    steps = np.diff(stamps)
    faults = [
        f'{count} {what}' for count, what in (
            (int(np.count_nonzero(steps == 0)), 'stand still'),
            (int(np.count_nonzero(steps < 0)), 'go backwards')) if count]
    if not faults:
        return ''
    which = 'header stamps' if clock == 'header' else (
        'receive times, which are used since the header stamps stand still or go backwards as '
        'well,')
    return f'of {len(stamps)} {which} {" and ".join(faults)}. {STAMP_THEM}'
