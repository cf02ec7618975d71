"""The items that are read from a bag's files: messages, and places where messages are lost."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

MAX_TIME = 2**62  # ns: larger values are not times, and sums of them would overflow


class Topic(NamedTuple):
    """A topic and the type of its messages, such as ``sensor_msgs/msg/JointState``."""

    name: str
    type: str


class Message(NamedTuple):
    """A serialized message and its receive time, ns."""

    received: int
    data: bytes


@dataclass(frozen=True)
class LostMessages:
    """A place in a bag where messages of a topic are lost."""

    file: str  #: Name of the file
    place: str  #: Bytes or rows of the file; empty for the whole file
    reason: str  #: The fault at this place
    messages: int | None = None  #: Number of lost messages; None if unknown
    #: `after`, `before`: Receive times, ns, of the last message before the losses (`after`) and
    #: the first one after them (`before`); None at an end of the bag
    after: int | None = None
    before: int | None = None

    def __str__(self) -> str:
        count = 'an unknown number' if self.messages is None else str(self.messages)
        where = f'{self.file}, {self.place}' if self.place else self.file
        times = [
            f'{word} {time * 1e-9:.3f} s' for word, time in (
                ('after', self.after), ('before', self.before)) if time is not None]
        received = f', received {" and ".join(times)}' if times else ''
        return f'{count} in {where}{received} ({self.reason})'


class StorageFile(Protocol):
    """An open file of a bag."""

    #: Number of messages per topic: as the file states or, if it does not, as found
    topics: dict[Topic, int]
    counts_messages: bool  #: Whether the file states how many messages it has

    def read(self, topic: Topic) -> Iterator[Message | LostMessages]:
        """Yield a topic's messages in the order of the file, and a LostMessages per gap."""

    def close(self) -> None:
        """Close the file."""


def with_times(items: Iterator[Message | LostMessages]) -> Iterator[Message | LostMessages]:
    """Yield the items; each loss gets the receive times of the messages around it."""
    last: int | None = None
    losses: list[LostMessages] = []
    for item in items:
        if isinstance(item, LostMessages):
            losses.append(replace(item, after=last))
            continue
        for loss in losses:
            yield replace(loss, before=item.received)
        losses.clear()
        last = item.received
        yield item
    yield from losses


def count_losses(
    losses: Sequence[LostMessages], found: int, expected: int | None, source: str,
) -> tuple[LostMessages, ...]:
    """Return the losses with numbers that, together with `found`, add up to `expected`.

    Losses of an unknown number of messages are merged into one, with the number that is still
    missing. `expected` is the number that the file `source` states, or None. If `found` and known
    losses add up to more, the statement is wrong and ignored.
    """
    known = [loss for loss in losses if loss.messages is not None]
    unknown = [loss for loss in losses if loss.messages is None]
    missing = (expected or 0) - found - sum(loss.messages or 0 for loss in known)
    if expected is None or missing < 0:
        return tuple(losses)
    if missing == 0:
        return tuple(known)
    if not unknown:
        return (*known, LostMessages(
            source, '', f'it counts {expected}, but {missing} of these are in no file',
            missing))
    first = unknown[0]
    places = [f'{loss.file}, {loss.place}' if loss.place else loss.file for loss in unknown[1:]]
    return (*known, replace(
        first, place=' and '.join([first.place, *places]), messages=missing,
        reason='; '.join(dict.fromkeys(loss.reason for loss in unknown)),
        before=unknown[-1].before))
