"""As fast as it may
=================

The same path, run as fast as every limit allows: velocity, acceleration, jerk, torque and torque
rate. The picture shows that at almost every instant some limit is reached, and none is exceeded.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable

robot = hd.load_robot('panda')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
points = ready + np.array([
    [0.0] * 7, [0.5, 0.3, -0.3, 0.4, 0.5, 0.3, 0.6], [-0.4, 0.5, 0.4, -0.2, -0.4, 0.6, -0.5],
    [0.2, 0.1, 0.2, 0.3, 0.2, 0.2, 0.3]])

# %%
# ``hodyn retime plan.yaml --robot panda --output fast.yaml`` does the same from a file.
fast = hd.retime(robot, points)
slow = fast.uniform_stretch_duration
print(f'{fast.duration:.2f} s; stretched evenly: {slow:.2f} s; found in {fast.seconds:.1f} s')

# %%
table = LimitTable(FeedForward(robot))
times = np.linspace(0.0, fast.duration, 1500)
taken = np.abs(table.shares(fast.plan.evaluate(times)))

plt.style.use(plot_style.STYLE)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7.5, 5.5))
for quantity in ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate'):
    columns = [k for k, column in enumerate(table.limited_columns) if column.quantity == quantity]
    above.plot(times, taken[:, columns].max(axis=1), label=quantity.replace('_', ' '))
above.axhline(1.0, color=plot_style.LIMIT, linewidth=1.0)
above.set(ylabel='share of the limit, worst joint')
figure.legend(loc='outside upper center', ncols=5)
below.plot(times, fast.plan.evaluate(times)[:, 1], label=robot.joint_names)
below.set(xlabel=plot_style.TIME, ylabel=plot_style.MOTION[1])
figure.legend(*below.get_legend_handles_labels(), loc='outside lower center', ncols=7)
plt.show()
