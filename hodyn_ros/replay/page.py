"""Self-contained HTML pages with tables and pictures, also for small screens."""
import base64
from collections.abc import Iterable
from html import escape

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 84em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums;
  display: block; overflow-x: auto }}
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }}
td:first-child, th:first-child, .failed td {{ text-align: left }}
.failed {{ background: #fbeaea }}
[title] {{ cursor: help }}
label {{ display: block; overflow-x: auto }}
img {{ max-width: 100%; height: auto; cursor: zoom-in }}
:checked + img {{ max-width: none; cursor: zoom-out }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def page(title: str, body: str) -> str:
    """Return a page with a title (plain text) and a body (HTML)."""
    return _PAGE.format(title=escape(title), body=body)


def table(headings: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table with headings (plain text) and rows (HTML)."""
    first = ''.join(f'<th>{escape(heading)}</th>' for heading in headings)
    return f'<table><tr>{first}</tr>{"".join(rows)}</table>'


def row(*cells: str) -> str:
    """Return a row of a table with cells in HTML."""
    return f'<tr>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def picture(title: str, png: bytes) -> str:
    """Return a picture that is shown in its full size after a click."""
    data = base64.b64encode(png).decode()
    return (
        f'<label><input type="checkbox" hidden><img alt="{escape(title)}" '
        f'src="data:image/png;base64,{data}"></label>')
