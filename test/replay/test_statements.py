"""What a report says, the most important first, and that it says nothing that is not so."""
from dataclasses import replace

import numpy as np
import pytest
from recordings import PANDA, messages, record, write

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.cut_efforts import uncut
from hodyn_ros.replay.diagnosis import Diagnosis
from hodyn_ros.replay.misreading import Fit
from hodyn_ros.replay.recorded_torques import EffortContents
from hodyn_ros.replay.replay_bag import replay
from hodyn_ros.replay.report import figures_of
from hodyn_ros.replay.stalled_efforts import none_stalled
from hodyn_ros.replay.statements import facts, warnings
from hodyn_ros.robot.joint_names import JointNames


@pytest.fixture
def replayed(tmp_path):
    def run(recording, robot=PANDA, **options):
        path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
        with JointStateBag(path, JointNames(robot), effort_gain=robot.effort_gain) as bag:
            return replay(bag, FeedForward(robot), tmp_path / 'out', **options)
    return run


def test_efforts_that_never_change_are_named_without_figures_that_are_none(replayed):
    recording = record(duration=3.0)
    recording.effort[:, 3] = 2.1
    recording.effort[:, 6] = 0.0
    result = replayed(recording, bandwidth=3.0)
    assert any(
        'effort of fer_joint4, fer_joint7 never changes' in said for said in warnings(result))
    for joint in (3, 6):
        assert figures_of(result.joints[joint])[0] == 'constant'
    # The other ones contain all of it.
    assert result.diagnosis.efforts.gravity_share == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(result.noise.bandwidth, 3.0, rtol=1e-6)


def test_a_clean_recording_and_vibration_cause_no_warnings(replayed):
    recording = record(duration=4.0, rate=200.0, bandwidth=0.6)
    recording.effort += 0.5 * np.sin(2 * np.pi * 60.0 * recording.stamp[:, None] * 1e-9)
    result = replayed(recording)
    assert warnings(result) == []
    assert not any('lag' in said for said in facts(result))
    for joint in result.joints:
        assert joint.rms_error > 0.3
        assert joint.rms_slow_error < 0.1


def test_a_resting_arm_is_no_warning(replayed):
    """Its efforts are noise, of which a model explains nothing."""
    recording = record(duration=4.0, effort_noise=0.02)
    recording.position = recording.position[:1] + 1e-5 * np.random.default_rng(0).standard_normal(
        recording.position.shape)
    recording.velocity = np.zeros_like(recording.velocity)
    still = np.zeros((1, 5, 7))
    still[:, 0] = recording.position[0]
    recording.effort = FeedForward(PANDA).torque(still)[0, 0] + 1e-3 * np.random.default_rng(
        1).standard_normal(recording.effort.shape)
    result = replayed(recording)
    assert max(joint.slow_share for joint in result.joints) > 0.3
    assert warnings(result) == []


@pytest.mark.parametrize('standing', ['all', 'most'])
def test_where_header_stamps_stand_still_receive_times_are_used_and_it_is_said(replayed, standing):
    recording = record(duration=4.0)
    recording.stamp[:] = recording.stamp[0] if standing == 'all' else (
        recording.stamp[np.arange(400) // 4 * 4])
    result = replayed(recording)
    count = result.timing_statistics.headers_not_ahead
    assert count == (399 if standing == 'all' else 300)
    assert result.counts.used == 400
    first, = (said for said in warnings(result) if 'header stamps' in said)
    assert f'{count} header stamps on /joint_states stand still or go backwards' in first
    assert 'Let the driver stamp each state' in first
    assert 'by their receive stamps' in ' '.join(facts(result))


def test_missing_messages_are_said_with_their_number(replayed):
    kept = np.random.default_rng(1).permutation(np.arange(1, 399))[:380]
    result = replayed(record(duration=4.0)[np.sort(np.append(kept, [0, 399]))])
    assert result.timing_statistics.missing == 18
    assert any(said.startswith('Messages that are missing by this rate: 18. They were lost on')
               for said in facts(result))
    assert not any('missing' in said for said in warnings(result))


def test_a_driver_that_stopped_sending_efforts_is_the_first_warning(replayed):
    recording = record(duration=3.0, bandwidth=0.6)
    recording.effort[:] = np.nan
    said, = warnings(replayed(recording, payload=['link7 2']))
    assert said.startswith('No efforts are recorded, so nothing is compared with the model.')


@pytest.mark.parametrize(('load', 'said'), [
    (('link7', 0.6, [0.0, 0.0, 0.1]), 'Errors within the bandwidth of'),
    (('link3', 2.0, [0.0, 0.0, 0.0]), 'Efforts of fer_joint2 seem to'), (None, '')])
def test_a_given_load_is_suspected_if_it_spoils_some_joints_alone(replayed, load, said):
    """Where the share of gravity remained near 1, only the errors of the joints were said."""
    result = replayed(
        record(duration=8.0, bandwidth=0.6), PANDA.with_payload(*load) if load else PANDA,
        payload=['link7 1'])
    assert result.diagnosis.efforts.gravity_share == pytest.approx(1.0, abs=0.1)
    found = [one for one in warnings(result) if 'limit' not in one]
    assert len(found) == 2 * bool(load)
    if load:
        assert found[0].startswith('The given load, --payload link7 1, is the first suspect:')
        assert found[1].startswith(said)


@pytest.mark.parametrize(('contained', 'is_said'), [(0.0, True), (0.3, False), (1.0, False)])
def test_efforts_without_the_friction_of_the_model_are_named(replayed, contained, is_said):
    """What `identify` can fit was listed, and not that friction is the whole error."""
    recording = record(duration=8.0, bandwidth=0.6)
    friction = SigmoidFriction(*(np.full(7, value) for value in (8.0, 40.0, 0.0)))
    recording.effort += contained * friction.torque(recording.q)[:, 0] - PANDA.friction.torque(
        recording.q)[:, 0]
    result = replayed(recording, replace(PANDA, friction=friction))
    said = [one for one in warnings(result) if 'limit' not in one]
    assert [one.startswith('The efforts seem to be without friction') for one in said] == (
        [] if contained == 1.0 else [is_said])


def test_a_lag_that_a_missing_load_may_cause_is_not_said(replayed):
    """Efforts were to be shifted, beside a line that the arm may carry a load."""
    recording = record(duration=4.0, prefix='fer_')
    sound = replayed(recording)

    def said(share, lag):
        result = replace(
            sound, joints=[replace(joint, lag=lag, lag_deviation=8e-3) for joint in sound.joints],
            diagnosis=replace(sound.diagnosis, efforts=replace(
                sound.diagnosis.efforts, gravity_share=share)))
        return any('Recorded efforts run' in one for one in warnings(result) + facts(result))

    assert said(1.0, 7e-3)
    assert not said(1.25, 7e-3)
    assert said(1.25, 20e-3)


@pytest.mark.parametrize('gravity', [False, True])
@pytest.mark.parametrize('wrong', [[], [1], [2]])
def test_of_misread_efforts_it_is_said_whether_they_are_compared_with_gravity(
        replayed, gravity, wrong):
    """That the driver subtracts it went unsaid as long as the sign of a joint was wrong."""
    recording = record(duration=8.0, bandwidth=0.6)
    recording.effort += FeedForward(PANDA).torque(
        recording.q, gravity=gravity)[:, 0] - recording.torque[:, 0]
    recording.effort[:, wrong] *= -1.0
    result = replayed(recording)
    assert any('efforts of the opposite sign' in one for one in warnings(result)) == bool(wrong)
    said = ' '.join(facts(result))
    assert ('The driver reports efforts without gravity: they contain' in said) == (not gravity)
    assert ('with torques of the model that do not contain gravity' in said) == (
        not result.diagnosis.efforts.with_gravity)
    assert ('Corrected as said above, they would contain gravity' in said) == (
        gravity and not result.diagnosis.efforts.with_gravity)


@pytest.mark.parametrize(('beyond', 'is_of_all'), [(1, False), (3, True)])
def test_few_joints_in_another_unit_are_named_and_not_all(beyond, is_of_all):
    """The share of gravity of all efforts, 149, was said, and no joint."""
    sizes = np.where(np.arange(4) < beyond, 10.0, 0.2)
    found = Diagnosis(('a', 'b', 'c', 'd'), EffortContents(
        148.65, np.nan, True, np.full(4, np.nan), sizes, uncut(4), none_stalled(4),
        np.zeros(4, np.bool_)), Fit(0.1), [])
    assert list(found.beyond_limits) == list(found.names[:beyond])
    assert bool(found.gravity_doubt) == is_of_all


@pytest.mark.parametrize('gain', [None, np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0])])
def test_an_opposite_gain_mends_efforts_of_the_opposite_sign_as_is_advised(replayed, gain):
    recording = record(duration=8.0, bandwidth=0.6)
    recording.effort[:, [1, 3]] *= -1.0
    said = warnings(replayed(recording, replace(PANDA, effort_gain=gain)))
    assert any('give these joints the opposite `effort_gain`' in one for one in said) == (
        gain is None)
    assert gain is None or said == []
