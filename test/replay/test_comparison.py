"""What the comparison says of gravity, lag, limits and friction."""
import csv
import json
import re

import numpy as np
import pytest
from recordings import PANDA, messages, record, write
from scipy.signal import butter, sosfiltfilt

from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.comparison import EffortComparison, Profile, common_lag
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.replay.traces import MAX_BINS, Trace
from hodyn_ros.robot.joint_names import JointNames


def summary(tmp_path, recording, *options):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert main(['replay', str(bag), '--output', str(tmp_path / 'out'), *options]) == 0
    return json.loads((tmp_path / 'out/summary.json').read_text())


@pytest.mark.slow
def test_driver_without_gravity_is_detected_and_compared_without(tmp_path):
    recording = record(duration=10.0)
    recording.effort += FeedForward(PANDA).torque(recording.q, gravity=False)[:, 0]
    recording.effort -= recording.torque[:, 0]
    found = summary(tmp_path, recording)
    assert found['gravity_share'] == pytest.approx(0.0, abs=0.01)
    assert any('without gravity' in sentence for sentence in found['statements'])
    for joint in found['joints']:
        assert joint['rms_error'] == pytest.approx(0.05, rel=0.2)


@pytest.mark.slow
def test_lag_of_the_efforts_is_estimated(tmp_path):
    recording = record(duration=20.0, rate=200.0)
    recording.effort = np.roll(recording.effort, 3, axis=0)
    recording.effort[:3] = np.nan
    lag = summary(tmp_path, recording)['lag']
    assert lag['seconds'] == pytest.approx(0.015, abs=max(2e-3, 2 * lag['deviation']))


@pytest.mark.slow
def test_limits_say_when_and_where(tmp_path):
    recording = record(duration=10.0)
    found = summary(tmp_path, recording)
    speed = np.abs(recording.q[:, 1])
    limits = PANDA.limits.velocity
    for entry in found['limits']:
        if entry['quantity'] != 'velocity':
            continue
        joint = recording.names.index(entry['joint'])
        assert abs(entry['value']) == pytest.approx(speed[:, joint].max(), rel=1e-2)
        beyond = np.count_nonzero(speed[:, joint] > limits[joint])
        assert entry['beyond'] == pytest.approx(beyond, abs=2 + 0.05 * beyond)
        at = np.searchsorted(recording.stamp, entry['stamp'])
        assert speed[at, joint] == pytest.approx(speed[:, joint].max(), rel=1e-2)
        for first, last in entry['intervals']:
            inside = (recording.stamp > first) & (recording.stamp < last)
            assert np.all(speed[inside, joint] > 0.99 * limits[joint])


@pytest.mark.slow
def test_report_is_one_self_contained_page(tmp_path):
    summary(tmp_path, record(duration=5.0))
    page = (tmp_path / 'out/report.html').read_text()
    assert page.count('data:image/png;base64,') == 4
    # The letters of pictures spell anything.
    assert 'http' not in re.sub('base64,[^"]*', '', page)
    # It reads on a telephone, and its limits have units.
    assert 'width=device-width' in page
    assert page.count('<label><input type="checkbox" hidden><img ') == 4
    assert ':checked + img { max-width: none' in page
    assert '<td>N m/s</td>' in page
    for name in ('torque', 'torque_rates', 'friction', 'spectrum'):
        assert (tmp_path / f'out/{name}.png').stat().st_size > 10_000


@pytest.mark.slow
def test_table_holds_the_torques(tmp_path):
    recording = record(duration=5.0)
    summary(tmp_path, recording, '--csv')
    with (tmp_path / 'out/computed.csv').open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row['stamp_ns']) for row in rows] == recording.stamp.tolist()
    torque = np.array([float(row['fer_joint2/torque']) for row in rows])
    np.testing.assert_allclose(torque, recording.torque[:, 0, 1], atol=0.2)


@pytest.mark.parametrize('trouble', ['gap', 'loop', 'duplicates', 'reversed'])
def test_truth_lies_in_the_bands_whatever_befell_the_stamps(tmp_path, trouble):
    recording = record(duration=12.0, jitter=0.3)
    order = {
        'gap': np.r_[0:500, 700:1200], 'loop': np.r_[0:1000, 0:1000],
        'duplicates': np.sort(np.r_[0:1200, 100:1200:50]),
        'reversed': np.r_[0:300, 250, 300:800, 700, 800:1200]}[trouble]
    recording = recording[order]
    recording.received = recording.received[0] + 10_000_000 * np.arange(len(order))
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    with JointStateBag(path, JointNames(PANDA)) as bag:
        chunks = list(RecordedTorques(bag, FeedForward(PANDA)).chunks())
    used = np.concatenate([chunk.used for chunk in chunks])
    torque = np.concatenate([chunk.torque for chunk in chunks])[used]
    deviation = np.concatenate([chunk.deviation for chunk in chunks])[used]
    assert used.sum() >= 1000
    inside = np.abs(torque - recording.torque[used]) < 2.0 * deviation
    assert np.all(inside.mean(axis=(0, 2)) > 0.95)


def test_sums_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng(0)
    predicted, velocity, rate, recorded = rng.standard_normal((4, 500, 2))
    recorded[10, 1] = np.nan
    stamps = np.arange(500)
    whole, parts = EffortComparison(('a', 'b')), EffortComparison(('a', 'b'))
    whole.add(stamps, predicted, recorded)
    whole.add_slow(stamps, predicted, recorded, velocity, rate)
    for cut in (slice(0, 100), slice(100, 450), slice(450, 500)):
        parts.add(stamps[cut], predicted[cut], recorded[cut])
        parts.add_slow(stamps[cut], predicted[cut], recorded[cut], velocity[cut], rate[cut])
    for one, other in zip(whole.joints, parts.joints, strict=True):
        assert one.rms_error == pytest.approx(other.rms_error, rel=1e-12)
        assert one.max_error_stamp == other.max_error_stamp
        assert one.lag == pytest.approx(other.lag, rel=1e-9)
    error = (predicted - recorded)[:, 0]
    assert whole.joints[0].rms_error == pytest.approx(np.sqrt(np.mean(error ** 2)))
    assert whole.joints[0].bias == pytest.approx(error.mean())
    assert whole.joints[0].variance_accounted_for == pytest.approx(
        1 - error.var() / recorded[:, 0].var())
    assert abs(common_lag(whole.joints)[0]) < 3 * common_lag(whole.joints)[1]


@pytest.mark.parametrize('lag', [0.0, 0.02])
def test_friction_that_the_model_has_not_passes_for_no_lag(lag):
    """Guards a lag of 40 ± 10 ms said of efforts that have none."""
    time = np.arange(0.0, 40.0, 0.01)
    shift = np.array([0.0, 1.0])
    posture = np.sin(0.9 * time[:, None] + shift) + 0.5 * np.sin(2.1 * time[:, None] - shift)
    velocity, rate = np.gradient(posture, time, axis=0), np.empty_like(posture)
    predicted = 8.0 * np.sin(2.0 * posture)
    rate[:] = np.gradient(predicted, time, axis=0)
    recorded = predicted - lag * rate + 1.5 * np.tanh(velocity / 0.02) + 0.8 * velocity
    recorded += 0.1 * np.random.default_rng(0).standard_normal(recorded.shape)
    found = EffortComparison(('a', 'b'))
    found.add(np.arange(len(time)), predicted, recorded)
    found.add_slow((1e9 * time).astype(np.int64), predicted, recorded, velocity, rate)
    seconds, deviation = common_lag(found.joints)
    assert abs(seconds - lag) < max(3.0 * deviation, 1e-3)
    assert deviation < 0.005


def test_the_lag_deviates_as_is_said_where_the_errors_are_low_passed():
    """Of 60 recordings with noise, compared within the bandwidth of the motion."""
    time = np.arange(0.0, 20.0, 1e-3)
    low_pass = butter(2, 8.0, fs=1000.0, output='sos')
    predicted = 8.0 * np.sin(2.0 * time)[:, None] + 3.0 * np.sin(5.1 * time)[:, None]
    rate = np.gradient(predicted, time, axis=0)
    velocity = np.cos(0.7 * time)[:, None]
    lags, deviations = [], []
    for seed in range(60):
        recorded = predicted + 0.3 * np.random.default_rng(seed).standard_normal(predicted.shape)
        found = EffortComparison(('a',))
        found.add(np.arange(len(time)), predicted, recorded)
        slow = predicted + sosfiltfilt(low_pass, recorded - predicted, axis=0)
        found.add_slow((1e9 * time).astype(np.int64), predicted, slow, velocity, rate)
        lags.append(found.joints[0].lag)
        deviations.append(found.joints[0].lag_deviation)
    assert 0.7 < np.std(lags) / np.mean(deviations) < 1.4


def test_profile_means():
    profile = Profile(np.array([-1.0]), np.array([1.0]), bins=4)
    profile.add(np.array([[-0.9], [-0.6], [0.1], [5.0], [np.nan]]),
                np.array([[1.0], [3.0], [7.0], [9.0], [2.0]]))
    np.testing.assert_array_equal(profile.mean[:, 0], [2.0, np.nan, 7.0, np.nan])
    np.testing.assert_array_equal(profile.count[:, 0], [2, 0, 1, 0])
    assert profile.deviation[0, 0] == 1.0


def test_traces_keep_extremes_and_stay_small():
    trace = Trace(1)
    for begin in range(0, 300_000, 7000):
        index = np.arange(begin, min(begin + 7000, 300_000))
        values = np.sin(index * 1e-3)
        values[index == 123_456] = 9.0
        trace.add(index * 1e-3, values[:, None])
    assert len(trace.time) < 2 * MAX_BINS
    assert trace.bin > 1
    assert trace.upper.max() == 9.0
    assert trace.lower.min() == pytest.approx(-1.0, abs=1e-5)
    assert np.all(np.diff(trace.time) > 0)


@pytest.mark.slow
def test_a_joint_that_stands_still_is_said_to(tmp_path):
    recording = record(duration=5.0)
    recording.position[:, 2], recording.velocity[:, 2] = 0.3, 0.0
    found = summary(tmp_path, recording)
    assert 'Standing still: fer_joint3.' in found['statements']
    assert found['joints'][2]['motion']['snap']['resolved']
