"""What several commands share: options, and the check of where their results go."""
from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hodyn_ros.estimation.message_counts import MessageCounts

Commands = argparse._SubParsersAction


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add the option --robot."""
    parser.add_argument(
        '--robot', default='panda', help='built-in name, or path of a robot file (default: panda)')


def check_output(options: argparse.Namespace, *, folder: bool = True) -> None:
    """Raise OSError now, rather than after the work, for results that could not be written.

    The results go to the folder or file --output, and the figures to the file --json.
    """
    output, json_file = options.output, getattr(options, 'json', None)
    if folder and output.exists() and not output.is_dir():
        raise NotADirectoryError(f'--output {output}: is not a folder')
    for file, option in ((json_file, '--json'), (None if folder else output, '--output')):
        if file is None:
            continue
        if file.is_dir():
            raise IsADirectoryError(f'{option} {file}: is a folder')
        if not file.parent.is_dir() and not (folder and file.parent == output):
            raise FileNotFoundError(f'{option} {file}: there is no folder {file.parent}')
    for path in (output, json_file):
        if path is not None:
            there = next(place for place in (path, *path.absolute().parents) if place.exists())
            if not os.access(there, os.W_OK):
                raise PermissionError(f'{path}: {there} cannot be written to')


def write_figures(figures: dict[str, Any], file: Path | None) -> None:
    """Write figures for --json, if it was given."""
    if file is not None:
        file.write_text(json.dumps(figures, indent=1) + '\n', encoding='utf-8')


def say_what_is_lost(command: str, counts: MessageCounts) -> None:
    """Print one line to the standard error where messages of a bag are lost."""
    if counts.lost:
        print(f'hodyn {command}: {counts.damage}', file=sys.stderr)
