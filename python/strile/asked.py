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
