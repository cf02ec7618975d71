"""The controller of ros2_control, with a manager that stands in for the real one."""
from dataclasses import replace
import re

from controller_package import built, needs_compilers, numbers, points
from controllers import HOME
import numpy as np
import pytest
import yaml

import hodyn_ros as hd

pytestmark = needs_compilers


@pytest.fixture(scope='module')
def manager(tmp_path_factory):
    return built(hd.load_robot('panda'), 'manager', tmp_path_factory.mktemp('manager'))


JOINTS = [f'fer_joint{k}' for k in range(1, 8)]


def state(positions, velocities=(0.0,) * 7):
    return f'state {numbers(positions, velocities)}'


def message(word, times, positions, names=JOINTS):
    return f'{word} {points(times, positions, names)}'


BEGIN = 'init', 'configure', state(HOME), 'activate'

SILENT = 'the preceding controller sends no sample that continues its motion: stopping'
MOVE = message('trajectory', [0.0, 1.0], [HOME, HOME + 0.1])


def commands(lines):
    """Return what each cycle sent."""
    return np.array([line.split()[2:] for line in lines if line.startswith('cycle: 1')], float)


def errors(lines):
    return [line for line in lines if line.startswith('error: ')]


def command_after(lines):
    """Return what is commanded once the controller is deactivated."""
    return np.array(lines[lines.index('deactivate: success') + 1].split(), float)


def test_it_claims_efforts_and_states_and_offers_references(manager):
    _, _, names, _ = manager.run('init', 'configure', 'names')
    claimed = names.split()
    assert claimed[:7] == [f'arm/{joint}/effort' for joint in JOINTS]
    assert claimed[7:9] == ['arm/fer_joint1/position', 'arm/fer_joint1/velocity']
    assert claimed[21:] == [
        f'feedforward_controller/{joint}/{quantity}'
        for quantity in ('position', 'velocity', 'acceleration', 'jerk', 'snap')
        for joint in JOINTS]


def test_a_plan_is_played_without_allocation_and_ends_at_rest(manager):
    lines = manager.run(
        'set tracking_tolerance -1 -1 -1 -1 -1 -1 -1', *BEGIN, 'cycle 0.001 20', MOVE,
        'cycle 0.001 1200')
    sent = commands(lines)
    assert 'activate: success' in lines
    assert not sent[:20].any()  # a Franka holds itself
    assert np.abs(sent).max() > 0.5
    assert sent[-1] == pytest.approx(np.zeros(7), abs=1e-12)
    assert np.abs(np.diff(sent, n=2, axis=0)).max() < 0.02 * np.abs(sent).max()
    assert lines[-1] == 'allocations: 0'


GOAL = MOVE.replace('trajectory', 'goal')


@pytest.mark.parametrize(('lines', 'answers'), [
    ([GOAL, 'cycle 0.001 1100'], ['accepted', 'succeeded 0 ']),
    ([GOAL, 'cycle 0.001 300', 'cancel', 'cycle 0.001 900'], ['accepted', 'canceled 0 ']),
    ([GOAL, 'cancel', 'cycle 0.001 30'], ['accepted', 'canceled 0 ']),
    ([message('goal', [0.0, 1.0], [HOME + 0.5, HOME]), 'cycle 0.001 30'],
     ['accepted', 'aborted -1 the plan was not begun.*']),
    ([message('goal', [0.0, 1.0], [HOME, HOME], ['elbow', *JOINTS[1:]])], ['rejected']),
    ([GOAL, 'cycle 0.001 300', GOAL], ['accepted', 'rejected']),
    ([GOAL, 'cycle 0.001 300', 'hold', 'cycle 0.001 900'],
     ['accepted', 'aborted -4 the plan was stopped.*']),
    ([GOAL, 'cycle 0.001 300', 'deactivate', 'cycle 0.001 11'],
     ['accepted', 'aborted -1 the controller was deactivated']),
    # A manager that builds a chain restarts the controller within a cycle.
    ([GOAL, 'cycle 0.001 305', 'chain 1', 'chain 0', 'cycle 0.001 900'],
     ['accepted', 'aborted -1 the controller was deactivated']),
])
def test_a_goal_is_answered_when_it_is_over_canceled_or_wrong(manager, lines, answers):
    found = [line for line in manager.run(*BEGIN, 'cycle 0.001 2', *lines)
             if line.startswith('goal: ')]
    assert re.fullmatch('\n'.join(f'goal: {answer}' for answer in answers), '\n'.join(found))


@pytest.mark.parametrize(('times', 'places', 'names', 'words'), [
    ([0.0, 1.0], [HOME, [np.nan] * 7], JOINTS, 'not finite'),
    ([0.0, 0.0], [HOME, HOME], JOINTS, 'its time is less than 0.1 ms'),
    ([0.0, 1.0, 1.0002, 2.0, 2.0002],
     [HOME, HOME + 0.1, HOME + 0.1001, HOME + 0.2, HOME + 0.1999], JOINTS, 'strays far from them'),
    ([0.0, 1.0], [HOME, HOME], ['a'] * 7, 'its joints must be'),
    ([0.0], [HOME], JOINTS, 'two points'),
])
def test_wrong_trajectories_are_one_line_and_change_nothing(manager, times, places, names, words):
    lines = manager.run(*BEGIN, message('trajectory', times, places, names), 'cycle 0.001 50')
    said, = errors(lines)
    assert words in said
    assert not commands(lines).any()


def test_an_arm_that_departs_is_stopped_and_named(manager):
    pushed = HOME.copy()
    pushed[2] += 0.4
    lines = manager.run(
        *BEGIN, MOVE, 'cycle 0.001 100', state(pushed),
        'cycle 0.001 800')
    assert 'error: fer_joint3 departed from the reference by more than tracking_tolerance: the ' \
        'arm is held where it is' in lines
    assert commands(lines)[-1] == pytest.approx(np.zeros(7), abs=1e-12)
    # As in the node, 0 takes the default, and -1 disables the check.
    for tolerance, is_held in (('0.5', False), ('-1', False), ('0', True), ('0.3', True)):
        lines = manager.run(
            f'set tracking_tolerance {" ".join([tolerance] * 7)}', *BEGIN, MOVE,
            'cycle 0.001 100', state(pushed), 'cycle 0.001 800')
        assert any('departed' in line for line in lines) == is_held, tolerance
    # It is not pressed on: the feedback ends where the arm is.
    held = commands(manager.run(
        'set stiffness 400 400 400 400 400 400 400', *BEGIN, MOVE, 'cycle 0.001 100',
        state(pushed), 'cycle 0.001 900'))
    assert np.abs(held).max() > 20.0
    assert held[-1] == pytest.approx(np.zeros(7), abs=1e-9)


def test_a_chain_that_falls_silent_is_brought_to_rest(manager):
    motion = np.zeros((5, 7))
    lines = [*BEGIN, 'chain 1']
    for k in range(400):
        motion[0], motion[1], motion[2] = HOME + 0.5 * (k * 1e-3)**2, k * 1e-3, 1.0
        lines += [f'sample {numbers(motion)}', 'cycle 0.001 1']
    printed = manager.run(*lines, 'cycle 0.001 900')
    assert f'error: {SILENT}' in printed
    sent = commands(printed)
    assert np.abs(sent[300:400]).max() > 0.1
    assert sent[-1] == pytest.approx(np.zeros(7), abs=1e-12)
    assert np.abs(np.diff(sent, axis=0)).max() <= 1.0 + 1e-9  # N m in a millisecond
    assert printed[-1] == 'allocations: 0'


def test_what_cannot_be_measured_is_an_error_and_nothing_stays_commanded(manager):
    nowhere = state([np.nan] * 7)
    lines = manager.run('init', 'configure', nowhere, 'activate')
    assert lines[-2] == 'activate: error'
    lines = manager.run(*BEGIN, MOVE, 'cycle 0.001 300', nowhere, 'cycle 0.001 30', 'deactivate')
    results = [line.split()[1] for line in lines if line.startswith('cycle:')]
    assert results[300:].index('0') in (19, 20)  # reference_timeout
    assert not command_after(lines).any()


def test_a_chain_begins_and_ends_without_a_step_of_the_torque(manager):
    """The manager restarts the controller for it, in motion too."""
    moving = state(HOME, [0.3] * 7)
    lines = manager.run(
        'set gravity 1', 'set damping 20 20 20 20 5 5 5', *BEGIN, 'cycle 0.001 700', moving,
        'cycle 0.001 100', 'chain 1', 'cycle 0.001 600', 'chain 0', 'cycle 0.001 100')
    sent = commands(lines)
    assert np.abs(sent).max() > 10.0
    assert np.abs(np.diff(sent, axis=0)).max() <= 1.0 + 1e-9  # N m in a millisecond


def test_each_event_is_said_beside_others_that_last(manager):
    lines = manager.run(
        'set max_effort_rate 0.1 0.1 0.1 0.1 0.1 0.1 0.1', *BEGIN, MOVE, 'cycle 0.001 300',
        state(HOME + 0.5), 'cycle 0.001 50')
    said = errors(lines)
    assert any('the torque is cut' in line for line in said)
    assert any('departed' in line for line in said)


def test_a_command_that_is_in_use_for_a_moment_is_no_end_and_none_stays(manager):
    lines = manager.run(
        *BEGIN, MOVE, 'cycle 0.001 200', 'busy 1', 'cycle 0.001 5', 'busy 0', 'cycle 0.001 100',
        'busy 1', 'cycle 0.001 40', 'deactivate', 'busy 0', 'deactivate')
    results = [line.split()[1] for line in lines if line.startswith('cycle:')]
    assert set(results[:305]) == {'1'}
    assert '0' in results[305:]
    assert 'error: a command stays as it was: its interface is in use' in lines
    assert 'deactivate: error' in lines
    assert not command_after(lines).any()


def test_slow_managers_play_plans_at_their_speed(manager):
    lines = manager.run('rate 50', *BEGIN, MOVE, 'cycle 0.02 60')
    sent = commands(lines)
    assert np.abs(sent[10:45]).max() > 0.5
    assert sent[52:] == pytest.approx(np.zeros((8, 7)), abs=1e-12)


def test_a_misspelt_parameter_is_named(manager):
    lines = manager.run('given dampng joints use_sim_time type stiffness', 'init', 'configure')
    said = [line for line in lines if 'parameter' in line]
    assert said == [
        "warning: parameter 'dampng' is unknown and has no effect; did you mean 'damping'?"]


@pytest.mark.parametrize(('name', 'values', 'words'), [
    *(('tracking_tolerance', f'0.1 {value} 0 0 0 -1 0', f' of fer_joint2 is {value}; expected -1 '
       '(no check), 0 (the default) or a finite number above 0') for value in (
        '-0.2', 'nan', 'inf')),
    # A range does not exclude NaN: with such a start_tolerance any start would be accepted.
    *((name, 'nan', ' is nan; expected a finite number') for name in (
        'start_tolerance', 'transition_time', 'stop_time', 'fade_time', 'reference_timeout')),
    ('max_effort', 'nan 1 1 1 1 1 1', ' and max_effort_rate must be finite; 0 means no limit')])
def test_a_parameter_that_means_nothing_is_refused(manager, name, values, words):
    lines = manager.run(f'set {name} {values}', 'init', 'configure')
    assert 'configure: error' in lines
    said, = errors(lines)
    assert f'{name}{words}' in said


def test_the_tracking_tolerance_is_that_of_the_node_by_default(tmp_path):
    """It was 0, without a limit, for robot files without tracking_error."""
    robot = hd.load_robot('panda')
    error = np.array([0.1, *[np.inf] * 5, 0.3])
    robot = replace(robot, limits=replace(robot.limits, tracking_error=error))
    hd.generate_ros2_control(robot, tmp_path / 'package')
    found = yaml.safe_load((tmp_path / 'package/src/parameters.yaml').read_text('utf-8'))
    namespace, = found.values()
    assert namespace['tracking_tolerance']['default_value'] == [0.1, *[0.2] * 5, 0.3]
