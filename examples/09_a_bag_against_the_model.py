"""A bag against the model
=======================

This recording has joint states of a real Panda at 30 Hz. Their derivatives are estimated, the
torques computed by the code of the node, and compared with the recorded ones.
"""
from pathlib import Path
import tempfile

import matplotlib.pyplot as plt

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.replay_bag import replay
from hodyn_ros.robot.joint_names import JointNames

# %%
# ``hodyn replay BAG --robot panda`` writes the same as a page with many more pictures.
RECORDING = 'test/data/panda_exciting_trajectory'
path = Path(RECORDING) if Path(RECORDING).exists() else Path('..', RECORDING)
robot = hd.load_robot('panda')
with JointStateBag(path, JointNames(robot)) as bag, tempfile.TemporaryDirectory() as folder:
    result = replay(bag, FeedForward(robot), Path(folder))

# %%
trace, n = result.curves.torques, robot.n
plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(4, 2, sharex=True, figsize=(7.5, 7.5))
for joint, axis in zip(result.joints, axes.flat, strict=False):
    i = result.names.index(joint.name)
    axis.plot(
        trace.time, trace.upper[:, n + i], color=plot_style.RECORDED, linewidth=2.5,
        label='recorded')
    axis.plot(trace.time, trace.upper[:, i], color=plot_style.COMPUTED, label='computed')
    axis.set_title(f'{joint.name}: RMS error {joint.rms_error:.2g} N m')
axes[-1, -1].axis('off')
axes[-2, -1].tick_params(labelbottom=True)
axes[-1, 0].set(xlabel=plot_style.TIME, ylabel='torque (N m)')
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='outside upper center', ncols=2)
plt.show()
