"""Wrong calls are refused by name: nothing is padded, broadcast or replaced."""
from functools import partial
from inspect import signature

import numpy as np
import pytest
from random_robots import random_mapping, random_robot
from spherical_robots import ball, with_balls

import hodyn_ros as hd


def zeros(*shape):
    return np.zeros(shape)


def flying_arm():
    """Return a floating base with seven joints, whose names are the Panda's."""
    mapping = random_mapping(np.random.default_rng(0), 8, floating=True)
    for i, body in enumerate(mapping['bodies']):
        body |= {'name': f'link{i}', 'joint': f'joint{i}'}
    return hd.load_robot(mapping)


def still(t, state, *base):
    return zeros(state.shape[1])


def changed(array, place, value):
    array[place] = value
    return array


ARM, TWO_LINKS, FLYER, FLYING_ARM, BALLS = (
    *map(hd.load_robot, ('panda', 'twolink', 'aerial_manipulator')), flying_arm(),
    with_balls(np.random.default_rng(9)))
STATE, EYE, REFLECTION = zeros(2, 7), np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0])
BASE = {'base_pose': EYE, 'base_twist': zeros(1, 6)}
TURN = np.eye(3)

# A call of each function that is right for the Panda, without the robot.
RIGHT = {
    hd.inverse_dynamics: {'q': zeros(3, 7)},
    hd.inverse_dynamics_derivatives: {'q': zeros(3, 7)},
    hd.joint_wrenches: {'q': zeros(3, 7)},
    hd.InverseDynamics: {},
    hd.InverseDynamicsDerivatives: {},
    hd.ForwardDynamics: {},
    hd.forward_dynamics: {'q': STATE, 'tau': zeros(1, 7)},
    hd.forward_dynamics_derivatives: {'q': STATE, 'tau': zeros(1, 7)},
    hd.hybrid_dynamics: {'q': STATE, 'given': zeros(1, 7), 'moved_joints': ['joint1']},
    hd.equations_of_motion: {'q': STATE},
    hd.closed_form: {'q': STATE},
    hd.christoffel_symbols: {'q': zeros(7)},
    hd.external_efforts: {'q': zeros(1, 7), 'external_wrenches': zeros(1, 7, 6)},
    hd.gravity_wrenches: {'q': STATE},
    hd.center_of_mass: {'q': zeros(7)},
    hd.momentum: {'q': STATE},
    hd.energy: {'q': STATE},
    hd.torque_regressor: {'q': zeros(3, 7)},
    hd.momentum_regressor: {'q': STATE},
    hd.forward_kinematics: {'q': zeros(2, 7), 'link': 'link7'},
    hd.jacobian: {'q': zeros(2, 7), 'link': 'link7'},
    hd.inverse_kinematics: {'q': np.ones(7), 'twist': zeros(2, 6), 'link': 'link7'},
    hd.solve_pose: {'pose': EYE, 'link': 'link7'},
    hd.follow_path: {
        'times': [0.0, 0.01], 'poses': np.stack([2 * [EYE], zeros(2, 4, 4)], 1), 'link': 'link7'},
    hd.task_space_dynamics: {'q': np.ones((2, 7)), 'link': 'link7'},
    hd.link_wrench: {'link': 'link7', 'wrench': zeros(1, 6)},
    hd.simulate: {'torque': still, 'start': STATE, 'times': [0, 1]},
    hd.simulate_by_euler: {'torque': still, 'start': STATE, 'step': 0.1, 'steps': 1},
    hd.generate_c: {'output': 'code'},
    hd.retime: {'positions': STATE},
    hd.FeedForward: {},
    hd.save_robot: {'path': 'robot.yaml'},
}


# What is changed in the right call, and words of the message.
NOT_FINITE_WRENCH = (
    {'q': zeros(5, 7), 'external_wrenches': changed(zeros(3, 7, 6), (1, 2, 0), -np.inf)},
    r"external_wrenches\[1, 2, 0\] \(body 'link3'\) is -inf")
NO_NUMBERS = [
    ({'q': q}, 'q: expected numbers, got ')
    for q in ('x', [['1']], None, {}, zeros(3, 7).astype(complex), [[0.0], [1, 2]])]
KINEMATICS = [
    ({'q': zeros(2, 6)}, r'q has shape \(2, 6\)'),
    ({'q': zeros(6)}, r'q has shape \(6,\)'),
    ({'q': zeros(2, 7) * np.nan}, "joint 'joint1'"),
    ({'link': 'hand'}, "no link 'hand'"),
    ({'link': zeros(7)}, 'link: expected the name of a link, got ndarray'),
    ({'representation': 'world'}, "representation 'world'"),
    ({'base_pose': EYE}, 'fixed base'),
]
FORMULATION = (
    {'formulation': 'planar'},
    "formulation 'planar': expected one of spatial, body_fixed, closed_form")
BOTH_BASES = {'robot': FLYER, 'q': zeros(2, 6), 'given': zeros(1, 6), 'moved_joints': (), **BASE}
READ_ONLY = zeros(1, 7)
READ_ONLY.flags.writeable = False
WRONG = {
    hd.inverse_dynamics: [
        ({'q': zeros(2, 7)}, r'q has shape \(2, 7\)'),
        ({'q': zeros(3, 6)}, r'q has shape \(3, 6\)'),
        ({'q': zeros(7)}, r'q has shape \(7,\)'),
        ({'q': zeros(3, 7) * np.nan}, r"q\[0, 0\] \(joint 'joint1'\) is nan"),
        *NO_NUMBERS, NOT_FINITE_WRENCH, FORMULATION,
        *(({'out': out}, r'out must be a writeable.*of shape \(1, 7\)') for out in (
            READ_ONLY, READ_ONLY.tolist(), zeros(1, 6), np.zeros((1, 7), np.float32))),
        *(({'q': q, 'threads': threads}, 'threads must be an integer of at least 1')
          for q in (zeros(5, 7), zeros(9, 5, 7)) for threads in (0, -1, 1.5, True, '2', None)),
        *(({'robot': FLYER, 'q': zeros(3, 6), 'base_twist': zeros(2, 6), **base}, words)
          for base, words in (
            ({}, 'give its base_pose and base_twist'),
            ({'base_twist': None, 'base_pose': EYE}, 'give its base_pose and base_twist'),
            ({'base_twist': zeros(3, 6), 'base_pose': EYE},
             r'base_twist has shape \(3, 6\); expected \(2, 6\)'),
            ({'base_pose': REFLECTION}, 'base_pose: its rotation'),
            ({'base_pose': np.diag([1.0, 1.0, 1.0, 2.0])}, 'base_pose: its last row'),
            ({'base_pose': EYE, 'formulation': 'closed_form'}, r'closed_form.*fixed base'))),
        *(({'robot': BALLS, 'q': zeros(3, 9), 'rotations': turns, **others}, words)
          for turns, others, words in (
            ({'joint2': TURN}, {}, "no spherical joint 'joint2'; it has joint1, joint3"),
            ({'joint1': REFLECTION[:3, :3]}, {}, "'joint1': its rotation is a reflec"),
            ({'joint1': EYE}, {}, r"'joint1' has shape \(4, 4\); expected \(3, 3\)"),
            ({}, {}, 'expected rotations of spherical joints by name'),
            ({'joint1': TURN}, {'out': zeros(1, 9)}, 'leave out `out`'),
            ({'joint1': TURN}, {'external_wrenches': zeros(1, 2, 6)},
             'external_wrenches has shape'))),
    ],
    hd.inverse_dynamics_derivatives: [
        ({'q': zeros(2, 7)}, r'q has shape \(2, 7\)'),
        ({'q': zeros(3, 7) * np.nan}, 'not finite'),
        ({'threads': 0}, 'threads'),
        ({'external_wrenches': zeros(2, 7, 6)}, 'external_wrenches'),
        NOT_FINITE_WRENCH,
    ],
    hd.joint_wrenches: [
        ({'frame': 'hybrid'}, "frame 'hybrid': expected one of body, joint, world"),
        ({'q': zeros(2, 7)}, 'q has shape'),
        ({'external_wrenches': zeros(2, 7, 6)}, 'external_wrenches has shape'),
        NOT_FINITE_WRENCH,
    ],
    hd.InverseDynamics: [FORMULATION, *(
        ({'order': order}, f'order must be an integer of at least 0, got {order!r}')
        for order in (-1, 2.0, '2', None))],
    hd.InverseDynamicsDerivatives: [({'order': -1}, 'order must be')],
    hd.ForwardDynamics: [({'order': -1}, 'order')],
    hd.forward_dynamics: [
        *NO_NUMBERS,
        ({'q': zeros(3, 7)}, r'q has shape \(3, 7\)'),
        ({'tau': zeros(7)}, r'tau has shape \(7,\)'),
        ({'tau': changed(zeros(2, 7), (1, 4), np.inf)}, r"tau\[1, 4\] \(joint 'joint5'\) is inf"),
        ({'q': zeros(5, 2, 7)},
         r'^tau has shape \(1, 7\); expected \(5, r \+ 1, 7\), as q is a batch of 5'),
        ({'base_wrench': zeros(1, 6)}, 'fixed base: leave out base_wrench'),
        ({'external_wrenches': zeros(1, 6)}, 'external_wrenches has shape'),
        ({'robot': FLYER, 'q': zeros(2, 6), 'tau': zeros(1, 6), **BASE,
          'base_wrench': zeros(2, 6)}, r'base_wrench has shape \(2, 6\)'),
    ],
    hd.hybrid_dynamics: [
        ({'moved_joints': ['elbow']}, "no joint 'elbow'; its joints are joint1"),
        ({'moved_joints': ['joint2', 'joint1', 'joint2']},
         r"joint 'joint2' is given twice; name each joint once"),
        (BOTH_BASES, 'give either the base_wrench'),
        ({**BOTH_BASES, 'base_wrench': zeros(1, 6), 'base_motion': zeros(1, 6)}, 'give either'),
    ],
    hd.equations_of_motion: [
        ({'q': zeros(1, 7)}, r'q has shape \(1, 7\); expected \(2 or more, 7\)')],
    hd.closed_form: [({'robot': FLYER, 'q': zeros(2, 6)}, 'equations_of_motion')],
    hd.christoffel_symbols: [
        *(({'q': q}, r'q has shape .*; expected \(7,\)') for q in (STATE, zeros(1, 7), zeros(6))),
        ({'robot': FLYER, 'q': zeros(6)}, 'Christoffel')],
    hd.forward_kinematics: [*KINEMATICS, ({'q': 'x'}, 'q: expected ')],
    hd.jacobian: [*KINEMATICS, ({'base_columns': True}, 'fixed base: leave out base_columns')],
    hd.inverse_kinematics: [
        ({'damping': 'a'}, 'damping: expected '),
        ({'damping': -1.0}, 'damping must be a finite number'),
        ({'q': zeros(6)}, r'q has shape \(6,\)'),
        ({'q': zeros(7) + np.inf}, 'not finite'),
        ({'twist': zeros(6)}, r'twist has shape \(6,\)'),
        ({'twist': zeros(2, 5)}, r'twist has shape \(2, 5\)'),
        ({'q': zeros(5, 7)}, r'twist has shape \(2, 6\); expected \(5, k, 6\), as q is a batch of '
         r'5 positions; one position is \(7,\)$'),
        ({'link': 'hand'}, "no link 'hand'"),
        ({'link': 'link5'}, "link 'link5' .* moved by 5 free joints"),
        ({'damping': -1.0}, 'damping'),
        ({'representation': 'x'}, "representation 'x'"),
        ({'prescribed': {'joint9': [0.0, 0.0]}}, "prescribed joint 'joint9'"),
        ({'prescribed': {'joint1': [0.0]}}, r"prescribed\['joint1'\] has shape"),
        ({'prescribed': {'joint1': [0, 0], 'joint2': [0, 0]}}, 'moved by 5 free joints'),
        ({'robot': FLYING_ARM}, 'floating base'),
    ],
    hd.solve_pose: [
        ({'tolerance': -1.0}, 'tolerance must be above 0'),
        ({'tolerance': 'a'}, 'tolerance: expected '),
        ({'iterations': 2.5}, 'iterations an integer of at least 1, got 1e-10 and 2.5'),
        ({'pose': np.eye(3)}, 'pose has shape'),
        ({'pose': 2.0 * EYE}, 'pose: its rotation'),
        ({'guess': zeros(6)}, 'guess has shape'),
        ({'guess': zeros(7), 'within_limits': True}, "guess of joint 'joint4' is 0, beyond"),
        ({'link': 'hand'}, "no link 'hand'"),
        ({'robot': FLYING_ARM}, 'floating base'),
    ],
    hd.follow_path: [
        ({'poses': zeros(2, 1, 4, 4)}, 'poses has shape'),
        ({'times': [0.0]}, 'times has shape'),
        ({'times': [1.0, 1.0]}, 'times must increase'),
        ({'link': 'hand7'}, 'hand7'),
    ],
    hd.task_space_dynamics: [
        ({'q': STATE}, "link 'link7'.*every dir"),
        ({'link': 'link4'}, "link 'link4'.*every dir"),
        ({'q': zeros(1, 7)}, r'q has shape \(1, 7\)'),
        ({'link': 'x'}, "no link 'x'"),
        ({'rows': []}, r'rows \[\]: exp'),
        ({'rows': [3, 3]}, 'rows.*differ'),
        ({'rows': [6]}, 'rows.*0 to 5'),
        ({'rows': [1.0]}, 'rows.*0 to 5'),
        *(({'robot': TWO_LINKS, 'link': 'link2', 'representation': 'hybrid', **task}, words)
          for task, words in (
            ({'q': np.ones((2, 2)), 'rows': (3, 5)}, r'rows \[3, 5\].*such as 5 \(linear z\)'),
            ({'q': zeros(2, 2), 'rows': (2, 3, 4, 0)}, r'0\.0e\+00.*such as 0 \(angular x\)'),
            ({'q': np.ones((2, 2))}, 'cannot move in every direction'))),
    ],
    hd.link_wrench: [
        ({'link': 'x'}, "no link 'x'"),
        ({'wrench': zeros(6)}, r'wrench has shape \(6,\)'),
        ({'wrench': zeros(1, 6) * np.nan}, 'not finite'),
    ],
    hd.simulate: [
        ({'torque': zeros(7)},
         r'^torque: expected a function of time and state, as lambda t, state: …, got array'),
        ({'external_wrenches': 1.0}, r'^external_wrenches: expected a function'),
        ({'start': zeros(1, 7)}, 'start has shape'),
        ({'times': 'x'}, 'times: expected '),
        ({'times': [0, 1, 1]}, 'times must increase'),
        ({'times': [0, np.nan]}, 'times.*not finite'),
        ({'torque': lambda t, state: [1.0]}, r'shape \(1,\)'),
        ({'torque': lambda t, state: zeros(3, 7)},
         r'torque\(t, state\) has shape \(3, 7\); expected \(7,\)'),
        ({'torque': lambda t, state: changed(zeros(7), 1, np.nan)}, 'not finite'),
        ({'torque': lambda t: zeros(7)},
         r'^torque: expected a function of \(t, state\), as lambda t, state: …$'),
        ({'base_wrench': still}, 'fixed base: leave out base_wrench'),
        *(({'robot': FLYING_ARM, **BASE, **changes}, words) for changes, words in (
            ({'torque': lambda t, state: zeros(7)},
             r'^torque: expected a function of \(t, state, base_pose, base_twist\), as lambda t, '
             'state, base_pose, base_twist: …; base_pose and base_twist are given as well$'),
            ({'external_wrenches': lambda t, state: zeros(7, 6)},
             r'^external_wrenches: expected a function of \(t, state, base_pose'),
            ({'base_pose': None}, 'floating base: give its base_pose'),
            ({'base_pose': 2.0 * EYE}, 'base_pose: its rotation is not orthonormal'),
            ({'base_twist': zeros(6)}, r'base_twist has shape \(6,\); expected \(1, 6\)'),
            ({'base_wrench': lambda *_: zeros(3)},
             r'base_wrench\(t, state, base_pose, base_twist\) has shape \(3,\); expected \(6,\)'),
            ({'order': 4}, 'order 4: expected one of 3, 5, 8'),
            ({'step': 0.0}, 'step must be above 0'),
            ({'step': np.nan}, 'step.* not finite'),
            ({'step': 'fast'}, 'step'),
            ({'tolerance': -1.0}, 'tolerance must be above 0'))),
    ],
    hd.simulate_by_euler: [
        ({'step': 0.0}, 'step must be above'),
        ({'step': 'a'}, 'step: expected '),
        ({'torque': lambda t: zeros(7)}, r'^torque: expected a function of \(t, state\)'),
        ({'steps': 2.5}, 'and steps an integer of at least 0, got 0.1 and 2.5'),
        ({'robot': FLYING_ARM}, 'floating base: use simulate'),
    ],
}


@pytest.mark.parametrize(('function', 'changes', 'words'), [
    pytest.param(function, changes, words, id=f'{function.__name__}: {words}')
    for function, calls in WRONG.items() for changes, words in calls])
def test_an_argument_that_is_wrong_is_named(function, changes, words):
    with pytest.raises(hd.HodynError, match=words):
        function(**{'robot': ARM, **RIGHT[function], **changes})


OF_ANY_BASE = [function for function in RIGHT if 'base_pose' in signature(function).parameters]


@pytest.mark.parametrize('function', OF_ANY_BASE)
def test_a_base_that_does_not_fit_the_robot_is_named(function):
    with pytest.raises(hd.HodynError, match='fixed base: leave out base_pose'):
        function(ARM, **RIGHT[function], base_pose=EYE, base_twist=zeros(1, 6))
    with pytest.raises(hd.HodynError, match='floating base: give its base_pose'):
        function(FLYING_ARM, **RIGHT[function])


@pytest.mark.parametrize('function', RIGHT)
def test_a_name_is_no_robot(function):
    """It was an AttributeError of something inside."""
    with pytest.raises(
            hd.HodynError, match="robot: expected a Robot from load_robot, got 'panda'"):
        function('panda', **RIGHT[function])


OTHER_CALLS = [
    (hd.pose_derivatives, [EYE, zeros(6)], r'twist has shape \(6,\)'),
    (hd.pose_derivatives, [2 * EYE, zeros(1, 6)], 'rotation'),
    (hd.pose_derivatives, [REFLECTION, zeros(1, 6)], 'a reflection'),
    (partial(hd.pose_derivatives, representation='x'), [EYE, zeros(1, 6)], "representation 'x'"),
    (hd.pose_twist, [EYE], 'derivatives has shape'),
    (hd.pose_twist, [[EYE, EYE]], 'last row'),
    (hd.pose_twist, [[EYE, np.diag([1.0, 0, 0, 0])]], 'symmetric part of 2'),
    (hd.pose_twist, [[EYE, EYE * np.nan]], 'not finite'),
    (hd.world_wrench, [EYE, zeros(2, 6), zeros(2, 6)], 'twist has shape'),
    (hd.world_wrench, [2 * EYE, zeros(0, 6), zeros(1, 6)], 'rotation'),
    (hd.world_wrench, [EYE, zeros(0, 6), [[0.0], [1.0, 2.0]]], 'wrench: expected '),
    (hd.body_wrench, [EYE, zeros(0, 6), zeros(6)], 'wrench has shape'),
    (hd.tilted_hexagon, [0.4, zeros(5), zeros(6)], r'alpha has shape \(5,\)'),
    (hd.propeller_map, [EYE, np.ones(4), np.ones(4)], 'poses has shape'),
    (hd.propeller_map, [[EYE], [np.nan], [0.0]], r'thrust\[0\] is nan'),
    (hd.propeller_map, [None, [1.0], [1.0]], 'poses: expected '),
    (hd.inertial_parameters, [1.0, [0.0, 0.0], TURN], r'com has shape \(2,\)'),
    (hd.inertial_parameters, [1.0, zeros(3), np.ones(3)], r'inertia has shape \(3,\)'),
    (hd.inertial_parameters, [np.nan, zeros(3), TURN], 'mass.* not finite'),
    (ARM.with_payload, ['link7', 'x', zeros(3)], "payload on 'link7': mass: expected "),
    (ball().with_rotation, ['ball', 2.0 * TURN], "joint 'ball': its rotation is not orthonormal"),
    (random_robot(np.random.default_rng(10), 3).with_rotation, ['joint1', TURN],
     "has no spherical joint 'joint1'; it has none"),
    (hd.inverse_dynamics, [ARM, *zeros(3, 7)], r'per derivative.*\(robot, np.stack\(\[q, v, a\]'),
    (hd.forward_dynamics, [ARM, *zeros(3, 7)], r'per derivative.*np.stack\(\[q, v\]\), tau\)'),
    (hd.task_space_dynamics(ARM, np.ones((2, 7)), 'link7').torques, [np.ones(5)],
     'acceleration has shape'),
    (partial(hd.task_space_dynamics(ARM, np.ones((2, 7)), 'link7', rows=[4]).torques, [1.0],
             null_space_torque=np.ones(6)), [], r'null_space_torque has shape \(6,\)'),
    *((hd.closed_form(TWO_LINKS, np.ones((3, 2))).coefficient, numbers, words)
      for numbers, words in (
        ((2, 2), 'order 2: the terms have orders 0 to 1'), ((-1, 1), 'order -1'),
        ((0.5, 1), r'order is 0\.5: expected a whole number'), ((0, 1.5), r'k is 1\.5: expected'),
        ((1, 4), 'k = 4'),
        ((1, 0), r'k = 0: derivative 1 of Q contains q\^\(1\) to q\^\(3\)'))),
]


@pytest.mark.parametrize(('function', 'arguments', 'words'), OTHER_CALLS, ids=(
    lambda value: value if isinstance(value, str) else ''))
def test_an_argument_of_another_call_is_named(function, arguments, words):
    with pytest.raises(hd.HodynError, match=words):
        function(*arguments)


def huge(rows, row, value, n=7):
    return changed(zeros(rows, n), (row, 2), value)


@pytest.mark.parametrize('call', [
    lambda batch: hd.inverse_dynamics(ARM, batch(huge(3, 1, 1e160))),
    lambda batch: hd.inverse_dynamics(ARM, batch(huge(5, 1, -1e80))),
    lambda batch: hd.inverse_dynamics(
        ARM, batch(huge(3, 1, 1e160)), external_wrenches=batch(zeros(1, 7, 6))),
    lambda batch: hd.forward_dynamics(ARM, batch(huge(2, 1, 1e160)), batch(zeros(1, 7))),
    lambda batch: hd.hybrid_dynamics(
        ARM, batch(huge(2, 1, 1e160)), batch(zeros(1, 7)), ['joint1'])])
@pytest.mark.parametrize('batch', [np.asarray, lambda values: np.stack([0.0 * values, values])])
def test_results_that_overflow_are_refused_with_the_largest_entry(call, batch):
    with pytest.raises(hd.HodynError, match=(
            r"^q\[(1, )?1, 2\] \(joint 'joint3'\) is -?1e\+\d+: the result overflows")):
        call(batch)


@pytest.mark.parametrize(('function', 'given'), [
    (hd.inverse_dynamics, [zeros(3, 6)]), (hd.forward_dynamics, [zeros(2, 6), zeros(1, 6)])])
def test_results_that_overflow_on_a_floating_base_name_its_twist(function, given):
    twist = huge(len(given[0]) - 1, 0, 1e160, 6)
    with pytest.raises(hd.HodynError, match=r'^base_twist\[0, 2\] is 1e\+160: the result over'):
        function(FLYER, *given, base_pose=EYE, base_twist=twist)


def test_large_results_that_do_not_overflow_are_returned():
    torque = hd.inverse_dynamics(ARM, huge(3, 2, 1e200))  # its square overflows
    assert np.isfinite(torque).all()
    assert np.abs(torque).max() > 1e198


def test_samples_given_as_derivatives_are_suspected():
    with pytest.warns(UserWarning, match=r'100 rows: .* samples are given as \(T, 3 or more'):
        hd.inverse_dynamics(ARM, zeros(100, 7))
    with pytest.warns(UserWarning, match='200 rows'), pytest.raises(hd.HodynError, match=(
            r"\(joint 'joint1'\) is 1: the result overflows; its 200 rows are derivatives; "
            r'samples are given as \(T, rows, 7\)$')):
        hd.inverse_dynamics(ARM, np.ones((200, 7)))
