"""Motors, in link-side values, and the conversion of rotor-side values by the gear ratio."""
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.errors import HodynError


@dataclass(frozen=True)
class Motor:
    """A motor as seen at its joint: B θ̈ + D θ̇ + C tanh(θ̇/v) + spring torque = τ_m."""

    inertia: float  #: B, kg m² (prismatic joints: kg)
    viscous: float = 0.0  #: D, N m s/rad
    #: `coulomb`, `coulomb_velocity`: C, N m; v, rad/s, at which this friction reaches 76 % of C
    coulomb: float = 0.0
    coulomb_velocity: float = 0.01
    #: Turns of the rotor per turn of the joint (prismatic: rad/m); used only to convert units
    gear_ratio: float = 1.0
    #: `max_velocity`, `max_effort`: Limits of |θ̇|, rad/s, and of |τ_m|, N m; infinite if unknown
    max_velocity: float = np.inf
    max_effort: float = np.inf

    def __post_init__(self) -> None:
        for name in ('inertia', 'viscous', 'coulomb'):
            value = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise HodynError(f'{name} {value:g}: must not be below 0, and must be finite')
        for name in ('coulomb_velocity', 'gear_ratio', 'max_velocity', 'max_effort'):
            value = getattr(self, name)
            if not value > 0.0:
                raise HodynError(f'{name} {value:g}: must be above 0')

    @classmethod
    def from_rotor(
        cls,
        *,
        gear_ratio: float,
        inertia: float,
        viscous: float = 0.0,
        coulomb: float = 0.0,
        coulomb_velocity: float = 1.0,
        max_velocity: float = np.inf,
        max_effort: float = np.inf,
    ) -> 'Motor':
        """Return a motor from values at its rotor, the fast side of the gear.

        A gear of ratio N divides angles and multiplies torques by N, so B = N² J.
        """
        # Checked before the conversion, so that errors name the given numbers.
        at_rotor = cls(
            inertia, viscous, coulomb, coulomb_velocity, gear_ratio, max_velocity, max_effort)
        n = gear_ratio
        return replace(
            at_rotor, inertia=n * n * inertia, viscous=n * n * viscous, coulomb=n * coulomb,
            coulomb_velocity=coulomb_velocity / n, max_velocity=max_velocity / n,
            max_effort=n * max_effort)
