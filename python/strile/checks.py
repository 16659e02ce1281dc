"""Checks arguments of callers, and converts them to plain Python types. Errors name the argument."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .errors import StrileError
from .pixel_window import Window


def is_bool(value: Any) -> bool:
    """Returns whether a value is True or False, of Python or numpy."""
    return isinstance(value, (bool, np.bool_))


def whole(value: Any) -> int | None:
    """Returns a whole number of Python or numpy as an int, and None for anything else, including True and False."""
    if is_bool(value):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _numbers(values: Any) -> list[int | None]:
    """Returns each of a list of numbers as an int, None for those that are not whole; [None] for a value that is not a list."""
    if not is_listed(values):
        return [None]
    return [whole(value) for value in values]


def device_of(device: Any, out: Any = None) -> str | None:
    """Returns the name of the device of a result; None if `out` determines it."""
    name = str(device)
    return None if out is not None and name == "cpu" else name


def bands_of(bands: Any) -> list[int] | None:
    """Returns band numbers, which count from 1; None for all bands."""
    if bands is None:
        return None
    numbers = _numbers(bands)
    found = [number for number in numbers if number is not None]
    if len(found) != len(numbers):
        raise StrileError(f"bands is {bands!r}: expected a list of whole numbers, from 1, as [1] or [3, 2, 1]")
    if found and min(found) < 1:
        raise StrileError(f"bands is {bands!r}: bands count from 1")
    return found


def dtype_of(value: Any, name: str) -> np.dtype[Any]:
    """Returns a numeric type, by the names of numpy."""
    try:
        # None is float64 to numpy.
        found = None if value is None else np.dtype(value)
    except TypeError:
        found = None
    if found is None or found.kind not in "biufc":
        raise TypeError(f"{name} is {value!r}: expected a type of numbers, as 'float32'")
    return found


def flag_of(value: Any, name: str) -> bool:
    """Returns True or False, of Python or numpy."""
    if not is_bool(value):
        raise TypeError(f"{name} is {value!r}: expected True or False")
    return bool(value)


def choice_of(value: Any, name: str) -> bool | None:
    """Returns True, False or None, of Python or numpy."""
    if value is not None and not is_bool(value):
        raise TypeError(f"{name} is {value!r}: expected True, False or None")
    return None if value is None else bool(value)


def truth_of(value: Any, name: str) -> bool:
    """Returns True or False, also for 1, 0 and None."""
    return value if isinstance(value, bool) else value is not None and (whole(value) == 1 if whole(value) in (0, 1) else flag_of(value, name))


def count_of(value: Any, name: str, least: int = 1) -> int | None:
    """Returns a whole number of at least `least`, or None."""
    if value is None:
        return None
    number = whole(value)
    if number is None:
        raise TypeError(f"{name} is {value!r}: expected a whole number or None")
    if not least <= number < 1 << 63:
        raise StrileError(f"{name} is {value!r}: expected a whole number from {least} on, or None")
    return number


def index_of(value: Any, name: str) -> int:
    """Returns a whole number that counts from 0."""
    number = count_of(value, name, 0)
    if number is None:
        raise TypeError(f"{name} is None: expected a whole number, from 0")
    return number


def text_of(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}: expected text")
    return value


def method_of(resampling: Any) -> str:
    """Returns the name of a resampling method, also of one of rasterio."""
    return text_of(getattr(resampling, "name", resampling), "resampling")


def path_of(value: Any, name: str) -> str:
    """Returns a path as text."""
    try:
        path = os.fsdecode(os.fspath(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}: expected a path") from None
    if not path or "\0" in path:
        raise StrileError(f"{name} is {value!r}: expected a path that is not empty and has no NUL")
    return path


def number_of(value: Any, name: str) -> int | float:
    """Returns a number of Python or numpy, exact if it is whole. Refuses text, True and False."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    number = whole(value)
    if number is not None:
        return number
    if not isinstance(value, float | np.floating):
        raise TypeError(f"{name} is {value!r}: expected a number")
    return float(value)


def sides_of(size: Any, name: str = "size") -> tuple[int, int]:
    """Returns a width and a height, of a pair or of one number for both."""
    one = whole(size)
    sides = [one, one] if one is not None else _numbers(size)
    found = [side for side in sides if side is not None]
    if len(found) != 2 or len(sides) != 2:
        raise StrileError(f"{name} is {size!r}: expected a whole number, or two: (width, height)")
    if not 1 <= min(found) <= max(found) < 1 << 32:
        raise StrileError(f"{name} is {size!r}: expected 1 to {(1 << 32) - 1:,} pixels")
    return found[0], found[1]


def level_of(level: Any) -> int:
    """Returns a resolution level; 0 and None are full resolution."""
    return 0 if level is None else index_of(level, "level")


def level_of_overview(overview_level: Any) -> int:
    """Returns the level of an `overview_level` of rasterio: overviews count from 0, and None is full resolution."""
    if overview_level is None:
        return 0
    number = whole(overview_level)
    if number is None:
        kind = type(overview_level).__name__
        raise TypeError(f"overview_level is {overview_level!r} ({kind}): expected an int or None")
    if not 0 <= number < 1 << 31:
        raise StrileError(f"overview_level is {overview_level}: expected 0 (the first overview) or more")
    return number + 1


def window_of(window: Any, *, boundless: bool = False) -> Window | None:
    """Returns a window, given as a `Window`, (column, row, width, height), rasterio's `Window`, or a pair of slices."""
    if window is None:
        return None
    if hasattr(window, "col_off"):
        numbers = [window.col_off, window.row_off, window.width, window.height]
    else:
        numbers = list(window) if is_listed(window) else []
        if len(numbers) == 2:
            (row, end_row), (column, end_column) = (ends_of(part, window) for part in numbers)
            numbers = [column, row, end_column - column, end_row - row]
    try:
        whole = len(numbers) == 4 and all(int(number) == number for number in numbers)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise StrileError(
            f"window is {window!r}: expected a Window, whole numbers (column, row, width, height), a rasterio Window, or a pair of "
            f"slices (rows, columns){_rounding(window)}"
        )
    if min(numbers[2:] if boundless else numbers) < 0:
        instead = "" if boundless or min(numbers[2:]) < 0 else "; Dataset.read(boundless=True) reads beyond the file"
        raise StrileError(f"window is {window!r}: expected no negative numbers{instead}")
    column, row, width, height = (int(number) for number in numbers)
    if width == 0 or height == 0:
        raise StrileError(f"window is {window!r}: expected a width and a height of at least 1")
    return Window(column, row, width, height)


def is_listed(values: Any) -> bool:
    """Returns whether a value can be iterated and is not text."""
    if isinstance(values, list | tuple):
        return True
    text = isinstance(values, str | bytes | bytearray)
    return not text and isinstance(values, Iterable) and getattr(values, "ndim", 1) != 0


def _rounding(window: Any) -> str:
    if not hasattr(window, "round_offsets"):
        return ""
    return "; round this one, `window.round_offsets().round_lengths()`"


def ends_of(part: Any, window: Any) -> tuple[Any, Any]:
    """Returns first and end of a slice, or of a pair of numbers."""
    if isinstance(part, slice):
        if part.start is None or part.stop is None or part.step not in (None, 1):
            raise StrileError(f"window is {window!r}: expected slices with a start and an end, and no step")
        return part.start, part.stop
    try:
        first, end = part
    except (TypeError, ValueError):
        raise StrileError(f"window is {window!r}: expected a pair of slices or of pairs (rows, columns)") from None
    return first, end


def storage_options_of(given: Any) -> dict[str, Any] | None:
    """Returns options of a bucket. Values may be secrets, so messages show none."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise TypeError(f"storage_options is a {type(given).__name__}: expected a dict with texts as keys")
    return dict(given)
