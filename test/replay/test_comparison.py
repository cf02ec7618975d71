"""What the comparison says of gravity, lag, limits and friction."""
import json
import re

import numpy as np
import pytest
from recordings import PANDA, messages, record, write
from scipy.signal import butter, sosfiltfilt

from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.comparison import EffortComparison, common_lag
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.robot.joint_names import JointNames


def summary(tmp_path, recording, *options):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert main(['replay', str(bag), '--output', str(tmp_path / 'out'), *options]) == 0
    return json.loads((tmp_path / 'out/summary.json').read_text())


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
