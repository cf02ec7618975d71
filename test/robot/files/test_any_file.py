"""Whatever a robot file holds, the answer comes in time, and is right or one line."""
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
import pytest
from robot_fuzz import fuzz

import hodyn_ros as hd
from hodyn_ros.robot.files.xml_elements import first_tag, read_xml


@pytest.mark.slow
@pytest.mark.parametrize('first', [0, pytest.param(20000, marks=pytest.mark.siege)])
def test_a_damaged_file_is_read_right_or_refused_in_a_line(tmp_path, first):
    """Files of other seeds: tools/robot_fuzz.py."""
    pytest.importorskip('pinocchio')
    pytest.importorskip('mujoco', reason='mujoco is not installed')
    found = list(fuzz(range(first, first + 150), tmp_path, 60.0))
    bad = [answer for answer in found if answer.kind not in ('right', 'refused')]
    assert not bad, bad[0]
    counts = Counter(answer.kind for answer in found)
    assert counts['right'] > 30
    assert counts['refused'] > 30


def test_what_an_error_quotes_makes_no_second_line():
    said = str(hd.HodynError('a\nb\t c ' + 'x' * 10**6 + ' what to do'))
    assert said.startswith('a b c x')
    assert said.endswith('x what to do')
    assert len(said) == 2000


PROLOG = st.lists(st.one_of(
    st.sampled_from([' ', '\n', '\t', '\r\n', '<?xml version="1.0"?>', '<!DOCTYPE robot>']),
    st.text('<->!?mujocrbt/ ', max_size=30).filter(lambda text: '-->' not in text).map(
        lambda text: f'<!--{text}-->'),
    st.text('<->!mujocrbt/ ', max_size=30).map(lambda text: f'<?x {text}?>')), max_size=60)


@given(PROLOG, st.sampled_from(['robot', 'mujoco', 'mujoco_like', 'a:b', 'sdf']),
       st.sampled_from(['>', '/>', ' a="b">', '\n', '']), st.booleans())
def test_what_stands_before_the_first_element_does_not_count(before, tag, after, marked):
    assert first_tag('\ufeff' * marked + ''.join(before) + f'<{tag}{after}') == tag


@given(st.text('<>!-? mr/"a', max_size=60))
def test_any_text_has_a_first_element_or_none(text):
    tag = first_tag(text)
    assert tag is None or f'<{tag}' in text


@pytest.mark.parametrize('text', ['', ' ', '<', '</a>', '<!--', '<!-- a -> <b/>', '<?a', 'x <a/>'])
def test_where_there_is_none(text):
    assert first_tag(text) is None


@pytest.mark.parametrize(('text', 'cause'), [
    ('', 'the text is empty, or ends before an element is closed'),
    ('<a>\n<b>\n', 'line 3, column 1: not valid XML: the text is empty, or ends before an '
                  'element is closed, which begins in line 2'),
    ('<a>\n<b>\n</a>', 'another element is to be closed first, which begins in line 2'),
    ('<a><b', 'the text ends within a tag or comment'),
    ('<a b=1/>', 'values stand in quotes'),
    ('<a b="c & d"/>', 'written as &amp;'),
    ('<a b="c &d; e"/>', '& is written as &amp;'),
    ('<a b="" b=""/>', 'an attribute stands twice'),
    ('<a/><b/>', 'keep one <robot>'),
    ('hello', 'is this a URDF, or the path of one?'),
])
def test_what_is_no_xml_is_named_by_its_cause(text, cause):
    with pytest.raises(hd.HodynError, match='not valid XML: ') as error:
        read_xml(text, 'some.urdf')
    assert cause in str(error.value)
