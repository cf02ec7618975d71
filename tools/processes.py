"""What processes use and leave behind, and work in several threads."""
from collections.abc import Callable, Iterable
import contextlib
from pathlib import Path
import subprocess
import sys
import threading
import time
from typing import Any

SHARED = Path('/dev/shm')
# A file of shared memory, and its inode: a name may come again, an inode does not.
File = tuple[str, int]
# The shared memory of processes that ended in order, and of those that were killed.
USED: set[File] = set()
KILLED: set[File] = set()


def files_in_shared_memory() -> set[File]:
    """Return the files of the middleware that are there, whoever made them."""
    found = set()
    for path in SHARED.glob('fast*'):
        with contextlib.suppress(FileNotFoundError):  # it went meanwhile
            found.add((str(path), path.stat().st_ino))
    return found


def shared_memory(pid: int) -> set[File]:
    """Return the files of the middleware in shared memory that a process uses.

    Without the ports of a domain, which belong to all of its processes and stay when one dies.
    """
    try:
        lines = Path(f'/proc/{pid}/maps').read_text().splitlines()
    except OSError:
        return set()
    mapped = (line.split(maxsplit=5) for line in lines if f'{SHARED}/fast' in line)
    return {(path, int(inode)) for *_, inode, path in mapped if '_port' not in path}


def unused(files: set[File]) -> set[File]:
    """Return those files in shared memory that are there though no process uses them."""
    used = set().union(*(
        shared_memory(int(path.name)) for path in Path('/proc').iterdir() if path.name.isdigit()))
    return (files - used) & files_in_shared_memory()


def kill(process: subprocess.Popen) -> None:
    """End a process as a crash would; what it leaves in shared memory is removed in the end."""
    KILLED.update(shared_memory(process.pid))
    process.kill()
    process.wait()


def remove_unused(files: set[File]) -> None:
    """Remove what killed processes left in shared memory, with its locks."""
    for name, _ in unused(files):
        for path in (Path(name), Path(f'{name}_el'), SHARED / f'sem.{Path(name).name}_mutex'):
            path.unlink(missing_ok=True)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for path in Path('/proc').iterdir():
        if path.name.isdigit():
            try:
                stat = (path / 'stat').read_text()
            except OSError:
                continue
            if int(stat.rpartition(')')[2].split()[1]) == pid:
                found.append(int(path.name))
    return found


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and waits for its parent does not."""
    try:
        stat = Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return False
    return stat.rpartition(')')[2].split()[0] != 'Z'


def printed_by(code: str, *words: str, **options: Any) -> str:
    """Return what a new interpreter prints as it runs some code, which must not fail."""
    return subprocess.run(
        [sys.executable, '-c', code, *words], capture_output=True, text=True, check=True,
        timeout=300, **options).stdout


def in_threads(work: Callable[[Any], None], parts: Iterable[Any]) -> None:
    """Do parts of a work, each in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def assert_end(pids: Iterable[int], seconds: float) -> None:
    """See that processes end within a time, of their own accord."""
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(is_alive, pids))
