"""Changes of a recording that make the mistakes of drivers, cables and files."""
import numpy as np
from recordings import PANDA

from hodyn_ros.feedforward import FeedForward

STIFFNESS = 150.0  # N m/rad, of the springs of the elastic Panda
FRICTION = np.array([1.0, 0.3, 0.2, 0.05])  # of the arm on a slide
WALL = PANDA.with_base_pose(
    np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]]))
TILT = np.radians(15.0)  # about y
TILTED = PANDA.with_base_pose(np.array([
    [np.cos(TILT), 0, np.sin(TILT), 0], [0, 1, 0, 0], [-np.sin(TILT), 0, np.cos(TILT), 0],
    [0, 0, 0, 1]]))


def unchanged(recording):
    """Change nothing."""


def scaled(joint=slice(None), **factors):
    """Return a change that multiplies the columns of one or all joints in arrays."""
    def change(recording):
        for name, factor in factors.items():
            getattr(recording, name)[:, joint] *= factor
    return change


def shifted(**angles):
    """Return a change that adds angles to the positions of joints."""
    def change(recording):
        for name, angle in angles.items():
            recording.position[:, recording.names.index(f'fer_{name}')] += angle
    return change


def late(*joints):
    """Return a change that delays the efforts of joints by 0.1 s."""
    def change(recording):
        recording.effort[10:, joints] = recording.effort[:-10, joints]
    return change


def stalled(*messages, pause=0.022):
    """Return a change after which a driver stalls: it sends states twice more, `pause`, s, later.

    Then it goes on as before, and all later stamps are late.
    """
    def change(recording):
        period = int(np.median(np.diff(recording.stamp)))
        for at in messages:
            late = np.where(np.arange(len(recording.stamp)) > at, int(1e9 * pause) - period, 0)
            late[at + 2] -= period - 170_000
            recording.stamp, recording.received = recording.stamp + late, recording.received + late
            for values in (recording.position, recording.velocity, recording.effort):
                values[at + 1:at + 3] = values[at]
    return change


def offset(*efforts):
    """Return a change that adds constants to the efforts of the joints."""
    def change(recording):
        recording.effort += np.array(efforts)
    return change


def standing(joint, positions):
    """Return a change after which a joint has these positions, and no velocity."""
    def change(recording):
        recording.position[:, joint], recording.velocity[:, joint] = positions, 0.0
    return change


def following(sign):
    """Return a change that adds the pointer's joint, at its due position or at the opposite."""
    def change(recording):
        due = -1.1 * recording.position[:, 3] + 0.05
        recording.names = [*recording.names, 'pointer_joint']
        for name, column in (
                ('position', sign * due), ('velocity', -1.1 * recording.velocity[:, 3]),
                ('effort', 0.0 * due)):
            setattr(recording, name, np.column_stack([getattr(recording, name), column]))
    return change


def stretched(factor):
    """Return a change that makes all times longer by a factor."""
    def change(recording):
        begin = recording.stamp[0]
        recording.stamp = begin + (factor * (recording.stamp - begin)).astype(np.int64)
        recording.received = recording.stamp + 250_000
    return change


def frozen(recording):
    """Let the positions of the third joint stay from the half on."""
    half = len(recording.position) // 2
    recording.position[half:, 2] = recording.position[half, 2]


def resting(recording):
    """Let the positions of the third joint stay for 4 s; then they are right again."""
    recording.position[800:1200, 2] = recording.position[800, 2]


def slipped(recording):
    """Let the encoder of the third joint slip by 0.1 rad at 12 s."""
    recording.position[1200:, 2] += 0.1


def blanked(recording):
    """Set all values of messages from 8 s to 8.4 s to zero."""
    for name in ('position', 'velocity', 'effort'):
        getattr(recording, name)[800:840] = 0.0


def filtered_velocities(recording):
    """Filter the velocities by a low pass of first order with a time constant of 50 ms."""
    velocity, share = recording.velocity, 1.0 - np.exp(-1.0 / (0.05 * 100.0))
    for k in range(1, len(velocity)):
        velocity[k] = velocity[k - 1] + share * (velocity[k] - velocity[k - 1])


def biased_velocity(recording):
    """Add a constant to the velocities of the third joint."""
    recording.velocity[:, 2] += 0.15


def stuck_velocity(recording):
    """Let the velocities of the second joint stay at one value."""
    recording.velocity[:, 1] = 0.3


def exchanged(recording):
    """Exchange velocities and efforts."""
    recording.velocity, recording.effort = recording.effort, recording.velocity


def of_a_wrong_column(recording):
    """Write positions in place of velocities, and velocities in place of positions."""
    recording.position, recording.velocity = recording.velocity, recording.position


def copied(recording):
    """Write the velocities in place of the efforts."""
    recording.effort = recording.velocity


def rubbing_and_swapped(recording):
    """Swap two joints; their friction explains the efforts, whatever the order."""
    recording.effort += 20.0 * FRICTION * np.tanh(recording.velocity / 0.03)
    for values in (recording.position, recording.velocity, recording.effort):
        values[:, [0, 1]] = values[:, [1, 0]]


def renamed(recording):
    """Swap the names of two joints."""
    recording.names[1], recording.names[3] = recording.names[3], recording.names[1]


def read_at_the_motors(recording):
    """Add the deflection of springs to the positions."""
    recording.position += recording.torque[:, 0] / STIFFNESS
    recording.velocity += recording.torque[:, 1] / STIFFNESS


def mounted(robot):
    """Return a change after which the efforts are those of an arm that is mounted otherwise."""
    def change(recording):
        recording.effort += FeedForward(robot).torque(recording.q)[:, 0] - recording.torque[:, 0]
    return change


def of_no_arm(recording):
    """Replace the efforts by a random walk."""
    recording.effort = np.cumsum(
        np.random.default_rng(3).standard_normal(recording.effort.shape), axis=0)
