"""Entries of parameter files with wildcards: which node each is for."""
import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from hodyn_ros.ros import parameter_file

PARTS = st.lists(st.sampled_from(['**', '*', 'a', 'b', 'a.b']), min_size=1, max_size=4)
NODES = st.lists(st.sampled_from(['a', 'b', 'a.b', 'axb']), min_size=1, max_size=4)


def values(tmp_path, entry, node):
    path = tmp_path / 'parameters.yaml'
    path.write_text(f'"{entry}":\n  ros__parameters:\n    fade: 1.0\n')
    return parameter_file.read(path, node, lambda name, value: '')


@given(PARTS, NODES)
def test_it_is_as_rcl_has_it(tmp_path_factory, parts, node):
    pattern = ''.join(
        {'**': '(/[^/]+)*', '*': '/[^/]+'}.get(part, '/' + re.escape(part)) for part in parts)
    entry, name = '/'.join(parts), '/' + '/'.join(node)
    folder = tmp_path_factory.mktemp('entry')
    if re.fullmatch(pattern, name):
        assert values(folder, entry, name) == {'fade': 1.0}
    else:
        with pytest.raises(ValueError, match='nothing for the node'):
            values(folder, entry, name)


def test_many_wildcards_are_answered(tmp_path):
    """A pattern tried all ways to share a name among them."""
    name = '/a' * 40
    assert values(tmp_path, '**/*/' * 20 + 'a', name) == {'fade': 1.0}
    with pytest.raises(ValueError, match='nothing for the node'):
        values(tmp_path, '**/*/' * 20 + 'b', name)
