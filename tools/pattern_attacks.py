"""Every pattern of a package, and texts that take one that backtracks longest.

`python pattern_attacks.py FILE` matches what FILE has as JSON, [[where, pattern, flags] …], with
its attacks, and prints where it is: whoever waits for it knows which pattern does not end.
"""
import ast
from collections.abc import Iterator
from itertools import islice, product
import json
from pathlib import Path
import re
import sys

if sys.version_info >= (3, 11):
    from re import _constants as words
    from re import _parser as parser
else:
    import sre_constants as words
    import sre_parse as parser

FUNCTIONS = {
    'compile', 'search', 'match', 'fullmatch', 'split', 'findall', 'finditer', 'sub', 'subn'}
SHORT, LONG = 40, 1000  # what doubles with each repetition never ends at the one, n³ at the other
ENDINGS = ('', '\0', '\n', '!', '<', 'é')
_OF_A_KIND = {
    words.CATEGORY_DIGIT: '7', words.CATEGORY_SPACE: ' ', words.CATEGORY_WORD: 'w',
    words.CATEGORY_NOT_DIGIT: 'w', words.CATEGORY_NOT_SPACE: 'w', words.CATEGORY_NOT_WORD: '-'}


def patterns(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Yield where a pattern stands, the pattern and its flags, for all that ask `re` for one."""
    for file in sorted(folder.rglob('*.py')):
        for node in ast.walk(ast.parse(file.read_text('utf-8'))):
            if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                    and isinstance(node.func.value, ast.Name) and node.func.value.id == 're'
                    and node.func.attr in FUNCTIONS):
                yield f'{file}:{node.lineno}', _written(node.args[0], file), _flags(node)


def _written(node: ast.expr, file: Path) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else node.value.decode('latin-1')
    if isinstance(node, ast.JoinedStr):  # what is put in stands for a letter or a number there
        return ''.join(
            str(part.value) if isinstance(part, ast.Constant) else '7' for part in node.values)
    raise AssertionError(f'{file}:{node.lineno}: no pattern that can be tried: it is made later')


def _flags(node: ast.Call) -> int:
    given = [
        getattr(re, part.attr).value for argument in (*node.args[1:], *(
            keyword.value for keyword in node.keywords if keyword.arg == 'flags'))
        for part in ast.walk(argument)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
        and part.value.id == 're' and isinstance(getattr(re, part.attr, None), re.RegexFlag)]
    return sum(set(given))


def attacks(pattern: str, flags: int) -> set[str]:
    """Return texts in which what may be repeated is repeated, and what follows fails."""
    tree = parser.parse(pattern, flags)
    return {
        before + (body * times)[:max(LONG, times)] + ending
        for before, body in _pumps(tree) if body
        for times in (SHORT, LONG) for ending in ENDINGS}


def _pumps(tree: object) -> Iterator[tuple[str, str]]:
    """Yield what leads to each repeated part, and what it matches."""
    before = ['']
    for operation, value in tree:  # type: ignore[attr-defined]
        for part in _parts(operation, value):
            for lead, (inner, body) in product(before[:2], _pumps(part)):
                yield lead + inner, body
        if _repeats(operation):
            bodies = list(islice(_samples(value[2]), 8))
            for lead in before[:2]:
                yield from ((lead, body) for body in bodies)
                yield from ((lead, one + other) for one, other in product(bodies, bodies))
        before = [lead + text for lead in before[:2] for text in islice(
            _texts(operation, value), 4)]


def _repeats(operation: object) -> bool:
    return operation in (words.MAX_REPEAT, words.MIN_REPEAT)


def _parts(operation: object, value: object) -> list[object]:
    if _repeats(operation):
        return [value[2]]  # type: ignore[index]
    if operation == words.SUBPATTERN:
        return [value[3]]  # type: ignore[index]
    if operation == words.BRANCH:
        return list(value[1])  # type: ignore[index]
    return []


def _samples(tree: object) -> Iterator[str]:
    """Yield a few texts that a part matches."""
    texts = [list(islice(_texts(*one), 4)) for one in tree]  # type: ignore[attr-defined]
    yield from (''.join(chosen) for chosen in islice(product(*texts), 16))


def _texts(operation: object, value: object) -> Iterator[str]:
    if operation == words.LITERAL:
        yield chr(value)  # type: ignore[arg-type]
    elif operation == words.NOT_LITERAL:
        yield 'w' if value != ord('w') else 'v'
    elif operation == words.ANY:
        yield from 'w<'
    elif operation == words.IN:
        yield from _of_set(value)
    elif _repeats(operation):
        least, _, body = value  # type: ignore[misc]
        for text in islice(_samples(body), 3):
            yield text * max(least, 1)
        if least == 0:
            yield ''
    elif operation == words.SUBPATTERN:
        yield from _samples(value[3])  # type: ignore[index]
    elif operation == words.BRANCH:
        for part in value[1]:  # type: ignore[index]
            yield from islice(_samples(part), 2)
    else:  # where it stands, and what it looks at beside
        yield ''


def _of_set(entries: object) -> Iterator[str]:
    first, *rest = entries  # type: ignore[misc]
    if first[0] == words.NEGATE:
        barred = {chr(value) for kind, value in rest if kind == words.LITERAL}
        yield next(letter for letter in 'w7- <>\'"=' if letter not in barred)
        return
    for kind, value in (first, *rest):
        if kind == words.LITERAL:
            yield chr(value)
        elif kind == words.RANGE:
            yield chr(value[0])
        else:
            yield _OF_A_KIND[value]


if __name__ == '__main__':
    for place, written, wanted in json.loads(Path(sys.argv[1]).read_text('utf-8')):
        print(place, flush=True)
        compiled = re.compile(written, wanted)
        for text in attacks(written, wanted):
            compiled.match(text)
            compiled.fullmatch(text)
            compiled.search(text)
