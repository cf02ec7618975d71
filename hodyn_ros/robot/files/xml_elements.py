"""XML of robot files: elements with their lines, of limited size and depth.

A URDF may come from anywhere, even over a topic. A DOCTYPE is refused, so no entity is expanded.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
import math
import re
from typing import NoReturn
import warnings
from xml.parsers import expat

from hodyn_ros.common.errors import HodynError, did_you_mean
from hodyn_ros.robot.files.checked_mapping import LARGEST

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64

_BLANK = re.compile(r'[\ufeff \t\r\n]*')
_NAME = re.compile(r'<([^\s<>/!?]+)')
_ENDS = {'<!--': '-->', '<?': '?>', '<!': '>'}
"""How comments, instructions and declarations before the first element start and end."""


def first_tag(text: str) -> str | None:
    """Return the name of a text's first XML element, or None, in time linear in its length."""
    at = 0
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
        start = next((start for start in _ENDS if text.startswith(start, at)), None)
        if start is None:
            found = _NAME.match(text, at)
            return found and found[1]
        end = text.find(_ENDS[start], at + len(start))
        if end < 0:
            return None
        at = end + len(_ENDS[start])


@dataclass(eq=False, slots=True)
class Element:
    """One element, with its attributes as text."""

    tag: str  #: Its name
    attributes: dict[str, str]  #: By name
    line: int  #: Its first line, counted from 1
    at: int  #: Index of its first byte in the UTF-8 text without a byte order mark
    #: The element around it; for the first element, the name of the source in messages
    parent: Element | str
    children: list[Element] = field(default_factory=list)  #: In their order

    @property
    def place(self) -> str:
        """The place for messages: source, line, named elements around this one, and this one."""
        names: list[str] = []
        at: Element | str = self
        while isinstance(at, Element):
            if 'name' in at.attributes and isinstance(at.parent, Element):
                names.insert(0, f', {at.tag} {at.attributes["name"]!r:.200}')
            at = at.parent
        element = '' if 'name' in self.attributes else f', <{self.tag}>'
        return f'{at}, line {self.line}{"".join(names)}{element}'

    def fail(self, message: str) -> NoReturn:
        """Raise HodynError that names the place."""
        raise HodynError(f'{self.place}: {message}')

    def warn(self, message: str) -> None:
        """Warn, naming the place."""
        warnings.warn(f'{self.place}: {message}', stacklevel=3)

    def all(self, tag: str) -> list[Element]:
        """Return the children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str, known: tuple[str, ...] | None = None) -> Element | None:
        """Return the child with this tag, or None; raises HodynError if there are two.

        If `known` is given, other attributes of the child are refused, except attributes with a
        prefix, such as `tool:name`, which belong to other programs.
        """
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f'occurs twice, also in line {found[0].line}; keep one')
        if not found:
            return None
        for name in () if known is None else found[0].attributes:
            if name not in (known or ()) and ':' not in name:
                found[0].fail(
                    f'unknown attribute {name!r:.60}; known are {", ".join(known or ())}'
                    f'{did_you_mean(name[:60], known or ())}')
        return found[0]

    def text(self, name: str) -> str:
        """Return a required attribute."""
        value = self.attributes.get(name)
        if not value:
            self.fail(f'attribute {name!r} is missing')
        return value

    def numbers(
        self, name: str, count: int, default: list[float] | None = None, *, finite: bool = True,
    ) -> list[float]:
        """Return the numbers in an attribute; infinite ones only if `finite` is false."""
        if default is not None and name not in self.attributes:
            return default
        text = self.text(name)
        try:
            values = [_number(word) for word in text.split()]
        except ValueError:
            values = []
        if '${' in text or '$(' in text:
            self.fail(
                f'{name} is {text!r:.60}, which xacro has not expanded: run xacro robot.xacro > '
                'robot.urdf, with all arguments that it needs')
        if len(values) != count:
            wanted = 'a number' if count == 1 else f'{count} numbers'
            self.fail(f'{name} is {text!r:.60}, expected {wanted}')
        if not all(map(math.isfinite, values)) and (finite or any(map(math.isnan, values))):
            self.fail(f'{name} is {text!r:.60}, not finite')
        if finite and any(abs(value) > LARGEST for value in values):
            self.fail(f'{name} is {text!r:.60}, beyond {LARGEST:g}, in SI units')
        return values

    def number(self, name: str, default: float | None = None, *, finite: bool = True) -> float:
        """Return an attribute that is one number."""
        return self.numbers(
            name, 1, None if default is None else [default], finite=finite)[0]

    def __iter__(self) -> Iterator[Element]:
        """Yield the element and all elements in it."""
        yield self
        for child in self.children:
            yield from child


_UNCLOSED = {
    expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH],
    expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]}
"""Errors that an element without an end causes."""

_CAUSES = {expat.errors.codes[error]: cause for error, cause in (
    (expat.errors.XML_ERROR_NO_ELEMENTS, 'the text is empty, or ends before an element is closed'),
    (expat.errors.XML_ERROR_TAG_MISMATCH, 'another element is to be closed first'),
    (expat.errors.XML_ERROR_UNCLOSED_TOKEN, 'the text ends within a tag or comment'),
    (expat.errors.XML_ERROR_INVALID_TOKEN,
     'values stand in quotes, name="value", and & and < are written as &amp; and &lt;'),
    (expat.errors.XML_ERROR_UNDEFINED_ENTITY, '& is written as &amp;'),
    (expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE, 'an attribute stands twice in an element'),
    (expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT,
     'something follows the first element: keep one <robot>, and nothing after it'),
    (expat.errors.XML_ERROR_SYNTAX, 'no element begins here: is this a URDF, or the path of one?'),
)}
"""Causes by the parser's error code."""


def _number(word: str) -> float:
    if '_' in word or not word.isascii():  # numbers in Python, but not in XML
        raise ValueError
    return float(word)


def read_xml(text: str, context: str) -> Element:
    """Return the first element of XML with all elements in it; text between tags is dropped.

    Raises HodynError for text that is not XML, has a DOCTYPE, is larger than `MAX_BYTES` or nested
    deeper than `MAX_DEPTH`. The message names the line and does not quote the text.
    """
    encoded = text.lstrip('\ufeff').encode('utf-8', errors='replace')
    if len(encoded) > MAX_BYTES:
        raise HodynError(f'{context}: larger than {MAX_BYTES} bytes; is it a URDF?')
    skipped = len(encoded) - len(encoded.lstrip())  # a declaration may stand after blank lines
    lines = encoded[:skipped].count(b'\n')
    parser = expat.ParserCreate('utf-8')  # whatever encoding the text declares: it was decoded
    first: list[Element] = []
    open_elements: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) == MAX_DEPTH:
            raise HodynError(
                f'{context}, line {line()}: elements are nested deeper than {MAX_DEPTH}')
        parent = open_elements[-1] if open_elements else None
        element = Element(
            tag, attributes, line(), parser.CurrentByteIndex + skipped,
            context if parent is None else parent)
        (first if parent is None else parent.children).append(element)
        open_elements.append(element)

    def refuse(*_: object) -> None:
        raise HodynError(
            f'{context}, line {line()}: a DOCTYPE is not accepted in a URDF; remove it')

    def line() -> int:
        return parser.CurrentLineNumber + lines

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(encoded[skipped:], True)
    except expat.ExpatError as error:
        # The parser's words would quote names, and the text may be another file, given by mistake.
        cause = _CAUSES.get(error.code, 'a rule of XML is broken here')
        if open_elements and error.code in _UNCLOSED:
            cause += f', which begins in line {open_elements[-1].line}'
        raise HodynError(
            f'{context}, line {error.lineno + lines}, column {error.offset + 1}: not valid XML: '
            f'{cause}') from None
    return first[0]
