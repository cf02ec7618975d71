"""Safe YAML for robot and plan files; it refuses mistakes that YAML would accept."""
from pathlib import Path
import re
from typing import Any

import yaml
from yaml.composer import Composer

from hodyn_ros.common.errors import HodynError

# libyaml, if it is built in, parses several times faster.
_Parser: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


def read_text(path: Path, max_bytes: int, what: str) -> str:
    """Return the text of a file.

    Raises HodynError when it is not UTF-8, or too large to be `what`, such as 'a robot file'.
    """
    if path.stat().st_size > max_bytes:
        raise HodynError(f'{path}: larger than {max_bytes} bytes; is it {what}?')
    try:
        return path.read_text('utf-8-sig')
    except UnicodeDecodeError as error:
        raise HodynError(f'{path}: not UTF-8 text: {error}') from None


def load(text: str, context: str) -> Any:
    """Return the data of a YAML text.

    Unlike `yaml.safe_load`, it refuses keys that occur twice, and aliases, which let a small file
    expand without end.

    Raises HodynError that names the source and, if known, the line. It does not quote the text,
    as the file may have been given by mistake.
    """
    documents = load_all(text, context)
    if len(documents) > 1:
        raise HodynError(f'{context}: holds {len(documents)} YAML documents; keep one')
    return documents[0] if documents else None


def load_all(text: str, context: str) -> list[Any]:
    """Return the data of each document of a YAML text, read as by `load`."""
    try:
        return list(yaml.load_all(text, _Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = '' if mark is None else f', line {mark.line + 1}, column {mark.column + 1}'
        raise HodynError(f'{context}{place}: not valid YAML{_cause(error)}') from None
    except (yaml.YAMLError, ValueError):  # ValueError: wrong dates and integers
        raise HodynError(
            f'{context}: not valid YAML: a character, a date or a number is invalid') from None
    except RecursionError:
        raise HodynError(f'{context}: not valid YAML: nested too deeply') from None


def dump(data: Any) -> str:
    """Return plain data as YAML, keys in their order, the innermost lists on one line."""
    text: str = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=99)
    return text


_TOKENS = ("','", "']'", "'}'", "':'", "'-'")


def _cause(error: yaml.MarkedYAMLError) -> str:
    """Return the cause of an error; of the text, it quotes only tokens of YAML such as ','."""
    if isinstance(error, _OwnError):
        return f': {error.problem}'
    cause = re.sub(
        r"'(?!<)[^']*'?", lambda quoted: quoted[0] if quoted[0] in _TOKENS else '…',
        error.problem or '')
    cause = cause.replace('start any token', 'start any token (a tab, @ or `)')
    return f': {cause}' if cause else ''


class _OwnError(yaml.MarkedYAMLError):
    """An error of this module, whose message quotes at most a key."""


class _StrictComposer(Composer):
    def compose_node(self: Any, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            alias = self.get_event()
            raise _OwnError(
                problem='an alias is not accepted: *id001 repeats the value marked by &id001, as '
                'yaml.dump writes a list that occurs twice; write the list out in both places '
                '(give yaml.dump a copy of it)', problem_mark=alias.start_mark)
        return Composer.compose_node(self, parent, index)


# The composer is the first base class: libyaml's composer, which cannot be overridden, accepts
# aliases and overflows the stack if brackets are nested too deeply.
class _Loader(_StrictComposer, _Parser):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        _Parser.__init__(self, text)
        Composer.__init__(self)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key.value, str):
                continue
            if key.value in seen:
                raise _OwnError(
                    problem=f'key {key.value!r} occurs twice', problem_mark=key.start_mark)
            seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


# A launch file passes arrays to a node as YAML that tags them as Python tuples.
_Loader.add_constructor('tag:yaml.org,2002:python/tuple', _Loader.construct_yaml_seq)
