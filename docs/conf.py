"""The site: `pip install '.[docs]' && sphinx-build -W docs build/site`; rosdoc2 reads it too."""
from importlib.util import find_spec
import os
from pathlib import Path
import re
import tempfile
from typing import Any
from urllib.request import urlopen
from xml.etree import ElementTree

import hodyn_ros as hd

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
MANIFEST = ElementTree.parse(ROOT / 'package.xml').getroot()
REPOSITORY = MANIFEST.findtext('url[@type="repository"]', '').strip()

PUBLIC = [vars(hd)[name] for name in hd.__all__ if isinstance(getattr(hd, name), type)]

project = MANIFEST.findtext('name', '')
version = release = MANIFEST.findtext('version', '')
author = copyright = MANIFEST.findtext('author', '')

extensions = [
    'myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.autosummary', 'sphinx.ext.intersphinx',
    'sphinx.ext.mathjax', 'sphinx.ext.napoleon', 'sphinx.ext.viewcode', 'sphinx_copybutton',
    'sphinx_gallery.gen_gallery',
]
exclude_patterns = ['generated/examples/**.ipynb', 'generated/examples/**.py']
templates_path = ['_templates']
highlight_language = 'none'

html_theme = 'furo'
html_title = project
html_static_path = ['_static']
html_css_files = ['site.css']
html_theme_options = {
    'source_repository': REPOSITORY, 'source_branch': 'main', 'source_directory': 'docs/',
} if REPOSITORY else {}

myst_heading_anchors = 3
myst_enable_extensions = ['colon_fence', 'deflist', 'dollarmath']
# Types in docstrings are words, some of which several classes have as names.
suppress_warnings = ['config.cache', 'ref.python', 'autosummary.import_cycle']

autosummary_generate = True
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'  # the docstrings give shapes and units
autodoc_default_options = {'members': True}
# What a machine for documentation need not have.
autodoc_mock_imports = [
    name for name in (
        'rclpy', 'control_msgs', 'mujoco', 'ament_index_python',
        'action_msgs', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs', 'lifecycle_msgs',
        'nav_msgs', 'rcl_interfaces', 'rosgraph_msgs', 'sensor_msgs', 'std_msgs', 'std_srvs',
        'trajectory_msgs')
    if find_spec(name) is None]
napoleon_google_docstring = False
# Parameters that are described together stay so, each with its own shape.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    'examples_dirs': '../examples',
    'gallery_dirs': 'generated/examples',
    'filename_pattern': r'/\d\d_',
    'ignore_pattern': 'jtc_feedforward|node_client',
    'within_subsection_order': 'FileNameSortKey',
    'download_all_examples': False,
    'show_memory': False,
    'write_computation_times': False,
    'abort_on_example_error': True,
    'matplotlib_animations': False,
    'default_thumb_file': None,
    'min_reported_time': 1000,
}

INVENTORIES = {
    'python': 'https://docs.python.org/3', 'numpy': 'https://numpy.org/doc/stable',
    'scipy': 'https://docs.scipy.org/doc/scipy'}
TIMEOUT = 5.0  # s


def reachable(address: str) -> bool:
    """Return whether a site can be had."""
    try:
        urlopen(f'{address}/objects.inv', timeout=TIMEOUT).close()
    except OSError:
        return False
    return True


# Names of other projects are links where there is a network, and plain text elsewhere.
intersphinx_mapping = {
    name: (address, None) for name, address in INVENTORIES.items() if reachable(address)}


def in_the_site(text: str, folder: Path) -> str:
    """Turn links from a folder into links of a page, or to the repository if there is no page."""

    def link(match: re.Match[str]) -> str:
        place = (folder / match[2]).resolve()
        if not place.exists() or DOCS in place.parents:
            return match[0]
        # Without an address in the manifest, only the words stay.
        return f'[{match[1]}]({REPOSITORY}/blob/main/{place.relative_to(ROOT)})' if (
            REPOSITORY) else match[1]

    return re.sub(r'\[([^\[\]]*)\]\(([\w./-]+)\)', link, text)


def without_tests(text: str) -> str:
    """Drop the last column of the tables, which is for developers."""
    text = text.replace(' The last column names the tests that prove the behaviour.', '')
    return re.sub(r'^(\|.*\|)[^|\n]*\|$', r'\1', text, flags=re.MULTILINE)


def read_page(app: Any, page: str, source: list[str]) -> None:
    """Adapt a page of the repository to the site."""
    text = without_tests(source[0]) if page == 'faults' else source[0]
    source[0] = in_the_site(text, (DOCS / page).parent)


def read_part(app: Any, path: Path, page: str, source: list[str]) -> None:
    """Mend the links of a file of which a page includes parts."""
    text = in_the_site(source[0].replace('](README.md#', '](#'), DOCS / path.parent)
    source[0] = re.sub(r'\]\((?:\.\./)?docs/', '](', text)


def leave_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep |x| of docstrings, which reStructuredText takes for a substitution."""
    lines[:] = [re.sub(r'(`[^`]+`)|\|', lambda m: m[1] or r'\|', line) for line in lines]


def leave_public_names(
    app: Any, what: str, name: str, thing: Any, skip: bool, options: Any,
) -> bool | None:
    """Leave classes that have their own page out of their module's page."""
    return (what == 'module' and isinstance(thing, type) and thing in PUBLIC) or None


def leave_folders(app: Any) -> None:
    """Keep folders of examples with a README.md out of the gallery."""
    app.config.sphinx_gallery_conf['source_suffix'] = {'.rst': 'restructuredtext'}


def setup(app: Any) -> None:
    """Connect these functions to Sphinx."""
    os.environ.setdefault('MPLCONFIGDIR', tempfile.gettempdir())
    app.connect('autodoc-process-docstring', leave_bars)
    app.connect('autodoc-skip-member', leave_public_names)
    app.connect('builder-inited', leave_folders, priority=1)
    app.connect('include-read', read_part)
    app.connect('source-read', read_page)
