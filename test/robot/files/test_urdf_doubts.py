"""What is likely an oversight in a URDF is one line each, and nothing of a sound one is."""
import pytest
from robot_texts import inertial, joined_link, limit, said, urdf

import hodyn_ros as hd

SOUND = inertial(2.1, 0.01, 0.01, 0.01)
MASSLESS = 'moving links without an <inertial>, or with a mass of 0, are taken as massless: '


def arm(first=SOUND, second=SOUND, origin='rpy="1.57 0 0"', name='l1', **ends):
    """Return a URDF of two joints, a hand fixed to the last link."""
    inside = limit(**{'lower': -2, 'upper': 2, 'velocity': 2, 'effort': 50} | ends)
    return urdf(
        joined_link(name, inside=inside, inertial=first, joint='j1', origin=''),
        joined_link('l2', name, inside=inside, inertial=second, origin=origin),
        joined_link('hand', 'l2', 'fixed', inertial=SOUND, origin=''))


@pytest.mark.parametrize(('given', 'asked'), [
    ({}, ''),
    ({'second': ''}, ''),  # a link whose mass is all in what is fixed to it
    ({'first': ''}, f'{MASSLESS}l1'),
    ({'first': inertial(0, 0, 0, 0)}, f'{MASSLESS}l1'),
    ({'first': '', 'name': 'upper arm'}, f'{MASSLESS}upper arm'),
    ({'first': inertial(2.1, 0, 0, 0)},
     'links with an <inertia> of 0 are taken as point masses: l1 (2.1 kg)'),
    ({'upper': 110}, 'ranges are in rad: are these degrees? j1 (-2 to 110), j2 (-2 to 110)'),
    *(({'upper': upper}, '') for upper in (6.3, 18.8, 1000)),
    ({'origin': 'rpy="90 0 0"'}, 'rpy is in rad: are these degrees? j2 (90 0 0)'),
    ({'origin': 'xyz="0 0 333"'},
     'lengths are in m: are these mm? It is 333 m along the links to l2'),
    ({'origin': 'rpy="-6.2832 3.1416 0" xyz="0 0 12"'}, ''),
    ({'effort': 0}, 'effort is 0: taken as unknown'),  # one line for all joints
])
def test_what_is_likely_an_oversight_is_said_or_asked(given, asked):
    lines = [line.partition(': ')[2] for line in said(hd.load_robot, arm(**given))]
    assert lines == [asked] * bool(asked)


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
def test_joints_that_move_without_an_axis_are_asked_about(kind):
    moved = joined_link('l1', kind=kind, inside=limit(), axis='1 0 0')
    hand = joined_link('hand', 'l1', 'fixed')
    given = '<axis xyz="1 0 0"/>'
    sound = urdf(moved, hand.replace('<axis xyz="0 2 1"/>', ''))  # a fixed joint needs none
    assert said(hd.load_robot, sound) == []
    assert said(hd.load_robot, sound.replace(given, '')) == [
        'URDF: no <axis>: the axis of j1 is x, the default: is this right? If so, write ' + given]
