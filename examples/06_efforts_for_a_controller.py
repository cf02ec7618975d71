"""Efforts for a trajectory controller
===================================

`joint_trajectory_controller` interpolates the efforts of a trajectory linearly. How far apart may
the samples of an annotated plan be? The error of the torque is h²/8 times Q̈, which is known.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans import annotate
from hodyn_ros.reference import fit_plan

robot = hd.load_robot('panda')
feedforward = FeedForward(robot)
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
points = ready + np.outer([0.0, 1.0, 0.4, 1.2], [0.3, 0.3, -0.2, 0.4, 0.4, 0.3, 0.6])
plan = fit_plan([0.0, 0.8, 1.7, 2.4], points)

# %%
# Franka's controller adds gravity and friction itself, so they are left out.
terms = {'gravity': False, 'friction': False}
times = np.linspace(0.0, plan.duration, 24_001)
torque = feedforward.torque(plan.evaluate(times), **terms)
curvature = np.abs(torque[:, 2]).max()

# %%
# ``hodyn annotate plan.yaml --robot panda --without-gravity --without-friction`` writes the file.
periods = np.array([1, 2, 5, 10, 20, 50]) * 1e-3
errors = []
for period in periods:
    sampled = annotate(plan, feedforward, period, **terms)
    lines = [np.interp(times, sampled.times, column) for column in sampled.torque[:, 0].T]
    errors.append(np.abs(np.transpose(lines) - torque[:, 0]).max())

plt.style.use(plot_style.STYLE)
figure, axis = plt.subplots()
axis.loglog(1e3 * periods, errors, 'o', color=plot_style.RECORDED, label='found')
axis.loglog(1e3 * periods, periods**2 / 8 * curvature, color=plot_style.COMPUTED, label='h²/8 |Q̈|')
late = 1e-3 * np.abs(torque[:, 1]).max()
axis.axhline(late, color=plot_style.GREY, linestyle='--', label='an effort that is 1 ms late')
axis.set(xlabel='time between samples (ms)', ylabel='largest error of the torque (N m)')
axis.legend()
plt.show()
