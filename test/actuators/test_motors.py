"""Rotor-side and link-side units, and numbers that no actuator has."""
import pickle

from laws_and_motions import LAWS, actuators
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import CubicSpring, LinearSpring, Rigid, TabulatedSpring
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.simulation.examples import with_example_actuators


def test_the_gear_turns_rotor_numbers_into_link_numbers():
    motor = Motor.from_rotor(
        gear_ratio=100.0, inertia=5e-5, viscous=1e-4, coulomb=0.02, coulomb_velocity=3.0,
        max_velocity=300.0, max_effort=0.8)
    assert motor == Motor(
        0.5, viscous=1.0, coulomb=2.0, coulomb_velocity=0.03, gear_ratio=100.0, max_velocity=3.0,
        max_effort=80.0)


def test_both_sides_of_the_gear_obey_their_own_equation():
    n, j, d, c, v = 50.0, 2e-4, 3e-4, 0.05, 2.0
    motor = Motor.from_rotor(
        gear_ratio=n, inertia=j, viscous=d, coulomb=c, coulomb_velocity=v)
    model = actuators(LAWS['linear'], motor=motor)
    rng = np.random.default_rng(0)
    q, torque = rng.normal(size=(5, 1)), 20 * rng.normal(size=(3, 1))
    link = MotorSide(model).evaluate(q, torque)
    rotor = model.to_rotor(link)[:, 0]
    expected = (
        j * rotor[2] + d * rotor[1] + c * np.tanh(rotor[1] / v) + torque[0, 0] / n)
    assert rotor[3] == pytest.approx(expected, rel=1e-13)
    assert rotor[1] * rotor[3] == pytest.approx(link[1, 0] * link[3, 0], rel=1e-13)


def test_prismatic_joints_take_rad_per_metre():
    motor = Motor.from_rotor(gear_ratio=2 * np.pi / 0.005, inertia=1e-5)
    assert motor.inertia == pytest.approx(1e-5 * (2 * np.pi / 0.005) ** 2)


@pytest.mark.parametrize(('make', 'message'), [
    (lambda: LinearSpring(0.0), 'stiffness 0: must be above 0'),
    (lambda: LinearSpring(1.0, -1.0), 'damping -1: must not be below 0'),
    (lambda: CubicSpring(1.0, np.nan), 'cubic nan'),
    (lambda: TabulatedSpring([0, 1, 2], [0, 1, 2]), '4 or more'),
    (lambda: TabulatedSpring([0, 1, 1, 2], [0, 1, 2, 3]), 'deflection: must increase'),
    (lambda: TabulatedSpring([0, 1, 2, 3], [0, 2, 1, 3]), 'torque: must increase'),
    (lambda: TabulatedSpring([0, 1, 2, 3, 4, 5], [0, 10, 10.01, 10.02, 20, 30]),
     r'falls or is flat near deflection'),
    (lambda: Motor(-1.0), 'inertia -1: must not be below 0'),
    (lambda: Motor(1.0, gear_ratio=0.0), 'gear_ratio 0: must be above 0'),
    (lambda: Motor.from_rotor(gear_ratio=-1.0, inertia=1.0), 'gear_ratio -1'),
    (lambda: JointActuator(Rigid(), Motor(1.0), max_deflection=0.0), 'max_deflection 0'),
    (lambda: Actuators(('a', 'b'), (JointActuator(Rigid(), Motor(1.0)),)), '2 joint names'),
])
def test_impossible_numbers_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_softening_spring_says_how_much_it_carries():
    spring = LAWS['softening']
    x = np.linspace(0, 1, 100_001)
    curve = spring.stiffness * x + spring.cubic * x**3
    assert 0.99 * curve.max() < spring.greatest_torque < curve.max()


@pytest.mark.parametrize(('cubic', 'bounded'), [(-0.5, True), (0.0, False), (0.5, False)])
def test_only_a_softening_spring_gives_way(cubic, bounded):
    assert np.isfinite(CubicSpring(900.0, cubic).greatest_torque) == bounded


def test_pickled_actuators_are_the_same_and_read_only():
    model = actuators(*LAWS.values())
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.tables, model.tables)
    assert not copy.parameters.flags.writeable
    q, torque = np.ones((5, 9)), np.ones((3, 9))
    assert np.array_equal(
        MotorSide(copy).evaluate(q, torque), MotorSide(model).evaluate(q, torque))


@pytest.mark.parametrize('name', [name for name in LAWS if name != 'rigid'])
def test_a_stiffer_law_is_stiffer_everywhere(name):
    law = LAWS[name]
    q = np.zeros((5, 1))
    torque = np.array([[20.0], [3.0], [5.0]])
    sigma = np.array([[1500.0], [20.0], [30.0]])
    model, stiffer = MotorSide(actuators(law)), MotorSide(actuators(law.scaled(1.2)))
    model.evaluate(q, torque, sigma)
    stiffer.evaluate(q, 1.2 * torque, 1.2 * sigma)
    assert np.allclose(stiffer.reference[:3], model.reference[:3], rtol=1e-12)


def test_a_motor_reference_of_another_shape_is_not_converted():
    actuators = with_example_actuators(hd.load_robot('twolink'), 'sea', 100.0).actuators
    assert actuators.to_rotor(np.zeros((3, 4, 2))).shape == (3, 4, 2)
    for shape in ((2,), (4, 1), (3, 2), (4,)):
        with pytest.raises(ValueError, match=r'has the shape \(…, 4, 2\): position, velocity'):
            actuators.to_rotor(np.zeros(shape))
