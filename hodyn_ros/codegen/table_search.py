"""C for springs given as tables: the tables, and the search for a torque in them.

The C of `actuators.springs.solve_table` is written by hand, since its loops cannot run on
expressions. The function inside the loops, `on_piece`, is generated.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hodyn_ros.actuators import Actuators, TabulatedSpring, springs
from hodyn_ros.actuators.laws import TABLE_COLUMNS
from hodyn_ros.codegen.c_text import Language, comment, initializer, operations
from hodyn_ros.codegen.expressions import Graph
from hodyn_ros.codegen.tracing import Leaf, on_expressions

POINT = 'at'
"""Name, in C, of the point that the search has found."""


def found_point(actuators: Actuators, joint: int) -> str:
    """Return the statement that finds the point of a joint's curve at the joint's torque."""
    name, rows = _names(actuators)[joint], np.diff(actuators.table_rows)[joint]
    return f'const table_point {POINT} = solve_table({name}, {rows}, torque[0][{joint}]);'


def search_operations(rows: int) -> int:
    """Return the largest number of operations of the search."""
    halvings = int(np.ceil(np.log2(rows - 1)))
    # In addition to the operations on the piece, a step compares, divides and halves.
    return halvings + 5 + springs.MAX_STEPS * (operations(_on_piece()) + 7)


def table_text(actuators: Actuators, language: Language) -> Iterator[str]:
    """Yield the lines of the tables and of the function that searches them, if there are any."""
    names = _names(actuators)
    if not names:
        return
    yield from ('', *comment(
        'Springs given as tables. A row is a piece of the curve: deflection and torque at its '
        'start, and the coefficients of x, x^2 and x^3, with x the deflection from the start.'))
    for name in dict.fromkeys(names.values()):
        joints = [joint for joint, its_name in names.items() if its_name == name]
        first, last = actuators.table_rows[joints[0]:joints[0] + 2]
        yield from comment(', '.join(actuators.names[joint] for joint in joints))
        yield f'static const {language.type} {name}[{last - first}][{TABLE_COLUMNS}] = {{'
        for row in actuators.tables[first:last]:
            yield from initializer([language.number(value) for value in row], '},')
        yield '};'
    yield from _search(language)


def _names(actuators: Actuators) -> dict[int, str]:
    """Return, by joint, the names in C of the joints' tables; equal tables share a name."""
    names: dict[bytes, str] = {}
    return {
        i: names.setdefault(joint.law.table.tobytes(), f'table_{i}')
        for i, joint in enumerate(actuators.joints) if isinstance(joint.law, TabulatedSpring)}


def _on_piece() -> Leaf:
    """Return the rise of the torque since the start of a piece, and the slope."""
    graph = Graph()
    table = graph.variables('piece', TABLE_COLUMNS)[np.newaxis]
    reached, slope, _ = on_expressions(springs.on_piece)(table, 0, graph.variable('x'))
    return Leaf((('reached', reached), ('slope', slope)))


def _search(language: Language) -> Iterator[str]:
    number, zero, half = language.type, language.number(0.0), language.number(0.5)
    digits = np.finfo(np.float32).eps / np.finfo(float).eps if language.single else 1.0
    close = language.number(float(f'{digits * springs.CLOSE:.2g}'))
    yield from (
        '',
        'typedef struct {',
        f'    const {number} *piece;',
        f'    {number} x;',
        '} table_point;',
        '',
        *comment(
            "Find the point of a curve with this torque: the piece by bisection, x by Newton's "
            'method within bounds. Beyond the table this is some point of its outermost piece.'))
    yield from f"""\
static table_point solve_table(const {number} (*table)[{TABLE_COLUMNS}], int rows, {number} torque)
{{
    int low = 0, high = rows - 1, step;
    {number} left = {zero}, right, x, wanted, rise;
    const {number} *piece;
    table_point at;
    while (high - low > 1) {{
        const int middle = low + (high - low) / 2;
        if (table[middle][1] <= torque) {{
            low = middle;
        }} else {{
            high = middle;
        }}
    }}
    piece = table[low];
    wanted = torque - piece[1];
    rise = table[low + 1][1] - piece[1];
    right = table[low + 1][0] - piece[0];
    x = right * wanted / rise;
    for (step = 0; step < {springs.MAX_STEPS}; ++step) {{
        {number} reached, slope, excess;""".splitlines()
    yield from (f'        {line}' for line in language.statements(_on_piece()))
    yield from f"""\
        excess = reached - wanted;
        if (excess > {zero}) {{
            right = x;
        }} else {{
            left = x;
        }}
        x -= excess / slope;
        if (!(left <= x && x <= right)) {{
            x = {half} * (left + right);
        }}
        if ({language.function('fabs')}(excess) <= {close} * rise) {{
            break;
        }}
    }}
    at.piece = piece;
    at.x = x;
    return at;
}}""".splitlines()
