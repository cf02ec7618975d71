"""What processes use and leave behind."""
import contextlib
from pathlib import Path
import subprocess

SHARED = Path('/dev/shm')
# The shared memory of processes that ended in order, and of those that were killed.
USED: set[str] = set()
KILLED: set[str] = set()


def files_in_shared_memory() -> dict[str, int]:
    """Return the files of the middleware that are there, whoever made them, with their inodes."""
    found = {}
    for path in SHARED.glob('fast*'):
        with contextlib.suppress(FileNotFoundError):  # it went meanwhile
            found[str(path)] = path.stat().st_ino
    return found


def shared_memory(pid: int) -> set[str]:
    """Return the files of the middleware in shared memory that a process uses."""
    try:
        lines = Path(f'/proc/{pid}/maps').read_text().splitlines()
    except OSError:
        return set()
    return {line.split(maxsplit=5)[5] for line in lines if f'{SHARED}/fast' in line}


def unused(files: set[str]) -> set[str]:
    """Return those files in shared memory that are there though no process uses them."""
    used = set().union(*(
        shared_memory(int(path.name)) for path in Path('/proc').iterdir() if path.name.isdigit()))
    return {file for file in files - used if Path(file).exists()}


def kill(process: subprocess.Popen) -> None:
    """End a process as a crash would; what it leaves in shared memory is removed in the end."""
    KILLED.update(shared_memory(process.pid))
    process.kill()
    process.wait()


def remove_unused(files: set[str]) -> None:
    """Remove what killed processes left in shared memory, with its locks."""
    for file in unused(files):
        for path in (Path(file), Path(f'{file}_el'), SHARED / f'sem.{Path(file).name}_mutex'):
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
