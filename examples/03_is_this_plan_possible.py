"""Is this plan possible?
======================

A planner timed these points only for velocity. Here the plan through them is compared with every
limit, also between the points; then we see how much slower it must be.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans import JointWaypoints, PlanRequest, prepare_plan

robot = hd.load_robot('panda')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
points = ready + np.outer([0.0, 1.0, 0.4, 1.2], [0.6, 0.3, -0.2, 0.4, 0.5, 0.3, 0.6])
waypoints = JointWaypoints(robot.joint_names, [0.0, 0.5, 0.9, 1.4], points.tolist())

# %%
# ``hodyn check plan.yaml --robot panda`` does the same from a file.
prepared = prepare_plan(PlanRequest(waypoints, robot))
print(prepared.refusal)

# %%
# The share of each kind of limit that the plan uses, for the joint with the largest share.
table = LimitTable(FeedForward(robot))
times = np.linspace(0.0, prepared.plan.duration, 1500)
taken = np.abs(table.shares(prepared.plan.evaluate(times)))

plt.style.use(plot_style.STYLE)
figure, axis = plt.subplots()
for quantity in ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate'):
    columns = [k for k, column in enumerate(table.limited_columns) if column.quantity == quantity]
    axis.plot(times, taken[:, columns].max(axis=1), label=quantity.replace('_', ' '))
axis.set_ylim(0.0, 2.2)
axis.axhspan(1.0, 2.2, color=plot_style.GREY, alpha=0.2, label='not allowed')
axis.set(xlabel=plot_style.TIME, ylabel='share of the limit, worst joint')
figure.legend(loc='outside upper center', ncols=6)
plt.show()
