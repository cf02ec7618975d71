"""Wrong input is refused by name; nothing is padded, broadcast or replaced."""
from dataclasses import replace

import numpy as np
import pytest
from random_robots import random_robot

import hodyn_ros as hd

STATE = np.zeros((2, 7))
BASE = {'base_pose': np.eye(4), 'base_twist': np.zeros((1, 6)), 'base_wrench': np.zeros((1, 6))}


@pytest.fixture(scope='module')
def arm():
    return hd.load_robot('panda')


@pytest.fixture(scope='module')
def flyer():
    return hd.load_robot('aerial_manipulator')


@pytest.mark.parametrize(('q', 'message'), [
    (np.zeros((2, 7)), r'q has shape \(2, 7\)'),
    (np.zeros((3, 6)), r'q has shape \(3, 6\)'),
    (np.zeros(7), r'q has shape \(7,\)'),
    (np.full((3, 7), np.nan), r"q\[0, 0\] \(joint 'joint1'\) is nan"),
])
def test_inverse_dynamics_motion(arm, q, message):
    with pytest.raises(ValueError, match=message):
        hd.inverse_dynamics(arm, q)


def test_a_wrench_that_is_not_finite_is_named_with_its_body(arm):
    wrenches = np.zeros((3, 7, 6))
    wrenches[1, 2, 0] = -np.inf
    message = r"external_wrenches\[1, 2, 0\] \(body 'link3'\) is -inf"
    for function in (hd.inverse_dynamics, hd.joint_wrenches, hd.inverse_dynamics_derivatives):
        with pytest.raises(ValueError, match=message):
            function(arm, np.zeros((5, 7)), external_wrenches=wrenches)


def test_velocities_beside_q_are_told_to_be_rows_of_q(arm):
    q, v, a, tau = np.zeros((4, 7))
    with pytest.raises(hd.HodynError, match=r'per derivative.*\(robot, np.stack\(\[q, v, a\]\)\)'):
        hd.inverse_dynamics(arm, q, v, a)
    with pytest.raises(hd.HodynError, match=r'per derivative.*np.stack\(\[q, v\]\), tau\)'):
        hd.forward_dynamics(arm, q, v, tau)


def test_a_torque_for_many_states_is_what_is_told_to_be_wrong(arm):
    with pytest.raises(hd.HodynError, match=(
            r'^tau has shape \(1, 7\); expected \(5, r \+ 1, 7\), as q is a batch of 5')):
        hd.forward_dynamics(arm, np.zeros((5, 2, 7)), np.zeros((1, 7)))


def test_no_base_wrench_is_a_free_base(flyer):
    rng = np.random.default_rng(0)
    q, tau = rng.normal(size=(3, 2, flyer.n)), rng.normal(size=(3, 2, flyer.n))
    base = {'base_pose': np.tile(np.eye(4), (3, 1, 1)), 'base_twist': rng.normal(size=(3, 1, 6))}
    for found, right in zip(
            hd.forward_dynamics(flyer, q, tau, **base),
            hd.forward_dynamics(flyer, q, tau, **base, base_wrench=np.zeros((3, 2, 6))),
            strict=True):
        np.testing.assert_array_equal(found, right)


def test_a_torque_that_is_no_law_is_no_law_of_a_simulation(arm):
    with pytest.raises(hd.HodynError, match=(
            r'^torque: expected a function of time and state, as lambda t, state: …, got array')):
        hd.simulate(arm, np.zeros(7), STATE, [0.0, 1.0])
    with pytest.raises(hd.HodynError, match=r'^external_wrenches: expected a function'):
        hd.simulate(
            arm, lambda _t, _state: np.zeros(7), STATE, [0.0, 1.0], external_wrenches=1.0)


def test_samples_given_as_derivatives_are_suspected(arm):
    with pytest.warns(UserWarning, match=r'100 rows: .* samples are given as \(T, 3 or more'):
        hd.inverse_dynamics(arm, np.zeros((100, 7)))


@pytest.mark.parametrize('q', ['x', [['1']], None, {}, np.zeros((3, 7), complex), [[0.0], [1, 2]]])
def test_what_is_no_array_of_real_numbers_is_refused(arm, q):
    with pytest.raises(ValueError, match='q: expected numbers, got '):
        hd.inverse_dynamics(arm, q)
    with pytest.raises(ValueError, match='q: expected numbers, got '):
        hd.forward_dynamics(arm, q, np.zeros((1, 7)))


def test_no_function_leaves_what_is_no_number_to_numpy(arm):
    calls = {
        'q': lambda: hd.forward_kinematics(arm, 'x'),
        'wrench': lambda: hd.world_wrench(np.eye(4), np.zeros((0, 6)), [[0.0], [1.0, 2.0]]),
        'poses': lambda: hd.propeller_map(None, [1.0], [1.0]),
        'times': lambda: hd.simulate(arm, lambda _t, _state: np.zeros(7), STATE, 'x'),
        "payload on 'link7': mass": lambda: arm.with_payload('link7', 'x', np.zeros(3)),
    }
    for name, call in calls.items():
        with pytest.raises(hd.HodynError, match=f'{name}: expected '):
            call()


def test_out_must_be_an_array_that_can_be_written(arm):
    fixed = np.zeros((1, 7))
    fixed.flags.writeable = False
    for out in (fixed, fixed.tolist(), np.zeros((1, 6)), np.zeros((1, 7), np.float32)):
        with pytest.raises(ValueError, match=r'out must be a writeable.*of shape \(1, 7\)'):
            hd.inverse_dynamics(arm, np.zeros((3, 7)), out=out)


@pytest.mark.parametrize('order', [-1, 2.0, '2', None])
def test_the_order_of_a_handle(arm, order):
    with pytest.raises(ValueError, match=f'order must be an integer of at least 0, got {order!r}'):
        hd.InverseDynamics(arm, order)


def test_inverse_dynamics_formulation(arm):
    message = "formulation 'planar': expected one of spatial, body_fixed, closed_form"
    with pytest.raises(ValueError, match=message):
        hd.inverse_dynamics(arm, np.zeros((3, 7)), formulation='planar')
    with pytest.raises(ValueError, match=message):
        hd.InverseDynamics(arm, formulation='planar')


def test_inverse_dynamics_base(arm, flyer):
    q = np.zeros((3, 6))
    twist = np.zeros((2, 6))
    with pytest.raises(ValueError, match='has a fixed base'):
        hd.inverse_dynamics(arm, np.zeros((3, 7)), base_pose=np.eye(4), base_twist=twist)
    with pytest.raises(ValueError, match='give its base_pose and base_twist'):
        hd.inverse_dynamics(flyer, q)
    with pytest.raises(ValueError, match='give its base_pose and base_twist'):
        hd.inverse_dynamics(flyer, q, base_pose=np.eye(4))
    with pytest.raises(ValueError, match=r'base_twist has shape \(3, 6\); expected \(2, 6\)'):
        hd.inverse_dynamics(flyer, q, base_pose=np.eye(4), base_twist=np.zeros((3, 6)))
    with pytest.raises(ValueError, match='base_pose: its rotation'):
        hd.inverse_dynamics(flyer, q, base_pose=np.diag([1, 1, -1, 1]), base_twist=twist)
    with pytest.raises(ValueError, match='base_pose: its last row'):
        hd.inverse_dynamics(
            flyer, q, base_pose=np.diag([1.0, 1.0, 1.0, 2.0]), base_twist=twist)
    with pytest.raises(ValueError, match=r'closed_form.*fixed base'):
        hd.inverse_dynamics(
            flyer, q, base_pose=np.eye(4), base_twist=twist, formulation='closed_form')


@pytest.mark.parametrize('formulation', ['spatial', 'body_fixed'])
@pytest.mark.parametrize('order', [1, 2])
def test_a_handle_takes_no_base_that_there_is_not(arm, formulation, order):
    handle = hd.InverseDynamics(arm, order, formulation)
    with pytest.raises(ValueError, match="'panda' has a fixed base: use batch"):
        handle.floating_batch(
            np.zeros((1, order + 3, 7)), np.eye(4)[None], np.zeros((1, order + 2, 6)),
            np.zeros((1, order + 1, 7)), np.zeros((1, order + 1, 6)))


@pytest.mark.parametrize('formulation', ['spatial', 'body_fixed'])
@pytest.mark.parametrize('order', [1, 2])
def test_a_handle_never_forgets_the_base(flyer, order, formulation):
    handle = hd.InverseDynamics(flyer, order, formulation)
    q, out = np.zeros((2, order + 3, 6)), np.zeros((2, order + 1, 6))
    for call in (lambda: handle(q[0], out[0]), lambda: handle.batch(q, out)):
        with pytest.raises(ValueError, match=r"'aerial_manipulator'.*floating_batch"):
            call()


def test_forward_dynamics(arm, flyer):
    with pytest.raises(ValueError, match=r'q has shape \(3, 7\)'):
        hd.forward_dynamics(arm, np.zeros((3, 7)), np.zeros((1, 7)))
    with pytest.raises(ValueError, match=r'tau has shape \(7,\)'):
        hd.forward_dynamics(arm, STATE, np.zeros(7))
    tau = np.zeros((2, 7))
    tau[1, 4] = np.inf
    with pytest.raises(ValueError, match=r"tau\[1, 4\] \(joint 'joint5'\) is inf"):
        hd.forward_dynamics(arm, STATE, tau)
    with pytest.raises(ValueError, match='fixed base: leave out base_wrench'):
        hd.forward_dynamics(arm, STATE, np.zeros((1, 7)), base_wrench=np.zeros((1, 6)))
    with pytest.raises(ValueError, match='external_wrenches has shape'):
        hd.forward_dynamics(arm, STATE, np.zeros((1, 7)), external_wrenches=np.zeros((1, 6)))
    with pytest.raises(ValueError, match='give either the base_wrench'):
        hd.hybrid_dynamics(
            flyer, np.zeros((2, 6)), np.zeros((1, 6)), (), base_pose=np.eye(4),
            base_twist=np.zeros((1, 6)))
    with pytest.raises(ValueError, match=r'base_wrench has shape \(2, 6\)'):
        hd.forward_dynamics(
            flyer, np.zeros((2, 6)), np.zeros((1, 6)),
            **{**BASE, 'base_wrench': np.zeros((2, 6))})


def test_hybrid_dynamics(arm, flyer):
    with pytest.raises(ValueError, match="no joint 'elbow'; its joints are joint1"):
        hd.hybrid_dynamics(arm, STATE, np.zeros((1, 7)), ['elbow'])
    with pytest.raises(ValueError, match=r"joint 'joint2' is given twice; name each joint once"):
        hd.hybrid_dynamics(arm, STATE, np.zeros((1, 7)), ['joint2', 'joint1', 'joint2'])
    with pytest.raises(ValueError, match='give either'):
        hd.hybrid_dynamics(
            flyer, np.zeros((2, 6)), np.zeros((1, 6)), [], **BASE, base_motion=np.zeros((1, 6)))


@pytest.mark.parametrize('seed', range(20))
def test_a_joint_that_nothing_resists_is_named(seed):
    robot = random_robot(np.random.default_rng(seed), 3, kinds=('revolute',))
    last = replace(robot.bodies[2], inertia=np.zeros((3, 3)), com=robot.bodies[2].point)
    robot = replace(robot, bodies=(*robot.bodies[:2], last))
    with pytest.raises(ValueError, match=r"mass matrix.*joint 'joint2'"):
        hd.forward_dynamics(robot, np.zeros((2, 3)), np.zeros((1, 3)))
    # Moved by its drive, it needs no torque.
    found = hd.hybrid_dynamics(robot, np.zeros((2, 3)), np.ones((1, 3)), ['joint2'])
    assert abs(found[0, 2]) < 1e-10


def test_the_task_space_dynamics_of_a_robot_without_mass_at_its_end():
    robot = random_robot(np.random.default_rng(1), 7, kinds=('revolute',))
    last = replace(robot.bodies[6], mass=0.0, inertia=np.zeros((3, 3)))
    robot = replace(robot, bodies=(*robot.bodies[:6], last))
    with pytest.raises(ValueError, match="mass matrix of robot 'random' is not positive"):
        hd.task_space_dynamics(robot, np.zeros((2, 7)), last.name)


def test_equations_of_motion(arm, flyer):
    with pytest.raises(ValueError, match=r'q has shape \(1, 7\); expected \(2 or more, 7\)'):
        hd.equations_of_motion(arm, np.zeros((1, 7)))
    with pytest.raises(ValueError, match='floating base'):
        hd.equations_of_motion(flyer, np.zeros((2, 6)))


def test_christoffel_symbols(arm):
    for q in (np.zeros((2, 7)), np.zeros((1, 7)), np.zeros(6)):
        with pytest.raises(ValueError, match=r'q has shape .*; expected \(7,\)'):
            hd.christoffel_symbols(arm, q)


def test_moved_joints_may_be_any_iterable(arm):
    given, names = np.ones((1, 7)), arm.joint_names[:3]
    np.testing.assert_array_equal(
        hd.hybrid_dynamics(arm, STATE, given, (name for name in names)),
        hd.hybrid_dynamics(arm, STATE, given, names))


@pytest.mark.parametrize('call', [
    lambda robot: hd.inverse_dynamics(robot, np.zeros((3, 7))),
    lambda robot: hd.InverseDynamics(robot),
    lambda robot: hd.generate_c(robot, 'code'),
    lambda robot: hd.forward_kinematics(robot, np.zeros(7)),
    lambda robot: hd.jacobian(robot, np.zeros(7), 'link7'),
    lambda robot: hd.forward_dynamics(robot, STATE, np.zeros((1, 7))),
    lambda robot: hd.hybrid_dynamics(robot, STATE, np.zeros((1, 7)), ['joint1']),
    lambda robot: hd.equations_of_motion(robot, STATE),
    lambda robot: hd.christoffel_symbols(robot, np.zeros(7)),
    lambda robot: hd.task_space_dynamics(robot, STATE, 'link7'),
    lambda robot: hd.center_of_mass(robot, np.zeros(7)),
    lambda robot: hd.momentum(robot, STATE),
    lambda robot: hd.energy(robot, STATE),
    lambda robot: hd.torque_regressor(robot, np.zeros((3, 7))),
    lambda robot: hd.momentum_regressor(robot, STATE),
    lambda robot: hd.external_efforts(robot, STATE, np.zeros((1, 7, 6))),
    lambda robot: hd.gravity_wrenches(robot, STATE),
    lambda robot: hd.link_wrench(robot, 'link7', np.zeros((1, 6))),
    lambda robot: hd.inverse_kinematics(robot, np.zeros(7), np.zeros((1, 6)), 'link7'),
    lambda robot: hd.solve_pose(robot, np.eye(4), 'link7'),
    lambda robot: hd.simulate(robot, lambda t, s: np.zeros(7), STATE, [0.0, 0.1]),
    lambda robot: hd.retime(robot, np.zeros((2, 7))),
    lambda robot: hd.FeedForward(robot),
    lambda robot: hd.save_robot(robot, 'robot.yaml'),
])
def test_a_name_is_no_robot(call):
    """It was an AttributeError of something inside."""
    with pytest.raises(ValueError, match="robot: expected a Robot from load_robot, got 'panda'"):
        call('panda')


def huge(rows, row, value, n=7):
    q = np.zeros((rows, n))
    q[row, 2] = value
    return q


@pytest.mark.parametrize('call', [
    lambda arm, batch: hd.inverse_dynamics(arm, batch(huge(3, 1, 1e160))),
    lambda arm, batch: hd.inverse_dynamics(arm, batch(huge(5, 1, -1e80))),
    lambda arm, batch: hd.inverse_dynamics(
        arm, batch(huge(3, 1, 1e160)), external_wrenches=batch(np.zeros((1, 7, 6)))),
    lambda arm, batch: hd.forward_dynamics(
        arm, batch(huge(2, 1, 1e160)), batch(np.zeros((1, 7)))),
    lambda arm, batch: hd.hybrid_dynamics(
        arm, batch(huge(2, 1, 1e160)), batch(np.zeros((1, 7))), ['joint1'])])
@pytest.mark.parametrize('batch', [np.asarray, lambda values: np.stack([0.0 * values, values])])
def test_results_that_overflow_are_refused_with_the_largest_entry(arm, call, batch):
    with pytest.raises(hd.HodynError, match=(
            r"^q\[(1, )?1, 2\] \(joint 'joint3'\) is -?1e\+\d+: the result overflows")):
        call(arm, batch)


def test_results_that_overflow_on_a_floating_base_name_its_twist(flyer):
    base = {'base_pose': np.eye(4), 'base_twist': huge(2, 0, 1e160, 6)}
    with pytest.raises(hd.HodynError, match=r'^base_twist\[0, 2\] is 1e\+160: the result over'):
        hd.inverse_dynamics(flyer, np.zeros((3, 6)), **base)
    base['base_twist'] = base['base_twist'][:1]
    with pytest.raises(hd.HodynError, match=r'^base_twist\[0, 2\] is 1e\+160: the result over'):
        hd.forward_dynamics(flyer, np.zeros((2, 6)), np.zeros((1, 6)), **base)


def test_an_overflow_by_samples_that_pass_for_derivatives_is_named(arm):
    with pytest.warns(UserWarning, match='200 rows'), pytest.raises(hd.HodynError, match=(
            r"\(joint 'joint1'\) is 1: the result overflows; its 200 rows are derivatives; "
            r'samples are given as \(T, rows, 7\)$')):
        hd.inverse_dynamics(arm, np.ones((200, 7)))


def test_large_results_that_do_not_overflow_are_returned(arm):
    torque = hd.inverse_dynamics(arm, huge(3, 2, 1e200))  # its square overflows
    assert np.isfinite(torque).all()
    assert np.abs(torque).max() > 1e198
