"""What replay and identify say of each recording with a mistake."""
import json

import pytest
from spoiled_recordings import SPOILED, contains


@pytest.mark.usefixtures('undrawn')
@pytest.mark.parametrize(('row', 'command'), [
    pytest.param(row, command, id=f'{row.name}-{command}', marks=(
        pytest.mark.siege if len(row.commands) > 1 and command != row.commands[index % 2] else ()))
    for index, row in enumerate(SPOILED) for command in row.commands])
def test_replay_and_identify_name_the_mistake_and_no_other(tmp_path, capsys, row, command):
    code, said = row.printed(command, tmp_path, capsys)
    assert code == (row.code if command == 'identify' else 0)
    assert ('nothing is identified' in said) == (code == 2)
    for words in row.said:
        assert contains(said, words), said
    for words in row.unsaid:
        assert not contains(said, words), said
    if command == 'identify' and code == 0:
        summary = json.loads((tmp_path / 'out/identification.json').read_text())
        findings, = [one['findings'] for one in summary['recordings']]
        assert [contains(one, row.said[0]) for one in findings] == (
            [True] * bool(row.said))
