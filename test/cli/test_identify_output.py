"""What ``hodyn identify`` prints of what was found; of made-up findings: fast."""
from dataclasses import replace
from io import StringIO
from pathlib import Path

from grippers import gripper_urdf
import numpy as np
import pytest
from rich.console import Console
from rigid_bodies import link

from hodyn_ros import load_robot
from hodyn_ros.cli.identify_report import doubts, missing_terms, print_identified
from hodyn_ros.cli.identify_warnings import implausible_links
from hodyn_ros.identification.doubts import DoubtfulJoints
from hodyn_ros.identification.estimate import Doubt, Estimate
from hodyn_ros.identification.payload import Payload
from hodyn_ros.identification.validation import Validation
from hodyn_ros.replay.comparison import Lag

PANDA = load_robot('panda')
N = 7
BEFORE = 1.0 + np.arange(N)
GOOD = Validation(
    BEFORE, 0.1 * BEFORE, BEFORE, [0.1 * BEFORE], 0.2 * BEFORE, 0.05 * BEFORE,
    [0.05 * BEFORE], np.zeros(N, bool), False, [Lag()])
BAGS = [Path('day/one'), Path('day/two')]


def printed(
    found, validation=GOOD, *, terms=('offsets',), robot=PANDA, gravity=True, is_compared=False,
):
    """Return the lines that are printed."""
    text = StringIO()
    print_identified(
        Console(file=text, width=200, highlight=False), robot, found, validation, bags=BAGS,
        terms=terms, gravity=gravity, is_compared=is_compared)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def rows(lines, *headings):
    """Return the cells of the rows of the table with these headings, by their first ones."""
    begin = next(i for i, line in enumerate(lines) if all(one in line for one in headings))
    found = {}
    for line in lines[begin + 2:]:
        if not line.strip():
            break
        name, *cells = [cell.strip() for cell in line.split('  ') if cell.strip()]
        found[name] = cells
    return found


OFFSETS = Estimate(
    offset=0.01 * np.arange(N), offset_interval=np.full(N, 0.0234), standing=np.zeros(N))
WIDTH = np.where(np.arange(N) == 2, np.nan, 0.012)
VALUES = replace(
    OFFSETS, joints={'amplitude': 1.5 * BEFORE, 'viscous': BEFORE},
    intervals={'amplitude': WIDTH, 'viscous': 2.0 * WIDTH})
OWN_GAINS = replace(
    OFFSETS, joints={'effort_gain': 9.0 + BEFORE}, intervals={'effort_gain': 0.1 * BEFORE})
EACH_BAG = replace(
    OFFSETS, offset=np.stack([OFFSETS.offset, 1.0 + OFFSETS.offset]),
    offset_interval=np.stack([OFFSETS.offset_interval, 2.0 * OFFSETS.offset_interval]))
LINKS = replace(
    OFFSETS, base_parameters=43, told_parameters=12,
    links=tuple(Payload(2.0 * body.mass, np.array([0.01, -0.02, 0.03]), np.eye(3))
                for body in PANDA.bodies),
    links_interval=np.tile(0.1 * np.arange(1.0, 11.0), (N, 1)))
FOURTH = PANDA.bodies[3]
ERRORS = ['4.000', '0.400', '0.800', '0.200']


@pytest.mark.parametrize(('found', 'options', 'headings', 'name', 'cells'), [
    (VALUES, {}, ['A, N m'], 'joint2', ['3 ± 0.012', '2 ± 0.024', '0.01 ± 0.023']),
    (VALUES, {}, ['A, N m'], 'joint3', ['4.5 (kept)', '3 (kept)', '0.02 ± 0.023']),
    (OWN_GAINS, {}, ['offset, unit of effort'], 'joint5', ['14 ± 0.5', '0.04 ± 0.023']),
    (OWN_GAINS, {'robot': replace(PANDA, effort_gain=np.full(N, 10.0))},
     ['offset, N m by the given gains'], 'joint5', ['14 ± 0.5', '0.04 ± 0.023']),
    (EACH_BAG, {}, ['offset in one', 'offset in two'], 'joint2', ['0.01 ± 0.023', '1.01 ± 0.047']),
    (LINKS, {'terms': ('links',)}, ['com, mm'], FOURTH.name,
     [f'{2.0 * FOURTH.mass:.3g} ± 0.1', f'{FOURTH.mass:.3g}', '10, -20, 30']),
    (OFFSETS, {}, ['from other stretches'], 'joint4', ERRORS),
    (OFFSETS, {'validation': replace(GOOD, by_bag=True, worse=np.arange(N) == 2)},
     ['from other recordings'], 'joint4', ERRORS),
])
def test_tables_have_values_with_intervals(found, options, headings, name, cells):
    """And what was kept, as kept; links beside what they were; errors before and after."""
    lines = printed(found, **options)
    assert lines[0] == 'panda: identified, ± 90 % confidence'
    table = rows(lines, *headings)
    assert table[name] == cells
    assert len(table) == N


def test_offsets_that_are_not_fitted_are_not_printed():
    none = replace(VALUES, offset=np.zeros(N), offset_interval=np.full(N, np.nan))
    lines = printed(none)
    assert rows(lines, 'A, N m')['joint2'] == ['3 ± 0.012', '2 ± 0.024']
    assert not any('offset' in line for line in lines)
    assert not any('kept' in line for line in printed(replace(none, joints={}, intervals={})))
    width = np.where(np.arange(N) == 2, np.nan, 0.0234)
    lines = printed(replace(OFFSETS, offset_interval=width))
    assert list(rows(lines, 'offset, N m')) == [
        name for name in PANDA.joint_names if name != 'joint3']


def test_no_table_is_wider_than_a_terminal():
    names = ('amplitude', 'slope', 'velocity_offset', 'viscous', 'rotor_inertia')
    lines = printed(replace(
        OFFSETS, joints=dict.fromkeys(names, BEFORE),
        intervals=dict.fromkeys(names, 0.1 * BEFORE)))
    assert [len(rows(lines, heading)['joint1']) for heading in ('slope', 'viscous')] == [3, 3]
    table = rows(lines, 'offset, N m')
    assert table['joint5'][-1] == '0.04 ± 0.023'
    assert list(table) == list(PANDA.joint_names)


def test_terms_that_are_missing_are_named_with_their_joints():
    found = replace(OFFSETS, missing=(
        ('viscous', ('joint2',)), ('rotor', ('joint1', 'joint3')), ('zeros', ('joint2',))))
    viscous, rotor, zeros = missing_terms(found)
    assert zeros.startswith('Zeros of joint2 seem to be off: ')
    assert zeros.endswith('Add zeros to the --terms.')
    assert missing_terms(found, {'zeros'}) == [viscous, rotor]
    assert viscous.startswith('Viscous friction of joint2 differs significantly')
    assert viscous.endswith('Add viscous to the --terms.')
    assert rotor.startswith('The inertia of the rotors of joint1, joint3 differs')
    assert rotor.endswith('Add rotor to the --terms.')
    assert missing_terms(OFFSETS) == []


@pytest.mark.parametrize(('gains', 'said'), [
    ((0.06, 0.005), "not the robot's, joint1 ×0.06, joint2 ×0.005. These"),
    ((0.06, 0.0605), "×0.06 the robot's. These")])
def test_gains_that_differ_are_told_one_by_one(gains, said):
    width = np.full(N, np.nan)
    width[:2] = 0.001
    found = replace(
        OFFSETS, joints={'effort_gain': np.array([*gains, *[1.0] * (N - 2)])},
        intervals={'effort_gain': width}, doubts=(Doubt('joint3', factor=gains[0]),))
    line, = doubts(PANDA, found, DoubtfulJoints())
    assert said in line
    assert ('as for the others' in line) is (gains[1] > 0.05)


LOADED = replace(
    OFFSETS, payload=Payload(1.25, np.array([0.01, -0.02, 0.1]), np.diag([0.004, 0.005, 0.003])),
    payload_interval=0.01 * np.arange(1.0, 11.0), link_level=0.4, gain_level=0.012)
UNLOADED = replace(OFFSETS, payload_at_most=0.345)
GAINS = {key: {'effort_gain': np.ones(N)} for key in ('joints', 'intervals')}
RESTS = replace(OFFSETS, standing=np.array([0.0, 0.5, 0.0, 0.0, 0.004, 0.0, 0.0]))
FIRST, *MIDDLE, LAST = PANDA.bodies
SLIDE = replace(PANDA, bodies=(replace(FIRST, type='prismatic'), *MIDDLE, LAST))
FINGERS = [
    replace(PANDA, bodies=(FIRST, *MIDDLE, replace(LAST, **change)))
    for change in ({'type': 'prismatic'}, {'parent': MIDDLE[-1].parent})]
GRIPPER = load_robot(gripper_urdf(centre='0 0 0'))
assert GRIPPER.bodies[-1].joint == 'finger2'
# A rod, the last body, follows the axis that carries all others.
PARALLELOGRAM = load_robot({'name': 'parallelogram', 'bodies': [
    link('arm', joint='arm'), link('hand', 'arm'), link('rod', mimic={'joint': 'arm'})]})
TWO = np.ones(2)
# An arm with two hands: guards a load in the other hand that friction absorbs without a word.
TREE = replace(PANDA, bodies=tuple(
    replace(body, parent=0) if i == 4 else body for i, body in enumerate(PANDA.bodies)))
OTHER_HAND = ('A payload on another tip (link4) is not fitted',
              'list the bodies of that arm last in a copy of the robot file')
NO_PAYLOAD = (f'No payload found on {LAST.name} (the last body): its mass does not differ '
              'significantly from 0, and is at most 0.34 kg (90 % confidence)')
LOCK = 'fix the joints of the gripper, for example by --lock '
PAYLOAD, BOTH = {'terms': ('payload',)}, {'terms': ('payload', 'friction')}
COMPARED = {**PAYLOAD, 'is_compared': True}


@pytest.mark.parametrize(('found', 'options', 'said', 'unsaid'), [
    (OFFSETS, {}, (), ('prismatic', 'the same errors are', '• A is twice', 'joints that stand')),
    (LINKS, {'terms': ('links',)}, ('Of the 43 combinations', 'determines 12 better'), ()),
    (OFFSETS, {'robot': SLIDE}, ('prismatic joints: N for N m, m for rad',), ()),
    (OFFSETS, {'validation': replace(
        GOOD, before_by_gains_found=BEFORE * np.array([12.0, *[1.0] * (N - 1)]))},
     (f'the same errors are, in N m: joint1 {12.0 * BEFORE[0]:.3g}. The last line',), ()),
    (replace(OFFSETS, joints={'amplitude': BEFORE}, intervals={'amplitude': 0.1 * BEFORE}), {},
     ('• A is twice the Coulomb friction',), ()),
    (replace(OFFSETS, held=(('amplitude', ('joint1', 'joint2')),),
             alike=(('rotor_inertia', ('joint3',)),), bounded=(('asymmetry', 3.0, ('joint4',)),)),
     {}, ('• friction of joint1, joint2: this motion does not determine it',
          '• rotor of joint3: no significant difference',
          '• asymmetry of friction (slope × velocity offset) of joint4: at 3, the bound'), ()),
    (replace(RESTS, rests_left_out=True), {}, (
        'stand (joint2 50%)', 'are left out: at rest, friction can have'), ()),
    (RESTS, {}, ('stand (joint2 50%)', 'are used as if friction were 0'), ()),
    (LOADED, {}, (), ('Payload', 'another tip')),
    (LOADED, BOTH, (
        'Payload 1.250 ± 0.010 kg at (10.0 ± 20.0, -20.0 ± 30.0, 100.0 ± 40.0) mm in',
        'does not determine its inertia: taken as a point mass',
        'links that are off by 40% and gains of drives by 1.2%, which the recordings',
        'do not rule out.'), ('another tip',)),
    (replace(LOADED, inertia_excited=True, gain_level=np.nan), PAYLOAD, (
        'inertia [0.004 0.005 0.003] kg m², diagonal', 'add friction to the --terms',
        'off by 40%, which the recordings do not rule out.',
        'The friction of the robot file is assumed'),
     ('of its centre of mass', 'file has none')),
    *((found, {'terms': terms, 'robot': replace(PANDA, friction=None)},
       ('No friction is assumed, since the robot file has none: add',), ('all links are off',))
      for found, terms in (
          (LOADED, ('payload',)), (LINKS, ('links',)), (UNLOADED, ('payload', 'offsets')))),
    (LINKS, {'terms': ('links', 'friction')}, (), ('friction is assumed', 'file is assumed')),
    (replace(LINKS, standing=1.0 * (np.arange(N) < 4)), {'terms': ('links', 'friction')},
     ('since most joints stand (joint1, joint2, joint3, joint4): the intervals',), ()),
    (replace(LINKS, standing=1.0 * (np.arange(N) < 3)), {'terms': ('links', 'friction')},
     (), ('most joints stand',)),
    (replace(LOADED, com_determined=np.array([True, False, False])), PAYLOAD,
     ('does not determine y and z of its centre of mass',), ()),
    (UNLOADED, COMPARED, (f'{NO_PAYLOAD}.',), ('far better', 'another tip')),
    (UNLOADED, PAYLOAD, (f'{NO_PAYLOAD}; if there is one, a recording without it (--unloaded) '
                         'determines it far better.',), ('another tip',)),
    (replace(UNLOADED, **GAINS), PAYLOAD, ('gains are those of an arm without a payload',), ()),
    (replace(UNLOADED, **GAINS), COMPARED, (f'{NO_PAYLOAD}.',), ('without a payload',)),
    (replace(OFFSETS, payload_at_most=0.0), PAYLOAD,
     ('the mass that fits best is below 0',), ('at most 0 kg',)),
    (replace(OFFSETS, payload_at_most=0.004), PAYLOAD, ('at most 0.004 kg',), ('at most 0 kg',)),
    (LOADED, {**PAYLOAD, 'robot': TREE}, OTHER_HAND, ()),
    (UNLOADED, {**PAYLOAD, 'robot': TREE}, OTHER_HAND, ()),
    (OFFSETS, {'robot': TREE}, (), ('another tip',)),
    *((OFFSETS, {**PAYLOAD, 'robot': robot}, (f'{LOCK}{LAST.joint}=…',), ()) for robot in FINGERS),
    *((LOADED, {**BOTH, 'robot': robot}, (), ('--lock',)) for robot in FINGERS),
    # The joint to lock is the leader of a finger that follows.
    (replace(OFFSETS, offset=TWO, offset_interval=TWO, standing=TWO), {
        **PAYLOAD, 'robot': GRIPPER,
        'validation': Validation(
            TWO, TWO, TWO, [TWO], TWO, TWO, [TWO], TWO > 1.0, False, [Lag()])},
     (f'{LOCK}finger1=…',), ()),
    (replace(OFFSETS, offset=TWO, offset_interval=TWO, standing=TWO), {
        **PAYLOAD, 'robot': PARALLELOGRAM,
        'validation': Validation(
            TWO, TWO, TWO, [TWO], TWO, TWO, [TWO], TWO > 1.0, False, [Lag()])},
     ('A payload on another tip (hand)',), ('--lock',)),
])
def test_what_was_found_is_said_once_and_nothing_else(found, options, said, unsaid):
    text = ' '.join(printed(found, **options))
    for words in said:
        assert text.count(words) == 1, text
    for words in unsaid:
        assert words not in text, text


def test_a_payload_that_the_last_link_may_have_taken_up_has_no_bound():
    """It was said to be 0.24 kg at most of 1.5 kg, and springs to be the cause."""
    heavy = replace(OFFSETS, links=tuple(
        Payload(body.mass if body.name != 'link7' else 2.0, body.com, body.inertia)
        for body in PANDA.bodies), links_interval=np.full((N, 10), 0.1))
    said = ' '.join(printed(heavy, terms=('links', 'payload')))
    assert (
        'A payload on link7, the last body, cannot be separated from the link: with the link as '
        'given, these recordings show one, but the fit has changed the link (2 kg instead of '
        '0.736 kg). '
    ) in said
    assert 'at most' not in said
    far = replace(heavy, links_interval=np.full((N, 10), 0.0))
    mass = PANDA.bodies[-1].mass
    for times, terms, advice in (
            (4.0, ('links', 'payload'), 'link7 may carry a load: record the arm without it'),
            (4.0, ('links',), 'link7 may carry a load: add payload to the --terms. Otherwise the'),
            (0.2, ('links',), '')):
        links = (*far.links[:-1], replace(far.links[-1], mass=times * mass))
        warning, = implausible_links(PANDA, replace(far, links=links), terms)
        assert warning.startswith('Masses of links are implausible: link7 ')
        assert advice in warning
        assert ('load' in warning) == bool(advice)
