"""What a function says of each of many things, in a process of its own that may hang or die."""
from collections.abc import Callable, Iterable, Iterator
import multiprocessing
from multiprocessing.connection import Connection
import time
import traceback
from typing import Any, NamedTuple
import warnings


class Answer(NamedTuple):
    """How one thing went.

    `kind` is 'right', 'refused' (a line of a HodynError), 'wrong' (no line, or what was found of
    it), 'crash' (another error, or the end of the process) or 'hang'.
    """

    thing: Any
    kind: str
    said: str
    seconds: float
    warned: list[str]


def answers(
    things: Iterable[Any], load: Callable[[Any], Any], judge: Callable[[Any, Any], str],
    seconds: float = 5.0,
) -> Iterator[Answer]:
    """Yield an answer for each thing.

    Parameters
    ----------
    things : iterable
        What is asked about.
    load : callable
        Takes one and returns what is judged, within the time; what it may raise is a HodynError
        of one line, or FileNotFoundError.
    judge : callable
        Takes one and what was loaded, and returns figures; raises AssertionError if it is wrong.
    seconds : float
        That a load may take.

    """
    worker: _Worker | None = None
    for thing in things:
        worker = worker or _Worker(load, judge)
        kind, said, took, warned = worker.answer(thing, seconds)
        if kind in ('hang', 'crash') and worker.stop_if_bad(kind):
            worker = None
        yield Answer(thing, kind, said, took, warned)
    if worker:
        worker.stop()


class _Worker:
    def __init__(self, load: Callable[[Any], Any], judge: Callable[[Any, Any], str]) -> None:
        context = multiprocessing.get_context('fork')
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, load, judge), daemon=True)
        self._process.start()
        theirs.close()

    def answer(self, thing: Any, seconds: float) -> tuple[str, str, float, list[str]]:
        began = time.monotonic()
        self._ours.send(thing)
        try:
            if not self._ours.poll(seconds):
                return 'hang', f'no answer in {seconds:g} s', seconds, []
            kind, said, warned = self._ours.recv()
            took = time.monotonic() - began
            if kind == 'loaded':
                if not self._ours.poll(120.0):
                    return 'hang', 'what was loaded computes nothing in 120 s', took, warned
                kind, said, _ = self._ours.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(5.0)
            return 'crash', f'the process ended with {self._process.exitcode}', 0.0, []
        return kind, said, took, warned

    def stop_if_bad(self, kind: str) -> bool:
        if kind == 'hang' or not self._process.is_alive():
            self.stop()
            return True
        return False

    def stop(self) -> None:
        self._process.kill()
        self._process.join()


def _serve(
    pipe: Connection, load: Callable[[Any], Any], judge: Callable[[Any, Any], str],
) -> None:
    while True:
        try:
            thing = pipe.recv()
        except EOFError:
            return
        loaded = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            try:
                loaded = load(thing)
                kind, said = 'loaded', ''
            except Exception as error:
                kind, said = _refusal(error)
        warned = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
        odd = [one for one in caught if not issubclass(one.category, UserWarning)]
        if kind == 'loaded' and odd:
            kind, said = 'wrong', f'{odd[0].category.__name__}: {odd[0].message}'
        pipe.send((kind, said, warned))
        if kind != 'loaded':
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                said, kind = judge(thing, loaded), 'right'
        except AssertionError as fault:
            kind, said = 'wrong', str(fault)
        except Exception as error:
            kind, said = _refusal(error)
            kind = 'wrong' if kind == 'refused' else kind
        pipe.send((kind, said, []))


def _refusal(error: Exception) -> tuple[str, str]:
    from hodyn_ros.common.errors import HodynError

    said = str(error)
    if not isinstance(error, (HodynError, FileNotFoundError)):
        return 'crash', ' '.join(''.join(traceback.format_exception(error)[-3:]).split())
    if not said or '\n' in said or len(said) > 2000:
        return 'wrong', f'no line: {said[:200]!r} … of {len(said)} characters'
    return 'refused', said
