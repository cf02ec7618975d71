"""The documentation holds: its examples run as they stand, and what it promises has its test."""
import ast
from pathlib import Path
import re

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
BLOCKS = {
    page.name: re.findall(r'```python\n(.*?)```', page.read_text('utf-8'), re.DOTALL)
    for page in PAGES}


@pytest.mark.parametrize('page', [name for name, blocks in BLOCKS.items() if blocks])
def test_the_examples_of_a_page_run_from_top_to_bottom(page):
    namespace = {}
    for block in BLOCKS[page]:
        exec(compile(block, page, 'exec'), namespace)


def test_the_pages_with_examples_are_found():
    assert {'README.md', 'dynamics.md', 'references.md', 'robots.md'} <= {
        name for name, blocks in BLOCKS.items() if blocks}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r'\]\(([^)#:]+)\)', page.read_text('utf-8')):
        assert (page.parent / target).exists(), target


def rows_of_faults() -> list[list[str]]:
    """Return the cells of each row of the table of faults."""
    lines = (ROOT / 'docs' / 'faults.md').read_text('utf-8').splitlines()
    table = [line for line in lines if line.startswith('|')]
    assert table[0].split(' | ')[-1] == 'test |'
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in table[2:]]


def find_tests(file: str) -> set[str]:
    """Return the names of the tests in files of a name."""
    return {
        node.name for path in (ROOT / 'test').rglob(file)
        for node in ast.parse(path.read_text('utf-8')).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_')}


def test_each_fault_names_the_tests_that_prove_it():
    rows = rows_of_faults()
    assert len(rows) > 50
    for fault, *_, tests in rows:
        assert re.fullmatch(r'`test_\w+\.py::test_\w+`(, `test_\w+\.py::test_\w+`)*', tests), fault
        for file, test in re.findall(r'`(\w+\.py)::(\w+)`', tests):
            assert test in find_tests(file), f'{fault}: there is no {file}::{test}'
