"""What is computed of a recording, chunk by chunk, of bags that are kept in memory: fast."""
from dataclasses import dataclass, replace
import threading

from known_recordings import of_screw_scara, screw_scara
import made_logs
import numpy as np
import pytest
from recordings import PANDA, record, states

from hodyn_ros.estimation import recorded_motion
from hodyn_ros.estimation.derivatives import smooth
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.estimation.timing import MIN_RUN, Run
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStates
from hodyn_ros.replay import recorded_torques
from hodyn_ros.replay.gravity_share import share_of_gravity
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.robot import HodynError

pytestmark = pytest.mark.fast

FEEDFORWARD = FeedForward(PANDA)


@dataclass
class Bag:
    """Joint states in memory, read in blocks, as `JointStateBag` gives them."""

    states: JointStates
    block: int = 37
    path = 'some/bag'
    topic = '/joint_states'
    wants = ''
    lost = ()
    notes = ('Cut short',)

    def __post_init__(self):
        self.usable = len(self.states)
        self.unusable, self.in_part = {'no position': 3}, {'no effort': 2}
        self.total = self.usable + 3

    def blocks(self):
        for begin in range(0, len(self.states), self.block):
            yield self.states[begin:begin + self.block]


def computed(found, name):
    return np.concatenate([getattr(chunk, name) for chunk in found])


@pytest.mark.parametrize('size', [100, 130, 10_000])
def test_every_message_comes_out_once_in_order_and_as_it_was_recorded(monkeypatch, size):
    monkeypatch.setattr(recorded_motion, 'CHUNK_SIZE', size)
    recording = record(duration=4.0)[np.r_[0:150, 149, 150:200, 260:400]]
    given = states(recording)
    told = []
    found = RecordedTorques(Bag(given), FEEDFORWARD)
    chunks = list(found.chunks(told.append))
    assert told == [len(chunk.stamps) for chunk in chunks]
    assert set(told[:-1]) <= {size}
    np.testing.assert_array_equal(computed(chunks, 'stamps'), given.stamp)
    np.testing.assert_array_equal(
        np.concatenate([chunk.states.effort for chunk in chunks]), given.effort)
    used = computed(chunks, 'used')
    np.testing.assert_array_equal(np.flatnonzero(~used), [150])
    for name in ('q', 'q_deviation', 'torque', 'deviation', 'predicted', 'slow'):
        values = computed(chunks, name)
        assert np.isfinite(values[used]).all()
        assert np.isnan(values[~used]).all()
    np.testing.assert_array_equal(np.flatnonzero(computed(chunks, 'begins')), [0, 201])
    # Sampled evenly and stamped exactly, they were sampled when they were stamped.
    np.testing.assert_array_equal(computed(chunks, 'instants')[used], given.stamp[used])
    counts = found.motion.counts
    assert (counts.total, counts.used) == (344, 340)
    assert counts.unusable == {'same stamp as the message before': 1, 'no position': 3}
    assert counts.in_part == {'no effort': 2}
    assert counts.notes == ('Cut short',)


def test_chunks_are_what_the_whole_recording_gives(monkeypatch):
    bag = Bag(states(record(duration=6.0)))
    whole = list(RecordedTorques(bag, FEEDFORWARD).chunks())
    assert len(whole) == 1
    monkeypatch.setattr(recorded_motion, 'CHUNK_SIZE', 110)
    parts = list(RecordedTorques(bag, FEEDFORWARD).chunks())
    assert len(parts) > 3
    for name in ('q', 'q_deviation', 'torque', 'predicted', 'slow'):
        one, other = computed(whole, name), computed(parts, name)
        scale = np.abs(one).max(axis=(0, 2), keepdims=True)
        np.testing.assert_allclose(other / scale, one / scale, rtol=0.0, atol=2e-3)
    # Deviations are interpolated between some samples, which are not the same.
    ratio = computed(parts, 'deviation') / computed(whole, 'deviation')
    np.testing.assert_allclose(np.median(ratio, axis=0), 1.0, rtol=0.01)


@pytest.mark.parametrize('gravity', [True, False])
def test_what_efforts_are_compared_with_is_less_gravity_where_they_are(gravity):
    recording = record(duration=3.0)
    recording.effort = FEEDFORWARD.torque(recording.q, gravity=gravity)[:, 0]
    recording.effort[:40] = np.nan
    found = RecordedTorques(Bag(states(recording)), FEEDFORWARD, bandwidth=2.5)
    assert found.efforts.gravity_share == pytest.approx(float(gravity), abs=0.02)
    assert found.efforts.with_gravity == gravity
    assert found.motion.bandwidth == pytest.approx(2.5)
    chunk, = found.chunks()
    np.testing.assert_allclose(chunk.torque, FEEDFORWARD.torque(chunk.q), rtol=1e-12)
    expected = FEEDFORWARD.torque(chunk.q, gravity=gravity)
    np.testing.assert_allclose(chunk.predicted, expected[:, :2], rtol=1e-12)
    time = 1e-9 * (chunk.stamps - chunk.stamps[0])
    for k, values in enumerate((expected[:, 0], recording.effort)):
        np.testing.assert_allclose(
            chunk.slow[:, k], low_pass(time, values, 2.5), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize('amperes', [0.02, 0.1, 12.0])
def test_efforts_in_another_unit_contain_gravity(amperes):
    recording = record(duration=12.0)
    recording.effort = amperes * FEEDFORWARD.torque(recording.q)[:, 0]
    found = RecordedTorques(Bag(states(recording)), FEEDFORWARD)
    assert found.efforts.factor == pytest.approx(amperes, rel=0.05)
    assert found.efforts.with_gravity
    recording.effort = FEEDFORWARD.torque(recording.q, gravity=False)[:, 0]
    found = RecordedTorques(Bag(states(recording)), FEEDFORWARD)
    assert np.isnan(found.efforts.factor)
    assert not found.efforts.with_gravity


@pytest.mark.parametrize('mass', [3.5, 4.0, 4.5])
def test_a_load_on_a_light_wrist_is_no_other_unit(mass):
    """Two of five joints, of the wrist, made it "another unit", and identify refused."""
    loaded = FeedForward(screw_scara().with_payload('wrist_link', mass, [0.02, 0.01, -0.12]))
    recording = of_screw_scara(loaded.robot)
    alone = FeedForward(screw_scara())
    found = RecordedTorques(Bag(states(recording)), alone, deviations=False).efforts
    assert np.isnan(found.factor)
    assert found.gravity_share > 1.5  # so the report asks for a load
    recording.effort *= 1000.0
    found = RecordedTorques(Bag(states(recording)), alone, deviations=False).efforts
    assert found.factor > 900.0


def test_the_share_of_cut_efforts_is_that_of_the_whole_recording():
    """The values are found in parts of a long one, which has other shares."""
    recording = record(rate=200.0, duration=22.5, bandwidth=0.3, effort_noise=0.05)
    recording.effort[:, 1] = np.maximum(recording.effort[:, 1], -20.0)
    torques = RecordedTorques(Bag(states(recording)), FEEDFORWARD, deviations=False)
    is_cut = recording.effort[:, 1] == -20.0
    assert abs(torques.efforts.cut.share[1] - is_cut.mean()) > 0.01
    *_, last = torques.chunks()
    assert np.isfinite(last.predicted).all()
    cut = torques.efforts.cut
    assert cut.low[1] == -20.0
    np.testing.assert_array_equal(cut.share, [0.0, is_cut.mean(), *5 * [0.0]])
    assert cut.largest[1] == pytest.approx(
        np.abs(recording.torque[is_cut, 0, 1]).max(), rel=1e-2)


def test_of_efforts_that_are_not_recorded_no_share_of_gravity_is_told():
    recording = record(duration=2.0)
    recording.effort[:] = np.nan
    found = RecordedTorques(Bag(states(recording)), FEEDFORWARD)
    assert np.isnan(found.efforts.gravity_share)
    assert found.efforts.with_gravity  # as most drivers report it


@pytest.mark.parametrize('wrong', [slice(0, None, 100), slice(300, 330), slice(5, None, 30)])
def test_glitches_of_efforts_pass_for_no_load(wrong):
    """One message in a hundred with efforts fifty times too large made it 1.7 of gravity."""
    recording = record(duration=10.0)
    recording.effort[wrong] *= 50.0
    found = RecordedTorques(Bag(states(recording)), FEEDFORWARD)
    assert found.efforts.gravity_share == pytest.approx(1.0, abs=0.05)


def test_an_arm_that_mostly_rests_without_gravity_has_its_share_from_the_motion():
    """Errors of 0, of rests, made the errors of all motion glitches."""
    gravity = np.zeros((400, 7))
    gravity[300:, 1] = 30.0 * np.sin(np.linspace(0.0, 9.0, 100))
    rest = np.round(gravity + 0.03, 1)
    assert share_of_gravity(gravity, rest, 0.0 * rest) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize('seed', range(20))
@pytest.mark.parametrize(('missing', 'share'), [(330.0, 1.0), (250.0, 1.0), (None, 0.0)])
def test_a_balanced_lift_does_not_decide_about_gravity_of_all(seed, missing, share):
    """Efforts were "without gravity", so joints that were recorded correctly seemed wrong."""
    rng = np.random.default_rng(seed)
    gravity = np.column_stack([
        np.full(400, 330.0), 30.0 * np.cos(np.linspace(0.0, 9.0, 400)),
        12.0 * np.sin(np.linspace(1.0, 14.0, 400))])
    rest = gravity - [missing, 0.0, 0.0] if missing else 0.0 * gravity
    rest += rng.standard_normal(rest.shape)
    assert share_of_gravity(gravity, rest, 0.0 * rest) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize('seed', range(20))
def test_a_counterbalance_that_carries_a_joint_does_not_decide_about_gravity_of_all(seed):
    """Efforts were "without gravity", and the joint that was recorded correctly was blamed."""
    rng, time = np.random.default_rng(seed), np.linspace(0.0, 9.0, 400)
    gravity = np.column_stack([
        np.zeros(400), 150.0 * np.sin(0.4 + 0.8 * np.sin(time)),
        80.0 * np.cos(0.3 * np.sin(1.7 * time))])
    rest = np.array([0.0, 0.08, 0.98]) * gravity + rng.standard_normal(gravity.shape)
    assert share_of_gravity(gravity, rest, 0.0 * rest) == pytest.approx(1.0, abs=0.05)
    rest = np.array([0.0, 3.0, -1.0]) + rng.standard_normal(gravity.shape)
    assert share_of_gravity(gravity, rest, 0.0 * rest) == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize('seed', range(20))
def test_friction_that_the_model_lacks_is_no_load(seed):
    rng = np.random.default_rng(seed)
    time, omega = np.linspace(0.0, 4.0, 800)[:, np.newaxis], rng.uniform(0.5, 1.5, 3)
    angle = omega * time + rng.uniform(0.0, 6.3, 3)
    gravity = np.array([2.0, 8.0, 4.0]) * np.cos(0.8 * np.sin(angle) + rng.uniform(-1.0, 1.0, 3))
    velocity = 0.8 * omega * np.cos(angle)
    rest = gravity + np.array([1.0, 3.0, 2.0]) * np.tanh(velocity / 0.02)
    assert share_of_gravity(gravity, rest, velocity) == pytest.approx(1.0, abs=0.11)


@pytest.mark.parametrize('length', [100, 110, 120])
def test_a_stretch_that_is_no_motion_spoils_no_other(monkeypatch, length):
    """Nor the share of gravity: those behind it have a say in that too."""
    recording = record(duration=5.0)[np.r_[0:100, 150:260, 320:440]]
    begin = {100: 0, 110: 100, 120: 210}[length]
    inside = np.zeros(330, bool)
    inside[begin:begin + length] = True
    recording.effort = FEEDFORWARD.torque(recording.q)[:, 0]
    recording.effort[inside] *= -5.0
    bag = Bag(states(recording))
    whole = RecordedTorques(bag, FEEDFORWARD)
    expected, = whole.chunks()
    assert whole.efforts.gravity_share < 0.5

    def refusing(samples, noise):
        if len(samples.time) == length:
            raise HodynError('no motion')
        return smooth(samples, noise)

    monkeypatch.setattr(recorded_motion, 'smooth', refusing)
    monkeypatch.setattr(recorded_torques, 'smooth', refusing)
    found = RecordedTorques(bag, FEEDFORWARD)
    assert found.efforts.gravity_share == pytest.approx(1.0, abs=0.02)
    chunk, = found.chunks()
    np.testing.assert_array_equal(chunk.used, ~inside)
    for name in ('q', 'torque', 'deviation', 'instants'):
        values = getattr(chunk, name)
        np.testing.assert_array_equal(values[~inside], getattr(expected, name)[~inside])
        assert name == 'instants' or np.isnan(values[inside]).all()
    assert np.flatnonzero(chunk.begins).tolist() == [
        at for at in (0, 100, 210) if at != begin]
    assert found.motion.counts.used == 330 - length
    unusable = found.motion.counts.unusable
    reason, = (reason for reason in unusable if 'too large for a motion' in reason)
    assert unusable[reason] == length


@pytest.mark.parametrize('wants', ['', 'it has no positions'])
def test_a_bag_without_a_run_is_refused_by_name_and_number(wants):
    bag = Bag(states(record(duration=2.0)[:MIN_RUN - 1]))
    bag.wants = wants
    with pytest.raises(HodynError) as error:
        RecordedTorques(bag, FEEDFORWARD)
    said = str(error.value)
    assert said.startswith(f'some/bag: of the {MIN_RUN + 2} joint states on /joint_states, ')
    cannot = f'no {MIN_RUN} in a row can be differentiated'
    assert said.endswith(f'{cannot}: {wants}' if wants else cannot)


@pytest.mark.parametrize(('header', 'receive', 'said'), [
    (lambda i: 0 * i, lambda i: 0 * i,
     'of 200 receive times, which are used since the header stamps stand still or go backwards as '
     'well, 199 stand still. Let the driver stamp each state with'),
    (lambda i: i // 2 % 3, lambda i: -i,
     'go backwards as well, 199 go backwards. Let the driver'),
    (lambda i: i % 3, lambda i: i, 'of 200 header stamps 66 go backwards. Let the driver stamp'),
])
def test_stamps_that_leave_no_run_are_the_cause_that_is_named(header, receive, said):
    count, period = np.arange(200), 10_000_000
    recording = states(record(duration=2.0))
    bag = Bag(replace(
        recording, stamp=100 + period * header(count), received=100 + period * receive(count)))
    bag.wants = ''
    with pytest.raises(HodynError) as error:
        RecordedTorques(bag, FEEDFORWARD)
    assert f'on /joint_states, no {MIN_RUN} in a row can be differentiated: ' in str(error.value)
    assert said in str(error.value)


def test_a_bag_that_changes_while_it_is_read_is_told():
    bag = Bag(states(record(duration=2.0)))
    found = RecordedTorques(bag, FEEDFORWARD)
    bag.states = bag.states[:150]
    list(found.chunks())
    with pytest.raises(HodynError, match='some/bag: changed while it was read'):
        assert found.motion.counts


@pytest.mark.timeout(60)
def test_an_error_of_reading_is_raised_and_leaves_no_thread(monkeypatch):
    monkeypatch.setattr(recorded_motion, 'CHUNK_SIZE', 40)
    bag = Bag(states(record(duration=4.0)))
    found = RecordedTorques(bag, FEEDFORWARD)
    before = threading.active_count()

    def broken():
        yield bag.states[:300]
        raise OSError('the disk is gone')

    bag.blocks = broken
    done = []
    with pytest.raises(OSError, match='the disk is gone'):
        done.extend(len(chunk.stamps) for chunk in found.chunks())
    assert threading.active_count() == before
    # Nor does who looks at some chunks only.
    del bag.blocks
    some = found.chunks()
    next(some)
    some.close()
    assert threading.active_count() == before


@pytest.mark.parametrize('log', [made_logs.polled, made_logs.nearly_even])
@pytest.mark.parametrize('velocity', [True, False])
def test_the_noise_of_a_long_recording_is_that_of_its_samples(log, velocity):
    """Guards a smoother fitted to windows too short to tell their instants, or their noise."""
    given = made_logs.states(*log(3, duration=11.2), 3, velocity=velocity)
    assert len(given) > 2 * recorded_motion._FIT_WHOLE
    found = RecordedTorques(Bag(given), FEEDFORWARD)
    assert np.all(found.motion.noise.position < 1.5 * made_logs.POSITION_NOISE)
    assert np.all(found.motion.noise.position > 0.7 * made_logs.POSITION_NOISE)


def test_a_part_of_a_run_has_its_samples_at_the_same_instants():
    run = Run(
        np.array([0.0, 1.0, 3.0, 4.0]), 0.5, np.array([True, False, True, True]), 0.1, False,
        np.array([2, 3, 5, 6, 9]), np.array([0, 0, 1, 2, 3]))
    part = run.part(slice(3, 7))
    assert part.message.tolist() == [3, 5, 6]
    assert part.sample.tolist() == [0, 1, 2]
    assert part.time.tolist() == [0.0, 1.0, 3.0]
    assert part.determined.tolist() == [True, False, True]
    assert part.first_message.tolist() == [3, 5, 6]
    assert run.part(slice(5, 20)).time.tolist() == [0.0, 2.0, 3.0]
    for outside in (slice(0, 2), slice(7, 9), slice(10, 20)):
        none = run.part(outside)
        assert [len(one) for one in (
            none.message, none.sample, none.time, none.determined)] == [0] * 4
        assert none.sample.dtype == run.sample.dtype


@pytest.mark.parametrize('trouble', ['gap', 'loop', 'duplicates', 'reversed'])
def test_truth_lies_in_the_bands_whatever_befell_the_stamps(trouble):
    recording = record(duration=12.0, jitter=0.3)
    order = {
        'gap': np.r_[0:500, 700:1200], 'loop': np.r_[0:1000, 0:1000],
        'duplicates': np.sort(np.r_[0:1200, 100:1200:50]),
        'reversed': np.r_[0:300, 250, 300:800, 700, 800:1200]}[trouble]
    recording = recording[order]
    recording.received = recording.received[0] + 10_000_000 * np.arange(len(order))
    chunk, = RecordedTorques(Bag(states(recording)), FEEDFORWARD).chunks()
    used = chunk.used
    torque, deviation = chunk.torque[used], chunk.deviation[used]
    assert used.sum() >= 1000
    inside = np.abs(torque - recording.torque[used]) < 2.0 * deviation
    assert np.all(inside.mean(axis=(0, 2)) > 0.95)
