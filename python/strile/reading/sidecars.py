"""Warns about files beside a raster that could not be used.

A bad sidecar never makes a raster unreadable: it is ignored, with one warning per sidecar.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Codes and places of `strile._core`'s warnings.
UNUSABLE_SIDECAR = "unusable-sidecar"
_PLACES = (".aux.xml", "world file")


@dataclass(frozen=True)
class Tables:
    """Attribute and colour tables that a file has beside it, as the text of a sidecar. `attrs` are the categories that were
    read with them: an array that has others now has other tables."""

    text: str
    attrs: dict[str, Any]


def categories(dataset: Any, stacklevel: int) -> tuple[dict[str, Any], Tables | None]:
    """Returns `category_names` and `category_colors`, whichever there are, and the tables. Warns about what is ignored."""
    from .. import _core

    attrs, text, problems = _core.categories(dataset)
    if problems:
        warn(dataset.name, ".aux.xml", problems, stacklevel + 1)
    return attrs, None if text is None else Tables(text, dict(attrs))


def warn_of(found: Iterable[tuple[str, str, str]], name: str, stacklevel: int) -> None:
    """Warns about each sidecar of the warnings (code, place, message) of an opened file."""
    by_place: dict[str, list[str]] = {}
    for code, place, message in found:
        if code == UNUSABLE_SIDECAR or place in _PLACES:
            by_place.setdefault(place, []).append(message)
    for place, messages in by_place.items():
        warn(name, place, messages, stacklevel + 1)


def warn(name: str, place: str, messages: list[str], stacklevel: int) -> None:
    """Warns about one sidecar: its first problem and how many more there are."""
    more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
    text = f"{name}: {place}: {messages[0]}{more}"
    warnings.warn(_printable(text), RuntimeWarning, stacklevel=stacklevel + 1)


def _printable(text: str) -> str:
    """Returns the text without characters that steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
