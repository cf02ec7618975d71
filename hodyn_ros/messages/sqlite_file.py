"""Reads SQLite files of bags row by row, up to the first page that is cut or damaged."""
from collections.abc import Iterator
from contextlib import suppress
import os
from pathlib import Path
import shutil
import sqlite3
import tempfile
from typing import Any

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.bag_contents import MAX_TIME, LostMessages, Message, Topic

_BLOCK = 1 << 16
_DAMAGE = (sqlite3.Error, MemoryError)  # damaged lengths cause a MemoryError
_FOREIGN = dict.fromkeys(
    ('file is not a database', 'no such table: topics'),
    'it is not an SQLite file of a bag')


class SqliteFile:
    """An SQLite file of a bag; a `StorageFile`. The file is never written to."""

    counts_messages = False

    def __init__(self, path: Path) -> None:
        """Open a file; raises OSError, or HodynError if its topics cannot be read."""
        self._name = path.name
        self._folder = tempfile.TemporaryDirectory()
        try:
            self._database = _connected(path, Path(self._folder.name))
            self._topics = {
                key: Topic(name, kind) for key, name, kind in self._database.execute(
                    'SELECT id, name, type FROM topics')
                if isinstance(name, str) and isinstance(kind, str)}
        except _DAMAGE as error:
            self._folder.cleanup()
            raise HodynError(_FOREIGN.get(str(error), str(error) or 'damaged')) from None
        self.topics = dict.fromkeys(self._topics.values(), 0)
        with suppress(*_DAMAGE):  # messages before the damage are counted
            for key, in self._database.execute('SELECT topic_id FROM messages ORDER BY rowid'):
                if key in self._topics:
                    self.topics[self._topics[key]] += 1

    def close(self) -> None:
        """Close the file."""
        self._database.close()
        self._folder.cleanup()

    def read(self, topic: Topic) -> Iterator[Message | LostMessages]:
        """Yield a topic's messages in the order of the file, and a LostMessages per gap."""
        keys = [key for key, known in self._topics.items() if known == topic]
        rows, nameless, following = 0, 0, 1
        place, reason = '', 'its index lists more rows than could be read'
        try:
            for row, key, received, data in self._database.execute(
                    'SELECT rowid, topic_id, timestamp, CASE WHEN topic_id IN '
                    f'({",".join("?" * len(keys))}) THEN data END FROM messages ORDER BY rowid',
                    keys):
                rows, following = rows + 1, row + 1
                if key in keys:
                    yield _message(received, data)
                nameless += key not in self._topics
        except _DAMAGE as error:
            place = f'from row {following} on'
            reason = f'the database says: {error}: what follows is not read'
        alone = len(self._topics) == len(keys)
        if nameless:
            yield LostMessages(
                self._name, '', 'rows of a topic that the file does not name',
                nameless if alone else None)
        missing = self._indexed() - rows
        if place or missing > 0:
            yield LostMessages(
                self._name, place, reason, missing if alone and missing > 0 else None)

    def _indexed(self) -> int:
        """Return how many rows the index of the messages has; 0 without an index."""
        with suppress(*_DAMAGE):
            return int(self._database.execute(
                'SELECT count(*) FROM messages INDEXED BY timestamp_idx').fetchone()[0])
        return 0


def _connected(path: Path, folder: Path) -> sqlite3.Connection:
    """Return a connection that changes no file at the path, and reads only whole pages.

    A copy is read in three cases. A killed recorder leaves a log beside its database, and SQLite
    would merge the two. SQLite would fill a cut page with zeros, which look like numbers: the copy
    ends before this page. If the file ends with zeros, as after a power loss, and is not sound,
    the copy ends before these.
    """
    logs = [
        log for end in ('-wal', '-journal') if (log := path.with_name(path.name + end)).exists()]
    whole, before_zeros = _whole_pages(path)
    database = _opened(path, logs, folder, whole)
    if before_zeros < whole and not _is_sound(database):
        database.close()
        database = _opened(path, logs, folder, before_zeros)
    return database


def _opened(path: Path, logs: list[Path], folder: Path, size: int) -> sqlite3.Connection:
    """Return a connection to the first `size` bytes of a file, and to its logs."""
    if logs or size < path.stat().st_size:
        for file in (path, *logs):
            shutil.copyfile(file, folder / file.name)
        path = folder / path.name
        os.truncate(path, size)
    database = sqlite3.connect(
        path.absolute().as_uri() + ('' if logs else '?immutable=1'), uri=True)
    database.text_factory = lambda text: text.decode(errors='replace')
    # Otherwise SQLite reads nothing from a file that is shorter than its header says.
    database.execute('PRAGMA writable_schema = ON')
    return database


def _is_sound(database: sqlite3.Connection) -> bool:
    """Return whether SQLite finds no fault: zeros at the end then belong to a large row."""
    with suppress(*_DAMAGE):
        return bool(database.execute('PRAGMA integrity_check(1)').fetchall() == [('ok',)])
    return False


def _whole_pages(path: Path) -> tuple[int, int]:
    """Return the size of all whole pages, and of the pages before zeros at the file's end.

    Fewer zeros than a page may be the unused space after a large message.
    """
    with path.open('rb') as file:
        header = file.read(18)
        page = int.from_bytes(header[16:18], 'big')
        page = 65536 if page == 1 else max(page, 1)
        size = end = file.seek(0, 2)
        filled = b''
        while end and not filled:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            filled = file.read(end - begin).rstrip(b'\0')
            end = begin + len(filled)
    before_zeros = end if size - end >= page else size
    return size - size % page, before_zeros - before_zeros % page


def _message(received: Any, data: Any) -> Message:
    """Return the message of a row; in a damaged row, values may have any type."""
    time = received if isinstance(received, int) else 0
    return Message(
        max(-MAX_TIME, min(time, MAX_TIME)), data if isinstance(data, bytes) else b'')
