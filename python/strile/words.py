"""What a file says in words: GDAL's items and the texts of baseline TIFF tags, under the names that GDAL
gives them."""

from __future__ import annotations

from typing import Any

from .facts import Facts

_TEXTS = {
    269: "TIFFTAG_DOCUMENTNAME",
    270: "TIFFTAG_IMAGEDESCRIPTION",
    305: "TIFFTAG_SOFTWARE",
    306: "TIFFTAG_DATETIME",
    315: "TIFFTAG_ARTIST",
    316: "TIFFTAG_HOSTCOMPUTER",
    33432: "TIFFTAG_COPYRIGHT",
}
_NUMBERS = {
    280: "TIFFTAG_MINSAMPLEVALUE",
    281: "TIFFTAG_MAXSAMPLEVALUE",
    282: "TIFFTAG_XRESOLUTION",
    283: "TIFFTAG_YRESOLUTION",
}
_UNITS = {1: "1 (unitless)", 2: "2 (pixels/inch)", 3: "3 (pixels/cm)"}


def of_file(dataset: Any, facts: Facts) -> dict[str, str]:
    """The file's own items, as GDAL's default domain has them."""
    words = {name: value for name, value, domain in facts.items if not domain}
    if facts.kind == "tiff":
        for tag, _, _, value in dataset.tags(tables=False):
            if tag in _TEXTS:
                words.setdefault(_TEXTS[tag], str(value).rstrip("\0"))
            elif tag in _NUMBERS:
                words.setdefault(_NUMBERS[tag], _number(value))
            elif tag == 296:
                words.setdefault("TIFFTAG_RESOLUTIONUNIT", _UNITS.get(_first(value), str(_first(value))))
    if facts.area_or_point is not None:
        words["AREA_OR_POINT"] = facts.area_or_point.capitalize()
    return words


def of_domain(facts: Facts, domain: str) -> dict[str, str]:
    """The file's items in a domain."""
    return {name: value for name, value, where in facts.items if (where or "") == domain}


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and value else value


def _number(value: Any) -> str:
    """A number as C's %.8g has it, which is what GDAL prints; a rational may come as its two parts."""
    if isinstance(value, tuple) and len(value) == 2 and value[1]:
        value = value[0] / value[1]
    return f"{float(_first(value)):.8g}"
