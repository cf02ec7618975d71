"""Tables as the commands print them: nothing of them is cut, however narrow the terminal."""
from rich import box
from rich.console import Console
from rich.table import Table

_PIPE_WIDTH = 200  # where there is no terminal to ask


class PipeConsole(Console):
    """A console that leaves to the caller what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        """Go on with the error; rich would end the process with code 1, which is an answer."""
        raise


def make_console(*, stderr: bool = False) -> Console:
    """Return where to print to: a terminal, or what reads the output."""
    console = PipeConsole(stderr=stderr, highlight=False)
    if console.is_terminal:
        return console
    return PipeConsole(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def make_table(*headings: str, left: tuple[str, ...] = ()) -> Table:
    """Return a table to be filled: numbers stand to the right, the first column and `left` not.

    What does not fit beside the other columns goes on in the next line.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(
            heading, justify='left' if i == 0 or heading in left else 'right', overflow='fold')
    return table
