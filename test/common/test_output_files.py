"""Files and folders are replaced as a whole, where that was asked for; nothing else is touched."""
import errno
import os
from pathlib import Path
import stat
import threading

import pytest
from written_folders import REPORT, report, tree, write_report

from hodyn_ros.common import output_files
from hodyn_ros.common.output_files import check_output, replacing, write_text


def test_a_file_and_a_folder_are_written(tmp_path):
    write_text(tmp_path / 'file', 'new')
    write_report(tmp_path / 'a/b/report', 'new')
    assert (tmp_path / 'file').read_text() == 'new'
    assert tree(tmp_path / 'a/b/report') == report(b'new')
    assert [path.name for path in (tmp_path / 'a/b').iterdir()] == ['report']
    assert {path.name for path in tmp_path.iterdir()} == {'file', 'a'}


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


@pytest.mark.parametrize('exchange', [True, False])
def test_an_earlier_result_is_replaced_as_a_whole(tmp_path, monkeypatch, exchange):
    if not exchange:  # a system without this call: file by file
        monkeypatch.setattr(output_files, '_exchange', lambda *_: False)
    write_report(tmp_path / 'report', 'old')
    inode = (tmp_path / 'report').stat().st_ino
    write_report(tmp_path / 'report', 'new', table=False)
    assert tree(tmp_path / 'report') == report(b'new', table=False)
    assert ((tmp_path / 'report').stat().st_ino != inode) == exchange
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
    assert tree(tmp_path / 'report') == {
        **report(b'new', table=False), 'mine': None, 'mine/precious': b'mine'}


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
