"""A motion of least torque rate
==============================

There are many motions from rest to rest in a given time. This one minimises the squared torque
rate, summed over time, within the velocity limits: a solver finds the coefficients of a spline,
with exact gradients of Q̇.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import LinearConstraint, minimize

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.reference import fit_plan

robot = hd.load_robot('panda')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
goal = ready + np.array([1.0, 0.9, -0.3, 0.8, 0.4, 0.6, -0.5])
times, step = np.linspace(0.0, 1.2, 121, retstep=True)
before = fit_plan([0.0, 1.2], [ready, goal]).evaluate(times)[:, :4]  # q, q̇, q̈, q⃛

# %%
# A spline of degree 7: its first and last three coefficients are fixed, for rest at both ends.
knots = np.concatenate([[0.0] * 7, np.linspace(0.0, 1.2, 9), [1.2] * 7])
basis = np.array([BSpline(knots, np.eye(15), 7)(times, m) for m in range(4)])


def motion(free):
    """Return q … q⃛ at all times, (121, 4, 7)."""
    coefficients = np.vstack([[ready] * 3, free.reshape(-1, robot.n), [goal] * 3])
    return np.einsum('mtc,cj->tmj', basis, coefficients)


def cost(free):
    """Return ∫ |Q̇|² dt in (kN m)²/s, and its gradient by ∂Q̇ᵢ/∂qⱼ⁽ᵐ⁾."""
    q = motion(free)
    rate = 1e-3 * hd.inverse_dynamics(robot, q)[:, 1]
    by_motion = 1e-3 * hd.inverse_dynamics_derivatives(robot, q)[:, 1]  # at [t, m, i, j]
    gradient = np.einsum('ti,tmij,mtc->cj', rate, by_motion, basis[:, :, 3:-3], optimize=True)
    return step * np.sum(rate**2), 2.0 * step * gradient.ravel()


straight = ready + np.outer(np.linspace(0.0, 1.0, 11)[1:-1], goal - ready)
rest = motion(np.zeros(63))[::5, 1].ravel()  # velocities due to the fixed coefficients
limit = np.tile(robot.limits.velocity, 25)
velocities = LinearConstraint(
    np.kron(basis[1, ::5, 3:-3], np.eye(robot.n)), -limit - rest, limit - rest)
found = minimize(cost, straight.ravel(), jac=True, method='SLSQP', constraints=velocities)

# %%
plt.style.use(plot_style.STYLE)
figure, axis = plt.subplots()
for q, name in ((before, 'one polynomial'), (motion(found.x), 'least torque rate')):
    rate = hd.inverse_dynamics(robot, q)[:, 1]
    axis.plot(times, np.linalg.norm(rate, axis=1), label=f'{name}: {step * np.sum(rate**2):.0f}')
axis.set(xlabel=plot_style.TIME, ylabel='torque rate of all joints, |Q̇| (N m/s)')
figure.legend(loc='outside upper center', ncols=2, title='∫ |Q̇|² dt ((N m)²/s)')
plt.show()
