"""What else a file can say about a raster: items, further tags, resolution, colours.

Arrays that came from a read carry these in attrs and get them back; from anywhere else tags and items are
refused unless the caller allows them, because they would be written as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import StrileError
from .arguments import whole

CONTRACT = "_xrspatial_geotiff_contract"
RICH = ("extra_tags", "gdal_metadata", "gdal_metadata_xml")

MANAGED = frozenset(
    # What lays the file out; places of other directories; what the other keys of the raster state.
    (254, 255, 256, 257, 258, 259, 266, 273, 274, 277, 278, 279, 284, 288, 289, 317, 322, 323, 324, 325, 330, 339,
     347, 512, 513, 514, 515, 517, 518, 519, 520, 521, 529, 530, 531, 532, 34264, 33550, 33922, 34735, 34736, 34737,
     34665, 34853, 40965, 42112, 42113, 50674)
)  # fmt: skip

_BAND_ITEM = re.compile(r"""\s*<Item\b[^>]*\bsample=["'](\d+)["'][^>]*>.*?</Item>""", re.DOTALL)

UNITS = {"none": 1, "inch": 2, "centimeter": 3}


def check_allowed(attrs: Mapping[Any, Any], allowed: bool) -> None:
    if allowed or CONTRACT in attrs:
        return
    for key in RICH:
        if attrs.get(key):
            raise StrileError(
                f"attrs['{key}'] would be written as it is: pass allow_experimental_codecs=True to do so, or drop it"
            )


def tags_of(attrs: Mapping[Any, Any], bands: int, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Keys of the core's `raster` that come from attrs."""
    keys: dict[str, Any] = {}
    extra = dict(_extra_tags(attrs.get("extra_tags")))
    keys.update(_colours(attrs, extra, bands, dtype))
    for tag, entry in _resolution(attrs).items():
        extra.setdefault(tag, entry)
    description = attrs.get("image_description")
    if isinstance(description, str) and description:
        extra.setdefault(270, (270, 2, len(description.encode()) + 1, description))
    if extra:
        keys["extra_tags"] = [extra[tag] for tag in sorted(extra)]
    xml = attrs.get("gdal_metadata_xml")
    items = attrs.get("gdal_metadata")
    text = xml if isinstance(xml, str) and xml else items_xml(items) if items else None
    if text is not None:
        keys["gdal_metadata_xml"] = _of_these_bands(text, bands)
    return keys


def _of_these_bands(text: str, bands: int) -> str:
    """Items of bands are those of the file that was read: where that had more bands than are written, nobody knows
    which of them these are, and items of none are written."""
    if all(int(band) < bands for band in _BAND_ITEM.findall(text)):
        return text
    return _BAND_ITEM.sub("", text)


def items_xml(items: Any) -> str:
    """A dict of items as the text of tag 42112; a key (name, band) belongs to a band, counted from 0."""
    from xml.sax.saxutils import escape, quoteattr

    if not isinstance(items, Mapping):
        raise StrileError(f"attrs['gdal_metadata'] is {type(items).__name__}: a dict of items expected")
    lines = ["<GDALMetadata>"]
    for key, value in items.items():
        name, band = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        sample = "" if band is None else f' sample="{int(band)}"'
        # GDAL knows the meaning of these four by their role.
        role = {"SCALE": "scale", "OFFSET": "offset", "DESCRIPTION": "description", "UNITTYPE": "unittype"}.get(
            str(name)
        )
        role_text = f' role="{role}"' if role and band is not None else ""
        lines.append(f"  <Item name={quoteattr(str(name))}{sample}{role_text}>{escape(str(value))}</Item>")
    return "\n".join((*lines, "</GDALMetadata>"))


def _extra_tags(given: Any) -> list[tuple[int, tuple[int, int, int, Any]]]:
    found = []
    for entry in given or ():
        try:
            tag, kind, count, value = entry
            number, kind, count = int(tag), int(kind), int(count)
        except (TypeError, ValueError):
            raise StrileError(
                f"attrs['extra_tags'] has {entry!r}: (tag, type, count, value) expected"
            ) from None
        if number not in MANAGED:
            found.append((number, (number, kind, count, _value(kind, value))))
    return found


def _value(kind: int, value: Any) -> Any:
    """As the core takes it: rationals as pairs."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if kind not in (5, 10):
        return value
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
        return [_pair(entry) for entry in value]
    return _pair(value)


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return int(value[0]), int(value[1])
    return rational(float(value))


def rational(number: float) -> tuple[int, int]:
    """A whole number over 1, anything else over at most 10,000."""
    nearest = Fraction(number).limit_denominator(10_000)
    return nearest.numerator, nearest.denominator


def _resolution(attrs: Mapping[Any, Any]) -> dict[int, tuple[int, int, int, Any]]:
    entries: dict[int, tuple[int, int, int, Any]] = {}
    for tag, key in ((282, "x_resolution"), (283, "y_resolution")):
        value = attrs.get(key)
        if value is None:
            continue
        try:
            entries[tag] = (tag, 5, 1, rational(float(value)))
        except (TypeError, ValueError, OverflowError):
            raise StrileError(f"attrs['{key}'] is {value!r}: a number expected") from None
    unit = attrs.get("resolution_unit")
    if unit is not None:
        number = UNITS.get(str(unit).lower(), whole(unit))
        if number is not None:
            entries[296] = (296, 3, 1, number)
    return entries


def _colours(
    attrs: Mapping[Any, Any], extra: dict[int, Any], bands: int, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """Photometric, meaning of further samples and colour table; tags that say the same win and are taken
    out."""
    keys: dict[str, Any] = {}
    photometric = extra.pop(262, None)
    if photometric is not None:
        keys["photometric"] = int(_first(photometric[3]))
    samples = extra.pop(338, None)
    stated = samples[3] if samples is not None else attrs.get("extra_samples")
    if stated is not None:
        keys["extra_samples"] = [int(value) for value in _all(stated)]
    table = extra.pop(320, None)
    values = table[3] if table is not None else attrs.get("colormap")
    if values is not None and bands == 1 and dtype.kind == "u" and dtype.itemsize <= 2:
        flat = [int(value) for value in np.asarray(values).ravel()]
        if len(flat) == 3 << (8 * dtype.itemsize):
            size = len(flat) // 3
            keys["colormap"] = list(zip(flat[:size], flat[size : 2 * size], flat[2 * size :], strict=True))
    return keys


def _all(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]


def _first(value: Any) -> Any:
    return _all(value)[0]
