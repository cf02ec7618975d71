"""Why a Franka stopped, and how to predict it
===========================================

The arm's own controller stops on commands that are too fast, and then reports a name. The
same rules, at the controller's sampling period, predict a stop before the plan runs.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.reflex_check import reflex_peaks
from hodyn_ros.reference import fit_plan

robot = hd.load_robot('panda')
feedforward = FeedForward(robot)
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
move = ready + np.outer([0.0, 1.0], [0.3, 0.3, -0.2, 0.9, 0.4, 0.3, 0.6])

# %%
# One motion in different durations. ``hodyn check`` names the reflexes of one plan.
durations = np.linspace(0.5, 1.6, 12)
shares = {}
for duration in durations:
    plan = fit_plan([0.0, duration], move)
    for commands in ('effort', 'position'):
        for peak in reflex_peaks(plan, feedforward, commands):
            shares.setdefault((commands, peak.reflex), []).append(peak.share)

# %%
plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.5, 4.6))
for axis, commands in zip(axes, ('effort', 'position'), strict=True):
    for (of, name), share in shares.items():
        if of == commands:
            axis.plot(durations, share, marker='.', label=name)
    axis.axhspan(1.0, 100.0, color=plot_style.GREY, alpha=0.2)
    axis.set(title=f'commanded by {commands}', xlabel='duration (s)', yscale='log')
    axis.legend(loc='upper center', bbox_to_anchor=(0.45, -0.14))
axes[0].set(ylabel='share of what is allowed', ylim=(0.01, 20.0))
axes[0].text(1.6, 10.0, 'the arm stops', ha='right')
plt.show()
