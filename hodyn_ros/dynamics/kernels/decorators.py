"""Decorators that compile kernels; all allow fused multiply-adds for a + b × c."""
from collections.abc import Callable
import inspect
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from hodyn_ros.common.arrays import check_kind
from hodyn_ros.common.jit import njit

kernel = njit(fastmath={'contract'})
"""Compiles a separate function, called from Python or from other kernels.

It keeps the interpreter's lock. A call of a microsecond that released the lock might wait
milliseconds to get it back, and threads that share a handle would mix up its scratch memory.
"""
batch_kernel = njit(fastmath={'contract'}, nogil=True)
"""Compiles a kernel for many motions, called from Python: other threads run meanwhile."""


class _Step(CPUDispatcher):
    """A compiled function that Python cannot call: numba's own call would jump to address 0."""

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f'{self.py_func.__name__} is only for compiled code')


def step(function: Callable[..., Any]) -> Any:
    """Decorate part of a kernel: the compiler copies it into its caller, so it costs no call.

    Python cannot call it: leaving out the entry for Python saves a sixth of the time to compile.
    """
    compiled = _part(function)
    if isinstance(compiled, CPUDispatcher):  # else numba is switched off
        compiled.__class__ = _Step
    return compiled


_part = njit(fastmath={'contract'}, forceinline=True, no_cpython_wrapper=True)
inlined = njit(fastmath={'contract'}, inline='always')
"""Inlines a function before types are inferred, so passing views of arrays to it is free too."""

if TYPE_CHECKING or numba.config.DISABLE_JIT:
    def not_inlined() -> None:
        """Keep the function that calls this from being copied into its caller.

        A copy would be compiled again, and round differently.
        """
else:
    @intrinsic
    def not_inlined(typing: Any) -> Any:
        """Keep the compiled function that calls this from being copied into its caller."""
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.function.attributes.add('noinline')
            return context.get_dummy_value()

        return types.void(), lower

_preparing = threading.Lock()


def prepare(compiled: Any, *arguments: Any) -> None:
    """Compile a kernel, whose last arguments are `q` and `out`, for arguments like these.

    Afterwards other argument types raise TypeError. Without this, numba would compile again for a
    list or a strided view, which takes seconds, in the middle of a loop.
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

    # A private name: if numba renames it, numba's own message remains.
    compiled._explain_matching_error = refuse
