"""Mappings that may hold numpy's arrays and numbers, as plain ones for YAML and JSON."""
from collections.abc import Mapping
import math
from typing import Any

import numpy as np


def plain(value: Any, *, finite: bool = False) -> Any:
    """Return the same value in dicts, lists and Python's own numbers.

    Parameters
    ----------
    value : any
        A mapping, sequence, array or number, nested to any depth.
    finite : bool
        Replace numbers that are not finite by None, as JSON has no word for them.

    """
    if isinstance(value, Mapping):
        return {key: plain(entry, finite=finite) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(entry, finite=finite) for entry in value]
    if finite and isinstance(value, float) and not math.isfinite(value):
        return None
    return value
