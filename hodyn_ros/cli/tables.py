"""Tables that commands print, never cut, even on narrow terminals."""
from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from hodyn_ros.robot import Robot

_PIPE_WIDTH = 200  # width of the output without a terminal, in characters


class PipeConsole(Console):
    """A console that leaves the error of a closed pipe to the caller."""

    def on_broken_pipe(self) -> None:
        """Raise the error again; rich would end with code 1, which is the code of a result."""
        raise


def make_console(*, stderr: bool = False) -> Console:
    """Return a console for a terminal or a pipe."""
    console = PipeConsole(stderr=stderr, highlight=False)
    if console.is_terminal:
        return console
    return PipeConsole(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def make_table(*headings: str, left: tuple[str, ...] = ()) -> Table:
    """Return a table to be filled: the first column and those in `left` are left-aligned.

    Text that is wider than its column continues in the next line.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(
            heading, justify='left' if i == 0 or heading in left else 'right', overflow='fold')
    return table


def units_of_prismatic(robot: Robot) -> str:
    """Return the end of a title that gives the units of prismatic joints; empty without any."""
    return '' if robot.turns.all() else ' (prismatic joints: N for N m, m for rad, kg for kg m²)'
