"""The equations of motion in closed form, body-fixed, and their derivatives.

They follow the papers MK21 and KM21 (`docs/theory.md`). Use them for insight and for checks; the
recursions are faster: O(n) instead of O(n³).
"""
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import checked_motions, external
from hodyn_ros.dynamics.kernels import closed_form as kernels
from hodyn_ros.dynamics.taylor_coefficients import derivatives
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Terms of Q = M q̈ + C q̇ + Q_grav + Q_ext; entry k of each is the k-th time derivative.

    Attributes
    ----------
    mass : (r + 1, n, n) array
        M, kg m² (kg m and kg for prismatic joints).
    coriolis : (r + 1, n, n) array
        C of MK21 eqs. (20), (22).
    coriolis_skew : (r + 1, n, n) array
        C̄ of MK21 eq. (54): C̄ q̇ = C q̇, and Ṁ − 2 C̄ is skew symmetric.
    gravity : (r + 1, n) array
        Q_grav: generalized forces that balance gravity, N m (prismatic: N).
    external : (r + 1, n) array
        Q_ext: generalized forces that balance the external wrenches.
    system_jacobian : (r + 1, 6 n_bodies, n) array
        𝖩 of MK21 eq. (9), KM21 (22) and (52): rows 6 i … 6 i + 5 are the body-fixed Jacobian of
        body i, (angular, linear) in its axes about its origin.
    system_twist : (r + 1, 6 n_bodies) array
        𝖵 = 𝖩 q̇ of MK21 eq. (8), KM21 (21) and (53): the bodies' body-fixed twists
        in one column, rad/s and m/s.

    """

    mass: Array
    coriolis: Array
    coriolis_skew: Array
    gravity: Array
    external: Array
    system_jacobian: Array
    system_twist: Array

    def coefficient(self, order: int, k: int) -> Array:
        """Return the matrix (n, n) that multiplies q⁽ᵏ⁾ in Q⁽ʳ⁾, with r the order (KM21 eq. 49).

        It is binom(r, k − 2) M⁽ʳ⁻ᵏ⁺²⁾ + binom(r, k − 1) C⁽ʳ⁻ᵏ⁺¹⁾: C⁽ʳ⁾ for k = 1, M for
        k = r + 2. Q⁽ʳ⁾ is the sum over k of this matrix times q⁽ᵏ⁾, plus gravity[r] and
        external[r]. The matrices themselves depend on derivatives of q.

        Raises
        ------
        HodynError
            If `order` is above the order of the terms, or k is not between 1 and order + 2.

        """
        for value, name in ((order, 'order'), (k, 'k')):
            if not isinstance(value, (int, np.integer)):
                raise HodynError(f'{name} is {value!r}: expected a whole number')
        if not 0 <= order < len(self.mass):
            raise HodynError(f'order {order}: the terms have orders 0 to {len(self.mass) - 1}')
        if not 1 <= k <= order + 2:
            raise HodynError(f'k = {k}: derivative {order} of Q contains q^(1) to q^({order + 2})')
        result = np.zeros(self.mass.shape[1:])
        if k >= 2:
            result += math.comb(order, k - 2) * self.mass[order - k + 2]
        if k <= order + 1:
            result += math.comb(order, k - 1) * self.coriolis[order - k + 1]
        return result


def closed_form(
    robot: Robot, q: ArrayLike, *, external_wrenches: ArrayLike | None = None,
) -> ClosedForm:
    """Return the closed-form terms of a fixed-base robot and their time derivatives.

    Implements MK21 eqs. (8), (9), (20)–(27), (29), (31), (36), (37), (40), (45), (52)–(54) to
    order 2, and KM21 (50)–(58) for any order.

    Parameters
    ----------
    robot : Robot
        Fixed base.
    q : (r + 2, n) array
        Joint positions and derivatives.
    external_wrenches : (r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics`; the W of MK21 is −external_wrenches.

    Raises
    ------
    HodynError
        For a floating base, wrong shapes and values that are not finite.

    """
    check_robot(robot)
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base: use equations_of_motion')
    (motion,), _ = checked_motions(q, 'q', robot, 2, one=True)
    orders, bodies, model = len(motion) - 1, len(robot.bodies), robot.kernel_model
    mass, coriolis, skew = np.empty((3, orders, bodies, bodies))
    gravity, applied = np.empty((2, orders, bodies))
    jacobian, twist = kernels.terms(
        model.parent, model.body_table, model.body_in_kernel, robot.gravity,
        kernels.workspace(bodies, orders - 1), external(robot, external_wrenches, orders)[0],
        robot.coupling.to_bodies(motion), mass, coriolis, skew, gravity, applied)
    # The kernel's results are in kernel frames; move them to the body frames.
    to_body = lie.adjoint(lie.inverse(model.body_in_kernel))
    system_jacobian = (to_body @ jacobian[:-1].swapaxes(-1, -2)).reshape(orders, -1, bodies)
    system_twist = (to_body @ twist[..., None]).reshape(orders, -1)
    s = robot.coupling.matrix()
    return ClosedForm(*(derivatives(term) for term in (
        s.T @ mass @ s, s.T @ coriolis @ s, s.T @ skew @ s, gravity @ s, applied @ s,
        system_jacobian @ s, system_twist)))
