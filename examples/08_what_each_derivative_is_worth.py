"""What each derivative is worth
=============================

A Panda with springs of 1000 N m/rad in its joints, in MuJoCo, moves under four feed-forward
methods that use more and more derivatives, without link feedback. The picture shows the link
errors.
"""
import matplotlib.pyplot as plt
import numpy as np

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.reference import fit_plan
from hodyn_ros.simulation.elastic_tracking import simulate_tracking
from hodyn_ros.simulation.examples import with_example_actuators

# %%
robot = with_example_actuators(hd.load_robot('panda'), 'sea', 1000.0)
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
plan = fit_plan([0.0, 1.2], ready + np.outer([0.0, 1.0], [0.4, 0.3, -0.3, 0.5, 0.4, 0.4, 0.6]))
runs = simulate_tracking(robot, plan, methods=('rigid', 'torque', 'torque_rate', 'full'))

# %%
names = {
    'rigid': 'as if there were no springs', 'torque': 'deflection by Q',
    'torque_rate': 'its velocity by Q̇ too', 'full': 'the motor torque by Q̈ too'}
plt.style.use(plot_style.STYLE)
figure, axis = plt.subplots()
for method, run in runs.items():
    error = np.abs(run.error).max(axis=1)
    axis.semilogy(
        run.times, np.maximum(error, 1e-9), label=f'{names[method]} (RMS {run.rms:.1g} rad)')
axis.set(xlabel=plot_style.TIME, ylabel='error of the links, worst joint (rad)')
figure.legend(loc='outside upper center', ncols=2)
plt.show()
