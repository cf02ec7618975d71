"""Joint states as bytes, against another implementation of CDR."""
import struct

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from serialized import assert_read_in_the_robots_order, joint_state

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr
from hodyn_ros.messages.joint_states import (
    JointStateReader,
    JointStateWriter,
    Layout,
    SomePositions,
    blank,
    template,
)
from hodyn_ros.robot.joint_names import JointNames

NAMES = st.lists(st.text(
    st.characters(exclude_categories=['Cs'], exclude_characters='\x00'), max_size=9), max_size=9)
STAMPS = st.tuples(st.integers(-2**31, 2**31 - 1), st.integers(0, 10**9 - 1))
PANDA = [f'fer_joint{i}' for i in range(1, 8)]


@pytest.fixture
def reader(panda):
    return JointStateReader(JointNames(panda))


def state_of_panda(position=(), velocity=()):
    return joint_state((1, 2), '', PANDA, position, velocity, [])


@given(STAMPS, st.text('abc/é', max_size=6), NAMES, st.booleans(), st.integers(0, 7))
def test_a_joint_state_is_read_where_its_numbers_stand(stamp, frame, names, little, present):
    fields = [
        np.arange(len(names)) + 0.25 * k if present & 1 << k else [] for k in range(3)]
    data = joint_state(stamp, frame, names, *fields, little_endian=little)
    layout = Layout.of(data)
    assert layout.names == tuple(names)
    assert layout.fits(data)
    assert cdr.stamp(data) == stamp[0] * 10**9 + stamp[1]
    for field, values in zip(('position', 'velocity', 'effort'), fields, strict=True):
        if len(values):
            np.testing.assert_array_equal(layout.field(data, field), values)
        else:
            assert field not in layout.offsets
    # The like of it fits, another does not.
    others = [np.asarray(values) + 1.0 for values in fields]
    assert layout.fits(joint_state((1, 2), frame, names, *others, little_endian=little))
    assert not layout.fits(joint_state(stamp, frame + 'x' * 8, names, *fields))
    assert not layout.fits(joint_state(stamp, frame, [*names, 'x'], [], [], []))


@given(STAMPS, NAMES)
def test_a_template_is_written_in_place(stamp, names):
    message = bytearray(template(tuple(names)))
    layout = Layout.of(bytes(message))
    fields = [np.arange(len(names)) + 0.5 * k for k in range(3)]
    cdr.set_stamp(message, stamp[0] * 10**9 + stamp[1])
    for field, values in zip(layout.offsets, fields, strict=False):
        layout.field(message, field)[:] = values
    assert bytes(message) == joint_state(stamp, '', names, *fields)


def test_what_is_wrong_is_said():
    good = joint_state((1, 2), '', ['a', 'b'], [1, 2], [], [])
    for data, reason in (
            (b'', 'not a message in plain CDR'),
            (b'\x00\x07' + good[2:], 'not a message in plain CDR'),
            (joint_state((1, 2), '', ['a', 'b'], [1, 2], [], [1, 2])[:-4], 'cut short'),
            (good[:20], 'not a joint state'),
            (good[:20] + struct.pack('<I', 2**31) + good[24:], 'joints; at most 1000'),
            (joint_state((1, 2), '', ['a', 'b'], [1], [], []), '2 names but 1 entries')):
        with pytest.raises(ValueError, match=reason):
            Layout.of(data)


def test_a_block_of_messages_is_written_and_read_at_once():
    names = ('a', 'lonely', 'joint')
    rng = np.random.default_rng(1)
    stamps = rng.integers(0, 2**62, 5) // 2**20 * 1009
    fields = dict(zip(('position', 'velocity', 'effort'), rng.normal(size=(3, 5, 3)), strict=True))
    messages = blank(names, 5)
    messages['sec'], messages['nanosec'] = np.divmod(stamps, 10**9)
    for field, values in fields.items():
        messages[field] = values
    size, raw = messages.itemsize, messages.tobytes()
    singles = [raw[i * size:(i + 1) * size] for i in range(5)]
    for i, single in enumerate(singles):
        assert single == joint_state(
            divmod(int(stamps[i]), 10**9), '', names, *(values[i] for values in fields.values()))
    read_stamps, read_fields = Layout.of(singles[0]).read(singles)
    np.testing.assert_array_equal(read_stamps, stamps)
    for field, values in fields.items():
        np.testing.assert_array_equal(read_fields[field], values)


def test_one_message_is_written_again_and_again():
    writer = JointStateWriter(PANDA)
    writer.position[:], writer.velocity[:], writer.effort[:] = np.arange(21.0).reshape(3, 7)
    first = writer.at(1_500_000_000)
    writer.effort[:] = -1.0
    assert first == joint_state((1, 500_000_000), '', PANDA, *np.arange(21.0).reshape(3, 7))
    assert writer.at(-1) == joint_state(
        (-1, 999_999_999), '', PANDA, np.arange(7.0), np.arange(7.0, 14.0), [-1.0] * 7)


def test_states_are_read_in_the_robots_order(reader):
    assert_read_in_the_robots_order(
        reader, PANDA, lambda k, *fields: joint_state((k, 0), '', *fields, []))


@pytest.mark.parametrize(('fields', 'reason'), [
    ({'position': [0.0] * 6 + [np.nan]}, "position of joint 'fer_joint7' is not finite"),
    ({'position': [1e200] + [0.0] * 6},
     "position of joint 'fer_joint1' is 1e\\+200, beyond 1e\\+06$"),
    ({'position': [0.0] * 7, 'velocity': [np.inf] * 7}, 'velocity of joint'),
    ({'position': []}, '7 names but 0 entries of position'),
    ({'position': [0.0] * 7, 'velocity': [0.0]}, '7 names but 1 entries of velocity'),
])
def test_a_state_that_cannot_be_used_says_why(reader, fields, reason):
    with pytest.raises(ValueError, match=reason):
        reader.state(state_of_panda(**fields))


def test_an_effort_that_is_too_large_is_told_the_bound(reader):
    """A request of stiffness was rejected with its value alone."""
    data = joint_state((1, 0), '', PANDA, [0.0] * 7, [], [3e6] * 7)
    with pytest.raises(HodynError, match=r"^effort of joint '.*' is 3e\+06, beyond 1e\+06$"):
        reader.effort(data)


def test_large_numbers_that_are_possible_are_read(reader):
    np.testing.assert_array_equal(reader.state(state_of_panda(position=[9e5] * 7))[0], 9e5)


@pytest.mark.parametrize('unknown', [slice(0, 7), slice(2, 3)])
def test_measured_velocities_that_are_nan_count_as_missing(panda, unknown):
    """joint_state_broadcaster writes NaN for what the hardware does not measure."""
    velocity = np.ones(7)
    velocity[unknown] = np.nan
    data = state_of_panda(position=[0.1] * 7, velocity=velocity.tolist())
    measured = JointStateReader(JointNames(panda), measured=True)
    position, found = measured.state(data)
    np.testing.assert_array_equal(position, 0.1)
    assert found is None
    with pytest.raises(HodynError, match=r'velocity of joint .* is not finite'):
        JointStateReader(JointNames(panda)).state(data)
    with pytest.raises(HodynError, match=r'velocity of joint .* is not finite'):
        measured.state(state_of_panda(position=[0.1] * 7, velocity=[np.inf] * 7))


def test_the_first_arm_on_a_topic_is_the_only_one(panda):
    reader = JointStateReader(JointNames(panda), measured=True)

    def state(prefix, position):
        return joint_state((0, 0), '', [prefix + name for name in PANDA], [position] * 7, [], [])

    np.testing.assert_array_equal(reader.state(state('left_', 0.1))[0], 0.1)
    with pytest.raises(
            ValueError, match="'right_fer_joint1' and the others are of another arm than "
            "'left_fer_joint1'; choose one by joint_prefix"):
        reader.state(state('right_', 0.2))
    np.testing.assert_array_equal(reader.state(state('left_', 0.3))[0], 0.3)


def test_positions_are_read_from_all_messages_that_name_the_joints():
    asked = []

    def find(names):
        asked.append(names)
        return {name: i for i, name in enumerate(names) if name in ('grip', 'elbow')}

    def message(names, position):
        return joint_state((0, 0), '', names, position, [], [])

    reader = SomePositions(find)
    for k in range(3):
        assert reader.read(message(['a', 'grip'], [0.1, 0.2 + k])) == {'grip': 0.2 + k}
        assert reader.read(message(['elbow', 'grip'], [0.3, 0.4])) == {'elbow': 0.3, 'grip': 0.4}
        assert reader.read(message(['elbow', 'grip'], [np.nan, 1e300])) == {}
        assert reader.read(message(['a'], [0.1])) == {}
        assert reader.read(message(['elbow'], [])) == {}
    assert len(asked) == 3  # once for each list of names with positions
    with pytest.raises(ValueError, match='3 bytes that are not a message'):
        reader.read(b'abc')
