"""Class names and colours from the `.aux.xml` beside a local file.

Names are GDAL's category names, or the name column of its attribute table; colours its colour columns. A file
that is missing or says nothing of classes gives nothing: it often holds statistics alone. """

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StrileError
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
        number = band.get("band", "1")
        texts = tuple(
            ElementTree.tostring(child, encoding="unicode")
            for child in band
            if child.tag in ("ColorTable", "GDALRasterAttributeTable")
        )
        if texts and number.isdigit():
            found[int(number) - 1] = texts
    return Tables(found, categories(path)) if found else None


def _root(path: str) -> ElementTree.Element | None:
    beside = Path(path + ".aux.xml")
    try:
        if not 0 < beside.stat().st_size <= _LIMIT:
            return None
        return elements(beside.read_text(encoding="utf-8", errors="replace"), str(beside))
    except (OSError, ElementTree.ParseError, StrileError):
        return None


def categories(path: str) -> dict[str, Any]:
    """`category_names` and `category_colors`, whichever there are."""
    root = _root(path)
    band = None if root is None else root.find("PAMRasterBand")
    if band is None:
        return {}
    attrs: dict[str, Any] = {}
    names = band.find("CategoryNames")
    if names is not None:
        attrs["category_names"] = [entry.text or "" for entry in names.findall("Category")]
    table = band.find("GDALRasterAttributeTable")
    if table is not None:
        attrs |= {key: value for key, value in _table(table).items() if key not in attrs}
    return {key: value for key, value in attrs.items() if value}


def _table(table: ElementTree.Element) -> dict[str, Any]:
    usages = [int(field.findtext("Usage", "0") or 0) for field in table.findall("FieldDefn")]
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
            return found
        found["category_colors"] = [colour if len(colour) == 4 else (*colour, 255) for colour in colours]
    return found
