"""The keys of a robot file that describe its drives: lists with one entry a joint."""
import numpy as np
import pytest
from random_robots import random_mapping

from hodyn_ros import load_robot
from hodyn_ros.robot.files import robot_keys


def mapping(**keys):
    return {**random_mapping(np.random.default_rng(3), 2), **keys}


def test_they_follow_the_bodies_as_they_are_listed():
    data = robot_keys('panda')
    for body in data['bodies']:
        if body['parent'] != -1:
            body['parent'] = data['bodies'][body['parent']]['name']
    data['bodies'] = data['bodies'][::-1]
    values = np.arange(1.0, 8.0)
    del data['limits']
    robot = load_robot({
        **data, 'rotor_inertia': values, 'effort_gain': -values,
        'friction': {'law': 'sigmoid', 'amplitude': values, 'slope': values,
                     'velocity_offset': values, 'viscous': values}})
    for found in (robot.rotor_inertia, -robot.effort_gain, robot.friction.viscous):
        np.testing.assert_array_equal(found, values[::-1])


@pytest.mark.parametrize(('keys', 'text'), [
    ({'rotor_inertia': [0.1, -0.2]}, "key 'rotor_inertia': joint 'joint1': is below 0"),
    ({'rotor_inertia': [0.1]}, "key 'rotor_inertia'"),
    ({'rotor_inertia': [0.1, 0.2], 'actuators': {}}, 'the motors in key actuators'),
    ({'effort_gain': [0.0, 1.0]}, "key 'effort_gain': joint 'joint0': is 0"),
    *(({'friction': {
        'law': 'sigmoid', 'amplitude': [1, 1], 'slope': [1, 1], 'velocity_offset': [-1, 0],
        'viscous': [0, 0], key: [0.0, -2.5]}},
       f"friction, key '{key}': joint 'joint1': -2.5 is below 0: such friction would drive")
      for key in ('amplitude', 'slope', 'viscous')),
])
def test_wrong_ones_are_refused(keys, text):
    with pytest.raises(ValueError, match=text):
        load_robot(mapping(**keys))
