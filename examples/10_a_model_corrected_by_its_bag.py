"""A model corrected by its bag
============================

The same recording determines friction, and the zero of each torque sensor. Each value comes with
its interval of 90 % confidence; if an interval contains 0, the value may be 0.
The recording is in the repository: run this example in a clone.
"""
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.recordings import Recording, Source, read_data

# %%
# ``hodyn identify BAG --robot panda`` writes a robot file, validated on motion that was held out.
RECORDING = 'test/data/panda_exciting_trajectory'
path = Path(RECORDING) if Path(RECORDING).exists() else Path('..', RECORDING)
robot = hd.load_robot('panda')
data, _ = read_data([Recording(path)], Source(robot))
found = identify(robot, data, ('links', 'friction', 'viscous', 'offsets'))

# %%
given = np.asarray(robot.friction.amplitude)
joints = np.arange(robot.n)
plt.style.use(plot_style.STYLE)
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.6))
left.bar(joints - 0.2, given, 0.4, color=plot_style.GREY, label='in the robot file')
left.bar(
    joints + 0.2, found.joints['amplitude'], 0.4, color=plot_style.SKY,
    yerr=found.intervals['amplitude'], label='of this arm')
left.set(title='friction', ylabel='amplitude (N m)')
left.legend()
right.errorbar(joints, found.offset, found.offset_interval, fmt='o', color=plot_style.RECORDED)
right.axhline(0.0, color=plot_style.LIMIT, linewidth=0.8)
right.set(title='offset of the torque sensors', ylabel='offset (N m)')
for axis in (left, right):
    axis.set_xticks(joints, [name[-1] for name in robot.joint_names])
    axis.set(xlabel='joint', xlim=(-0.6, robot.n - 0.4))
    axis.grid(visible=False, axis='x')
plt.show()
