"""How the words after a command are read."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
import re
from typing import Any

# Whose values are no files.
_LISTS = ('--lock', '--payload', '--stop-at', '--terms')
_NUMBER = re.compile(r'[-+.\d]+(e[-+]?\d+)?')


class CommandParser(argparse.ArgumentParser):
    """Takes files after lists of values, and tells of words unknown how its command is used.

    ``argparse`` alone would take all words of ``--lock finger=0.04 plan.yaml`` for the list.
    """

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None,
    ) -> tuple[Any, list[str]]:
        """Read the words of one command; end the process where some are unknown."""
        options, unknown = super().parse_known_args(_files_first(args or ()), namespace)
        if unknown:
            self.error(f'unrecognized arguments: {" ".join(unknown)}')
        return options, unknown


def _files_first(words: Sequence[str]) -> list[str]:
    files = list(takewhile(lambda word: not word.startswith('-'), words))
    others: list[str] = []
    option = ''
    for word in words[len(files):]:
        if word.startswith('--'):
            option = word
        elif option in _LISTS and others[-1] != option and _is_file(word):
            files.append(word)
            continue
        others.append(word)
    return files + others


def _is_file(word: str) -> bool:
    if '=' in word or _NUMBER.fullmatch(word):
        return False
    return '/' in word or bool(Path(word).suffix) or Path(word).exists()
