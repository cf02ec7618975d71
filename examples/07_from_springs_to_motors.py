"""From spring data to motor commands
==================================

A motor behind a spring must be ahead of its link by the deflection. Q, Q̇ and Q̈ determine its
position, velocity and torque, without a sensor and without numerical differentiation.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot.files.actuators import with_actuators

# %%
# The data of each spring and motor, as in the ``actuators`` section of a robot file.
motor = {'side': 'rotor', 'gear_ratio': 100, 'inertia': 4.0e-5, 'viscous': 1.0e-4}
robot = with_actuators(hd.load_robot('twolink'), {'actuators': {
    'joint1': {'law': 'spring', 'stiffness': 400, 'motor': motor},
    'joint2': {'law': 'cubic', 'stiffness': 50, 'cubic': 400, 'motor': motor}}})
feedforward = FeedForward(robot)

# %%
plan = fit_plan([0.0, 0.9, 1.8], [[0.0, 0.0], [1.2, -0.8], [0.3, 0.9]])
times = np.linspace(0.0, plan.duration, 600)
q = plan.evaluate(times)
torque = feedforward.torque(q)
theta, theta_rate, _, motor_torque = feedforward.motor_side.along(times, q, torque).swapaxes(0, 1)

# %%
plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 6.2))
for joint, name in enumerate(robot.joint_names):
    colors = (plot_style.BLUE, plot_style.ORANGE)[joint]
    axes[0].plot(times, theta[:, joint] - q[:, 0, joint], color=colors, label=name)
    axes[1].plot(times, theta_rate[:, joint], color=colors, label=f'{name}: motor')
    axes[1].plot(times, q[:, 1, joint], '--', color=colors, label=f'{name}: link')
    axes[2].plot(times, motor_torque[:, joint], color=colors, label=f'{name}: motor')
    axes[2].plot(times, torque[:, 0, joint], '--', color=colors, label=f'{name}: link')
labels = ('deflection (rad)', plot_style.MOTION[1], 'torque (N m)')
for axis, label in zip(axes, labels, strict=True):
    axis.set_ylabel(label)
    axis.legend(ncols=2)
axes[-1].set_xlabel(plot_style.TIME)
plt.show()
