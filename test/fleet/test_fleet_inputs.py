"""Which files many bags and plans are: names that stay, nothing twice, nothing of our own."""
import os
from pathlib import Path

import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.inputs import each_bag, find_bags, find_plans, fingerprint, is_many
from hodyn_ros.fleet.overview import write_overview
from hodyn_ros.fleet.replay_task import ReplayTask
from hodyn_ros.fleet.summary import BAG_COLUMNS, write_summary


def make(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(jobs):
    return [job.name for job in jobs]


@pytest.fixture
def lab(tmp_path):
    """A folder of recordings as labs have them."""
    make(
        tmp_path, 'monday/one/metadata.yaml', 'monday/one/one_0.db3', 'monday/two.mcap',
        'monday/killed/killed_0.mcap', 'monday/killed/killed_1.mcap', 'tuesday/run_0.mcap',
        'tuesday/run_1.mcap', 'tuesday/notes.txt', 'packed.db3.zstd', '.trash/old.mcap',
        'fleet/fleet.json', 'fleet/reports/one/computed/metadata.yaml',
        'single/summary.json', 'single/computed/metadata.yaml', 'monday/report.html')
    return tmp_path


def test_a_folder_stands_for_the_bags_in_it_and_not_for_our_own_results(lab):
    assert names(find_bags([lab])) == [
        'monday/killed', 'monday/one', 'monday/two.mcap', 'packed.db3.zstd',
        'tuesday/run_0.mcap', 'tuesday/run_1.mcap']


def test_bags_of_folders_come_where_the_folder_is_given(lab):
    one, other = lab / 'tuesday/run_1.mcap', lab / 'tuesday/none'
    assert each_bag([one, lab / 'monday', other]) == [
        one, *(lab / 'monday' / name for name in ('killed', 'one', 'two.mcap')), other]


@pytest.mark.parametrize(('pattern', 'expected'), [
    # Names begin at the first wild part.
    ('*/run_*.mcap', ['tuesday/run_0.mcap', 'tuesday/run_1.mcap']),
    ('mon*', ['monday/killed', 'monday/one', 'monday/two.mcap']),
    # A file in the folder of a bag means the bag, and results are none.
    ('**/*.mcap', ['monday/killed', 'monday/two.mcap', 'tuesday/run_0.mcap',
                   'tuesday/run_1.mcap']),
    ('*/*/*.db3', ['monday/one']),
    ('**', ['monday/killed', 'monday/one', 'monday/two.mcap', 'packed.db3.zstd',
            'tuesday/run_0.mcap', 'tuesday/run_1.mcap']),
    ('monday/killed/*.mcap', ['killed'])])
def test_a_pattern_names_bags(lab, pattern, expected):
    assert names(find_bags([lab / pattern])) == expected


@pytest.mark.parametrize('pattern', ['*.nothing', 'fleet/**', 'sing*/*', 'sing*/computed/*'])
def test_a_pattern_without_bags_is_refused(lab, pattern):
    with pytest.raises(HodynError, match='no bag there'):
        find_bags([lab / pattern])


def test_links_are_followed_but_not_in_circles_and_a_bag_is_found_once(lab, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp('elsewhere')
    make(elsewhere, 'far/metadata.yaml', 'day/near.mcap')
    (lab / 'a_link').symlink_to(elsewhere / 'far')
    (lab / 'days').symlink_to(elsewhere / 'day')
    (lab / 'again').symlink_to(lab / 'monday')
    (lab / 'monday/up').symlink_to(lab)
    (elsewhere / 'day/back').symlink_to(lab / 'monday')
    (lab / 'monday/there').symlink_to(elsewhere / 'day')
    expected = {'a_link', 'monday/killed', 'monday/one', 'monday/two.mcap', 'packed.db3.zstd',
                'tuesday/run_0.mcap', 'tuesday/run_1.mcap'}
    found = set(names(find_bags([lab])))
    assert expected < found
    assert found - expected == {'days/near.mcap'}


def test_names_that_are_not_utf_8_can_be_written(tmp_path):
    make(tmp_path, os.fsdecode(b'run\xe9.mcap'))
    job, = find_bags([tmp_path / '*'])
    assert job.name == 'run\\udce9.mcap'
    assert job.path.exists()
    pq = pytest.importorskip('pyarrow.parquet')
    outcome = ReplayTask('panda', tmp_path).outcome(job, f'{job.path}: {job.path} is torn')
    write_summary([outcome], BAG_COLUMNS, tmp_path / 'summary.parquet')
    row, = pq.read_table(tmp_path / 'summary.parquet').to_pylist()
    assert row['bag'] == job.name
    assert row['path'].endswith('/run\\udce9.mcap')
    write_overview([outcome], tmp_path / 'overview.html', 'report.html')


def test_two_bags_of_one_name_are_refused_and_one_given_twice_is_one(lab):
    make(lab, 'tuesday/one/metadata.yaml')
    with pytest.raises(HodynError, match='give the folder that holds both'):
        find_bags([lab / 'monday' / 'one', lab / 'tuesday' / 'one'])
    assert names(find_bags([lab / 'monday' / 'one'] * 2)) == ['one']


@pytest.mark.parametrize(('paths', 'expected'), [
    (['monday/one'], False), (['monday/two.mcap'], False), (['nowhere'], False),
    (['monday/killed'], False), (['monday'], True), (['tuesday'], True),
    (['monday/one', 'monday/two.mcap'], True), (['*.mcap'], True)])
def test_one_bag_is_one_bag_as_before(lab, paths, expected):
    assert is_many([lab / path for path in paths]) is expected


def test_a_lone_file_beside_folders_of_bags_is_not_all_there_is(tmp_path):
    make(tmp_path, 'a/metadata.yaml', 'b.mcap')
    assert is_many([tmp_path])
    assert names(find_bags([tmp_path])) == ['a', 'b.mcap']


def test_plans_are_found_by_their_endings(lab):
    make(lab, 'plans/a.yaml', 'plans/deep/b.csv', 'plans/c.JSON', 'plans/read.me')
    assert names(find_plans([lab / 'plans'])) == ['a.yaml', 'c.JSON', 'deep/b.csv']


def test_what_changed_has_another_fingerprint(tmp_path):
    make(tmp_path, 'bag/metadata.yaml', 'bag/bag_0.db3', 'one.db3')
    bag, one = tmp_path / 'bag', tmp_path / 'one.db3'
    before = fingerprint(bag), fingerprint(one)
    assert before == (fingerprint(bag), fingerprint(one))
    (bag / 'bag_0.db3').write_text('more')
    Path(f'{one}-wal').touch()
    assert fingerprint(bag) != before[0]
    assert fingerprint(one) != before[1]
    assert fingerprint(tmp_path / 'nowhere') == []
