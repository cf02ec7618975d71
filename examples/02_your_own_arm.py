"""Your own arm, and what it carries
=================================

A URDF is enough. The torques that hold the arm against gravity over the range of its elbow, empty
and with a load in its hand, show whether its motors can carry it.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style

URDF = """<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="4"/>
    <inertia ixx="0.06" iyy="0.06" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0 0 0.15"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="2" effort="45"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" velocity="3" effort="20"/></joint>
</robot>"""  # or the path of a file

# %%
# A robot never changes: ``with_payload`` returns another one.
arm = hd.load_robot(URDF)
loads = {mass: arm.with_payload('fore', mass, [0.0, 0.0, 0.3]) for mass in (0.0, 2.0, 4.0)}

# %%
# At rest all derivatives are zero, so the torque only carries the weight.
elbow = np.linspace(-2.5, 2.5, 300)
q = np.zeros((300, 3, 2))
q[:, 0, 0], q[:, 0, 1] = 1.0, elbow

plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.4))
for joint, axis in enumerate(axes):
    for mass, robot in loads.items():
        torque = hd.inverse_dynamics(robot, q)[:, 0, joint]
        axis.plot(elbow, torque, label=f'{mass:g} kg in the hand')
    for side in (-1.0, 1.0):
        axis.axhline(side * arm.limits.effort[joint], color=plot_style.LIMIT, linewidth=1.0)
    axis.set(title=f'{arm.joint_names[joint]}, limit in black', xlabel='elbow (rad)')
axes[0].set_ylabel(plot_style.TORQUES[0])
figure.legend(*axes[1].get_legend_handles_labels(), loc='outside upper center', ncols=3)
plt.show()
