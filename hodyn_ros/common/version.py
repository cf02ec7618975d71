"""The version of this package."""
from importlib import metadata
from pathlib import Path

_PACKAGE = __name__.split('.')[0]
_UNKNOWN = 'unknown'


def found(manifest: Path) -> str:
    """Return the installed version, or that in the manifest of a checkout; else 'unknown'."""
    try:
        return metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        from xml.etree import ElementTree  # slow to import, and only needed in checkouts
    try:
        root = ElementTree.parse(manifest).getroot()
    except (OSError, ElementTree.ParseError):
        return _UNKNOWN
    ours = root.findtext('name') == _PACKAGE
    return (root.findtext('version') if ours else None) or _UNKNOWN


VERSION = found(Path(__file__).parents[2] / 'package.xml')
