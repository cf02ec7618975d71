"""A tool on a straight line
=========================

The motion of a flange, given to the fourth derivative, becomes joint motion and then Q, Q̇ and Q̈.
The closer the arm comes to its stretched pose, the more torque a straight line needs.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.reference import fit_plan

robot = hd.load_robot('panda')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])

# %%
# From rest to rest along x of the world; at each instant, solve for the pose, then for the rates.
line = fit_plan([0.0, 1.2], [[0.0], [0.33]])
times = np.linspace(0.0, line.duration, 240)
start, _ = hd.forward_kinematics(robot, ready[None], 'link7')
motions, guess = [], ready
for distance, *rates in line.evaluate(times)[:, :, 0]:
    pose = start.copy()
    pose[0, 3] += distance
    guess = hd.solve_pose(robot, pose, 'link7', guess)
    twist = np.zeros((4, 6))
    twist[:, 3] = rates
    motions.append(hd.inverse_kinematics(robot, guess, twist, 'link7', representation='hybrid'))
q = np.array(motions)
torques = hd.inverse_dynamics(robot, q)

# %%
plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 6.2))
axes[0].plot(times, line.evaluate(times)[:, 1, 0], color=plot_style.BLACK)
axes[0].set(ylabel='flange (m/s)')
lines = axes[1].plot(times, q[:, 1])
axes[1].set(ylabel=plot_style.MOTION[1])
axes[2].plot(times, torques[:, 1])
axes[2].set(ylabel=plot_style.TORQUES[1], xlabel=plot_style.TIME)
figure.legend(lines, robot.joint_names, loc='outside upper center', ncols=7)
plt.show()
