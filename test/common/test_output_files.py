"""What is written is whole or not there, whatever ends the writing; nothing else is touched."""
from contextlib import suppress
import errno
import os
from pathlib import Path
import resource
import signal
import stat
import tempfile
import threading
import time

import numpy as np
import pytest

from hodyn_ros.common import output_files
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import UNFINISHED, Contents, check_output, replacing, write_text

REPORT = Contents(
    frozenset({'report.html', 'table.csv'}), {'bag': Contents.of_bag('bag')}, mark='report.html')
LARGE = 300_000


def write_report(path, text, *, force=False, table=True):
    """Write a folder with a file, maybe another, and a bag, all of one text."""
    with replacing(path, REPORT, force=force) as folder:
        folder.mkdir()
        (folder / 'report.html').write_text(text)
        if table:
            (folder / 'table.csv').write_text(text)
        (folder / 'bag').mkdir()
        for name in ('metadata.yaml', 'bag.db3'):
            (folder / 'bag' / name).write_text(text)


def tree(folder):
    """Return every file and folder below one, with the files' bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob('*'))}


def report(text):
    return {
        'bag': None, 'bag/bag.db3': text, 'bag/metadata.yaml': text, 'report.html': text,
        'table.csv': text}


class Stop(Exception):
    """Neither an error of files nor of users."""


@pytest.fixture
def nobody():
    """Become a user without rights over what root owns; return a folder of that user."""
    root = os.geteuid() == 0
    # Not among pytest's own, which others cannot enter.
    with tempfile.TemporaryDirectory() as folder:
        if root:
            os.chown(folder, 65534, 65534)
            os.setresuid(65534, 65534, 0)
        yield Path(folder)
        if root:
            os.setresuid(0, 0, 0)


def test_a_file_and_a_folder_are_written(tmp_path):
    write_text(tmp_path / 'file', 'new')
    write_report(tmp_path / 'a/b/report', 'new')
    assert (tmp_path / 'file').read_text() == 'new'
    assert tree(tmp_path / 'a/b/report') == report(b'new')
    assert [path.name for path in (tmp_path / 'a/b').iterdir()] == ['report']
    assert {path.name for path in tmp_path.iterdir()} == {'file', 'a'}


@pytest.mark.parametrize('error', [HodynError('x'), OSError('x'), KeyboardInterrupt(), Stop()])
@pytest.mark.parametrize('there', [False, True])
def test_an_error_leaves_all_as_it_was(tmp_path, error, there):
    if there:
        write_text(tmp_path / 'file', 'old')
        write_report(tmp_path / 'report', 'old')
    before = tree(tmp_path)

    def write_file():
        with replacing(tmp_path / 'file', force=True) as file:
            file.write_text('torso')
            raise error

    def write_folder():
        with replacing(tmp_path / ('report' if there else 'a/b/report'), REPORT) as folder:
            folder.mkdir()
            (folder / 'report.html').write_text('torso')
            raise error

    for fails in (write_file, write_folder):
        with pytest.raises(type(error)):
            fails()
    assert tree(tmp_path) == before


@pytest.mark.parametrize('error', [
    lambda file: HodynError(f'{file}: is wrong'), lambda file: OSError(f'{file}: is wrong'),
    lambda file: OSError(errno.ENOENT, 'is wrong', str(file)),
    lambda file: OSError(errno.ENOSPC, 'is wrong'),
])
def test_an_error_names_the_output_and_not_where_it_was_written_to(tmp_path, error):
    def write(folder=False):
        with replacing(tmp_path / 'out', REPORT if folder else None) as unfinished:
            raise error(unfinished / 'report.html' if folder else unfinished)

    for folder in (False, True):
        with pytest.raises((HodynError, OSError)) as caught:
            write(folder)
        assert str(tmp_path / 'out') in str(caught.value)
        assert UNFINISHED not in str(caught.value)
        assert caught.value.__class__.__name__ in ('HodynError', 'OSError', 'FileNotFoundError')


def test_an_error_of_another_file_stays_as_it_is(tmp_path):
    def write():
        with replacing(tmp_path / 'out'):
            (tmp_path / 'input').read_text()

    with pytest.raises(FileNotFoundError) as caught:
        write()
    assert caught.value.filename == str(tmp_path / 'input')


def test_where_nothing_is_written_nothing_is_replaced(tmp_path):
    write_text(tmp_path / 'file', 'old')
    with replacing(tmp_path / 'file', force=True):
        pass
    assert tree(tmp_path) == {'file': b'old'}


def test_an_existing_file_needs_force_and_the_message_says_so(tmp_path):
    write_text(tmp_path / 'file', 'old')
    with pytest.raises(FileExistsError, match=r'file: exists; --force .*replaces it'):
        write_text(tmp_path / 'file', 'new')
    assert (tmp_path / 'file').read_text() == 'old'
    write_text(tmp_path / 'file', 'new', force=True)
    assert (tmp_path / 'file').read_text() == 'new'


def test_a_file_that_comes_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    def write_late():
        with replacing(tmp_path / 'file') as file:
            file.write_text('new')
            (tmp_path / 'file').write_text('came')

    with pytest.raises(FileExistsError):
        write_late()
    # Not even between the last look and the rename.
    monkeypatch.setattr(output_files, 'check_output', lambda *_, **__: None)
    with pytest.raises(FileExistsError):
        write_text(tmp_path / 'file', 'new')
    assert tree(tmp_path) == {'file': b'came'}


@pytest.mark.parametrize('force', [True, False])
@pytest.mark.parametrize('there', [True, False])
def test_what_comes_into_a_folder_meanwhile_stays(tmp_path, force, there):
    if there:
        write_report(tmp_path / 'report', 'old')

    def write_late():
        with replacing(tmp_path / 'report', REPORT, force=force) as folder:
            folder.mkdir()
            (folder / 'report.html').write_text('new')
            (tmp_path / 'report').mkdir(exist_ok=True)
            for name in ('precious', 'report.html'):
                (tmp_path / 'report' / name).write_text('mine')

    if force:
        write_late()
    else:
        with pytest.raises(FileExistsError, match='--force'):
            write_late()
    found = tree(tmp_path / 'report')
    assert found['precious'] == b'mine'
    assert found['report.html'] == (b'new' if force else b'mine')


@pytest.mark.parametrize('force', [True, False])
def test_what_is_written_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch, force):
    steps = []

    def noted(name, call):
        def note(*given, **more):
            file = os.readlink(f'/proc/self/fd/{given[0]}') if name == 'fsync' else ''
            steps.append((name, file.partition('/new/')[2]))
            return call(*given, **more)
        return note

    for name in ('fsync', 'replace', 'link', 'rename'):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))
    (tmp_path / 'new').mkdir()
    write_text(tmp_path / 'new/file', 'new', force=force)
    (first, file), (second, _), *_ = steps
    assert (first, second) == ('fsync', 'replace' if force else 'link')
    assert file.startswith(UNFINISHED)
    assert steps[-1] == ('fsync', '')  # the folder
    steps.clear()
    write_report(tmp_path / 'new/report', 'new')
    names = [name for name, _ in steps]
    renamed = names.index('rename')
    assert {file.partition('/report')[2] for _, file in steps[:renamed]} == {
        '', '/report.html', '/table.csv', '/bag', '/bag/metadata.yaml', '/bag/bag.db3'}


def test_an_earlier_result_is_replaced_as_a_whole(tmp_path):
    write_report(tmp_path / 'report', 'old')
    inode = (tmp_path / 'report').stat().st_ino
    write_report(tmp_path / 'report', 'new', table=False)
    expected = report(b'new')
    del expected['table.csv']
    assert tree(tmp_path / 'report') == expected
    assert (tmp_path / 'report').stat().st_ino != inode
    assert [path.name for path in tmp_path.iterdir()] == ['report']


@pytest.mark.parametrize('exchange', [True, False])
def test_only_own_files_in_a_folder_are_replaced_and_only_with_force(
    tmp_path, monkeypatch, exchange,
):
    if not exchange:
        monkeypatch.setattr(output_files, '_exchange', lambda *_: False)
    write_report(tmp_path / 'report', 'old')
    (tmp_path / 'report/mine').mkdir()
    (tmp_path / 'report/mine/precious').write_text('mine')
    before = tree(tmp_path)
    with pytest.raises(FileExistsError, match='--force'):
        write_report(tmp_path / 'report', 'new')
    assert tree(tmp_path) == before
    write_report(tmp_path / 'report', 'new', force=True, table=False)
    expected = {**report(b'new'), 'mine': None, 'mine/precious': b'mine'}
    del expected['table.csv']
    assert tree(tmp_path / 'report') == expected


def test_without_the_system_call_a_folder_is_replaced_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(output_files, '_exchange', lambda *_: False)
    write_report(tmp_path / 'report', 'old')
    write_report(tmp_path / 'report', 'new')
    assert tree(tmp_path) == {
        'report': None, **{f'report/{name}': text for name, text in report(b'new').items()}}


@pytest.mark.parametrize('obstacle', [
    'bag/precious', 'bag/mine/precious', 'report.html/precious', 'link'])
def test_what_is_foreign_under_our_names_is_never_replaced(tmp_path, obstacle):
    folder = tmp_path / 'report'
    (folder / obstacle).parent.mkdir(parents=True)
    if obstacle == 'link':
        (tmp_path / 'elsewhere').write_text('mine')
        (folder / 'report.html').symlink_to(tmp_path / 'elsewhere')
    else:
        (folder / obstacle).write_text('mine')
    before = tree(tmp_path)
    with pytest.raises(FileExistsError, match='never replaced') as caught:
        write_report(folder, 'new', force=True)
    assert str(folder / obstacle.split('/')[0].replace('link', 'report.html')) in str(caught.value)
    assert tree(tmp_path) == before


@pytest.mark.parametrize('file', ['metadata.yaml', 'log_0.mcap', 'log_0.db3', 'a.db3.zstd'])
@pytest.mark.parametrize('force', [False, True])
def test_nothing_is_written_into_a_bag(tmp_path, file, force):
    (tmp_path / file).touch()
    with pytest.raises(FileExistsError, match=f'is a rosbag2, with {file}; choose another'):
        write_report(tmp_path, 'new', force=force)
    assert tree(tmp_path) == {file: b''}


def test_a_folder_with_other_things_and_none_of_ours_is_written_to(tmp_path):
    (tmp_path / 'precious').write_text('mine')
    write_report(tmp_path, 'new')
    assert tree(tmp_path) == {**report(b'new'), 'precious': b'mine'}


def test_the_folder_that_one_stands_in_stays(tmp_path, monkeypatch):
    write_report(tmp_path / 'report', 'old')
    monkeypatch.chdir(tmp_path / 'report')
    inode = Path().stat().st_ino
    write_report(Path(), 'new', table=False)
    assert Path().stat().st_ino == inode
    assert sorted(os.listdir()) == ['bag', 'report.html']
    assert Path('report.html').read_text() == 'new'


def test_new_files_have_the_mode_of_the_umask_and_replaced_ones_their_own(tmp_path):
    former = os.umask(0o027)
    try:
        write_text(tmp_path / 'file', 'x')
        write_report(tmp_path / 'report', 'x')
        assert stat.S_IMODE((tmp_path / 'file').stat().st_mode) == 0o640
        assert stat.S_IMODE((tmp_path / 'report').stat().st_mode) == 0o750
        for path in (tmp_path / 'file', tmp_path / 'report/bag/bag.db3'):
            path.chmod(0o604)
        (tmp_path / 'report').chmod(0o705)
        write_text(tmp_path / 'file', 'y', force=True)
        write_report(tmp_path / 'report', 'y')
    finally:
        os.umask(former)
    assert stat.S_IMODE((tmp_path / 'file').stat().st_mode) == 0o604
    assert stat.S_IMODE((tmp_path / 'report/bag/bag.db3').stat().st_mode) == 0o604
    assert stat.S_IMODE((tmp_path / 'report').stat().st_mode) == 0o705


@pytest.mark.skipif(os.geteuid() != 0, reason='only root gives files away')
def test_a_replaced_file_keeps_its_owner(tmp_path):
    write_text(tmp_path / 'file', 'old')
    os.chown(tmp_path / 'file', 65534, 65534)
    write_text(tmp_path / 'file', 'new', force=True)
    assert (tmp_path / 'file').stat().st_uid == 65534


@pytest.mark.parametrize('dangling', [True, False])
def test_of_a_symbolic_link_what_it_points_to_is_replaced(tmp_path, dangling):
    (tmp_path / 'there').mkdir()
    if not dangling:
        write_text(tmp_path / 'there/file', 'old')
        write_report(tmp_path / 'there/report', 'old')
    (tmp_path / 'link').symlink_to('there/file')
    (tmp_path / 'report').symlink_to('there/report')
    if not dangling:
        with pytest.raises(FileExistsError, match='link: exists'):
            write_text(tmp_path / 'link', 'new')
    write_text(tmp_path / 'link', 'new', force=not dangling)
    write_report(tmp_path / 'report', 'new')
    assert os.readlink(tmp_path / 'link') == 'there/file'
    assert os.readlink(tmp_path / 'report') == 'there/report'
    assert (tmp_path / 'there/file').read_text() == 'new'
    assert tree(tmp_path / 'there/report') == report(b'new')


@pytest.mark.parametrize('alias', ['same', 'dotted', 'symbolic', 'hard'])
@pytest.mark.parametrize('given', ['input', 'bag'])
def test_an_input_is_never_an_output(tmp_path, monkeypatch, alias, given):
    monkeypatch.chdir(tmp_path)
    bag = Path('bag')
    bag.mkdir()
    for file in (Path('input'), bag / 'metadata.yaml'):
        file.write_text('mine')
    target = Path('input') if given == 'input' else bag / 'metadata.yaml'
    output = {'same': target, 'dotted': tmp_path / f'bag/../{target}',
              'symbolic': Path('link'), 'hard': Path('hard')}[alias]
    if alias == 'symbolic':
        output.symlink_to(target)
    elif alias == 'hard':
        os.link(target, output)
    with pytest.raises(HodynError, match=f'{output}: is or holds the input {given}'):
        check_output(output, inputs=[Path(given)], force=True)


@pytest.mark.parametrize('output', ['.', 'a', 'a/bag', '../{}/a'])
def test_a_folder_that_is_or_holds_an_input_is_no_output(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    Path('a/bag').mkdir(parents=True)
    with pytest.raises(HodynError, match='is or holds the input'):
        check_output(
            Path(output.format(tmp_path.name)), REPORT, inputs=[Path('a/bag')], force=True)
    check_output(Path('a/report'), REPORT, inputs=[Path('a/bag')])
    check_output(Path('a/bag/report'), REPORT, inputs=[Path('a/bag')])


@pytest.mark.parametrize(('output', 'contents', 'kind', 'message'), [
    ('none/file', None, FileNotFoundError, 'there is no folder'),
    ('folder', None, IsADirectoryError, 'is a folder'),
    ('file/x', None, FileNotFoundError, 'there is no folder'),
    ('socket', None, FileExistsError, 'is no file'),
    ('x' * 300, None, OSError, 'too long'),
    ('file', REPORT, NotADirectoryError, 'is not a folder'),
    ('file/report', REPORT, NotADirectoryError, 'is not a folder'),
    ('loop', None, OSError, 'loop'),
])
def test_what_cannot_be_written_is_named(tmp_path, output, contents, kind, message):
    import socket

    (tmp_path / 'folder').mkdir()
    (tmp_path / 'file').touch()
    (tmp_path / 'loop').symlink_to('loop')
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / 'socket'))
    path = tmp_path / output
    with pytest.raises(kind, match=message) as caught:
        check_output(path, contents, force=True)
    assert str(path) in str(caught.value)
    with pytest.raises(kind) as caught, replacing(path, contents, force=True) as unfinished:
        pytest.fail(f'{unfinished} was given out')
    assert str(path) in str(caught.value)


def test_what_may_not_be_written_is_named_before_and_after(nobody):
    (nobody / 'locked').mkdir()
    (nobody / 'file').write_text('old')
    (nobody / 'file').chmod(0o444)
    (nobody / 'locked').chmod(0o555)
    with pytest.raises(PermissionError, match='file: is write-protected'):
        write_text(nobody / 'file', 'new', force=True)
    for path, contents in (('locked/file', None), ('locked/a/report', REPORT)):
        with pytest.raises(PermissionError, match=f'{path}: .*locked cannot be written to'):
            check_output(nobody / path, contents)
    assert (nobody / 'file').read_text() == 'old'
    with pytest.raises(OSError, match='/proc/file'):
        write_text(Path('/proc/file'), 'new')


def test_a_folder_beside_which_nothing_can_be_made_is_written_to(nobody):
    report_ = nobody / 'locked/report'
    write_report(report_, 'old')
    (nobody / 'locked').chmod(0o555)
    write_report(report_, 'new')
    assert tree(report_) == report(b'new')


def faults():
    """Return limits of the size of files within which a report does not fit."""
    return np.random.default_rng(1).integers(0, LARGE - 1, 12).tolist()


@pytest.mark.parametrize('limit', faults())
def test_on_a_full_disk_nothing_changes_and_the_message_names_the_file(tmp_path, limit):
    write_text(tmp_path / 'file', 'old')
    write_report(tmp_path / 'report', 'old')
    before = tree(tmp_path)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(OSError, match='file') as of_file:
            write_text(tmp_path / 'file', LARGE * 'x', force=True)
        with pytest.raises(OSError, match='report') as of_report:
            write_report(tmp_path / 'report', LARGE * 'x', force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert tree(tmp_path) == before
    assert of_file.value.errno == of_report.value.errno == errno.EFBIG
    assert of_file.value.filename == str(tmp_path / 'file')
    assert UNFINISHED not in str(of_report.value)


@pytest.mark.parametrize('call', ['fsync', 'link', 'mkdir', 'replace', 'rename'])
def test_a_system_call_that_fails_leaves_all_as_it_was(tmp_path, monkeypatch, call):
    write_report(tmp_path / 'report', 'old')
    before = tree(tmp_path)

    def fail(*_, **__):
        raise OSError(errno.EIO, 'injected', str(tmp_path / 'somewhere'))

    with monkeypatch.context() as patched:
        patched.setattr(output_files, '_exchange', lambda *_: False)
        patched.setattr(os, call, fail)
        with suppress(OSError):
            write_text(tmp_path / 'file', 'new')
        if call != 'replace':  # the first of several
            with suppress(OSError):
                write_report(tmp_path / 'report', 'new')
    found = tree(tmp_path)
    assert found.pop('file', b'new') == b'new'
    whole = {f'report/{name}': text for name, text in report(b'new').items()}
    assert found in (before, {'report': None, **whole})


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['file', 'report', 'report with foreign files'])
def test_killed_at_any_moment_it_is_whole_the_old_or_the_new(tmp_path, kind):
    rng = np.random.default_rng(len(kind))
    place = tmp_path / 'place'
    place.mkdir()
    output = place / 'output'
    texts = [2000 * letter for letter in 'ab']

    def write(text):
        if kind == 'file':
            write_text(output, text, force=True)
        else:
            write_report(output, text, force=True)

    begin = time.monotonic()
    for text in (*texts, *texts):
        write(text)
    needed = time.monotonic() - begin
    if 'foreign' in kind:
        (output / 'precious').write_text('mine')
    seen = set()
    for count in range(400):
        if count >= 30 and len(seen) == 2:
            break
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                while True:
                    for text in texts:
                        write(text)
            os._exit(1)
        time.sleep(rng.uniform(0.0, needed * (1.0 + count / 50)))  # the machine may be busy
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        if kind == 'file':
            assert output.read_text() in texts
            seen.add(output.read_text()[0])
        else:
            found = tree(output)
            if 'foreign' in kind:
                assert found.pop('precious') == b'mine'
                found = {
                    name: text for name, text in found.items() if UNFINISHED not in name}
                # One by one: each is whole, and so is the bag.
                assert set(found) == set(report(b''))
                assert all(text in {None, *map(str.encode, texts)} for text in found.values())
                assert found['bag/bag.db3'] == found['bag/metadata.yaml']
            else:
                assert found in [report(text.encode()) for text in texts]
            seen.add(found['report.html'][:1])
        others = {path.name for path in place.iterdir()} - {'output'}
        assert all(name.startswith(UNFINISHED) for name in others)
    assert len(seen) == 2  # it was killed at more than one stage


def test_a_pipe_and_devices_are_written_to(tmp_path):
    pipe, heard = tmp_path / 'pipe', []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    check_output(pipe)
    write_text(pipe, 'new')
    reader.join(10.0)
    assert heard == ['new']
    assert pipe.is_fifo()
    write_text(Path('/dev/null'), 'new')
    assert Path('/dev/null').is_char_device()
    with pytest.raises(OSError, match='/dev/full') as caught:
        write_text(Path('/dev/full'), 'new')
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize('name', ['/dev/stdout', '/dev/fd/{}', '/proc/self/fd/{}'])
def test_an_open_file_is_written_on_where_it_stands(tmp_path, capfd, name):
    if name == '/dev/stdout':
        print('before')
        write_text(Path(name), 'new\n')
        print('after')
        assert capfd.readouterr().out == 'before\nnew\nafter\n'
        return
    with (tmp_path / 'file').open('w') as file:
        file.write('before ')
        file.flush()
        write_text(Path(name.format(file.fileno())), 'new')
    assert (tmp_path / 'file').read_text() == 'before new'
