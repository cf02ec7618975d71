"""Converts numpy's arrays and numbers in mappings to lists and numbers for YAML and JSON."""
from collections.abc import Mapping
import math
from typing import Any

import numpy as np


def plain(value: Any, *, finite: bool = False) -> Any:
    """Return a value, nested to any depth, in dicts, lists and Python's own numbers.

    With `finite`, infinities and NaN become None: JSON does not have them.
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
