"""XML of robot files."""
import re

_BLANK = re.compile(r'[\ufeff \t\r\n]*')
_NAME = re.compile(r'<([^\s<>/!?]+)')
_ENDS = {'<!--': '-->', '<?': '?>', '<!': '>'}
"""Of what may stand before the first element, by how it begins."""


def first_tag(text: str) -> str | None:
    """Return the name of the first element of XML, None if there is none.

    No character is looked at twice, whatever the text is.
    """
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
