"""GDAL's metadata: the XML in tag 42112 as a dict, and the scale and offset that are stated in it.

Items of a band are keyed (name, band), others by name. XML with a document type is refused: entities could
make megabytes of a line. What cannot be parsed is no metadata, except where scale and offset were asked for.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from typing import Any

from ..errors import MalformedScaleOffsetError, MixedBandMetadataError, StrileError

Items = dict[Any, str]


def elements(text: str, what: str) -> ElementTree.Element:
    """The root of an XML text without document type."""
    if "<!doctype" in text.lower():
        raise StrileError(f"{what} has a document type declaration, which is not taken: remove it")
    return ElementTree.fromstring(text)


def items(text: str | None, name: str) -> Items | None:
    """The items of the XML, or None where it is none."""
    if text is None:
        return None
    try:
        root = elements(text, f"{name}: the metadata")
    except ElementTree.ParseError:
        return None
    found: Items = {}
    for item in root.iter("Item"):
        key, sample = item.get("name"), item.get("sample")
        if key is None:
            continue
        try:
            found[key if sample is None else (key, int(sample))] = item.text or ""
        except ValueError:
            continue
    return found


def scaling(
    text: str | None, found: Items | None, bands: int, band: int | None, name: str
) -> tuple[float, float] | None:
    """Scale and offset of the bands that are read: one pair, or None where none is stated."""
    if text is not None and found is None:
        raise MalformedScaleOffsetError(f"{name}: the metadata with scale and offset is no XML")
    scale = _one(found or {}, "SCALE", 1.0, bands, band, name)
    offset = _one(found or {}, "OFFSET", 0.0, bands, band, name)
    if scale is None and offset is None:
        return None
    scale = 1.0 if scale is None else scale
    if scale == 0:
        raise MalformedScaleOffsetError(f"{name}: the scale is 0 and everything would be the offset")
    return scale, 0.0 if offset is None else offset


def _one(found: Items, key: str, default: float, bands: int, band: int | None, name: str) -> float | None:
    wanted = range(bands) if band is None else (band,)
    if key not in found and not any((key, number) in found for number in wanted):
        return None
    whole = found.get(key)
    texts = [found.get((key, number), whole) for number in wanted]
    values = {default if text is None else _number(text, key, name) for text in texts}
    if len(values) > 1:
        raise MixedBandMetadataError(
            f"{name}: the bands have different values of {key} ({', '.join(map(str, sorted(values)))}): "
            "pass band to "
            "read one of them"
        )
    return values.pop()


def _number(text: str, key: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise MalformedScaleOffsetError(f"{name}: {key} is {text!r}, a finite number expected")
    return value
