"""Torques of springs and friction on links and motors."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.joint_actuators import COULOMB, COULOMB_VELOCITY, VISCOUS, Actuators
from hodyn_ros.actuators.laws import RIGID
from hodyn_ros.actuators.springs import forces
from hodyn_ros.common.arrays import Array, Flags, check_array
from hodyn_ros.common.jit import njit


class LinkSide:
    """Torques of springs and motor friction from positions; the inverse map of `MotorSide`.

    `external`, (n,), marks joints whose linear springs the caller computes: for these joints, the
    springs' torque and stiffness are 0 here.
    """

    def __init__(
        self, actuators: Actuators, external: Flags | None = None,
    ) -> None:
        parameters = np.array(actuators.parameters)
        if external is not None:
            parameters[external] = 0.0
        self.actuators = actuators
        #: (n,): Q, torques of the springs on the links, N m; 0 at rigid joints
        self.torque = np.zeros(actuators.n)
        #: (m,): torque of springs and friction against each motor, N m: B θ̈ + load = τ_m; at
        #: rigid joints only friction
        self.load = np.zeros(actuators.n_motors)
        #: (n,): −∂Q/∂q at fixed motors, N m/rad; infinite at rigid joints
        self.stiffness = np.zeros(actuators.n)
        #: (2, n): time derivatives of `torque` and `stiffness`, N m/s and N m/(rad s), as if
        #: prescribed stiffnesses and the torques of dampers were constant; 0 at rigid joints
        self.rates = np.zeros((2, actuators.n))
        self._prescribed = np.array(actuators.constant_stiffness()[0])
        self._laws = (
            actuators.kinds, parameters, actuators.tables, actuators.table_rows,
            actuators.motor_of, actuators.motors)

    def evaluate(
        self, q: Array, qd: Array, theta: Array, theta_rate: Array,
        stiffness: Array | None = None,
    ) -> Array:
        """Return `torque`, (n,), at one instant, without allocating.

        Positions and velocities of joints, (n,), and motors, (m,), are in rad and rad/s; those of
        motors at rigid joints are not used. `stiffness`, (n,), N m/rad, is only read for joints
        with prescribed stiffness. Wrong shapes, and anything but writeable, C-contiguous float64
        arrays, raise HodynError or TypeError.
        """
        stiffness = self._prescribed if stiffness is None else stiffness
        joints, motors = (self.actuators.n,), (self.actuators.n_motors,)
        check_array(q, 'q', joints)
        check_array(qd, 'qd', joints)
        check_array(theta, 'theta', motors)
        check_array(theta_rate, 'theta_rate', motors)
        check_array(stiffness, 'stiffness', joints)
        _evaluate(
            *self._laws, q, qd, theta, theta_rate, stiffness, self.torque, self.load,
            self.stiffness, self.rates)
        return self.torque


@njit()
def _evaluate(
    kinds: NDArray[np.int64], parameters: Array, tables: Array, table_rows: NDArray[np.int64],
    motor_of: NDArray[np.int64], motors: Array, q: Array, qd: Array, theta: Array,
    theta_rate: Array, prescribed: Array, torque: Array, load: Array, stiffness: Array,
    rates: Array,
) -> None:
    x = np.empty(2)
    rate = np.empty(2)
    force = np.empty((2, 3))
    for i in range(kinds.size):
        first = motor_of[i]
        rate[1] = 0.0
        for j in range(first, motor_of[i + 1]):
            sign = 1.0 if j == first else -1.0
            x[j - first] = sign * (theta[j] - q[i])
            rate[j - first] = sign * (theta_rate[j] - qd[i])
        table = tables[table_rows[i]:table_rows[i + 1]]
        stiffness[i] = forces(kinds[i], parameters[i], table, x, rate, prescribed[i], force)
        torque[i] = force[0, 0] - force[1, 0]
        rates[0, i] = force[0, 1] * rate[0] - force[1, 1] * rate[1]
        rates[1, i] = force[0, 2] * rate[0] + force[1, 2] * rate[1]
        for j in range(first, motor_of[i + 1]):
            speed = qd[i] if kinds[i] == RIGID else theta_rate[j]
            load[j] = (
                (force[0, 0] if j == first else -force[1, 0]) + motors[j, VISCOUS] * speed
                + motors[j, COULOMB] * np.tanh(speed / motors[j, COULOMB_VELOCITY]))
