"""Taylor polynomials in time as numba numbers in SIMD registers, with +, − and ×.

A number is a polynomial x(t) = Σ x_k tᵏ with two to four coefficients x_k = x⁽ᵏ⁾/k! (a truncated
Taylor series). Products are Cauchy products, so a formula evaluated on such numbers yields its own
time derivatives. A kernel with such numbers reads like the kernel of order 0. The type of its
numbers determines the order and the layout:

`polynomial(count, 1)`
    one motion, its coefficients side by side in one register;
`polynomial(count, LANES)`
    several motions, a register for each coefficient, for batches;
`lanes`
    plain numbers in a register, multiplied element by element.

All can be multiplied by floats; only `lanes` can also be added to floats. The compiler splits
registers wider than the processor's, so the types serve every architecture. Numbers live inside
kernels only; `read` and `write` convert from and to arrays of doubles.
"""
from collections.abc import Callable, Sequence
import operator
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils as _cgutils
from numba.core import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable


def _lanes() -> int:
    """Return how many motions are side by side: four, or eight with the registers of AVX-512."""
    try:
        return 8 if binding.get_host_cpu_features().get('avx512f') else 4
    except RuntimeError:  # features of this processor are unknown
        return 4


cgutils: Any = _cgutils  # numba has no type stubs for its internals
LANES = _lanes()
_DOUBLE = ir.DoubleType()

Values = list[ir.Value]


class Packed(types.Type):
    """Numba's type of a number: `coefficients` in `registers` LLVM vectors of `width` doubles.

    With one coefficient it is `lanes`: plain numbers side by side.
    """

    def __init__(self, coefficients: int, registers: int, width: int) -> None:
        super().__init__(f'Packed({coefficients}, {registers}, {width})')
        self.coefficients, self.registers, self.width = coefficients, registers, width
        self.vector = ir.VectorType(_DOUBLE, width)


def polynomial_type(coefficients: int, motions: int) -> Packed:
    """Return the type of polynomials of one motion, or of several side by side."""
    if motions == 1:  # registers have 2 or 4 doubles, so three coefficients take 4
        return Packed(coefficients, 1, 2 if coefficients == 2 else 4)
    return Packed(coefficients, coefficients, motions)


def number_size(coefficients: int, motions: int) -> int:
    """Return how many doubles a polynomial takes in memory."""
    packed = polynomial_type(coefficients, motions)
    return packed.registers * packed.width


@register_model(Packed)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, packed: Packed) -> None:
        super().__init__(manager, packed, ir.ArrayType(packed.vector, packed.registers))


def split(builder: ir.IRBuilder, kind: types.Type, value: ir.Value) -> Values:
    """Return the registers of a number; a float counts as one."""
    if not isinstance(kind, Packed):
        return [value]
    return [builder.extract_value(value, k) for k in range(kind.registers)]


def join(builder: ir.IRBuilder, packed: types.Type, registers: Sequence[ir.Value]) -> ir.Value:
    """Return the number that has these registers."""
    if not isinstance(packed, Packed):
        return registers[0]
    value = ir.Constant(ir.ArrayType(packed.vector, packed.registers), ir.Undefined)
    for k, register in enumerate(registers):
        value = builder.insert_value(value, register, k)
    return value


def _shuffle(
    builder: ir.IRBuilder, a: ir.Value, b: ir.Value, lanes: Sequence[int],
) -> ir.Value:
    index = ir.VectorType(ir.IntType(32), len(lanes))
    return builder.shuffle_vector(a, b, ir.Constant(index, list(lanes)))


def _broadcast(builder: ir.IRBuilder, vector: ir.VectorType, number: ir.Value) -> ir.Value:
    undefined = ir.Constant(vector, ir.Undefined)
    single = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, single, undefined, [0] * vector.count)


def _cauchy(builder: ir.IRBuilder, packed: Packed, a: Values, b: Values) -> Values:
    """Return the product of two truncated polynomials: c_k = Σ a_j b_{k−j}."""
    if packed.registers > 1:
        result = []
        for k in range(packed.registers):
            total = builder.fmul(a[0], b[k])
            for j in range(1, k + 1):
                total = builder.fadd(builder.fmul(a[j], b[k - j]), total)
            result.append(total)
        return result
    width = packed.width
    zero = ir.Constant(packed.vector, [0.0] * width)
    terms = [builder.fmul(_shuffle(builder, a[0], zero, [0] * width), b[0])]
    for j in range(1, packed.coefficients):
        shifted = _shuffle(builder, zero, b[0], [0] * j + [width + k for k in range(width - j)])
        terms.append(builder.fmul(_shuffle(builder, a[0], zero, [j] * width), shifted))
    # A chain of fused multiply-adds: a tree would be less deep, but takes more instructions.
    total = terms.pop()
    while terms:
        total = builder.fadd(total, terms.pop())
    return [total]


_MAKE: dict[Any, Callable[..., ir.Value]] = {
    operator.add: ir.IRBuilder.fadd, operator.sub: ir.IRBuilder.fsub,
    operator.mul: ir.IRBuilder.fmul}


def combined(
    builder: ir.IRBuilder, operation: Any, kinds: Sequence[Any], operands: Sequence[Values],
) -> Values:
    """Write the code of an operator on numbers or floats, and return the result's registers."""
    packed = next((kind for kind in kinds if isinstance(kind, Packed)), None)
    if packed is not None and not all(isinstance(kind, Packed) for kind in kinds):
        operands = [
            registers if isinstance(kind, Packed)
            else [_broadcast(builder, packed.vector, registers[0])] * packed.registers
            for kind, registers in zip(kinds, operands, strict=True)]
    elif packed is not None and packed.coefficients > 1 and operation is operator.mul:
        return _cauchy(builder, packed, *operands)
    return [_MAKE[operation](builder, a, b) for a, b in zip(*operands, strict=True)]


def _overload(operation: Any, left: Any, right: Any) -> None:
    """Teach numba one operator between two operand types, of which one may be a float."""
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        operands = [split(builder, *operand) for operand in zip(kinds, arguments, strict=True)]
        return join(
            builder, signature.return_type, combined(builder, operation, kinds, operands))

    lower_builtin(operation, left, right)(lower)


def _typer(operation: Any) -> None:
    def resolve(context: Any) -> Callable[[Any, Any], Any]:
        def typer(left: Any, right: Any) -> Any:
            for packed, other in ((left, right), (right, left)):
                if isinstance(packed, Packed) and (other == packed or other == types.float64):
                    # A float added to a polynomial would land on every coefficient.
                    plain = operation is operator.mul or packed.coefficients == 1
                    if other == packed or plain:
                        return packed(left, right)
            return None
        return typer
    type_callable(operation)(resolve)


for _operation in _MAKE:
    _typer(_operation)
    for _left, _right in (
            (Packed, Packed), (Packed, types.float64), (types.float64, Packed)):
        _overload(_operation, _left, _right)


def _primitive(define: Callable[..., Any]) -> Any:
    """Apply numba's `intrinsic`; its type stub does not know that callers omit `typing`."""
    return intrinsic(define)


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> ir.Value:
    """Return the address of the first double of an array."""
    return context.make_array(kind)(context, builder, array).data


def _registers(builder: Any, packed: Packed, data: ir.Value, index: ir.Value) -> Values:
    """Return the addresses of the registers of a number that starts at an index."""
    return [
        builder.bitcast(
            builder.gep(data, [builder.add(index, index.type(k * packed.width))]),
            packed.vector.as_pointer())
        for k in range(packed.registers)
    ]


def load(builder: Any, packed: Packed, data: ir.Value, index: ir.Value) -> Values:
    """Return the registers of the number at an index of an array, whose address is `data`."""
    return [
        builder.load(address, align=8) for address in _registers(builder, packed, data, index)]


def store(
    builder: Any, packed: Packed, data: ir.Value, index: ir.Value, registers: Values, *,
    known: bool = False,
) -> None:
    """Write a number at an index of an array; with `known`, without its last coefficient.

    After `derivative` this coefficient is undefined. Numbers in one register are written whole.
    """
    kept = max(1, packed.registers - known)
    for register, address in zip(
            registers[:kept], _registers(builder, packed, data, index), strict=False):
        builder.store(register, address, align=8)


@_primitive
def read(typing: Any, memory: Any, index: Any, like: Any) -> Any:
    """Return the number of the type of `like` that starts at memory[index], unchecked."""
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, memory, arguments[0])
        return join(builder, like, load(builder, like, data, arguments[1]))

    return like(memory, types.intp, like), lower


def _writer(known: bool) -> Any:
    def write(typing: Any, memory: Any, index: Any, value: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, start, number = arguments
            data, registers = (
                data_of(context, builder, memory, array), split(builder, value, number))
            store(builder, value, data, start, registers, known=known)
            return context.get_dummy_value()

        return types.void(memory, types.intp, value), lower
    return _primitive(write)


# Store a number from memory[index] on, unchecked; `write_known` is for results of `derivative`.
write, write_known = _writer(False), _writer(True)


@_primitive
def write_motions(
    typing: Any, numbers: Any, out: Any, start: Any, apart: Any, last: Any,
) -> Any:
    """Write a tuple of `LANES` numbers motion by motion, the first motion's from out[start] on.

    The numbers of each next motion begin `apart` further on. Lanes beyond `last` are written to
    the place of motion `last`, so they must repeat its values.
    """
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        group, target, first, distance, end = arguments
        registers = [
            split(builder, kind, value)[0] for kind, value in zip(
                numbers.types, cgutils.unpack_tuple(builder, group), strict=True)]
        data, index, half = data_of(context, builder, out, target), first.type, LANES // 2
        vector = ir.VectorType(_DOUBLE, half)
        # Transpose blocks of 2 × 2, 4 × 4, …; the last step stores half registers, because fewer
        # of these cross a cache line.
        step = 1
        while step < half:
            low = [lane + (LANES - step) * bool(lane & step) for lane in range(LANES)]
            high = [lane + (LANES if lane & step else step) for lane in range(LANES)]
            for k in range(LANES):
                if not k & step:
                    pair = registers[k], registers[k + step]
                    registers[k], registers[k + step] = (
                        _shuffle(builder, *pair, lanes) for lanes in (low, high))
            step *= 2
        for motion in range(LANES):
            within = builder.icmp_signed('<', index(motion), end)
            row = builder.select(within, index(motion), end)
            place = builder.add(first, builder.mul(distance, row))
            begin = motion // half * half
            for register in registers[motion % half::half]:
                part = _shuffle(builder, register, register, range(begin, begin + half))
                address = builder.gep(data, [place])
                builder.store(part, builder.bitcast(address, vector.as_pointer()), align=8)
                place = builder.add(place, index(half))
        return context.get_dummy_value()

    return types.void(numbers, out, types.intp, types.intp, types.intp), lower


def gather(builder: Any, packed: Packed, numbers: Values) -> Values:
    """Return the register that holds these doubles, filled up with zeros."""
    register = ir.Constant(packed.vector, [0.0] * packed.width)
    for k, number in enumerate(numbers):
        register = builder.insert_element(register, number, ir.Constant(ir.IntType(32), k))
    return [register]


def _zero(packed: Packed, *arguments: types.Type) -> Any:
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(ir.ArrayType(packed.vector, packed.registers), None)

    return packed(*arguments), lower


@_primitive
def polynomial(typing: Any, coefficients: Any, motions: Any) -> Any:
    """Return the polynomial 0; both arguments must be compile-time constants."""
    if not all(isinstance(count, types.IntegerLiteral) for count in (coefficients, motions)):
        return None
    packed = polynomial_type(coefficients.literal_value, motions.literal_value)
    return _zero(packed, coefficients, motions)


@_primitive
def lanes(typing: Any, width: Any) -> Any:
    """Return `width` zeros side by side; the width must be a compile-time constant."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    return _zero(Packed(1, 1, width.literal_value), width)


@_primitive
def size(typing: Any, like: Any) -> Any:
    """Return how many doubles a number takes in memory."""
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.IntType(64)(like.registers * like.width)

    return types.int64(like), lower


def derivative(builder: Any, packed: Packed, registers: Values) -> Values:
    """Return the registers of the time derivative, whose last coefficient is undefined."""
    width, zero = packed.width, ir.Constant(packed.vector, [0.0] * packed.width)
    if packed.registers > 1:
        return [*(
            builder.fmul(registers[k], ir.Constant(packed.vector, [float(k)] * width))
            for k in range(1, packed.registers)), zero]
    factors = ir.Constant(packed.vector, [*map(float, range(1, width)), 0.0])
    return [builder.fmul(_shuffle(builder, registers[0], zero, range(1, width + 1)), factors)]


@_primitive
def integral(typing: Any, value: Any) -> Any:
    """Return the integral over time from 0."""
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        registers = split(builder, value, arguments[0])
        width, zero = value.width, ir.Constant(value.vector, [0.0] * value.width)
        if value.registers > 1:
            return join(builder, value, [zero, *(
                builder.fmul(registers[k - 1], ir.Constant(value.vector, [1.0 / k] * width))
                for k in range(1, value.registers))])
        factors = ir.Constant(value.vector, [0.0, *(1.0 / k for k in range(1, width))])
        shifted = _shuffle(builder, zero, registers[0], [0, *range(width, 2 * width - 1)])
        return join(builder, value, [builder.fmul(shifted, factors)])

    return value(value), lower
