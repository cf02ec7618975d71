"""The data of a fit: motions with their efforts."""
from dataclasses import dataclass, field, fields, replace

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices

BLOCK = 1.0
"""Length, s, of the blocks of time over which errors are summed, see `correlated_errors`."""


@dataclass(frozen=True, eq=False)
class Data:
    """Motions with their efforts."""

    q: Array  #: (T, 5, n): estimated motions, q … q⁗
    effort: Array  #: (T, n): recorded efforts, N m or another unit
    block: Indices  #: (T,): number of the block of time of each sample
    gravity: bool = True  #: Whether the efforts contain gravity
    #: (T,): number of the recording of each sample; 0 by default
    bag: Indices = field(default_factory=lambda: np.empty(0, np.intp))
    #: (T,): whether the arm carried its payload; always by default
    loaded: Flags = field(default_factory=lambda: np.empty(0, np.bool_))
    #: (T, n): whether a joint stands, see `rests`; never by default
    stands: Flags = field(default_factory=lambda: np.empty((0, 0), np.bool_))
    #: (T, n): whether a velocity is certainly not 0, see `rests`; always by default
    moves: Flags = field(default_factory=lambda: np.empty((0, 0), np.bool_))
    #: If the efforts are in another unit, see `effort_unit`: their ratio to the model's torques;
    #: NaN otherwise
    factor: float = np.nan

    def __post_init__(self) -> None:
        if not len(self.bag):
            object.__setattr__(self, 'bag', np.zeros(len(self.q), np.intp))
        if not len(self.loaded):
            object.__setattr__(self, 'loaded', np.ones(len(self.q), np.bool_))
        if not len(self.stands):
            object.__setattr__(self, 'stands', np.zeros(self.effort.shape, np.bool_))
        if not len(self.moves):
            object.__setattr__(self, 'moves', np.ones(self.effort.shape, np.bool_))

    def __getitem__(self, index: Flags | Indices) -> 'Data':
        return replace(self, **{
            f.name: getattr(self, f.name)[index] for f in fields(self) if np.ndim(
                getattr(self, f.name))})

    @property
    def known(self) -> Flags:
        """Which efforts are recorded while the joint moves, (T, n)."""
        return np.asarray(np.isfinite(self.effort) & ~self.stands)

    @property
    def blocks_of_motion(self) -> int:
        """Number of blocks of time in which a joint with a recorded effort moves."""
        return len(np.unique(self.block[self.known.any(axis=1)]))
