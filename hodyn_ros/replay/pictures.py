"""The pictures of a report."""
import io

from matplotlib.figure import Figure

from hodyn_ros.replay import plots
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.robot import Robot


def pictures(result: Replay, robot: Robot) -> list[tuple[str, str, bytes]]:
    """Return name, title and PNG of each picture of a replay."""
    return [(name, title, _png(draw(result, robot))) for name, title, draw in (
        ('torque', 'Predicted and recorded effort', plots.torque_figure),
        ('friction', 'Friction and residual over velocity', plots.friction_figure),
        ('torque_rates', 'Torque rates, with bands of two standard deviations',
         plots.rate_figure),
        ('spectrum', 'Spectrum of prediction minus recorded effort', plots.spectrum_figure))]


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format='png', dpi=110, pil_kwargs={'compress_level': 3})
    return buffer.getvalue()
