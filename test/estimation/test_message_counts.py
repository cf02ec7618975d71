"""Each message is counted once, and what is said of it is true: fast."""
import pytest

from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.messages.bag_contents import LostMessages

pytestmark = pytest.mark.fast


def counts(used, *losses, unusable=None, in_part=None, notes=()):
    unusable = unusable or {}
    known = sum(loss.messages or 0 for loss in losses)
    return MessageCounts(
        '/joint_states', used + known + sum(unusable.values()), used, unusable, losses,
        in_part or {}, notes)


def test_of_a_whole_bag_nothing_is_lost():
    found = counts(9, unusable={'stamp out of order': 2}, in_part={'no effort': 3}, notes=('New',))
    assert (found.lost_messages, found.all_known, found.damage) == (0, True, '')
    assert found.sentences == [
        '9 of 11 messages on /joint_states are used.', 'Left out: 2 (stamp out of order).',
        'Used in part: 3 (no effort).', 'New.']
    assert found.figures == {
        'complete': True, 'damage': None, 'samples_total': 11, 'samples_used': 9,
        'samples_left_out': {'stamp out of order': 2}, 'samples_lost': [],
        'samples_used_in_part': {'no effort': 3}, 'notes': ['New']}


def test_what_is_lost_is_told_as_far_as_it_is_known():
    some, more = LostMessages('a.mcap', '', 'cut off', 4), LostMessages('b.mcap', '', 'cut off', 3)
    unknown = LostMessages('c.mcap', '', 'cut off')
    none = LostMessages('d.mcap', '', 'cut off', 0)
    name = 'messages on /joint_states'
    for losses, said, total in (
            ((some,), f'4 of 9 {name} are', 9), ((some, more), f'7 of 12 {name} are', 12),
            ((none,), f'0 of 5 {name} are', 5),
            ((some, unknown), f'5 {name} were read, and at least 4 others are', 9),
            ((unknown,), f'5 {name} were read, and an unknown number of others are', 5)):
        found = counts(5, *losses)
        assert found.damage.startswith(f'{said} lost: {losses[0]}')
        assert found.lost_messages == total - 5
        assert found.all_known == (unknown not in losses)
        assert found.figures['damage'] == found.damage
        assert not found.figures['complete']
        assert [one['messages'] for one in found.figures['samples_lost']] == [
            one.messages for one in losses]
        of = 'the 5 messages read' if unknown in losses else f'{total} messages'
        assert found.sentences == [
            f'5 of {of} on /joint_states are used.',
            f'The bag is damaged: {found.damage}.']


@pytest.mark.parametrize(('places', 'more'), [(1, 0), (10, 0), (11, 1), (35, 25)])
def test_of_many_places_ten_are_listed(places, more):
    losses = [LostMessages(f'{k:02}.mcap', '', 'cut off', 1) for k in range(places)]
    damage = counts(5, *losses).damage
    assert sum(loss.file in damage for loss in losses) == places - more
    assert damage.endswith(f'; and {more} more places') == bool(more)


def test_counts_that_do_not_add_up_are_refused():
    with pytest.raises(AssertionError):
        MessageCounts('/joint_states', 9, 8, {}, (), {}, ())
