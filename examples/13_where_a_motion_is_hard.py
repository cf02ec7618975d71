"""Where a motion is hard
======================

A Panda reaches up and to the side. The flange's path is coloured by the largest share that any
joint uses of its torque limit; the arm is drawn every quarter of a second.
"""
from matplotlib.colors import Normalize
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d.art3d import Line3DCollection
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.reference import fit_plan

# %%
# Positions of the joints along the motion, and the torques that it needs.
robot = hd.load_robot('panda')
plan = fit_plan([0.0, 0.7, 1.5], [
    [-1.2, 0.9, 0.0, -1.5, 0.0, 2.3, 0.8], [-0.2, 0.4, 0.0, -2.0, 0.3, 2.2, 0.8],
    [0.9, -0.5, 0.0, -1.1, 0.5, 1.2, 0.8]])
times = np.linspace(0.0, plan.duration, 301)
q = plan.evaluate(times)
share = (np.abs(hd.inverse_dynamics(robot, q)[:, 0]) / robot.limits.effort).max(axis=1)
poses, _ = hd.forward_kinematics(robot, q[:, :1])
flange = hd.forward_kinematics(robot, q[:, :1], 'flange')[0][:, None]
base = np.broadcast_to(np.eye(4), (len(times), 1, 4, 4))
places = np.concatenate([base, poses, flange], axis=1)[..., :3, 3]      # (T, 9, 3)

# %%
plt.style.use(plot_style.STYLE)
figure, axis = plt.subplots(subplot_kw={'projection': '3d'}, figsize=(6.5, 5.5))
for index in range(0, len(times), 50):
    axis.plot(*places[index].T, color=plot_style.GREY, ls='-', lw=6, marker='o', ms=8, mfc='white',
              alpha=0.25 + 0.6 * index / len(times), solid_capstyle='round')
path = places[:, -1]
pieces = axis.add_collection(Line3DCollection(
    np.stack([path[:-1], path[1:]], axis=1), cmap='plasma', lw=4, norm=Normalize(0.0, 0.7)))
pieces.set_array(share)
figure.colorbar(pieces, label='largest share of a torque limit', shrink=0.6)
axis.set(xlabel='x (m)', ylabel='y (m)', zlabel='z (m)')
axis.set_aspect('equal')
axis.view_init(20, -55)
plt.show()
