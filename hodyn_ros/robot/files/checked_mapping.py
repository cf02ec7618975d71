"""Mappings read from files, key by key, with messages that say where a mistake is."""
from collections.abc import Mapping, Sequence
import re
from typing import Any, NoReturn

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError, did_you_mean

LARGEST = 1e15
"""Largest magnitude of a number in a robot file: squares and products of such are still finite."""
# A number: sign, digits before and after a point or comma; sign and digits of its exponent.
_NUMBER = re.compile(r'([-+]?)(?=[.,]?\d)(\d*)(?:([.,])(\d*))?(?:[eE]([-+]?)(\d+))?')


def body_label(entry: Any, index: int) -> str:
    """Return the name of a body in messages, or its number if its entry has no name."""
    name = entry.get('name') if isinstance(entry, Mapping) else None
    return repr(name) if isinstance(name, str) else f'number {index}'


class CheckedMapping:
    """A mapping in a robot file, with its place in this file for messages."""

    def __init__(self, data: Any, context: str, known: Sequence[str] | set[str]) -> None:
        self.context = context
        if not isinstance(data, Mapping):
            raise HodynError(f'{context}: expected a mapping, got {type(data).__name__}')
        unknown = [str(key) for key in data if key not in known]
        if unknown:
            raise HodynError(
                f'{context}: unknown key {unknown[0]!r}; known keys are '
                f'{", ".join(sorted(known))}{did_you_mean(unknown[0][:60], known)}')
        self.data = data

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise HodynError that names the place and the key."""
        raise HodynError(f'{self.context}, key {key!r}: {message}')

    def has(self, key: str) -> bool:
        """Return whether the key has a value other than null."""
        return self.data.get(key) is not None

    def get(self, key: str) -> Any:
        """Return a required value."""
        if not self.has(key):
            raise HodynError(f'{self.context}: key {key!r} is missing')
        return self.data[key]

    def text(self, key: str) -> str:
        """Return a required name."""
        value = self.get(key)
        if not isinstance(value, str) or not value:
            self.fail(key, f'expected a name, got {value!r}')
        return value

    def number(self, key: str) -> float:
        """Return one finite number."""
        return float(self.array(key, ()))

    def array(self, key: str, shape: tuple[int, ...], largest: float = LARGEST) -> Array:
        """Return finite numbers in an array of exactly this shape, none beyond `largest`."""
        value = self.get(key)
        try:
            array = np.array(value, dtype=float) if _holds_numbers(value) else None
        except (ValueError, OverflowError):  # overflow: from integers with very many digits
            array = None
        if array is None:
            self.fail(key, f'expected numbers, got {value!r}{_text_hint(value)}')
        if array.shape != shape:
            wanted = ' x '.join(map(str, shape)) or 'a single number'
            got = ' x '.join(map(str, array.shape)) or 'a single number'
            self.fail(key, f'expected {wanted}, got {got}')
        if not np.all(np.isfinite(array)):
            self.fail(key, f'not finite: {value!r}')
        if np.any(np.abs(array) > largest):
            self.fail(key, f'{value!r} is beyond {largest:g}, in SI units')
        return array


def _text_hint(value: Any) -> str:
    """Return how to write the first number that YAML read as text; empty if there is none."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return next(filter(None, map(_text_hint, value)), '')
    found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return ''
    sign, whole, point, digits, sign_of_exponent, exponent = found.groups()
    number = f'{sign}{whole or 0}'
    if digits or exponent:
        number += f'.{digits or 0}'
    if exponent:
        number += f'e{sign_of_exponent or "+"}{exponent}'
    if number == value:
        return ' (text: write it without quotes)'
    if point == ',' and len(digits) == 3:
        number += f' or {sign}{whole}{digits}'
    return f' (YAML reads {value} as text: write {number})'


def _holds_numbers(value: Any) -> bool:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(_holds_numbers(entry) for entry in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in 'fiu'
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
