"""The table of docs/theory.md: each equation's name, file and test are there."""
from functools import reduce
from importlib import import_module
from pathlib import Path
import re

import pytest

import hodyn_ros as hd

ROOT = Path(__file__).parents[1]
THEORY = (ROOT / 'docs' / 'theory.md').read_text('utf-8')
ROWS = [
    [cell.strip() for cell in line.strip('|').split('|')]
    for line in re.search(
        r'\| source \| name \|.*?\n\|[-|]*\n(.*?)\n\n', THEORY, re.DOTALL)[1].splitlines()]
PAPERS = ('M21', 'MK21', 'KM21', 'AGF26', 'MR9', 'SRW22')


def quoted(cell):
    return re.findall(r'`([^`]+)`', cell)


def found(name):
    """Return what a name of the table stands for, in `hodyn_ros` or in a module of it."""
    module, *rest = name.split('.')
    if hasattr(hd, module):
        return reduce(getattr, rest, getattr(hd, module))
    for count in range(len(rest), 0, -1):
        parts = name.split('.')
        try:
            place = import_module('.'.join(['hodyn_ros', *parts[:count]]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[count:], place)
    raise AttributeError(name)


@pytest.mark.parametrize('row', ROWS, ids=lambda row: ' '.join(quoted(row[1])))
def test_names_files_and_tests_of_a_row_exist(row):
    source, names, _, files, tests = row
    assert any(paper in source for paper in PAPERS)
    assert quoted(names)
    for name in quoted(names):
        assert callable(found(name)), name
    assert quoted(files)
    for name in quoted(files):
        assert (ROOT / 'hodyn_ros' / 'dynamics' / name).exists(), name
    assert quoted(tests)
    for test in quoted(tests):
        file, function = test.split('::')
        text = (ROOT / 'test' / file).read_text('utf-8')
        assert re.search(rf'^def {function}\(', text, re.MULTILINE), test


def test_every_paper_of_the_sources_has_a_row():
    for paper in PAPERS:
        assert any(re.search(rf'\b{paper}\b', row[0]) for row in ROWS), paper
    assert len(ROWS) > 20


@pytest.mark.parametrize('symbol', [
    'S', 'X', 'V', 'M', 'Π', 'W', 'ad_V', 'Ad_C', '×̄*', 'G_c', 'G_p', 'J', 'A', 'a', 'U', 'h',
    'B'])
def test_the_page_says_what_its_symbols_are(symbol):
    table, rest = re.search(r'## Symbols\n(.*?)\n## (.*)', THEORY, re.DOTALL).groups()
    cells = ' '.join(line.split('|')[1] for line in table.strip().splitlines())
    assert re.search(rf'(?<![\w_]){re.escape(symbol)}(?![\w_])', cells)
    assert symbol in rest
