"""Spherical joints by rotations: against Pinocchio, closed forms in many digits, and MuJoCo."""
from dataclasses import replace

from cases import case_of
import mpmath as mp
import numpy as np
import pytest
from random_robots import assert_close, random_mapping, random_rotation
from spherical_robots import HALF, NAMES, QUARTER, ball, some_rotations, with_balls

import hodyn_ros as hd
from hodyn_ros.robot import lie


class Twin:
    """Pinocchio's model, with spherical joints where the robot has them.

    Attributes
    ----------
    places : (n,) array of int
        Where each of the robot's joints is in Pinocchio's velocities.

    """

    def __init__(self, robot):
        self.pin, self.robot = pytest.importorskip('pinocchio'), robot
        from pinocchio_models import pinocchio_model
        self.model = pinocchio_model(robot, balls=NAMES)
        self.data = self.model.createData()
        names = [name[:-2] + '_z' if name[:-2] in NAMES else name for name in robot.joint_names]
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        self.places = np.array([
            joint.idx_v + ('xyz'.index(name[-1]) if name[:-2] in NAMES else 0)
            for joint, name in zip(self.joints, robot.joint_names, strict=True)])

    def position(self, rotations, q):
        position = self.pin.neutral(self.model)
        for joint, name, angle in zip(self.joints, self.robot.joint_names, q, strict=True):
            position[joint.idx_q:joint.idx_q + joint.nq] = angle if joint.nq == 1 else (
                self.pin.Quaternion(rotations[name[:-2]]).coeffs())
        return position

    def compute(self, function, rotations, q, *vectors):
        """Call pin.rnea or pin.aba with vectors and a result in the robot's order."""
        arranged = np.zeros((len(vectors), self.robot.n))
        arranged[:, self.places] = vectors
        return getattr(self.pin, function)(
            self.model, self.data, self.position(rotations, q), *arranged)[self.places]


@pytest.mark.parametrize('seed', range(6))
def test_torques_and_accelerations_are_pinocchios(seed):
    rng = np.random.default_rng(seed)
    robot, rotations = with_balls(rng), some_rotations(rng)
    twin, q = Twin(robot), rng.normal(size=(3, robot.n))
    found = hd.inverse_dynamics(robot, q, rotations=rotations)
    assert_close(found, [twin.compute('rnea', rotations, *q)], 1e-12)
    assert_close(
        hd.forward_dynamics(robot, q[:2], found, rotations=rotations),
        [twin.compute('aba', rotations, *q[:2], found[0])], 1e-10)


@pytest.mark.parametrize('seed', range(3))
def test_the_mass_matrix_is_pinocchios(seed):
    """Of a chain: that of a tree needs its bodies depth first."""
    rng = np.random.default_rng(seed)
    robot, rotations = with_balls(rng, serial=True), some_rotations(rng)
    twin, q = Twin(robot), rng.normal(size=(1, robot.n))
    mass = twin.pin.crba(twin.model, twin.data, twin.position(rotations, q[0]))
    mass = np.triu(mass) + np.triu(mass, 1).T
    at_rest = np.zeros((robot.n + 1, 3, robot.n))
    at_rest[:, 0], at_rest[1:, 2] = q[0], np.eye(robot.n)
    torques = hd.inverse_dynamics(robot, at_rest, rotations={
        name: np.tile(turn, (robot.n + 1, 1, 1)) for name, turn in rotations.items()})[:, 0]
    np.testing.assert_allclose(
        torques[1:] - torques[0], mass[np.ix_(twin.places, twin.places)],
        atol=1e-11 * mass.max())


def turning(a, b, orders):
    """Return ω and its derivatives of exp(ã t) exp(b̃ t) at t = 0, (orders, 3)."""
    rates = [a]
    for _ in range(orders - 1):
        rates.append(-np.cross(b, rates[-1]))
    return np.array(rates) + b * (np.arange(orders) == 0)[:, np.newaxis]


def test_torque_rates_are_the_differences_of_pinocchios_torques():
    rng = np.random.default_rng(3)
    robot = with_balls(rng)
    starts = {'joint1': HALF, 'joint3': QUARTER}
    turns = {name: rng.normal(size=(2, 3)) for name in NAMES}
    path = rng.normal(size=(5, robot.n))
    columns = {name: hd.SphericalJoint(robot, name).columns for name in NAMES}

    def motion(t):
        q = np.array([sum(path[k + i] * t**i / mp.factorial(i) for i in range(5 - k))
                      for k in range(5)], dtype=float)
        rotations = {}
        for name, (a, b) in turns.items():
            after = lie.rotation_exp(b * t)
            rotations[name] = starts[name] @ lie.rotation_exp(a * t) @ after
            q[1:, columns[name]] = turning(after.T @ a, b, 4)
        return q, rotations

    q, rotations = motion(0.0)
    found = hd.inverse_dynamics(robot, q, rotations=rotations)
    twin, h = Twin(robot), 1e-3
    values = np.array([
        twin.compute('rnea', rotations, *q[:3])
        for q, rotations in (motion(k * h) for k in range(-3, 4))])
    weights = np.array([[-1, 9, -45, 0, 45, -9, 1], [2, -27, 270, -490, 270, -27, 2]])
    expected = weights @ values / [[60.0 * h], [180.0 * h * h]]
    assert_close(found[1:], expected, 1e-7)


def cross(x, y):
    return mp.matrix([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2],
                      x[0] * y[1] - x[1] * y[0]])


@pytest.mark.parametrize('start', [
    np.eye(3), QUARTER, HALF, lie.rotation_y(0.5 * np.pi - 1e-9), lie.rotation_exp([3.1, 0.5, 0])])
def test_moments_of_one_body_are_eulers_to_fifty_digits(start):
    """m = Θ ω̇ + ω × Θ ω − c × m Rᵀ g about the joint, and derivatives, at any rotation."""
    robot, order = ball(point=[0.02, 0.03, -0.01]), 4
    body, a, b = robot.bodies[2], np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.5, -1.0])
    q = np.zeros((order + 3, 3))
    q[1:] = turning(a, b, order + 2)
    with mp.workdps(50):
        arm = mp.matrix(body.com) - mp.matrix(body.point)
        inertia = mp.matrix(body.inertia) + mp.mpf(body.mass) * (
            (arm.T * arm)[0] * mp.eye(3) - arm * arm.T)
        home = mp.matrix(robot.bodies[0].placement[:3, :3]) * mp.matrix(start)

        def moment(t, component):
            after = mp.expm(t * mp.matrix(lie.skew(b)))
            first = after.T * mp.matrix(a)
            omega, rate = first + mp.matrix(b), -cross(mp.matrix(b), first)
            turn = home * mp.expm(t * mp.matrix(lie.skew(a))) * after
            weight = mp.mpf(body.mass) * (turn.T * mp.matrix(robot.gravity))
            return (inertia * rate + cross(omega, inertia * omega) - cross(arm, weight))[component]

        expected = np.array([
            [float(mp.diff(lambda t, i=i: moment(t, i), 0, k)) for i in range(3)]
            for k in range(order + 1)])
    found = hd.inverse_dynamics(robot, q, rotations={'ball': start})
    assert_close(found, expected, 1e-12)
    back = hd.forward_dynamics(robot, q[:2], found, rotations={'ball': start})
    assert_close(back, q[2:], 1e-10)


@pytest.mark.parametrize('floating', [False, True])
def test_results_do_not_depend_on_where_charts_are_centred(floating):
    rng = np.random.default_rng(5)
    robot, order = with_balls(rng, floating), 3
    rotations = {'joint1': QUARTER, 'joint3': HALF}
    case, elsewhere = case_of(rng, robot, order), robot
    for name in NAMES:
        elsewhere = elsewhere.with_rotation(name, random_rotation(rng))
    # Wrenches on links that are not there would depend on how they are turned.
    case.wrenches[:, [i for i, body in enumerate(robot.bodies) if not body.mass]] = 0.0
    efforts = case.efforts(rotations=rotations)
    assert_close(replace(case, robot=elsewhere).efforts(rotations=rotations), efforts, 1e-11)
    case.assert_close(
        case.accelerations(efforts, rotations=rotations), case.velocity[1:], 1e-8)


def test_a_batch_anywhere_on_the_group_is_its_motions_one_by_one():
    rng = np.random.default_rng(6)
    robot, count = with_balls(rng), 40
    rotations, q = some_rotations(rng, count), rng.normal(size=(count, 4, robot.n))
    torques = hd.inverse_dynamics(robot, q, rotations=rotations)
    accelerations = hd.forward_dynamics(robot, q[:, :2], torques, rotations=rotations)
    for t in range(count):
        alone = {name: turn[t] for name, turn in rotations.items()}
        assert_close(torques[t], hd.inverse_dynamics(robot, q[t], rotations=alone), 1e-11)
        assert_close(accelerations[t], q[t, 2:], 1e-8)
    none = {name: turn[:0] for name, turn in rotations.items()}
    assert hd.inverse_dynamics(robot, q[:0], rotations=none).shape == (0, 2, robot.n)


@pytest.mark.parametrize('center', [np.eye(3), QUARTER, HALF])
def test_coordinates_and_rotations_are_each_others_inverse(center):
    rng = np.random.default_rng(7)
    robot = ball([0.1, 0.2, 0.3]).with_rotation('ball', center)
    joint = hd.SphericalJoint(robot, 'ball')
    np.testing.assert_allclose(joint.coordinates(center), np.zeros((1, 3)), atol=1e-15)
    coordinates = rng.uniform(-1.2, 1.2, size=(20, 6, 3))
    turn, velocity = joint.motion(coordinates)
    np.testing.assert_allclose(
        joint.coordinates(turn, velocity), coordinates, rtol=0, atol=1e-9)
    pose, twist = hd.forward_kinematics(robot, coordinates, 'ball', representation='body_fixed')
    home = robot.bodies[0].placement[:3, :3]
    np.testing.assert_allclose(pose[:, :3, :3], home @ turn, atol=1e-14)
    np.testing.assert_allclose(twist[..., :3], velocity, atol=1e-12)
    pivot = pose @ [0.1, 0.2, 0.3, 1.0]
    np.testing.assert_allclose(pivot, np.tile(pivot[0], (20, 1)), atol=1e-14)


def test_moments_and_torques_of_the_chart_do_the_same_work():
    rng = np.random.default_rng(8)
    joint = hd.SphericalJoint(ball().with_rotation('ball', HALF), 'ball')
    coordinates, moment = rng.uniform(-1.0, 1.0, size=(2, 4, 3))
    _, velocity = joint.motion(coordinates)
    torques = joint.torques(coordinates, moment)
    # Power and its rate.
    assert torques[0] @ coordinates[1] == pytest.approx(moment[0] @ velocity[0])
    assert torques[1] @ coordinates[1] + torques[0] @ coordinates[2] == pytest.approx(
        moment[1] @ velocity[0] + moment[0] @ velocity[1])
    assert_close(joint.moment(coordinates, torques), moment, 1e-13)


def test_near_the_singularity_of_a_chart_nothing_wrong_is_returned():
    robot = ball()
    joint, near = hd.SphericalJoint(robot, 'ball'), np.zeros((2, 3))
    advice = r"singular where 'ball_y' is ±90°.*re-centre them \(Robot.with_rotation\)"
    near[:, 1] = 0.5 * np.pi, 1.0
    near[1, 0] = 2.0
    with pytest.raises(hd.HodynError, match=advice):
        joint.coordinates(QUARTER, [[1.0, 2.0, 3.0]])
    with pytest.raises(hd.HodynError, match=advice):
        joint.moment(near, [[1.0, 2.0, 3.0]])
    with pytest.raises(hd.HodynError, match=advice):
        hd.forward_dynamics(robot, near, [[1.0, 2.0, 3.0]])
    with pytest.raises(hd.HodynError, match=advice):
        hd.ForwardDynamics(robot)(near, np.ones((1, 3)), np.zeros((1, 3)))
    near[0, 1] -= 3e-6
    with pytest.warns(UserWarning, match=advice):
        hd.forward_dynamics(robot, near, [[1.0, 2.0, 3.0]])
    with pytest.raises(hd.HodynError, match='nothing resists joint'):  # for another reason
        hd.forward_dynamics(random_robot_without_mass(), np.zeros((2, 2)), [[1.0, 1.0]])


def random_robot_without_mass():
    mapping = random_mapping(np.random.default_rng(1), 2, kinds=('revolute',))
    for key in ('mass', 'com', 'inertia'):
        del mapping['bodies'][1][key]
    with pytest.warns(UserWarning, match='without moving any mass'):
        return hd.load_robot(mapping)


@pytest.mark.parametrize('digits', [1, 2, 3, 5])
def test_where_coordinates_are_not_refused_they_are_right(digits):
    """Moments from torques of a motion near the singularity, to all orders that are taken."""
    joint = hd.SphericalJoint(ball(), 'ball')
    rng = np.random.default_rng(digits)
    coordinates = rng.normal(size=(6, 3))
    coordinates[0, 1] = 0.5 * np.pi - 10.0 ** -digits
    moment, taken = rng.normal(size=(6, 3)), 0
    for orders in range(1, 7):
        try:
            found = joint.moment(
                coordinates, joint.torques(coordinates, moment[:orders]))
        except hd.HodynError:
            break
        assert_close(found, moment[:orders], 1e-5)
        taken = orders
    assert taken >= 1
    assert (taken == 6) == (digits == 1)
