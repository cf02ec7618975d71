"""Whatever ends the writing, what is written is whole or not there."""
from contextlib import suppress
import errno
import os
import resource
import signal
import time

import numpy as np
import pytest
from written_folders import REPORT, report, tree, write_report

from hodyn_ros.common import output_files
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import UNFINISHED, replacing, write_text

LARGE = 300_000


class Stop(Exception):
    """Neither an error of files nor of users."""


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


# Limits of the size of files within which a report does not fit.
@pytest.mark.parametrize('limit', np.random.default_rng(1).integers(0, LARGE - 1, 12).tolist())
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
