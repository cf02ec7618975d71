"""``hodyn excite`` around its search, which is tested in `test/identification`."""
import numpy as np
import pytest
import yaml

from hodyn_ros import load_robot
from hodyn_ros.identification import excitation
from hodyn_ros.identification.excitation import Excitation
from hodyn_ros.robot.files import robot_mapping

PANDA = load_robot('panda')
MIDDLE = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0])


@pytest.fixture
def asked(monkeypatch):
    """Return what is asked of the search; what it finds goes 1 rad there and back at once."""
    found = []

    def design(robot, *, period, harmonics, share, seed):
        found.append((period, harmonics, share, seed))
        times = np.linspace(0.0, period, 101)
        q = np.zeros((101, 3, 7))
        q[:, 0] = MIDDLE
        q[:, 0, 0] += np.sin(np.pi * times / period) ** 6
        return Excitation(times, q, 12.4, 43)
    monkeypatch.setattr(excitation, 'design', design)
    return found


def test_a_motion_beyond_limits_is_searched_again_slower(hodyn, tmp_path, asked):
    said = hodyn(
        'excite', '--output', 'motion.yaml', '--period', '2', '--harmonics', '4', '--share',
        '0.7', '--seed', '3').out
    periods = [period for period, *_ in asked]
    assert len(periods) > 1
    np.testing.assert_allclose(periods, 2.0 * 1.15 ** np.arange(len(periods)))
    assert {tuple(rest) for _, *rest in asked} == {(4, 0.7, 3)}
    plan = yaml.safe_load((tmp_path / 'motion.yaml').read_text())
    assert plan['joint_names'] == list(PANDA.joint_names)
    assert plan['points'][0] == {'time_from_start': 0.0, 'positions': MIDDLE.tolist()}
    assert plan['points'][-1]['time_from_start'] == pytest.approx(periods[-1], abs=1e-6)
    assert plan['points'][50]['positions'][0] == pytest.approx(1.0)
    assert said.startswith('motion.yaml, for robot panda (the default')
    assert f': {periods[-1]:.1f} s within all limits' in said
    assert 'number 12 of 43 base parameters' in said
    assert 'It begins and ends at 0.000, 0.000, 0.000, -1.500, 0.000, 1.800, 0.000' in said
    assert 'no limit' not in said
    assert '! The period of 2 s could not be kept: the first motion that was found is' in said
    assert 'limits: joint1: ' in said
    # The one before is not what was asked to be written.
    hodyn('check', 'motion.yaml', '--brief')


def test_where_no_motion_is_slow_enough_none_is_written(hodyn, tmp_path, asked):
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 0.001}}')
    said = hodyn('excite', '--limits', 'limits.yaml', '--period', '2', code=2).line
    assert "robot 'panda': none of the 6 motions tried is within the limits: joint1: " in said
    assert 'try a longer --period or a smaller --share' in said
    assert len(asked) == 6
    assert [path.name for path in tmp_path.iterdir()] == ['limits.yaml']


def test_limits_that_are_not_known_are_told_with_what_is_kept_to(hodyn, tmp_path, asked):
    data = robot_mapping(PANDA)
    data['limits']['jerk'][2] = None
    del data['limits']['velocity']
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(data))
    said = hodyn('excite', '--robot', 'arm.yaml', '--period', '60').out
    assert len(asked) == 1
    assert 'could not be kept' not in said
    (line,) = [one for one in said.splitlines() if 'no limit' in one]
    kept = excitation.UNKNOWN
    assert line == (
        '! Some joints have no limit of velocity or jerk; used instead: '
        f'velocity {kept["velocity"]:g} rad/s (m/s), jerk {kept["jerk"]:g} rad/s³ (m/s³)')


def test_a_range_that_is_not_known_is_told(hodyn, tmp_path, asked):
    """The telescope of a user began at -0.8 m, "within all limits"."""
    data = robot_mapping(PANDA)
    del data['limits']['position']
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(data))
    said = hodyn('excite', '--robot', 'arm.yaml', '--period', '60').out
    assert len(asked) == 1
    assert 's within all known limits, from rest to rest' in said
    assert (
        '! Some joints have no limit of position; used instead: position ±1 rad (m): if a joint '
        'has a range, write it into the robot file first') in said


@pytest.mark.parametrize(('option', 'expected', 'outside', 'ends'), [
    ('--period', '2 to 600', '1.9 601 nan', '2 600'), ('--harmonics', '3 to 20', '2 21', '3 20'),
    ('--share', '0.05 to 0.95', '0.04 0.96', '0.05 0.95'), ('--seed', '0 or more', '-1', '0')])
def test_what_is_out_of_range_is_refused_before_the_search(
        hodyn, asked, option, expected, outside, ends):
    for value in outside.split():
        assert f'{option} {value}: expected {expected}' in hodyn.refuses('excite', option, value)
        assert asked == []
    for value in ends.split():
        hodyn('excite', option, value, '--force', code=None)
        assert asked
        asked.clear()


def test_the_motion_is_written_as_yaml_alone(hodyn, asked):
    assert '--output motion.json: expected a file that ends with .yaml' in hodyn.refuses(
        'excite', '--output', 'motion.json')
    assert asked == []
