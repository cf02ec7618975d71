"""The actuators of all joints of an arm, packed for the kernels."""
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.laws import EXPONENTIAL, N_PARAMETERS, QUADRATIC, RIGID, VARIABLE, Law
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.errors import HodynError

# Columns of `Actuators.motors`.
INERTIA, VISCOUS, COULOMB, COULOMB_VELOCITY = range(4)


@dataclass(frozen=True, eq=False)
class JointActuator:
    """The drive of one joint: its law, and one motor or two equal ones."""

    law: Law  #: Rigid, spring, variable stiffness or antagonistic pair
    motor: Motor  #: Parameters of each motor, in link-side units
    #: Largest elongation |x| of each spring, rad or m; infinite if unknown
    max_deflection: float = np.inf

    def __post_init__(self) -> None:
        if not self.max_deflection > 0.0:
            raise HodynError(f'max_deflection {self.max_deflection:g}: must be above 0')


@dataclass(frozen=True, eq=False)
class Actuators:
    """The actuators of n joints with m motors, n ≤ m ≤ 2 n; immutable.

    Motors are in the order of the joints; the two motors of an antagonistic joint are adjacent.
    """

    names: tuple[str, ...]  #: n strings: joint names
    joints: tuple[JointActuator, ...]  #: n JointActuators: the actuators, one per joint
    kinds: NDArray[np.int64] = field(init=False, repr=False)  #: (n,): codes of the laws
    #: `parameters`, `tables`: (n, 4), (rows, 5): parameters and tables of the laws
    parameters: Array = field(init=False, repr=False)
    tables: Array = field(init=False, repr=False)
    #: (n + 1,): first row of each joint's table; the last entry is the number of rows
    table_rows: NDArray[np.int64] = field(init=False, repr=False)
    #: (n + 1,): first motor of each joint; the last entry is the number of motors
    motor_of: NDArray[np.int64] = field(init=False, repr=False)
    #: (m, 4): inertia, viscous and Coulomb friction, and Coulomb velocity
    motors: Array = field(init=False, repr=False)
    #: (n,): stiffness of each law until another one is requested, N m/rad; infinite if rigid
    stiffness: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.names) != len(self.joints):
            raise HodynError(f'{len(self.names)} joint names for {len(self.joints)} actuators')
        packed = [joint.law.pack() for joint in self.joints]
        parameters = np.zeros((len(packed), N_PARAMETERS))
        for row, (values, _) in zip(parameters, packed, strict=True):
            row[:len(values)] = values
        counts = [joint.law.motors for joint in self.joints]
        motors = [
            (m.inertia, m.viscous, m.coulomb, m.coulomb_velocity)
            for m in (joint.motor for joint in self.joints)]
        arrays = {
            'kinds': np.array([joint.law.kind for joint in self.joints], dtype=np.int64),
            'parameters': parameters,
            'tables': np.ascontiguousarray(np.vstack([table for _, table in packed])),
            'table_rows': _starts([len(table) for _, table in packed]),
            'motor_of': _starts(counts),
            'motors': np.repeat(np.array(motors), counts, axis=0),
            'stiffness': np.array([joint.law.stiffness for joint in self.joints]),
        }
        for name, value in arrays.items():
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle through the constructor: the copy is packed and read-only as well.
        return Actuators, (self.names, self.joints)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def n_motors(self) -> int:
        """Number of motors."""
        return len(self.motors)

    @property
    def variable(self) -> Flags:
        """Which joints have a variable stiffness, (n,)."""
        return np.array([
            joint.law.kind in (VARIABLE, EXPONENTIAL, QUADRATIC)
            for joint in self.joints])

    @property
    def variable_joints(self) -> tuple[str, ...]:
        """Names of the joints with variable stiffness."""
        return tuple(
            name for name, varies in zip(self.names, self.variable, strict=True) if varies)

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motors: the joint's, or NAME_motor1 and NAME_motor2."""
        return tuple(
            motor for name, joint in zip(self.names, self.joints, strict=True)
            for motor in ((name,) if joint.law.motors == 1
                          else (f'{name}_motor1', f'{name}_motor2')))

    @property
    def motor_joints(self) -> NDArray[np.int64]:
        """The joint of each motor, (m,)."""
        return np.repeat(np.arange(self.n), np.diff(self.motor_of))

    @property
    def rigid(self) -> Flags:
        """Which joints have no spring, (n,)."""
        rigid: Flags = self.kinds == RIGID
        return rigid

    def motor_limits(self) -> Array:
        """Return the limits of |θ̇|, |τ_m| and |x| of each motor, (3, m), infinite if unknown."""
        limits: Array = np.array([
            (joint.motor.max_velocity, joint.motor.max_effort, joint.max_deflection)
            for joint in self.joints])[self.motor_joints].T
        return limits

    def constant_stiffness(self) -> Array:
        """Return σ, σ̇, σ̈, (3, n): the stiffness of each law (1 if rigid) and zero rates."""
        stiffness = np.zeros((3, self.n))
        stiffness[0] = np.where(np.isfinite(self.stiffness), self.stiffness, 1.0)
        return stiffness

    def to_rotor(self, reference: Array) -> Array:
        """Return a motor reference, (…, 4, m), converted to the rotors' side of the gears.

        The reference is θ, θ̇, θ̈ (rad, rad/s, rad/s²) and τ_m (N m), as from
        `MotorSide.evaluate`. Motors without a gear ratio are not scaled. Raises HodynError for
        another shape.
        """
        if np.shape(reference)[-2:] != (4, self.n_motors):
            raise HodynError(
                f'a motor reference has the shape (…, 4, {self.n_motors}): position, velocity, '
                f'acceleration and torque of each motor; got {np.shape(reference)}')
        ratio = np.array([joint.motor.gear_ratio for joint in self.joints])[self.motor_joints]
        converted: Array = reference * np.array([ratio, ratio, ratio, 1.0 / ratio])
        return converted


def _starts(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
