"""What is likely an oversight in a URDF is one line each, and nothing of a sound one is."""
import warnings

import pytest

import hodyn_ros as hd

INERTIAL = (
    '<inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>')
SOUND = INERTIAL.format(2.1, 0.01, 0.01, 0.01)


def arm(
        first=SOUND, second=SOUND, *, limit='lower="-2" upper="2" velocity="2" effort="50"',
        origin='rpy="1.57 0 0"'):
    """Return a URDF of two joints, a hand fixed to the last link."""
    return (
        f'<robot name="arm"><link name="base"/><link name="l1">{first}</link>'
        f'<link name="l2">{second}</link><link name="hand">{SOUND}</link>'
        f'<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/>'
        f'<axis xyz="0 0 1"/><limit {limit}/></joint>'
        f'<joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/>'
        f'<origin {origin}/><axis xyz="0 0 1"/><limit {limit}/></joint>'
        '<joint name="fixed" type="fixed"><parent link="l2"/><child link="hand"/></joint></robot>')


def said(text):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        hd.load_robot(text)
    return [str(warning.message).partition(': ')[2] for warning in caught]


def test_of_a_sound_file_nothing_is_said():
    assert said(arm()) == []
    # A link whose mass is all in what is fixed to it.
    assert said(arm(second='')) == []


def test_a_link_that_moves_without_an_inertial_is_named():
    assert said(arm(first='')) == [
        'moving links without an <inertial> are taken as massless: l1']
    assert said(arm(first='').replace('"l1"', '"upper arm"')) == [
        'moving links without an <inertial> are taken as massless: upper arm']


def test_an_inertia_of_zero_beside_a_mass_is_named():
    assert said(arm(first=INERTIAL.format(2.1, 0, 0, 0))) == [
        'links with an <inertia> of 0 are taken as point masses: l1 (2.1 kg)']


@pytest.mark.parametrize(
    ('upper', 'is_told'), [('110', True), ('6.3', False), ('18.8', False), ('1000', False)])
def test_a_range_that_looks_like_degrees_is_asked_about(upper, is_told):
    lines = said(arm(limit=f'lower="-2" upper="{upper}" velocity="2" effort="50"'))
    assert bool(lines) == is_told
    if is_told:
        assert lines == [
            f'ranges are in rad: are these degrees? j1 (-2 to {upper}), j2 (-2 to {upper})']


@pytest.mark.parametrize(('given', 'asked'), [
    ({'origin': 'rpy="90 0 0"'}, 'rpy is in rad: are these degrees? j2 (90 0 0)'),
    ({'origin': 'xyz="0 0 333"'}, (
        'lengths are in m: are these mm? It is 333 m along the links to l2')),
    ({'origin': 'rpy="-6.2832 3.1416 0" xyz="0 0 12"'}, ''),
])
def test_what_is_not_in_si_units_is_asked_about(given, asked):
    assert said(arm(**given)) == ([asked] if asked else [])


def test_limits_of_zero_are_one_line_for_all_joints():
    (line,) = said(arm(limit='lower="-2" upper="2" velocity="2" effort="0"'))
    assert line == 'effort is 0: taken as unknown'


def test_what_xacro_left_is_named():
    with pytest.raises(hd.HodynError, match=r"value is '\$\{m2\}', which xacro has not expanded"):
        hd.load_robot(arm(first=INERTIAL.format('${m2}', 1, 1, 1)))


def test_all_joints_without_a_limit_of_effort_are_named_with_what_to_write():
    joints = ''.join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<limit lower="-1" upper="1" velocity="1"{effort}/></joint>\n'
        for name, kind, parent, child, effort in (
            ('a', 'revolute', '0', '1', ' effort="2"'), ('b', 'prismatic', '1', '2', ''),
            ('c', 'revolute', '2', '3', ''), ('d', 'continuous', '3', '4', '')))
    links = ''.join(f'<link name="{number}"/>' for number in range(5))
    with pytest.raises(hd.HodynError) as error:
        hd.load_robot(f'<robot name="r">{links}\n{joints}</robot>')
    assert str(error.value).endswith(
        "joint 'b', <limit>: effort is missing, also for joints 'c', 'd'; ROS refuses a "
        '<limit> without it: write the largest that the drive gives, effort="…" in N, or '
        'effort="0" if it is not known')
