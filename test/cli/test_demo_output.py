"""``hodyn demo``: which run its options ask for, and what is printed of one; none is run: fast."""
import json

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: no ROS 2 here')
pytest.importorskip('mujoco', reason='mujoco is not installed')

import hodyn_ros as hd
from hodyn_ros.cli import compare
from hodyn_ros.cli.demo import CONTENTS
from hodyn_ros.ros.demo import recording_figure, run
from hodyn_ros.simulation import method_comparison, tracking_figure
from hodyn_ros.simulation.elastic_tracking import METHODS

TRIP = {'p50': 123.4, 'p99': 456.7}
QUIET = {'interruptions': 0, 'answered_share': 1.0, 'round_trip_us': TRIP}
FIGURES = {
    **QUIET, 'states': 9876, 'rate': 998.6, 'answered_share': 0.9987, 'same_cycle_share': 0.75,
    'rms_tracking_error': [1e-6 * (i + 1) for i in range(7)],
    **{f'max_{name}': [10.0 ** k * (i + 1) for i in range(7)]
       for k, name in enumerate(('torque', 'torque_rate', 'torque_accel'))}}


@pytest.fixture
def asked(monkeypatch):
    """Return what was asked of the run, which only writes its files."""
    found = []

    class Run:
        def __init__(self, source, robot, waypoints, duration, bag, *, retimed):
            self.bag = bag
            found.append((source, robot.name, waypoints[0][-1], duration, retimed))

        def record(self):
            self.bag.mkdir()
            (self.bag / 'metadata.yaml').touch()
            return FIGURES, 'recording'
    monkeypatch.setattr(run, 'DemoRun', Run)
    monkeypatch.setattr(
        recording_figure, 'draw_recording', lambda *values: values[-1].write_text(str(values[0])))
    return found


def row(text, name):
    """Return the cells of the row of a table that begins with a name."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(name + ' ')]
    return line.split()


def test_a_run_lasts_ten_seconds_and_is_told_joint_by_joint(hodyn, tmp_path, asked):
    said = hodyn('demo', '--json', 'figures.json').out
    assert asked == [('panda', 'panda', 9.0, 10.0, False)]
    assert 'panda: feed-forward through ROS 2' in said
    assert row(said, 'joint3') == ['joint3', '3.00e-06', '3', '30', '300']
    assert ('9876 states at 999 Hz, 99.87 % answered (75.00 % within their cycle); round trip p50 '
            '123 µs, p99 457 µs') in said
    assert 'disturbed' not in said
    assert said.splitlines()[-1].strip() == 'plot and bag in hodyn_demo/'
    assert {path.name for path in (tmp_path / 'hodyn_demo').iterdir()} == {'bag', 'demo.png'}
    assert CONTENTS.is_result(tmp_path / 'hodyn_demo')
    assert json.loads((tmp_path / 'figures.json').read_text()) == FIGURES


def test_duration_robot_folder_and_retiming_are_those_asked_for(hodyn, tmp_path, asked):
    hodyn('demo', '--duration', '4', '--robot', 'iiwa14', '--output', 'out', '--retime')
    assert asked == [('iiwa14', 'iiwa14', 3.0, 4.0, True)]
    assert (tmp_path / 'out/demo.png').is_file()
    hodyn('demo', '--duration', '2')
    assert '--duration 1.99: the demo needs at least 2 s' in hodyn.refuses(
        'demo', '--duration', '1.99')
    assert len(asked) == 2


@pytest.mark.parametrize('wrong', [
    {'interruptions': 2}, {'answered_share': 0.5}, {'rms_tracking_error': 6 * [1e-7] + [5.4e-4]}])
def test_a_busy_machine_is_told_with_how_much_it_cost(hodyn, monkeypatch, asked, wrong):
    monkeypatch.setitem(globals(), 'FIGURES', {**FIGURES, **wrong})
    said = hodyn('demo').words
    figures = {**FIGURES, **wrong}
    assert (f'the run was disturbed: the node stopped {figures["interruptions"]} times, '
            f'{100 * figures["answered_share"]:.1f} % of the states were answered, and '
            f'the RMS error is up to {max(figures["rms_tracking_error"]):.1e} rad.') in said


@pytest.fixture
def compared(monkeypatch):
    """Return the settings of comparisons, which simulate nothing."""
    found = []

    def compare_methods(robot, settings, track):
        found.append(settings)
        assert list(track([1, 2])) == [1, 2]
        row = {method: 10.0 ** -k for k, method in enumerate(METHODS)}
        return {'conditions': {'exact': row}, 'stiffness_error': 0.125}, 'exact'
    monkeypatch.setattr(method_comparison, 'compare_methods', compare_methods)
    monkeypatch.setattr(
        method_comparison, 'compared_robot', lambda settings: hd.load_robot(settings.robot))
    monkeypatch.setattr(
        tracking_figure, 'draw_comparison',
        lambda robot, exact, title, path: path.write_text(title))
    return found


COMPARE = ('demo', '--compare')


def test_a_comparison_has_its_settings_by_its_options(hodyn, tmp_path, compared):
    said = hodyn(*COMPARE, '--json', 'figures.json').out
    assert compared[0] == method_comparison.ComparisonSettings()
    assert 'panda, 3 s at 80% of its speed, motor loop of 50 rad/s' in said
    assert row(said, 'exact') == [
        'exact', *(f'{10.0 ** -k:.2e}' for k in range(len(METHODS))),
        f'{10.0 ** (METHODS.index("full") - METHODS.index("rigid")):.3g}']
    assert 'largest stiffness error: 0.12 N m/rad' in said or (
        'largest stiffness error: 0.13 N m/rad' in said)
    assert 'plot in hodyn_demo/comparison.png' in said
    assert (tmp_path / 'hodyn_demo/comparison.png').read_text().startswith('panda, 3 s')
    assert 'conditions' in json.loads((tmp_path / 'figures.json').read_text())
    said = hodyn(
        *COMPARE, '--robot', 'iiwa14', '--actuator', 'sea', '--stiffness', '300', '--bandwidth',
        '40', '--duration', '1.5', '--speed', '0.5', '--robustness', '--output', 'other').out
    assert compared[1] == method_comparison.ComparisonSettings(
        'iiwa14', 'sea', 300.0, 40.0, 1.5, 0.5, True)
    assert 'iiwa14, 1.5 s at 50% of its speed, motor loop of 40 rad/s' in said
    assert (tmp_path / 'other/comparison.png').is_file()


@pytest.mark.parametrize('option', ['--bandwidth', '--duration', '--speed'])
@pytest.mark.parametrize('value', ['0', '-1', 'inf', 'nan'])
def test_what_must_be_above_0_is_refused_before_the_work(hodyn, compared, option, value):
    assert f'{option} {value}: must be above 0' in hodyn(*COMPARE, f'{option}={value}', code=2).err
    assert compared == []


def test_an_arm_with_example_actuators_is_that_asked_for(hodyn, monkeypatch, asked):
    seen = []
    monkeypatch.setattr(
        recording_figure, 'draw_recording', lambda recording, robot, figures, path: (
            seen.append(robot), path.touch()))
    hodyn('demo', '--actuator', 'sea', '--stiffness', '300')
    assert asked[0][1:] == ('panda', 9.0, 10.0, False)
    np.testing.assert_array_equal(seen[0].actuators.stiffness, [300.0] * 7)


def test_what_a_comparison_leaves_is_known_as_its_own(tmp_path):
    (tmp_path / 'comparison.png').touch()
    assert compare.CONTENTS.is_result(tmp_path)
    (tmp_path / 'mine').touch()
    assert not compare.CONTENTS.is_result(tmp_path)
