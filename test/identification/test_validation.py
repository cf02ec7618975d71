"""What a file of identified values is worth on motion that was held out."""
from pathlib import Path
from types import SimpleNamespace

from known_recordings import FRICTION, bag, replayed
import numpy as np
import pytest
from recordings import PANDA

from hodyn_ros.cli.identify_report import verdict
from hodyn_ros.identification import validation
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.recordings import Recording, Source, read_data
from hodyn_ros.identification.validation import validate


@pytest.mark.slow
def test_recordings_are_held_out_whole_from_what_judges_them(tmp_path, identified):
    """Guards cross-validation on the motion that was fitted."""
    one = bag(tmp_path / 'one', duration=13.0)
    other = bag(tmp_path / 'other', amplitude=6.0 * FRICTION.amplitude, duration=13.0)
    found = identified(one, other)
    assert found['held_out'] == 'recordings'
    held_out = found.column('held_out_rms_after')
    assert np.all(held_out[:4] > 1.4 * found.column('rms_after')[:4])
    # It is the error of the file that the other recording gives.
    alone, second = (
        replayed(tmp_path / f'replay{k}', judge, identified(fitted, output=f'apart{k}').file)
        for k, (judge, fitted) in enumerate(((one, other), (other, one))))
    np.testing.assert_allclose(held_out, np.sqrt(0.5 * (alone ** 2 + second ** 2)), rtol=0.01)


def judged(path, found, terms, monkeypatch):
    """Judge an estimate by a bag, as if each part of it had given the same one."""
    monkeypatch.setattr(validation, 'identify', lambda *_, **__: found)
    source = Source(PANDA, assumes_gravity='gains' in terms)
    recordings = [Recording(path)]
    given, _ = read_data(recordings, source)
    return validate('panda', source, recordings, given, terms, found)


def test_a_file_with_gains_is_judged_in_one_unit_of_effort(monkeypatch):
    """Guards figures of the robot as it was that have the gains that were found.

    Errors in amperes before were compared with such in N m after.
    """
    path = Path(bag('bag', gain=30.0, duration=10.0))
    found = Estimate(joints={'effort_gain': np.full(7, 30.0)})
    judgement = judged(path, found, ('gains',), monkeypatch)
    np.testing.assert_allclose(judgement.before, replayed('out', path, 'panda'), rtol=1e-9)
    np.testing.assert_allclose(judgement.before_by_gains_found, 30.0 * judgement.before)
    assert np.all(judgement.before_by_gains_found > 2.0 * judgement.held_out)
    assert not judgement.worse.any()


def test_a_fit_is_called_worse_when_it_is_worse_beyond_chance(monkeypatch):
    """Guards alarms of rounding, and the lack of real ones."""
    path = Path(bag('bag', duration=5.0))
    for added, is_worse in ((1e-3, False), (3.0, True)):
        found = Estimate(joints={'amplitude': PANDA.friction.amplitude + added})
        assert judged(path, found, ('friction',), monkeypatch).worse.all() == is_worse


def test_what_the_file_is_worth_is_said_of_each_joint():
    def said(held_out, worse, doubtful=()):
        return verdict(PANDA, SimpleNamespace(
            before_by_gains_found=np.ones(7), held_out=np.array(held_out),
            worse=np.array(worse)), doubtful)

    none = [False] * 7
    assert said([0.5] + 6 * [1.0], none).startswith(
        'On held-out motion the file is better for joint1; hardly different for joint2, ')
    assert 'better for no joint: keep' in said(7 * [0.99], none)
    both = said([0.5, 1.4] + 5 * [1.0], [False, True] + 5 * [False])
    assert 'better for joint1; hardly different for joint3, ' in both
    assert '; worse for joint2: record longer' in both
    doubted = said([0.5, 0.5] + 5 * [1.0], none, {'joint1'})
    assert 'better for joint2; hardly different for joint3, ' in doubted
    assert doubted.endswith('; not judged for joint1: resolve the doubts above before using it')
    assert 'better for no joint: keep' in said(7 * [0.5], none, set(PANDA.joint_names))
