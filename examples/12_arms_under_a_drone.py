"""Arms under a drone
==================

Two arms move under a hovering hexarotor. The dynamics of the floating base give the wrench that
the rotors must exert, and with two more derivatives how fast each rotor must change its speed.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.reference import fit_plan

drone = hd.load_robot('aerial_manipulator')
plan = fit_plan([0.0, 0.7, 1.4], np.outer([0.0, 1.0, 0.2], [0.6, 0.5, -0.4, -0.6, 0.5, 0.4]))
times = np.linspace(0.0, plan.duration, 400)

# %%
# The base is at rest, and is to stay so: its twist and all derivatives are zero.
pose, rest = np.eye(4), np.zeros((4, 6))
wrenches = np.array([
    hd.body_wrench(
        pose, rest[:2], hd.inverse_dynamics(drone, q, base_pose=pose, base_twist=rest)[1])
    for q in plan.evaluate(times)])

# %%
# Six tilted rotors can exert any wrench, which determines their squared speeds and rates.
signs = np.array([1, -1, 1, -1, 1, -1])
rotors = hd.tilted_hexagon(0.4, alpha=0.6 * signs, beta=np.full(6, 0.2))
to_wrench = hd.propeller_map(rotors, thrust=np.full(6, 1e-5), drag=2e-7 * signs)
squared = np.linalg.solve(to_wrench, wrenches.transpose(0, 2, 1)).transpose(0, 2, 1)
speed = np.sqrt(squared[:, 0])
rate = squared[:, 1] / (2.0 * speed)

# %%
plt.style.use(plot_style.STYLE)
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7.5, 5.5))
# The arms move in one plane, so the rotors on either side of it do the same.
for one, other in ((0, 5), (1, 4), (2, 3)):
    axes[0].plot(times, speed[:, one], label=f'rotors {one + 1} and {other + 1}')
    axes[1].plot(times, rate[:, one])
axes[0].set_ylabel('speed of the rotors (rad/s)')
axes[1].set(ylabel='their acceleration (rad/s²)', xlabel=plot_style.TIME)
figure.legend(loc='outside upper center', ncols=3)
plt.show()
