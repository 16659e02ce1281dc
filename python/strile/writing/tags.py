"""What else a file can say about a raster: items, further tags, resolution, colours.

Arrays that came from a read carry these in attrs and get them back; those that a caller sets are
written as they are given.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..asked import is_listed
from ..errors import StrileError
from .arguments import whole

if TYPE_CHECKING:
    from .said import Said

MANAGED = frozenset(
    # What lays the file out; places of other directories; what the other keys of the raster state.
    (254, 255, 256, 257, 258, 259, 266, 273, 274, 277, 278, 279, 284, 288, 289, 317, 322, 323, 324, 325, 330, 339,
     347, 512, 513, 514, 515, 517, 518, 519, 520, 521, 529, 530, 531, 532, 34264, 33550, 33922, 34735, 34736, 34737,
     34665, 34853, 40965, 42112, 42113, 50674)
)  # fmt: skip

_BAND_ITEM = re.compile(r"""\s*<Item\b[^>]*\bsample=["'](\d+)["'][^>]*>.*?</Item>""", re.DOTALL)

COLOURS = {"rgb": (2, 3), "cmyk": (5, 4), "cielab": (8, 3), "icclab": (9, 3), "itulab": (10, 3)}
"""What `attrs["photometric"]` of a read says: TIFF's number, and bands that are colours."""

UNITS = {"none": 1, "inch": 2, "centimeter": 3}


def tags_of(attrs: Mapping[Any, Any], said: Said, bands: int, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Keys of the core's `raster` that come from attrs."""
    keys: dict[str, Any] = {}
    extra = dict(_extra_tags(attrs.get("extra_tags")))
    keys.update(_colours(attrs, extra, said, bands, dtype))
    for tag, entry in _resolution(attrs).items():
        extra.setdefault(tag, entry)
    description = attrs.get("image_description")
    if isinstance(description, str) and description:
        extra.setdefault(270, (270, 2, len(description.encode()) + 1, description))
    if extra:
        keys["extra_tags"] = [extra[tag] for tag in sorted(extra)]
    xml = attrs.get("gdal_metadata_xml")
    items = attrs.get("gdal_metadata")
    text = xml if isinstance(xml, str) and xml else items_xml(items) if _is_there(items) else None
    if text is not None:
        keys["gdal_metadata_xml"] = text
        _of_these_bands(keys, text, said, bands)
        if not said.whole and "STATISTICS_" in text:
            keys["statistics"] = False
    return {**keys, **said.words}


def _of_these_bands(keys: dict[str, Any], text: str, said: Said, bands: int) -> None:
    """Items of bands are those of the file that was read. The array says which of them it has; where it does not, and
    the file had more, they cannot be matched to bands and are not written."""
    highest = max((int(band) for band in _BAND_ITEM.findall(text)), default=-1)
    if said.bands is not None and (highest >= bands or said.bands != tuple(range(bands))):
        keys["metadata_bands"] = said.bands
    elif said.bands is None and highest >= bands:
        keys["metadata_bands"] = ()
        warnings.warn(
            f"names, scales and other items of bands are not written: the array has {bands} bands, its file had more, and "
            "no band coordinate says which these are",
            UserWarning,
            stacklevel=5,
        )


def _is_there(items: Any) -> bool:
    return items is not None and (not isinstance(items, Mapping) or len(items) > 0)


def items_xml(items: Any) -> str:
    """A dict of items as the text of tag 42112; a key (name, band) belongs to a band, counted from 0."""
    from xml.sax.saxutils import escape, quoteattr

    if not isinstance(items, Mapping):
        raise StrileError(f"attrs['gdal_metadata'] is {type(items).__name__}: expected a dict of items")
    lines = ["<GDALMetadata>"]
    for key, value in items.items():
        name, band = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        sample = "" if band is None else f' sample="{int(band)}"'
        # GDAL knows the meaning of these four by their role.
        role = {"SCALE": "scale", "OFFSET": "offset", "DESCRIPTION": "description", "UNITTYPE": "unittype"}.get(
            str(name)
        )
        role_text = f' role="{role}"' if role and band is not None else ""
        # GDAL escapes values twice, and so do its readers.
        lines.append(f"  <Item name={quoteattr(str(name))}{sample}{role_text}>{escape(escape(str(value)))}</Item>")
    return "\n".join((*lines, "</GDALMetadata>"))


def _extra_tags(given: Any) -> list[tuple[int, tuple[int, int, int, Any]]]:
    found = []
    if given is not None and not is_listed(given):
        raise StrileError(f"attrs['extra_tags'] is {given!r}: expected a list of (tag, type, count, value)")
    for entry in () if given is None else given:
        try:
            tag, kind, count, value = entry
            number, kind, count = int(tag), int(kind), int(count)
        except (TypeError, ValueError):
            raise StrileError(
                f"attrs['extra_tags'] has {entry!r}: expected (tag, type, count, value)"
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
            raise StrileError(f"attrs['{key}'] is {value!r}: expected a number") from None
    unit = attrs.get("resolution_unit")
    if unit is not None:
        number = UNITS.get(str(unit).lower(), whole(unit))
        if number is not None:
            entries[296] = (296, 3, 1, number)
    return entries


def _colours(
    attrs: Mapping[Any, Any], extra: dict[int, Any], said: Said, bands: int, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """Photometric, meaning of further samples and colour table; tags that say the same win and are taken
    out."""
    keys: dict[str, Any] = {}
    photometric = extra.pop(262, None)
    if photometric is not None:
        keys["photometric"] = int(_first(photometric[3]))
    of_file = tuple(range(bands)) if said.bands is None else said.bands
    kept = COLOURS.get(str(attrs.get("photometric")).lower())
    if kept is not None and of_file[: kept[1]] == tuple(range(kept[1])):
        keys["kept_photometric"] = kept[0]
    samples = extra.pop(338, None)
    stated = samples[3] if samples is not None else attrs.get("extra_samples")
    if stated is not None:
        # One for each band of the file beyond its colours; the array may have other bands.
        meanings = [int(value) for value in _all(stated)]
        whole = of_file == tuple(range(bands)) and bands > len(meanings)
        colours = kept[1] if kept is not None else bands - len(meanings) if whole else 1
        places = [band - colours for band in of_file]
        keys["extra_by_band"] = [meanings[place] if 0 <= place < len(meanings) else 0 for place in places]
    table = extra.pop(320, None)
    values = table[3] if table is not None else attrs.get("colormap")
    if values is not None and of_file != (0,):
        values = None
    if values is not None:
        entries = _colour_table(values, bands, dtype)
        if entries is None:
            warnings.warn(
                f"the colour table is not written: it has {np.asarray(values).size} numbers, and a palette is one band of "
                f"uint8 or uint16 with three numbers per value; the array has {bands} bands of {dtype}",
                UserWarning,
                stacklevel=6,
            )
        else:
            keys["colormap"] = entries
    return keys


def _colour_table(values: Any, bands: int, dtype: np.dtype[Any]) -> list[tuple[int, int, int]] | None:
    """Red, green and blue of each value, all reds first in TIFF's tag. A file of fewer bits has a shorter table."""
    try:
        flat = [int(value) for value in np.asarray(values).ravel()]
    except (TypeError, ValueError):
        raise StrileError(f"attrs['colormap'] is {values!r}: expected whole numbers, all reds, then greens, then blues") from None
    size = len(flat) // 3
    if bands != 1 or dtype.kind != "u" or dtype.itemsize > 2 or 3 * size != len(flat) or not 2 <= size <= 1 << (8 * dtype.itemsize):
        return None
    return list(zip(flat[:size], flat[size : 2 * size], flat[2 * size :], strict=True))


def _all(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]


def _first(value: Any) -> Any:
    return _all(value)[0]
