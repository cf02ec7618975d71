"""How the kernels are compiled: all may contract a + b × c to one fused multiply-add."""
from collections.abc import Callable
import inspect
import threading
from typing import Any, NoReturn

import numba
from numba.core.registry import CPUDispatcher

from hodyn_ros.common.arrays import check_kind
from hodyn_ros.common.jit import njit

kernel = njit(fastmath={'contract'})
"""A function of its own, called from Python or from other kernels.

It keeps the interpreter's lock: a cycle of a microsecond that gave it away would wait milliseconds
for it while another thread runs, and threads that share a handle would share its scratch memory.
"""
batch_kernel = njit(fastmath={'contract'}, nogil=True)
"""The same for many motions, called from Python: other threads run meanwhile."""


class _Step(CPUDispatcher):
    """What has no entry for Python, where numba's own call would jump to address 0."""

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f'{self.py_func.__name__} is for compiled code alone')


def step(function: Callable[..., Any]) -> Any:
    """Decorate part of a kernel: the compiler copies it into its caller, so it costs no call.

    Python cannot call it, which saves a sixth of the time to compile all of them.
    """
    compiled = _part(function)
    if isinstance(compiled, CPUDispatcher):  # else numba is switched off
        compiled.__class__ = _Step
    return compiled


_part = njit(fastmath={'contract'}, forceinline=True, no_cpython_wrapper=True)
inlined = njit(fastmath={'contract'}, inline='always')
"""The same before types are inferred, so views of arrays that are passed cost nothing either."""

_preparing = threading.Lock()


def prepare(compiled: Any, *arguments: Any) -> None:
    """Compile a kernel, whose last arguments are `q` and `out`, for arguments like these.

    From then on others are a TypeError. Numba would compile anew for a list or a strided view,
    for seconds, in the midst of a loop.
    """
    if not hasattr(compiled, 'overloads'):  # numba is switched off
        return
    typeof: Any = numba.typeof  # untyped
    signature = tuple(map(typeof, arguments))
    with _preparing:
        if signature not in compiled.overloads:
            compiled.disable_compile(False)
            compiled.compile(signature)
        compiled.disable_compile()

    def refuse(*given: Any, **named: Any) -> NoReturn:
        bound = inspect.signature(compiled.py_func).bind(*given, **named).arguments
        for name in ('q', 'out'):
            check_kind(bound[name], name)
        raise TypeError('q and out must have two axes each')

    # Private: elsewhere numba's own words remain.
    compiled._explain_matching_error = refuse
