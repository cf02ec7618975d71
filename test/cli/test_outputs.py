"""What commands write: never over an input, nothing without being asked, whole or not at all."""
from contextlib import contextmanager, suppress
import json
import os
from pathlib import Path
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from recordings import messages, record, write
from written_folders import tree

from hodyn_ros import load_robot, save_robot
from hodyn_ros.cli import main
from hodyn_ros.common.output_files import UNFINISHED
from hodyn_ros.plans.files import read_trajectory
from hodyn_ros.robot.files import robot_keys

ROBOT = load_robot('twolink')  # small, for the pictures' sake
# What each command writes: its arguments, with {input} and {output} in them.
TO_FILES = {
    'yaml': ('annotate', '{input}', '--output', '{output}.yaml'),
    'json': ('annotate', '{input}', '--output', '{output}.json'),
    'csv': ('annotate', '{input}', '--output', '{output}.csv'),
    'figures': ('check', '{input}', '--json', '{output}.json'),
    'curves': ('check', '{input}', '--output', '{output}.png'),
    'figures of a demo': ('demo', '--robot', '{input}', '--json', '{output}.json'),
}
TO_FOLDERS = {
    'bag': (('annotate', '{input}', '--output', '{output}'), 'metadata.yaml'),
    'report': (('replay', '{input}', '--output', '{output}'), 'summary.json'),
    'robot': (('identify', '{input}', '--output', '{output}'), 'panda_identified.yaml'),
    'demo': (('demo', '--robot', '{input}', '--output', '{output}'), 'bag'),
    'comparison': (
        ('demo', '--compare', '--robot', '{input}', '--output', '{output}'),
        'comparison.png'),
}
PLANS = ['yaml', 'json', 'csv', 'bag']
SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ('curves', 'report')]


def plan_file(path):
    """Write a rest-to-rest motion of one second as CSV."""
    rows = [','.join(('time', *ROBOT.joint_names)), '0,0.1,0.2', '1,0.15,0.2']
    path.write_text('\n'.join(rows))
    return path


def bag(path):
    """Write a recording of one second."""
    recording = record(duration=1.0, robot=ROBOT, prefix='')
    return write(path, {'/joint_states': messages(recording)})


def given_to(kind, tmp_path):
    """Return the arguments that write one kind of output, `out`, and the path that it goes to."""
    arguments = TO_FILES[kind] if kind in TO_FILES else TO_FOLDERS[kind][0]
    given = bag(tmp_path / 'input') if kind == 'report' else plan_file(tmp_path / 'input.csv')
    return [*fill(arguments, given, 'out'), '--robot', 'twolink'], place(arguments, 'out')


def fill(arguments, given, output):
    return [word.format(input=given, output=output) for word in arguments]


def place(arguments, output):
    """Return the path that a command writes to."""
    return Path(fill(arguments, '', output)[-1])


@pytest.mark.parametrize('state', ['file', 'folder', 'symlink', 'no folder'])
@pytest.mark.parametrize('kind', TO_FILES)
def test_a_file_in_the_way_is_named_before_anything_is_computed(tmp_path, hodyn, kind, state):
    output = 'none/out' if state == 'no folder' else 'out'
    path = place(TO_FILES[kind], output)
    if state == 'file':
        path.write_text('mine')
    elif state == 'folder':
        path.mkdir()
    elif state == 'symlink':
        Path('mine').write_text('mine')
        path.symlink_to('mine')
    before = tree(tmp_path)
    # There is no such input: the output is looked at first.
    line = hodyn.refuses(*fill(TO_FILES[kind], 'nowhere.csv', output))
    said = {'no folder': 'there is no folder none', 'folder': 'is a folder'}.get(state, '')
    assert f'{path}: {said}' in line
    assert ('exists; --force' in line) == (state in ('file', 'symlink'))
    assert tree(tmp_path) == before


@pytest.mark.parametrize('state', ['file', 'ours and others', 'ours with others in it', 'link'])
@pytest.mark.parametrize('kind', TO_FOLDERS)
def test_a_folder_in_the_way_is_named_before_anything_is_computed(tmp_path, hodyn, kind, state):
    arguments, name = TO_FOLDERS[kind]
    output = Path('out')
    ours, mine = output / name, output / 'precious'
    if state == 'file':
        output.write_text('mine')
    else:
        output.mkdir()
    if state == 'ours and others':
        mine.write_text('mine')
        ours.mkdir() if name == 'bag' else ours.write_text('ours')
    elif state == 'ours with others in it':
        ours.mkdir()
        (ours / 'precious').write_text('mine')
    elif state == 'link':
        ours.symlink_to(tmp_path / 'elsewhere')
    before = tree(tmp_path)
    forced = ['--force'] * (state in ('ours with others in it', 'link'))
    line = hodyn.refuses(*fill(arguments, 'nowhere', output), *forced)
    assert (f'{output}: is not a folder' if state == 'file' else str(ours)) in line
    assert ('--force' in line) == (state == 'ours and others')
    assert tree(tmp_path) == before


@pytest.mark.parametrize('alias', ['same', 'dotted', 'symlink', 'hard link'])
@pytest.mark.parametrize('kind', TO_FILES)
def test_the_input_is_never_an_output(tmp_path, hodyn, kind, alias):
    path = place(TO_FILES[kind], 'plan')
    path.write_text('mine')
    link = place(TO_FILES[kind], 'link')
    if alias == 'symlink':
        link.symlink_to(path)
    elif alias == 'hard link':
        os.link(path, link)
    output = {'same': 'plan', 'dotted': './../' + tmp_path.name + '/plan'}.get(alias, 'link')
    for forced in ([], ['--force']):
        line = hodyn.refuses(*fill(TO_FILES[kind], path, output), *forced)
        assert f'is the input {path}, holds it or is a file in it' in line
    assert path.read_text() == 'mine'


@pytest.mark.parametrize('kind', TO_FOLDERS)
def test_no_output_folder_is_or_holds_the_input(tmp_path, hodyn, kind):
    arguments, _ = TO_FOLDERS[kind]
    Path('out').mkdir()
    Path('out/input').write_text('mine')
    before = tree(tmp_path)
    for output in ('out', './out', '.'):
        line = hodyn.refuses(*fill(arguments, 'out/input', output), '--force')
        assert 'is the input out/input, holds it or' in line
    assert tree(tmp_path) == before


@pytest.mark.parametrize('changed', [(), ('--payload', 'link2', '0.1')])
@pytest.mark.parametrize('arguments', [
    ('check', 'nowhere.csv', '--json', 'robot.yaml'),
    ('check', 'nowhere.csv', '--output', 'robot.yaml'),
    ('annotate', 'nowhere.csv', '--output', 'robot.yaml'),
    ('replay', 'nowhere', '--output', '.'), ('identify', 'nowhere', '--output', '.')])
def test_the_robot_is_an_input_as_well(tmp_path, hodyn, arguments, changed):
    save_robot(ROBOT, tmp_path / 'robot.yaml')
    before = tree(tmp_path)
    line = hodyn.refuses(*arguments, '--robot', 'robot.yaml', *changed, '--force')
    assert 'is the input robot.yaml, holds it or' in line
    assert tree(tmp_path) == before


def test_two_results_in_one_place_are_refused(hodyn):
    arguments = ['check', 'nowhere.csv', '--output', 'out.png', '--json', './out.png']
    assert 'another output goes to the same place' in hodyn.refuses(*arguments)
    arguments = ['demo', '--output', 'out', '--json', 'out/demo.png']
    assert 'another output goes to the same place' in hodyn.refuses(*arguments)


@pytest.mark.parametrize(('arguments', 'message'), [
    (('annotate', 'nowhere.csv', '--output', 'out.txt'), "out.txt: ending '.txt' not known"),
    (('check', 'plan.csv', '--output', 'out.xyz'), 'out.xyz: not an image that can be drawn'),
])
def test_an_ending_that_cannot_be_written_is_told_before_the_work(hodyn, arguments, message):
    plan_file(Path('plan.csv'))
    assert message in hodyn.refuses(*arguments)


@pytest.mark.parametrize('kind', [*PLANS, 'figures', SLOW[0]])
def test_what_is_there_is_kept_or_replaced_with_its_mode(tmp_path, hodyn, kind):
    arguments, path = given_to(kind, tmp_path)
    hodyn(*arguments)
    first = tree(tmp_path)
    assert {name.split('/')[0] for name in first} == {path.name, 'input.csv'}
    assert '--force' in hodyn.refuses(*arguments)
    assert tree(tmp_path) == first
    file = path / 'out.db3' if kind == 'bag' else path
    file.chmod(0o604)
    inode = file.stat().st_ino
    hodyn(*arguments, '--force')
    assert set(tree(tmp_path)) == set(first)
    assert file.stat().st_mode & 0o777 == 0o604
    assert file.stat().st_ino != inode
    if kind in PLANS:
        assert len(read_trajectory(path).times) == 201


@pytest.mark.slow
def test_an_earlier_report_is_replaced_and_that_is_said(tmp_path, hodyn):
    folder = tmp_path / 'hodyn_replay'
    replay = ['replay', bag(tmp_path / 'bag'), '--robot', 'twolink']
    hodyn(*replay, '--csv')
    first = set(tree(folder))
    assert 'computed.csv' in first
    assert 'hodyn_replay: replaced the earlier result' in hodyn(*replay).out
    assert set(tree(folder)) == first - {'computed.csv'}
    # With a file that is not ours the folder stays, and what is ours in it takes --force.
    (folder / 'notes.txt').write_text('mine')
    assert 'hodyn_replay/computed: exists; --force' in hodyn.refuses(*replay)
    hodyn(*replay, '--csv', '--force')
    assert set(tree(folder)) == first | {'notes.txt'}
    assert (folder / 'notes.txt').read_text() == 'mine'
    assert {path.name for path in tmp_path.iterdir()} == {'bag', 'hodyn_replay'}


@contextmanager
def largest_file(limit):
    """Let no file be written of more bytes than a limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@pytest.mark.parametrize('limit', [0, 1000])
@pytest.mark.parametrize('kind', [*PLANS, 'figures', *SLOW])
def test_on_a_full_disk_what_was_there_stays_and_one_line_names_the_file(
        tmp_path, hodyn, kind, limit):
    arguments, path = given_to(kind, tmp_path)
    arguments.append('--force')
    hodyn(*arguments)  # which compiles the kernels as well
    before = tree(tmp_path)
    with largest_file(limit):
        line = hodyn(*arguments, code=2).line
    assert str(path) in line
    assert UNFINISHED not in line
    assert tree(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize(('kind', 'number'), [
    *(('yaml', number) for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)),
    ('bag', signal.SIGKILL), ('bag', signal.SIGINT), ('report', signal.SIGTERM)])
def test_a_command_that_is_ended_at_any_moment_leaves_the_old_or_the_new(
        tmp_path, hodyn, kind, number):
    arguments, path = given_to(kind, tmp_path)
    copy = shutil.copytree if kind in TO_FOLDERS else shutil.copy
    content = tree if kind in TO_FOLDERS else Path.read_bytes
    hodyn(*arguments)
    copy(path, 'old')
    former = content(path)
    begin = time.monotonic()
    # Another robot, so that old and new can be told from each other.
    robot = tmp_path / 'robot.yaml'
    keys = robot_keys('twolink')
    keys['bodies'][-1]['mass'] *= 1.5
    robot.write_text(json.dumps(keys))
    arguments[-1:] = [str(robot), '--force']
    hodyn(*arguments)
    needed = time.monotonic() - begin
    latter = content(path)
    rng = np.random.default_rng(number)
    ended = 0
    for _ in range(8):
        delay = rng.uniform(0.0, 1.2 * needed)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        copy('old', path)
        # Blocked until the child is ready: before, it would end a copy of these tests.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        child = os.fork()
        if child == 0:
            code = 99
            with suppress(BaseException):
                signal.signal(signal.SIGINT, signal.default_int_handler)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                try:
                    code = main(arguments)
                except SystemExit as end:
                    code = end.code
            os._exit(code)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        time.sleep(delay)
        os.kill(child, number)
        status = os.waitpid(child, 0)[1]
        ended += status != 0
        if not status:  # It was done by itself: the next is to be ended earlier.
            needed = 0.5 * min(needed, delay)
        found = content(path)
        assert is_same(found, former) != is_same(found, latter)
        left = [name for name in os.listdir() if name.startswith(UNFINISHED)]
        if number != signal.SIGKILL:
            assert not left, status
            assert os.waitstatus_to_exitcode(status) in (0, 99, 130, 143, -number)
        if kind == 'report' and ended == 2:  # it takes seconds
            break
    assert ended


def is_same(found, expected):
    """Whether files or folders are the same; of a report the figures and the bag tell."""
    if not isinstance(expected, dict):
        return found == expected
    return set(found) == set(expected) and all(
        found[name] == text for name, text in expected.items() if name.endswith(('.json', '.db3')))


@pytest.mark.slow
def test_figures_go_to_pipes_and_to_standard_output(tmp_path):
    plan = plan_file(tmp_path / 'plan.csv')
    with (tmp_path / 'heard').open('w') as heard:
        subprocess.run(
            [sys.executable, '-m', 'hodyn_ros', 'check', str(plan), '--robot', 'twolink',
             '--json', '/dev/stdout', '--output', '/dev/null'], stdout=heard, check=True)
    text = (tmp_path / 'heard').read_text()
    assert text.index('within all limits') < text.index('{\n')
    assert json.loads(text[text.index('{\n'):])['within_limits']
