"""Whatever a robot file holds, the answer comes in time, and is right or one line."""
from collections import Counter

import pytest

from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import load_robot

pytest.importorskip('pinocchio')
pytest.importorskip('mujoco', reason='mujoco is not installed')
from robot_fuzz import fuzz


@pytest.mark.slow
@pytest.mark.parametrize('first', [0, 20000])
def test_a_damaged_file_is_read_right_or_refused_in_a_line(tmp_path, first):
    """Files of other seeds: tools/robot_fuzz.py."""
    found = list(fuzz(range(first, first + 150), tmp_path, 60.0))
    bad = [answer for answer in found if answer.kind not in ('right', 'refused')]
    assert not bad, bad[0]
    counts = Counter(answer.kind for answer in found)
    assert counts['right'] > 30
    assert counts['refused'] > 30


def test_what_an_error_quotes_makes_no_second_line():
    said = str(HodynError('a\nb\t c ' + 'x' * 10**6 + ' what to do'))
    assert said.startswith('a b c x')
    assert said.endswith('x what to do')
    assert len(said) == 2000


@pytest.mark.parametrize('count', [500, 501])
def test_a_robot_has_so_many_bodies_that_move(count):
    inertial = ('<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
                'iyz="0"/></inertial>')
    text = '<robot name="comb"><link name="base"/>' + ''.join(
        f'<link name="l{k}">{inertial}</link><joint name="j{k}" type="continuous">'
        f'<parent link="base"/><child link="l{k}"/></joint>' for k in range(count)) + '</robot>'
    if count == 500:
        assert load_robot(text).n == count
        return
    with pytest.raises(ValueError, match="'bodies': 501 of them move; at most 500 can"):
        load_robot(text)
