"""The laws of joints: the spring or the tendons between a motor and its link.

All units are link-side: N m and rad for revolute joints, N and m for prismatic ones. Each law
packs its parameters for the kernels in `springs`, which have the equations.
"""
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError

RIGID, LINEAR, CUBIC, TABULATED, VARIABLE, EXPONENTIAL, QUADRATIC = range(7)

MIN_SLOPE = 1e-3
"""Slope, as a share of the spring's largest slope, below which the spring counts as slack."""
N_PARAMETERS = 4
TABLE_COLUMNS = 5
_NO_TABLE = np.zeros((0, TABLE_COLUMNS))


class _Law:
    """Base class of the laws."""

    motors: ClassVar[int] = 1  #: Number of motors at the joint
    #: Fields that the kernels take as parameters, in their order
    packed: ClassVar[tuple[str, ...]] = ()
    #: Fields that are proportional to the stiffness of the springs
    proportional: ClassVar[tuple[str, ...]] = ()

    def pack(self) -> tuple[tuple[float, ...], Array]:
        """Return the kernel's parameters and table."""
        return tuple(float(getattr(self, name)) for name in self.packed), _NO_TABLE

    def scaled(self, factor: float) -> 'Law':
        """Return the same law, with its springs `factor` times as stiff."""
        law: Law = replace(
            cast(Any, self), **{name: factor * getattr(self, name) for name in self.proportional})
        return law


@dataclass(frozen=True)
class Rigid(_Law):
    """No spring: the motor moves with the link, θ = q."""

    kind: ClassVar[int] = RIGID
    stiffness: ClassVar[float] = np.inf


@dataclass(frozen=True)
class LinearSpring(_Law):
    """Q = K δ + D δ̇ with δ = θ − q: a series spring, with a damper beside it unless D is 0."""

    #: `stiffness`, `damping`: K, N m/rad; D, N m s/rad
    stiffness: float
    damping: float = 0.0
    kind: ClassVar[int] = LINEAR
    packed: ClassVar[tuple[str, ...]] = ('stiffness', 'damping')
    proportional: ClassVar[tuple[str, ...]] = ('stiffness',)

    def __post_init__(self) -> None:
        _check_positive('stiffness', self.stiffness)
        if not 0.0 <= self.damping < np.inf:
            raise HodynError(f'damping {self.damping:g}: must not be below 0')


@dataclass(frozen=True)
class CubicSpring(_Law):
    """Q = k₁ δ + k₃ δ³: hardening for k₃ > 0, softening for k₃ < 0."""

    #: `stiffness`, `cubic`: k₁, N m/rad; k₃, N m/rad³
    stiffness: float
    cubic: float
    #: Torque at which a softening spring gives way, N m; infinite for other springs
    greatest_torque: float = field(init=False)
    kind: ClassVar[int] = CUBIC
    packed: ClassVar[tuple[str, ...]] = ('stiffness', 'cubic', 'greatest_torque')
    proportional: ClassVar[tuple[str, ...]] = ('stiffness', 'cubic')

    def __post_init__(self) -> None:
        _check_positive('stiffness', self.stiffness)
        if not np.isfinite(self.cubic):
            raise HodynError(f'cubic {self.cubic:g}: must be finite')
        torque = np.inf
        if self.cubic < 0.0:
            end = np.sqrt((MIN_SLOPE - 1.0) * self.stiffness / (3.0 * self.cubic))
            torque = self.stiffness * end + self.cubic * end**3
        object.__setattr__(self, 'greatest_torque', float(torque))


@dataclass(frozen=True, eq=False)
class TabulatedSpring(_Law):
    """Q = φ(δ), a C² spline through measured points."""

    #: `deflection`, `torque`: (m,): at least 4 points, rad and N m, both increasing. A torque
    #: beyond the ends is infeasible.
    deflection: Array
    torque: Array
    table: Array = field(init=False, repr=False)
    kind: ClassVar[int] = TABULATED
    proportional: ClassVar[tuple[str, ...]] = ('torque',)

    def __post_init__(self) -> None:
        x, y = np.array(self.deflection, dtype=float), np.array(self.torque, dtype=float)
        if x.ndim != 1 or x.shape != y.shape or len(x) < 4:
            raise HodynError('deflection and torque: expected lists of the same length, 4 or more')
        for name, values in (('deflection', x), ('torque', y)):
            if not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0.0):
                raise HodynError(f'{name}: must increase from entry to entry')
        from scipy.interpolate import CubicSpline  # takes half a second, and only tables need it

        spline = CubicSpline(x, y)
        slope = spline.derivative()
        # The slope is quadratic on a piece: least at an end, or at the root of its derivative.
        turns = slope.derivative().roots(extrapolate=False)
        places = np.concatenate([x, turns[np.isfinite(turns)]])
        slopes = slope(places)
        if slopes.min() <= MIN_SLOPE * slopes.max():
            place = float(places[np.argmin(slopes)])
            raise HodynError(
                f'torque: the smooth curve through the points falls or is flat near deflection '
                f'{place:.4g}; give more points there')
        for name, value in (
            ('deflection', x), ('torque', y),
            # A row per point: its deflection and torque, and the coefficients of x, x² and x³ on
            # the piece after it, with x the deflection from the point.
            ('table', np.column_stack([
                x, y, slope(x), np.vstack([spline.c[1::-1].T, np.zeros(2)])])),
        ):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def stiffness(self) -> float:
        """The slope at the middle point, N m/rad."""
        return float(self.table[len(self.table) // 2, 2])

    def pack(self) -> tuple[tuple[float, ...], Array]:
        """Return the kernel's parameters and table."""
        return (), self.table


@dataclass(frozen=True)
class VariableStiffness(_Law):
    """Q = K(t) δ: a spring whose stiffness is prescribed over time, with K̇ and K̈."""

    stiffness: float  #: K, N m/rad, until another one is requested
    kind: ClassVar[int] = VARIABLE
    proportional: ClassVar[tuple[str, ...]] = ('stiffness',)

    def __post_init__(self) -> None:
        _check_positive('stiffness', self.stiffness)


@dataclass(frozen=True)
class AntagonisticExponential(_Law):
    """Two motors that pull a joint by tendons with f(x) = a (e^{b x} − 1)."""

    #: `scale`, `rate`: a, N m; b, 1/rad
    scale: float
    rate: float
    stiffness: float  #: σ, N m/rad, until another one is requested
    pushes: bool = False  #: Whether the tendons may push as well (x < 0)
    kind: ClassVar[int] = EXPONENTIAL
    motors: ClassVar[int] = 2
    packed: ClassVar[tuple[str, ...]] = ('scale', 'rate', 'pushes')
    proportional: ClassVar[tuple[str, ...]] = ('scale', 'stiffness')

    def __post_init__(self) -> None:
        for name in ('scale', 'rate', 'stiffness'):
            _check_positive(name, getattr(self, name))

    @property
    def deflection_at_rest(self) -> float:
        """Elongation x of both tendons without a load, rad: 2 a b e^{b x} = σ."""
        return float(np.log(self.stiffness / (2.0 * self.scale * self.rate)) / self.rate)


@dataclass(frozen=True)
class AntagonisticQuadratic(_Law):
    """Two motors that pull a joint by tendons with f(x) = k x²/2, which cannot push."""

    coefficient: float  #: k, N m/rad²
    stiffness: float  #: σ, N m/rad, until another one is requested
    kind: ClassVar[int] = QUADRATIC
    motors: ClassVar[int] = 2
    packed: ClassVar[tuple[str, ...]] = ('coefficient',)
    proportional: ClassVar[tuple[str, ...]] = ('coefficient', 'stiffness')

    def __post_init__(self) -> None:
        for name in ('coefficient', 'stiffness'):
            _check_positive(name, getattr(self, name))

    @property
    def deflection_at_rest(self) -> float:
        """Elongation x of both tendons without a load, rad: 2 k x = σ."""
        return self.stiffness / (2.0 * self.coefficient)


Law = (
    Rigid | LinearSpring | CubicSpring | TabulatedSpring | VariableStiffness
    | AntagonisticExponential | AntagonisticQuadratic)


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise HodynError(f'{name} {value:g}: must be above 0 and finite')
