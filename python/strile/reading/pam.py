"""Class names and colours from the `.aux.xml` beside a local file.

Names are GDAL's category names, or the name column of its attribute table; colours its colour columns. A file
that is missing or says nothing of classes gives nothing: it often holds statistics alone. What is wrong in it is
left out with a warning."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import Any

from ..errors import StrileError
from . import regular, sidecars
from .metadata import elements

_LIMIT = 16 << 20
_NAME, _RED, _GREEN, _BLUE, _ALPHA = 2, 6, 7, 8, 9


@dataclass(frozen=True)
class Tables:
    """Attribute and colour tables as a file has them beside it: texts of XML by band, from 0. `attrs` are the categories
    that were read with them: an array that has others now has other tables."""

    by_band: dict[int, tuple[str, ...]]
    attrs: dict[str, Any]


def tables(path: str) -> Tables | None:
    """The tables beside a file, where there are any."""
    root = _root(path)
    found: dict[int, tuple[str, ...]] = {}
    for band in [] if root is None else root.findall("PAMRasterBand"):
        number = _whole(band.get("band", "1"))
        texts = tuple(
            ElementTree.tostring(child, encoding="unicode")
            for child in band
            if child.tag in ("ColorTable", "GDALRasterAttributeTable")
        )
        if texts and number is not None and number > 0:
            found[number - 1] = texts
    # What is wrong in it is told where the categories are read.
    return Tables(found, _categories(root, [])) if found else None


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _root(path: str) -> ElementTree.Element | None:
    beside = path + ".aux.xml"
    try:
        with regular.opened(beside) as file:
            text = file.read(_LIMIT + 1)
        if not 0 < len(text) <= _LIMIT:
            return None
        return elements(text.decode("utf-8", "replace"), beside)
    except (OSError, ElementTree.ParseError, StrileError):
        # The core has read the same text and tells what is wrong with it.
        return None


def categories(path: str) -> dict[str, Any]:
    """`category_names` and `category_colors`, whichever there are; what is wrong is told."""
    problems: list[str] = []
    attrs = _categories(_root(path), problems)
    if problems:
        sidecars.warn(path, ".aux.xml", problems, stacklevel=5)
    return attrs


def _categories(root: ElementTree.Element | None, problems: list[str]) -> dict[str, Any]:
    band = None if root is None else root.find("PAMRasterBand")
    if band is None:
        return {}
    attrs: dict[str, Any] = {}
    names = band.find("CategoryNames")
    if names is not None:
        attrs["category_names"] = [entry.text or "" for entry in names.findall("Category")]
    table = band.find("GDALRasterAttributeTable")
    if table is not None:
        attrs |= {key: value for key, value in _table(table, problems).items() if key not in attrs}
    return {key: value for key, value in attrs.items() if value}


def _usage(text: str, problems: list[str]) -> int | None:
    """What a column is for, by GDAL's number."""
    number = _whole(text or "0")
    if number is None:
        problems.append(f"`Usage` of a column is {text[:40]!r}, expected a number; the column is ignored")
    return number


def _table(table: ElementTree.Element, problems: list[str]) -> dict[str, Any]:
    usages = [_usage(field.findtext("Usage", "0"), problems) for field in table.findall("FieldDefn")]
    rows = [[cell.text or "" for cell in row.findall("F")] for row in table.findall("Row")]
    rows = [row for row in rows if len(row) == len(usages)]
    found: dict[str, Any] = {}
    if _NAME in usages:
        found["category_names"] = [row[usages.index(_NAME)] for row in rows]
    if all(usage in usages for usage in (_RED, _GREEN, _BLUE)):
        columns = [usages.index(usage) for usage in (_RED, _GREEN, _BLUE, _ALPHA) if usage in usages]
        try:
            colours = [tuple(int(row[column]) for column in columns) for row in rows]
        except ValueError:
            problems.append("a colour of the attribute table is no number; its colours are ignored")
            return found
        found["category_colors"] = [colour if len(colour) == 4 else (*colour, 255) for colour in colours]
    return found
