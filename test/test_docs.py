"""The examples in the documentation run as they stand."""
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
