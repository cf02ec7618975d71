"""What cannot or may not be written to is named before anything is written."""
import os
from pathlib import Path
import tempfile

import pytest
from written_folders import REPORT, report, tree, write_report

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import check_output, replacing, write_text


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
    with pytest.raises(HodynError, match=f'{output}: is the input {given}, holds it or is'):
        check_output(output, inputs=[Path(given)], force=True)


@pytest.mark.parametrize('output', ['.', 'a', 'a/bag', '../{}/a'])
def test_a_folder_that_is_or_holds_an_input_is_no_output(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    Path('a/bag').mkdir(parents=True)
    with pytest.raises(HodynError, match='is the input a/bag, holds it or'):
        check_output(
            Path(output.format(tmp_path.name)), REPORT, inputs=[Path('a/bag')], force=True)
    check_output(Path('a/report'), REPORT, inputs=[Path('a/bag')])
    check_output(Path('a/bag/report'), REPORT, inputs=[Path('a/bag')])


@pytest.mark.parametrize(('output', 'contents', 'kind', 'message'), [
    ('none/file', None, FileNotFoundError, 'there is no folder'),
    ('folder', None, IsADirectoryError, 'is a folder'),
    ('file/x', None, FileNotFoundError, 'there is no folder'),
    ('socket', None, FileExistsError, 'is not a file'),
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
