"""Torque, and its rates
=====================

From a motion and its derivatives up to the fourth, the library computes the torque that the motion
needs, and the torque's first and second derivatives. Ordinary inverse dynamics gives only the
first of these three plots.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.reference import fit_plan

# %%
# A built-in robot, and a plan through four points, with a continuous fourth derivative.
robot = hd.load_robot('panda')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
points = ready + np.array([
    [0.0] * 7, [0.5, 0.3, -0.3, 0.4, 0.5, 0.3, 0.6], [-0.4, 0.5, 0.4, -0.2, -0.4, 0.6, -0.5],
    [0.2, 0.1, 0.2, 0.3, 0.2, 0.2, 0.3]])
plan = fit_plan([0.0, 0.8, 1.7, 2.4], points)

# %%
# The whole motion in one call: ``q`` is (T, 5, 7), the torques are (T, 3, 7).
times = np.linspace(0.0, plan.duration, 600)
q = plan.evaluate(times)
torques = hd.inverse_dynamics(robot, q)

# %%
plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 6.5))
for axis, curves, label in zip(axes, torques.swapaxes(0, 1), plot_style.TORQUES, strict=True):
    lines = axis.plot(times, curves)
    axis.set_ylabel(label)
axes[-1].set_xlabel(plot_style.TIME)
figure.legend(lines, robot.joint_names, loc='outside upper center', ncols=7)
plt.show()
