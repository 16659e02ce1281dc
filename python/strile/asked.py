"""Numbers that callers give, checked: whole where they have to be, and as many as expected."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from .errors import StrileError


def whole(value: Any) -> int | None:
    """A whole number, of Python or numpy; None for all else, True and False among it."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _numbers(values: Any) -> list[int | None]:
    """Each of a list of numbers as a whole one, None for all else; also for what is no list."""
    text = isinstance(values, str | bytes | bytearray)
    if text or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        return [None]
    return [whole(value) for value in values]


def bands_of(bands: Any) -> list[int] | None:
    """Numbers of bands, from 1; None for all of them."""
    if bands is None:
        return None
    numbers = _numbers(bands)
    found = [number for number in numbers if number is not None]
    if len(found) != len(numbers):
        raise StrileError(f"bands is {bands!r}: a list of whole numbers expected, from 1, as [1] or [3, 2, 1]")
    if found and min(found) < 1:
        raise StrileError(f"bands is {bands!r}: bands count from 1")
    return found


def sides_of(size: Any, name: str = "size") -> tuple[int, int]:
    """A width and a height: a pair, or one number for both."""
    one = whole(size)
    sides = [one, one] if one is not None else _numbers(size)
    found = [side for side in sides if side is not None]
    if len(found) != 2 or len(sides) != 2:
        raise StrileError(f"{name} is {size!r}: a whole number expected, or two: (width, height)")
    if not 1 <= min(found) <= max(found) < 1 << 32:
        raise StrileError(f"{name} is {size!r}: 1 to {(1 << 32) - 1:,} pixels expected")
    return found[0], found[1]


def level_of(overview: Any) -> int:
    """The core's number of a level: 0 for the full image, which None means, k + 1 for overview k."""
    if overview is None:
        return 0
    if isinstance(overview, bool) or not isinstance(overview, (int, np.integer)):
        raise TypeError(
            f"overview_level is {overview!r} ({type(overview).__name__}): an int or None expected"
        )
    if overview < 0:
        raise StrileError(f"overview_level is {overview}: 0 (the first overview) or more expected")
    return int(overview) + 1


def window_of(window: Any, *, boundless: bool = False) -> tuple[int, int, int, int] | None:
    """(column, row, width, height) of the ways in which people say it."""
    if window is None:
        return None
    if hasattr(window, "col_off"):
        numbers = [window.col_off, window.row_off, window.width, window.height]
    else:
        numbers = list(window)
        if len(numbers) == 2:
            (row, end_row), (column, end_column) = (_ends(part, window) for part in numbers)
            numbers = [column, row, end_column - column, end_row - row]
    try:
        whole = len(numbers) == 4 and all(int(number) == number for number in numbers)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise StrileError(
            f"window is {window!r}: expected whole numbers (column, row, width, height), a rasterio Window, or a pair of "
            "slices (rows, columns)"
        )
    if min(numbers[2:] if boundless else numbers) < 0:
        raise StrileError(f"window is {window!r}: expected no negative numbers")
    column, row, width, height = (int(number) for number in numbers)
    return column, row, width, height


def _ends(part: Any, window: Any) -> tuple[Any, Any]:
    """First and end of a slice, or of a pair of numbers."""
    if isinstance(part, slice):
        if part.start is None or part.stop is None or part.step not in (None, 1):
            raise StrileError(f"window is {window!r}: expected slices with a start and an end, and no step")
        return part.start, part.stop
    try:
        first, end = part
    except (TypeError, ValueError):
        raise StrileError(f"window is {window!r}: expected a pair of slices or of pairs (rows, columns)") from None
    return first, end
