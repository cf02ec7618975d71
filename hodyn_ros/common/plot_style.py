"""The style of all plots: colours, lines, labels and units.

The colours are by Okabe and Ito; colour-blind readers can distinguish them. The curves of a
plot also differ in dashes and lightness, so that a grey print can be read.
"""
from typing import Any

from cycler import cycler
from matplotlib import rc_context

BLACK, ORANGE, BLUE, GREEN, PURPLE, SKY, RED, GREY = (
    '#000000', '#e69f00', '#0072b2', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#7a7a7a')

GRID = '#e4e4e4'

COMPUTED, RECORDED, LIMIT = RED, SKY, BLACK
"""Colours of values computed by the model, of measured values, and of limits."""

_COLOURS = (BLUE, ORANGE, BLACK, SKY, RED, GREEN, PURPLE, GREY)
_DASHES = ('-', '-', '--', '-.', (0, (5, 1, 1, 1, 1, 1)), ':', (0, (8, 2)), (0, (3, 6)))

STYLE: dict[Any, Any] = {
    'axes.prop_cycle': (
        cycler(color=_COLOURS) + cycler(linestyle=_DASHES)).concat(
            cycler(color=_COLOURS) + cycler(linestyle=[
                _DASHES[i] for i in (2, 4, 0, 5, 3, 1, 7, 6)])),
    'axes.axisbelow': True,
    'axes.grid': True,
    'axes.spines.right': False,
    'axes.spines.top': False,
    'axes.titlelocation': 'left',
    'axes.titlesize': 'medium',
    'axes.xmargin': 0.01,
    'figure.constrained_layout.use': True,
    'figure.dpi': 110,
    'figure.figsize': (7.5, 4.2),
    'font.size': 9,
    'grid.color': GRID,
    'grid.linewidth': 0.6,
    'legend.fontsize': 8,
    'legend.frameon': False,
    'lines.linewidth': 1.5,
}
"""Settings for `matplotlib.pyplot.style.use`."""

styled = rc_context(STYLE)
"""Decorator for functions that draw and save plots."""

TIME = 'time (s)'
MOTION = ('position (rad)', 'velocity (rad/s)', 'acceleration (rad/s²)', 'jerk (rad/s³)',
          'snap (rad/s⁴)')
TORQUES = ('torque Q (N m)', 'torque rate Q̇ (N m/s)', 'Q̈ (N m/s²)')
"""Labels of axes, in the order of the derivatives."""
