"""MCAP files: what they hold by their own summary, and by what can be found without it."""
import pytest
from recordings import FORMS, joint_state, write

from hodyn_ros.messages.mcap_file import McapFile

NAMES = ['a', 'b']
COUNTS = {'/joint_states': 30, '/other': 7, '/silent': 0}


@pytest.fixture(params=['mcap', 'mcap chunks'])
def file(request, tmp_path):
    """Return a file of three topics, one of which has no messages."""
    topics = {
        topic: [(10 ** 9 + 10 ** 6 * k, joint_state(k, NAMES, [k, k])) for k in range(count)]
        for topic, count in COUNTS.items()}
    write(tmp_path / 'bag', topics, **FORMS[request.param])
    return tmp_path / 'bag/bag.mcap'


def counted(opened):
    """Return how many messages each topic is said to have, and how many it has."""
    said = {topic.name: count for topic, count in opened.topics.items()}
    read = {topic.name: len(list(opened.read(topic))) for topic in opened.topics}
    return said, read


def test_a_whole_file_promises_what_it_holds(file):
    opened = McapFile(file)
    assert opened.counts_messages
    assert counted(opened) == (COUNTS, COUNTS)
    opened.close()


@pytest.mark.parametrize('cut', [1, 8, 37, 200])
def test_a_file_without_its_end_is_counted_and_promises_nothing(file, cut):
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    opened = McapFile(file)
    assert not opened.counts_messages
    said, read = counted(opened)
    assert said == read == COUNTS
    opened.close()


def test_a_footer_that_is_none_makes_no_promise(file):
    """Of another code, of a summary elsewhere, of one that does not add up."""
    whole = file.read_bytes()
    end = len(whole) - 8
    for at, value in (
            (end - 29, 3), (end - 20, 255), (end - 13, 9), (end - 2, whole[end - 2] ^ 1)):
        spoilt = bytearray(whole)
        spoilt[at] = value
        file.write_bytes(spoilt)
        opened = McapFile(file)
        assert not opened.counts_messages, at - end
        assert counted(opened)[0] == COUNTS
        opened.close()
