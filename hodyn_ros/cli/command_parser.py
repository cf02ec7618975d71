"""The parser of the words after a command."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from pathlib import Path
import re
from typing import Any, NoReturn

from hodyn_ros.common.errors import did_you_mean

_LISTS = {'--lock': 1, '--payload': 2, '--stop-at': 1, '--terms': 1}
"""Options with lists of values that are not files, and the least number of values."""
_NUMBERS = ('--lock', '--payload')  # options whose further values are numbers, or JOINT=NUMBER
_NUMBER = re.compile(r'[-+.\d]+(e[-+]?\d+)?')
_JOINED = re.compile(r'[-+.,;\[\]()\d]+')  # numbers with commas or brackets, without spaces


class CommandParser(argparse.ArgumentParser):
    """Accepts files after lists of values, and prints the command's usage for unknown words.

    ``argparse`` would read all words after ``--lock`` in ``--lock finger=0.04 plan.yaml`` as its
    values.
    """

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None,
    ) -> tuple[Any, list[str]]:
        """Read the words of one command; end the process if some are unknown."""
        self._words = list(args or ())
        options, unknown = super().parse_known_args(_files_first(args or ()), namespace)
        if unknown:
            near = next(filter(None, (
                did_you_mean(word.partition('=')[0], self._option_string_actions)
                for word in unknown if word.startswith('--'))), '')
            self.error(f'unrecognized arguments: {" ".join(unknown)}{near}')
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """End the process with an error, also saying if a plan was read as a value of --limits."""
        if message.endswith('required: PLAN') and '--limits' in self._words:
            taken = takewhile(
                lambda word: not word.startswith('-'),
                self._words[self._words.index('--limits') + 1:])
            if plans := [word for word in taken if Path(word).suffix or Path(word).exists()]:
                message += f'; {plans[-1]} was read as a value of --limits: put the plan before it'
        super().error(message)


def _files_first(words: Sequence[str]) -> list[str]:
    """Return the words, with files after a list of values moved before all options."""
    files = list(takewhile(lambda word: not word.startswith('-'), words))
    others: list[str] = []
    option, taken = '', 0
    rest = words[len(files):]
    for word, following in zip_longest(rest, rest[1:], fillvalue=''):
        if word.startswith('--'):
            option, taken = word, 0
        elif taken >= _LISTS.get(option, len(words)) and _is_no_value(option, word, following):
            files.append(word)
            continue
        else:
            taken += 1
        others.append(word)
    return files + others


def _is_no_value(option: str, word: str, following: str) -> bool:
    if '=' in word or _NUMBER.fullmatch(word) or (
            option in _NUMBERS and _JOINED.fullmatch(word)):
        return False
    if option in _NUMBERS and not _NUMBER.fullmatch(following):
        return True  # if a number follows, the word is the link of a second load, refused later
    return '/' in word or bool(Path(word).suffix) or Path(word).exists()
