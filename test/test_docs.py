"""The documentation holds: its examples run as they stand, and what it promises has its test."""
import ast
from pathlib import Path
import re
import shlex

import pytest

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.cli.main import _parser

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / 'docs' / 'tutorials').glob('*.md'))
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md')), *TUTORIALS]
STAND_INS = set(re.findall(
    r"'(\w+)'", (ROOT / 'docs' / 'conf.py').read_text('utf-8').partition(
        'autodoc_mock_imports = [')[2].partition(']')[0]))
BLOCKS = {
    page.name: re.findall(r'```python\n(.*?)```', page.read_text('utf-8'), re.DOTALL)
    for page in PAGES}


@pytest.mark.parametrize('page', [name for name, blocks in BLOCKS.items() if blocks])
def test_the_examples_of_a_page_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in BLOCKS[page]:
        if 'import pinocchio' in block:
            pytest.importorskip('pinocchio', reason='pinocchio is not installed')
        if 'import mujoco' in block:
            pytest.importorskip('mujoco', reason='MuJoCo is not installed')
        if 'import sympy' in block:
            pytest.importorskip('sympy', reason='SymPy is not installed')
        exec(compile(block, page, 'exec'), namespace)


def test_the_pages_with_examples_are_found():
    assert {'README.md', 'dynamics.md', 'references.md', 'robots.md'} <= {
        name for name, blocks in BLOCKS.items() if blocks}


def test_each_page_is_in_the_site():
    """One that is in no table of contents is a warning there, and found by nobody."""
    index = ROOT / 'docs' / 'index.md'
    listed = set(re.findall(r'^[\w/]+$', index.read_text('utf-8'), re.MULTILINE))
    pages = {
        str(page.relative_to(index.parent).with_suffix('')) for page in PAGES[1:]
        if page != index}
    assert not pages - listed


def unions(module):
    """Return unions in signatures, evaluated on import, with names from other packages."""
    tree = ast.parse(module.read_text('utf-8'))
    foreign = {name.asname or name.name for node in tree.body
               if isinstance(node, ast.ImportFrom) and node.module.split('.')[0] in STAND_INS
               for name in node.names}
    signatures = [
        signature for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        for signature in (node.returns, *(argument.annotation for argument in (
            *node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)))
        if signature is not None]
    return [
        ast.unparse(union) for signature in signatures for union in ast.walk(signature)
        if isinstance(union, ast.BinOp) and {
            name.id for name in ast.walk(union) if isinstance(name, ast.Name)} & foreign]


@pytest.mark.parametrize('package', ['ros', 'simulation'])
def test_no_signature_unites_what_is_a_stand_in_on_the_site(package):
    """Objects that stand in for rclpy have no `|`, and the site could not be built."""
    modules = sorted((ROOT / 'hodyn_ros' / package).rglob('*.py'))
    assert modules
    assert {module.name: unions(module) for module in modules if unions(module)} == {}


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and the site name them."""
    headings = re.findall(r'^#+ (.*)$', page.read_text('utf-8'), re.MULTILINE)
    return {
        re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-') for heading in headings}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r'\]\(([^)#:]*)(#[^)]*)?\)', page.read_text('utf-8')):
        path = page.parent / ''.join(target.split()) if target else page
        example = re.fullmatch(r'.*/(?:sphx_glr_)?(\d\d_\w+?)(?:_001)?\.(?:rst|png)', target)
        if example:  # the site makes its page and its picture
            path = ROOT / 'examples' / f'{example[1]}.py'
        assert path.exists(), target
        if anchor:
            assert anchor[1:] in anchors(path), f'{target}{anchor}'


def commands(page):
    """Return each line of a page's blocks that calls hodyn, as it stands there."""
    blocks = re.findall(
        r'^ *```([^\n]*)\n(.*?)^ *```$', page.read_text('utf-8'), re.DOTALL | re.MULTILINE)
    return [
        line.strip() for kind, block in blocks if kind in ('', 'sh', 'console')
        for line in block.replace('\\\n', ' ').splitlines()
        if re.match(r' *(\$ )?hodyn \w', line) and '[--' not in line and '…' not in line]


def test_each_command_of_each_page_is_one_that_the_command_line_takes(capsys):
    """An option that was renamed, a command that is gone."""
    found = [(page.name, line) for page in PAGES for line in commands(page)]
    assert len(found) > 20
    parser = _parser()
    for page, line in found:
        words = shlex.split(re.split(' && ', line)[0], comments=True)
        arguments = words[words.index('hodyn') + 1:]
        try:
            parser.parse_args(arguments)
        except SystemExit:
            pytest.fail(f'{page}: {line}: {capsys.readouterr().err}')


@pytest.mark.slow
@pytest.mark.parametrize('page', TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page, tmp_path, real_bag, monkeypatch):
    """Files with a caption are written, Python and commands are run, as a reader does."""
    blocks = re.findall(
        r'```(?:\{code-block\} yaml\n:caption: (\S+)\n\n|(python|sh)\n)(.*?)```',
        page.read_text('utf-8'), re.DOTALL)
    assert any(kind == 'sh' for _, kind, _ in blocks)
    monkeypatch.chdir(tmp_path)
    for file, kind, text in blocks:
        if file:
            Path(file).write_text(text, 'utf-8')
        elif kind == 'python':
            exec(compile(text, page.name, 'exec'), {})
        else:  # in this process, which has its kernels: others would take seconds each
            for line in text.splitlines():
                command, _, other = line.partition('# exit code ')
                _, *words = shlex.split(command.replace('"$RECORDING"', str(real_bag)))
                assert main(words) == int(other or 0), line


def test_the_page_of_reflexes_shows_what_the_command_says(tmp_path, monkeypatch, capsys):
    tutorial = (ROOT / 'docs' / 'tutorials' / 'franka_reflex.md').read_text('utf-8')
    plan, = re.findall(r':caption: quick.yaml\n\n(.*?)```', tutorial, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path('quick.yaml').write_text(plan, 'utf-8')
    page = (ROOT / 'docs' / 'reflexes.md').read_text('utf-8')
    command, said = re.search(r'\$ hodyn (.*?)\n(.*?)```', page, re.DOTALL).groups()
    assert main(shlex.split(command)) == 1
    assert capsys.readouterr().out.split() == said.split()


def test_the_page_of_functions_lists_all_public_names_and_rooms():
    page = (ROOT / 'docs' / 'api.md').read_text('utf-8')
    listed = set(re.findall(r'^   ([\w.]+)$', page, re.MULTILINE))
    rooms = {
        f'hodyn_ros.{path.parent.name}' for path in (ROOT / 'hodyn_ros').glob('*/__init__.py')}
    assert listed == {*hd.__all__, *rooms - {'hodyn_ros.cli'}}


def rows_of_faults() -> list[list[str]]:
    """Return the cells of each row of all tables of faults, one below each heading."""
    page = (ROOT / 'docs' / 'faults.md').read_text('utf-8')
    _, *sections = re.split(r'^## .*$', page, flags=re.MULTILINE)
    assert len(sections) > 5
    rows = []
    for section in sections:
        head, rule, *table = [line for line in section.splitlines() if line.startswith('|')]
        assert head.split(' | ')[-1] == 'test |'
        assert set(rule) <= set('| -')
        assert table
        rows += table
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in rows]


def find_tests(file: str) -> set[str]:
    """Return the names of the tests in files of a name."""
    return {
        node.name for path in (ROOT / 'test').rglob(file)
        for node in ast.parse(path.read_text('utf-8')).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_')}


def test_each_fault_names_the_tests_that_prove_it():
    rows = rows_of_faults()
    assert len(rows) > 90
    for fault, *_, tests in rows:
        assert re.fullmatch(r'`test_\w+\.py::test_\w+`(, `test_\w+\.py::test_\w+`)*', tests), fault
        for file, test in re.findall(r'`(\w+\.py)::(\w+)`', tests):
            assert test in find_tests(file), f'{fault}: there is no {file}::{test}'
