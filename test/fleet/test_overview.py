"""The order of recordings, of which those that say nothing of the arm come first."""
from hodyn_ros.cli.replay import _row
from hodyn_ros.fleet.overview import how_many_are_well, rank, write_overview
from hodyn_ros.fleet.task import OK, Outcome


def outcome(name, status=OK, findings=(), **errors):
    return Outcome(name, status, [
        {'joint': joint, 'rms_error': error, 'rms_effort': 1.0, 'bias': 0.0, 'coulomb_left': 0.0,
         'recorded': 0, 'duration': 1.0, 'findings': list(findings)}
        for joint, error in errors.items()])


def test_recordings_without_efforts_come_after_those_without_a_result(tmp_path):
    ranked = rank([
        outcome('usual', j1=1.0), outcome('bad', j1=3.0), outcome('exact', j1=0.0),
        outcome('also usual', j1=1.0), outcome('silent', findings=['No efforts'], j1=None),
        outcome('unreadable', status='no bag')])
    assert [each[2].name for each in ranked] == [
        'unreadable', 'silent', 'bad', 'also usual', 'usual', 'exact']
    assert _row(*ranked[1]) == ['silent', '', '–', '–', '1']
    assert _row(*ranked[2]) == ['bad', 'j1', '3', '3.00 × median', '']
    write_overview([each[2] for each in ranked], tmp_path / 'page.html', 'report.html')
    assert 'inf' not in (tmp_path / 'page.html').read_text().split('<h2>Drift')[0].split('<h2>')[1]


def test_a_single_recording_is_counted_as_one(tmp_path):
    one = [outcome('usual', j1=1.0)]
    assert how_many_are_well(one) == (
        '1 of 1 recording is read without loss, none of them with findings')
    write_overview(one, tmp_path / 'page.html', 'report.html')
    assert 'Replay of 1 recording<' in (tmp_path / 'page.html').read_text()
