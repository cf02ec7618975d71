"""Reads rosbag2 bags, folders or single files, complete or damaged; no ROS installation is needed.

From a damaged bag, all readable messages are read, and the places of lost messages are found.
"""
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePath
import re
import sys
import tempfile
from typing import Any

import yaml

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.input_files import check_file
from hodyn_ros.messages.bag_contents import (
    LostMessages,
    Message,
    StorageFile,
    Topic,
    count_losses,
    with_times,
)
from hodyn_ros.messages.mcap_file import McapFile
from hodyn_ros.messages.sqlite_file import SqliteFile

# From Python 3.14 in the standard library; for older versions, rosbags installs the backport.
if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

_KINDS: dict[str, type[McapFile] | type[SqliteFile]] = {'.mcap': McapFile, '.db3': SqliteFile}
_ZSTD = '.zstd'
_ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'  # no message in CDR begins with these bytes
_METADATA = 'metadata.yaml'
_MAX_MESSAGE = 1 << 30
_BLOCK = 1 << 16


class Bag:
    """An open bag; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open a bag; HodynError or OSError if it does not exist, or none of it can be read."""
        if not path.is_dir():
            check_file(path, f'no bag {str(path)!r}')
        self.path = path  #: The folder or the file
        self.notes: list[str] = []  #: Faults of the bag other than lost messages
        self._metadata: dict[Topic, int] = {}  # number of messages of each topic by metadata.yaml
        self._files: list[StorageFile | LostMessages] = []
        self._stack = ExitStack()
        try:
            for file in self._paths():
                self._files.append(self._opened(file))
        except BaseException:
            self.close()
            raise
        whole = [file for file in self._files if not isinstance(file, LostMessages)]
        if not whole:
            self.close()
            reasons = [
                f'{file.file}: {file.reason}' if path.is_dir() else file.reason
                for file in self._files if isinstance(file, LostMessages)]
            raise HodynError(f'{path}: not a readable rosbag2: {reasons[0]}')
        found: Counter[Topic] = Counter()
        for opened in whole:
            found.update(opened.topics)
        #: Number of messages per topic: by metadata.yaml or by the files, whichever is larger
        self.topics = {
            topic: max(self._metadata.get(topic, 0), found[topic])
            for topic in {**self._metadata, **found}}
        complete = len(whole) == len(self._files) and all(file.counts_messages for file in whole)
        self._expected = self.topics if complete else self._metadata

    def __enter__(self) -> 'Bag':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def read(self, topic: Topic) -> Iterator[Message | LostMessages]:
        """Yield a topic's messages in the order of recording, and a LostMessages per gap."""
        return with_times(self._read(topic))

    def count_losses(
        self, losses: list[LostMessages], found: int, topic: Topic,
    ) -> tuple[LostMessages, ...]:
        """Return the losses from `read`, numbered so that `found` and lost add up to the expected.

        If metadata.yaml counts fewer messages than were found and lost, `notes` says so.
        """
        total = found + sum(loss.messages or 0 for loss in losses)
        if self._metadata.get(topic, total) < total:
            self.notes.append(
                f'{_METADATA} counts {self._metadata[topic]} messages on {topic.name}, but there '
                f'are {total}')
        return count_losses(losses, found, self._expected.get(topic), self._source_of_count)

    def _read(self, topic: Topic) -> Iterator[Message | LostMessages]:
        for file in self._files:
            if isinstance(file, LostMessages):
                yield file
                continue
            for item in file.read(topic):
                if isinstance(item, Message) and item.data.startswith(_ZSTD_MAGIC):
                    item = item._replace(data=_decompressed(item.data))
                yield item

    def _paths(self) -> list[Path]:
        self._source_of_count = self.path.name
        if not self.path.is_dir():
            return [self.path]
        metadata = self.path / _METADATA
        if metadata.is_file():
            self._source_of_count = _METADATA
            try:
                return self._by_metadata(yaml.safe_load(metadata.read_text('utf-8')))
            except (yaml.YAMLError, LookupError, TypeError, ValueError, AttributeError,
                    RecursionError) as error:
                self._metadata = {}
                reason = ' '.join(str(error).split())
                self.notes.append(f'{_METADATA} cannot be used ({reason:.100})')
        found = sorted(
            (file for file in self.path.iterdir() if _kind(file) in _KINDS), key=_natural)
        if len(found) != 1 and not _is_split(found):
            without = 'whose ' if self.notes else f'without {_METADATA}'
            raise HodynError(
                f'{self.path}: a folder {without}{"; ".join(self.notes)} and with '
                f'{len(found)} .db3 or .mcap files; name one, or run ros2 bag reindex')
        return found

    def _by_metadata(self, document: Any) -> list[Path]:
        if document is None:
            raise ValueError('it is empty')
        information = document['rosbag2_bagfile_information']
        paths = list(dict.fromkeys(  # a file listed twice is read once
            self.path / PurePath(file).name for file in information['relative_file_paths']))
        for entry in information['topics_with_message_count']:
            topic = Topic(
                str(entry['topic_metadata']['name']), str(entry['topic_metadata']['type']))
            count = entry['message_count']
            if not isinstance(count, int) or count < 0:
                raise ValueError(f'message_count {count!r}')
            self._metadata[topic] = self._metadata.get(topic, 0) + count
        if not paths:
            raise ValueError('no files')
        return paths

    def _opened(self, path: Path) -> StorageFile | LostMessages:
        if path.suffix == '.bag':
            return LostMessages(
                path.name, '', f'a bag of ROS 1: `rosbags-convert --src {path.name} --dst '
                f'{path.stem}` converts it to ROS 2 (pip install rosbags)')
        if path.suffix.lower() == '.csv':
            return LostMessages(
                path.name, '', f'a table: `hodyn convert {path} --output BAG` makes it a bag')
        if _kind(path) not in _KINDS:
            return LostMessages(path.name, '', (
                f'its ending is not one of {", ".join(_KINDS)}; to make a bag from a log, see '
                '"Where a bag comes from" in docs/replay.md'))
        try:
            check_file(path, '')
            if path.suffix == _ZSTD:
                path = self._unpacked(path)
            file = _KINDS[_kind(path)](path)
        except (HodynError, FileNotFoundError) as error:
            reason = 'it is missing' if isinstance(error, FileNotFoundError) else str(error)
            return LostMessages(path.name, '', reason)
        self._stack.callback(file.close)
        return file

    def _unpacked(self, path: Path) -> Path:
        """Return a temporary file with the decompressed contents, up to any damage."""
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        unpacked = folder / path.stem
        decompressor = ZstdDecompressor()
        with path.open('rb') as source, unpacked.open('wb') as target:
            while block := source.read(_BLOCK):
                try:
                    target.write(decompressor.decompress(block))
                except (ZstdError, EOFError):
                    break  # reading the unpacked file shows what is missing
        return unpacked


def _bare(path: Path) -> Path:
    return path.with_suffix('') if path.suffix == _ZSTD else path


def _kind(path: Path) -> str:
    return _bare(path).suffix


def _is_split(files: list[Path]) -> bool:
    """Whether files are NAME_0, NAME_1, …, as a recorder names the parts of one bag."""
    if not files:
        return False
    name = re.sub(r'_0$', '', _bare(files[0]).stem)
    return [_bare(file).stem for file in files] == [f'{name}_{i}' for i in range(len(files))]


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a key for sorting that puts bag_2 before bag_10."""
    return [(int(part), '') if part.isdecimal() else (0, part)
            for part in re.split(r'(\d+)', path.name)]


def _decompressed(data: bytes) -> bytes:
    """Decompress a message that was compressed on its own; return b'' if it is damaged."""
    try:
        decompressor = ZstdDecompressor()
        message = decompressor.decompress(data, _MAX_MESSAGE)
    except ZstdError:
        return b''
    return message if decompressor.eof else b''
