"""What became of each message of a recording."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hodyn_ros.messages.bag_contents import LostMessages

_LISTED = 10  # greatest number of places that are listed one by one


@dataclass(frozen=True)
class MessageCounts:
    """How many messages of a topic were used, were unusable, and are lost."""

    topic: str
    total: int  #: Number of messages: used, unusable, and known to be lost
    used: int  #: Messages whose motion was estimated
    unusable: Mapping[str, int]  #: Messages that were read and not used: reason and count
    lost: Sequence[LostMessages]  #: Where messages are lost
    #: Messages that were read and whose effort or velocity is not used: reason and count
    in_part: Mapping[str, int]
    notes: Sequence[str]  #: What else is wrong with the bag

    def __post_init__(self) -> None:
        assert self.used + sum(self.unusable.values()) + self.lost_messages == self.total

    @property
    def lost_messages(self) -> int:
        """Number of lost messages, as far as it is known."""
        return sum(loss.messages or 0 for loss in self.lost)

    @property
    def all_known(self) -> bool:
        """Whether the number of lost messages is known."""
        return all(loss.messages is not None for loss in self.lost)

    @property
    def damage(self) -> str:
        """How many messages are lost, and where, in one line; empty if none is lost."""
        if not self.lost:
            return ''
        places = [str(loss) for loss in self.lost[:_LISTED]]
        if len(self.lost) > _LISTED:
            places.append(f'and {len(self.lost) - _LISTED} more places')
        count = f'at least {self.lost_messages}' if self.lost_messages else 'an unknown number of'
        said = (
            f'{self.lost_messages} of {self.total} messages on {self.topic}' if self.all_known else
            f'{self._read} messages on {self.topic} were read, and {count} others')
        return f'{said} are lost: {"; ".join(places)}'

    @property
    def sentences(self) -> list[str]:
        """Sentences about the messages, beginning with the used ones."""
        of = f'{self.total} messages' if self.all_known else f'the {self._read} messages read'
        said = [f'{self.used} of {of} on {self.topic} are used.']
        if self.lost:
            said.append(f'The bag is damaged: {self.damage}.')
        said += [f'Left out: {count} ({reason}).' for reason, count in self.unusable.items()]
        said += [f'Used in part: {count} ({reason}).' for reason, count in self.in_part.items()]
        return said + [f'{note}.' for note in self.notes]

    @property
    def figures(self) -> dict[str, Any]:
        """Counts and faults as values for JSON."""
        return {
            'complete': not self.lost,
            'damage': self.damage or None,
            'samples_total': self.total,
            'samples_used': self.used,
            'samples_left_out': dict(self.unusable),
            'samples_lost': [vars(loss) for loss in self.lost],
            'samples_used_in_part': dict(self.in_part),
            'notes': list(self.notes),
        }

    @property
    def _read(self) -> int:
        return self.total - self.lost_messages
