"""What processes use and leave behind."""
from pathlib import Path


def shared_memory(pid: int) -> set[str]:
    """Return the files in shared memory that a process uses."""
    try:
        lines = Path(f'/proc/{pid}/maps').read_text().splitlines()
    except OSError:
        return set()
    return {line.split(maxsplit=5)[5] for line in lines if '/dev/shm/' in line}


def remove_unused(files: set[str]) -> None:
    """Remove what a killed process left in shared memory."""
    used = set().union(*(
        shared_memory(int(path.name)) for path in Path('/proc').iterdir() if path.name.isdigit()))
    for file in files - used:
        Path(file).unlink(missing_ok=True)
        Path(f'{file}_el').unlink(missing_ok=True)


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
