"""The motor loop: its gains, its limits, its noise."""
from laws_and_motions import LAWS, actuators
import numpy as np

from hodyn_ros.actuators import Motor
from hodyn_ros.simulation.motor_loop import MotorLoop

ZERO = np.zeros(3)


def loop(**options):
    motor = options.pop('motor', Motor(0.4))
    return MotorLoop(actuators(LAWS['linear'], LAWS['quadratic'], motor=motor), **options)


def test_gains_are_those_of_the_bandwidth():
    drive = loop(bandwidth=20.0, damping=0.5)
    torque = drive.torque(ZERO + 0.1, ZERO + 0.2, np.arange(3.0), ZERO, ZERO + 0.5)
    expected = np.arange(3.0) + 0.4 * (20.0**2 * 0.1 - 2 * 0.5 * 20.0 * 0.3)
    assert np.allclose(torque, expected, rtol=1e-14)


def test_torque_stays_within_what_the_motor_can():
    drive = loop(motor=Motor(0.4, max_effort=5.0))
    assert drive.torque(ZERO, ZERO, np.array([-9.0, 4.0, 9.0]), ZERO, ZERO).tolist() == [
        -5.0, 4.0, 5.0]


def test_noise_is_the_encoders_and_repeats_with_its_seed():
    runs = [
        np.array([drive.torque(ZERO, ZERO, ZERO, ZERO, ZERO) for _ in range(2000)])
        for drive in (loop(position_noise=1e-3, seed=4), loop(position_noise=1e-3, seed=4),
                      loop(position_noise=1e-3, seed=5))]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert abs(runs[0].std() / (0.4 * 50.0**2 * 1e-3) - 1.0) < 0.05
