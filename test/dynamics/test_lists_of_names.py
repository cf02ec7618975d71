"""Arguments that are lists of names: one string in their place is not read letter by letter."""
import numpy as np
import pytest

import hodyn_ros as hd


@pytest.mark.parametrize(('names', 'message'), [
    ('link1', r"moved_joints 'link1': expected a list of names, such as \['link1'\]"),
    (7, 'moved_joints 7: expected a list of names'),
    ([1], 'moved_joints: expected names, got 1')])
def test_what_is_no_list_of_names_is_refused_with_words(panda, names, message):
    with pytest.raises(hd.HodynError, match=message):
        hd.hybrid_dynamics(panda, np.zeros((2, panda.n)), np.zeros((1, panda.n)), names)


def test_one_string_in_place_of_names_is_refused_by_plans_and_actuators(panda):
    with pytest.raises(hd.HodynError, match=r"names 'ab': .* such as \['ab'\]"):
        hd.fit_plan([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]], names='ab')
    with pytest.raises(hd.HodynError, match=r"locked 'finger': .* such as \['finger'\]"):
        hd.with_actuators(panda, {'actuators': {
            name: {'law': 'rigid', 'motor': {'inertia': 1.0}} for name in panda.joint_names}},
            locked='finger')
