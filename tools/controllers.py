"""A controller of a Panda that starts at home, run cycle by cycle."""
import numpy as np

from hodyn_ros.feedforward.controller import ControllerSettings, FeedforwardController
from hodyn_ros.reference import fit_plan

MS = 1_000_000
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def controller_at_home(feedforward, **options):
    return FeedforwardController(feedforward, HOME, 0, ControllerSettings(**options))


def plan_to(controller, goal, seconds, start):
    return fit_plan([seconds], [goal], start=controller.reference.state_at(start))


def run(controller, first, last, step=MS, measured=None):
    """Evaluate from first to last (ns); return the references (T, 5, n) and outputs (T, 3, n)."""
    q, output = [], []
    for now in range(first, last, step):
        controller.evaluate(now, measured)
        q.append(controller.q.copy())
        output.append(controller.output.copy())
    return np.array(q), np.array(output)


def assert_is_its_own_integral(values, dt, tolerance):
    """Each row is the derivative of the one above, between all samples: so there is no step."""
    for k in range(values.shape[1] - 1):
        change = np.diff(values[:, k], axis=0)
        mean = 0.5 * (values[1:, k + 1] + values[:-1, k + 1]) * dt
        scale = max(1.0, np.abs(values[:, k]).max())
        assert np.abs(change - mean).max() <= tolerance * scale, f'order {k}'
