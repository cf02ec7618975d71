"""The motor loop: its gains and its limits."""
from laws_and_motions import LAWS, actuators
import numpy as np

from hodyn_ros.actuators import Motor
from hodyn_ros.simulation.motor_loop import DAMPING, MotorLoop

ZERO = np.zeros(3)


def loop(motor, **options):
    return MotorLoop(
        actuators(LAWS['linear'], LAWS['quadratic'], motor=motor), np.ones(2), **options)


def test_gains_are_those_of_the_bandwidth():
    drive = loop(Motor(0.4), bandwidth=20.0)
    torque = drive.torque(ZERO + 0.1, ZERO + 0.2, np.arange(3.0), ZERO, ZERO + 0.5)
    expected = np.arange(3.0) + 0.4 * (20.0**2 * 0.1 - 2 * DAMPING * 20.0 * 0.3)
    assert np.allclose(torque, expected, rtol=1e-14)


def test_torque_stays_within_what_the_motor_can():
    drive = loop(Motor(0.4, max_effort=5.0))
    assert drive.torque(ZERO, ZERO, np.array([-9.0, 4.0, 9.0]), ZERO, ZERO).tolist() == [
        -5.0, 4.0, 5.0]
