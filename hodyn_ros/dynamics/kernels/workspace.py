"""Array views without reference counting, to cut a kernel's workspace into its arrays.

For each view of an array, numba counts references with atomic instructions. In kernels that take
many small views this costs a third of the time. The owner of an uncounted view must outlive the
view, as the arguments of a kernel do.
"""
from typing import TYPE_CHECKING, Any

import numba as nb
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic
from numba.np import arrayobj as _arrayobj
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import step
from hodyn_ros.robot import HodynError

_CACHE_LINE = 8  # doubles

cgutils: Any = _cgutils  # numba has no type stubs for its internals
arrayobj: Any = _arrayobj
types: Any = nb.types


def _borrow(typing: Any, array: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), lower


def _cut(typing: Any, memory: Any, start: Any, shape: Any) -> Any:
    result = types.Array(memory.dtype, len(shape), 'C')

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(memory)(context, builder, arguments[0])
        sizes = cgutils.unpack_tuple(builder, arguments[2])
        width = context.get_abi_sizeof(context.get_data_type(memory.dtype))
        strides = [context.get_constant(types.intp, width)]
        for size in reversed(sizes[1:]):
            strides.insert(0, builder.mul(strides[0], size))
        view = context.make_array(result)(context, builder)
        arrayobj.populate_array(
            view, data=builder.gep(source.data, [arguments[1]]), shape=sizes, strides=strides,
            itemsize=source.itemsize, meminfo=None)
        return view._getvalue()

    return result(memory, types.intp, types.UniTuple(types.intp, len(shape))), lower


def aligned_zeros(size: int) -> Array:
    """Return zeros aligned to cache lines, since a load across two lines is slow."""
    room = np.zeros(size + _CACHE_LINE)
    start = -room.ctypes.data // room.itemsize % _CACHE_LINE
    return room[start:start + size]


if TYPE_CHECKING or nb.config.DISABLE_JIT:
    def borrowed(array: Array) -> Array:
        """Return the same array as a view without reference counting."""
        return array

    def block(memory: Array, start: int, shape: tuple[int, ...]) -> Array:
        """Return a contiguous array of this shape that starts at memory[start]; unchecked."""
        return memory[start:start + int(np.prod(shape))].reshape(shape)
else:
    borrowed, block = intrinsic(_borrow), intrinsic(_cut)


@step
def take(memory: Array, start: int, shape: tuple[int, ...]) -> tuple[Array, int]:
    """Return `block(memory, start, shape)`, and the start of the next block."""
    array = block(memory, start, shape)
    return array, start + array.size


@step
def check_shapes(q: Array, out: Array, n: int, size: int, needed: int) -> None:
    """Raise HodynError unless q is (r + 3, n), out is (r + 1, n), and the workspace fits them.

    `size` is the size of the workspace, and `needed` the size that the order of `out` needs.
    """
    if (q.shape[0] != out.shape[0] + 2 or q.shape[1] != n or out.shape[1] != n
            or size != needed):
        raise HodynError(
            'q must be (r + 3, n) and out (r + 1, n), with r the order that this handle was '
            'made for and n the number of joints')


def new_workspace(size: Any, n_bodies: int, order: int) -> Array:
    """Return scratch memory of size(n_bodies, order) doubles.

    `size` is compiled for kernels; here its Python source runs, without the compiler.
    """
    return np.empty(getattr(size, 'py_func', size)(n_bodies, order))
