"""SQLite files of bags, read row by row: a cut or damaged one as far as its pages are whole."""
from collections.abc import Iterator
import os
from pathlib import Path
import shutil
import sqlite3
import tempfile
from typing import Any

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.bag_contents import MAX_TIME, Loss, Message, Topic

_DAMAGE = (sqlite3.Error, MemoryError)  # the latter for lengths that are damaged
_MAX_ROW = 1 << 62
_ROWS = (
    'SELECT rowid, topic_id, timestamp, CASE WHEN topic_id IN ({}) THEN data END FROM messages '
    'WHERE rowid >= ? ORDER BY rowid LIMIT ?')


class SqliteFile:
    """An SQLite file of a bag; a `StorageFile`. The file is never written to."""

    promises = False

    def __init__(self, path: Path) -> None:
        """Open a file; OSError, or HodynError when its topics cannot be read."""
        self._name = path.name
        self._folder = tempfile.TemporaryDirectory()
        try:
            self._database = _connected(path, Path(self._folder.name))
            self._topics = {
                key: Topic(name, kind) for key, name, kind in self._database.execute(
                    'SELECT id, name, type FROM topics')
                if isinstance(name, str) and isinstance(kind, str)}
            self.topics = self._counts()
        except _DAMAGE as error:
            self._folder.cleanup()
            raise HodynError(str(error) or 'damaged') from None

    def close(self) -> None:
        """Close the file."""
        self._database.close()
        self._folder.cleanup()

    def read(self, topic: Topic) -> Iterator[Message | Loss]:
        """Hand out the messages of a topic in the order of the file, and where some are lost."""
        keys = [key for key, known in self._topics.items() if known == topic]
        alone = len(self._topics) == len(keys)
        count, lost, at = 0, 0, 1
        while True:
            try:
                for row, key, received, data in self._rows(keys, at):
                    at, count = max(at, row) + 1, count + 1
                    if key in keys:
                        yield _message(received, data)
                    elif key not in self._topics:
                        yield Loss(
                            self._name, f'row {row}', 'its topic is none of the file',
                            1 if alone else None)
                break
            except _DAMAGE as error:
                reason = f'the database says: {error}'
            further = self._beyond(keys, at)
            if further is None:
                yield Loss(self._name, f'from row {at} on', reason)
                return
            yield Loss(
                self._name, f'rows {at} to {further - 1}', reason, further - at if alone else None)
            lost += further - at
            at = further
        missing = self._indexed() - count - lost
        if missing > 0:
            yield Loss(self._name, '', 'its index has more rows', missing if alone else None)

    def _rows(self, keys: list[int], at: int) -> Iterator[Any]:
        while True:
            try:
                for row in self._query(keys, at):
                    at = max(at, row[0]) + 1
                    yield row
                return
            except _DAMAGE:
                # The cursor reads a row ahead: the one before the damage comes alone.
                row = self._query(keys, at, limit=1).fetchone()
                if row is None:
                    return
                at = max(at, row[0]) + 1
                yield row

    def _query(self, keys: list[int], at: int, limit: int = -1) -> sqlite3.Cursor:
        return self._database.execute(
            _ROWS.format(','.join('?' * len(keys))), [*keys, at, limit])

    def _beyond(self, keys: list[int], at: int) -> int | None:
        """Return the first row after a damaged one from which on rows can be read again."""
        bad, step = at, 1
        while not self._is_readable(keys, bad + step):
            bad, step = bad + step, 2 * step
            if bad + step > _MAX_ROW:
                return None
        good = bad + step
        while good - bad > 1:
            middle = (bad + good) // 2
            if self._is_readable(keys, middle):
                good = middle
            else:
                bad = middle
        return good

    def _is_readable(self, keys: list[int], at: int) -> bool:
        try:
            self._query(keys, at, limit=1).fetchall()
        except _DAMAGE:
            return False
        return True

    def _counts(self) -> dict[Topic, int]:
        counts = dict.fromkeys(self._topics.values(), 0)
        try:
            for key, count in self._database.execute(
                    'SELECT topic_id, count(*) FROM messages GROUP BY topic_id'):
                if key in self._topics:
                    counts[self._topics[key]] += count
        except _DAMAGE:
            for topic in counts:
                counts[topic] = sum(isinstance(item, Message) for item in self.read(topic))
        return counts

    def _indexed(self) -> int:
        """Return how many rows the index of the messages has; 0 when there is none."""
        try:
            return int(self._database.execute(
                'SELECT count(*) FROM messages INDEXED BY timestamp_idx').fetchone()[0])
        except _DAMAGE:
            return 0


def _connected(path: Path, folder: Path) -> sqlite3.Connection:
    """Return a connection that changes nothing beside the path, and reads whole pages only.

    A recorder that was killed leaves a log beside its database, which SQLite works into it, and
    SQLite fills a page that was cut with zeros, which would pass for numbers: then a copy is read.
    """
    logs = [
        log for end in ('-wal', '-journal') if (log := path.with_name(path.name + end)).exists()]
    size = path.stat().st_size
    torn = size % _page_size(path)
    if logs or torn:
        for file in (path, *logs):
            shutil.copyfile(file, folder / file.name)
        path = folder / path.name
        os.truncate(path, size - torn)
    database = sqlite3.connect(
        path.absolute().as_uri() + ('' if logs else '?immutable=1'), uri=True)
    database.text_factory = lambda text: text.decode(errors='replace')
    # Without it SQLite reads nothing of a file that is shorter than its header says.
    database.execute('PRAGMA writable_schema = ON')
    return database


def _page_size(path: Path) -> int:
    with path.open('rb') as file:
        header = file.read(18)
    size = int.from_bytes(header[16:18], 'big')
    return 65536 if size == 1 else max(size, 1)


def _message(received: Any, data: Any) -> Message:
    """Return a message of what stands in a row, which in a damaged one may be anything."""
    time = received if isinstance(received, int) else 0
    return Message(
        max(-MAX_TIME, min(time, MAX_TIME)), data if isinstance(data, bytes) else b'')
