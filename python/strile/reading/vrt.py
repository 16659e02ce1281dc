"""What is said of bands in a VRT and concerns the shape of the result: types and nodata values, band by band.

The core reads the mosaic and refuses what it does not serve, and sources that lie elsewhere than they may.
This looks at the XML once more for what one array cannot hold at a time: bands of different types, bands of
different nodata values. It also says which sources a window needs and which of them are missing, before
anything is read. """

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import Any

from .. import environment
from ..errors import MixedBandMetadataError, StrileError, VRTUnsupportedError
from ..facts import Facts
from . import nodata, regular
from .arguments import Arguments
from .georef import stored_grid
from .metadata import elements

_TYPES = {
    "byte": "uint8", "uint8": "uint8", "int8": "int8", "uint16": "uint16", "int16": "int16",
    "uint32": "uint32", "int32": "int32", "uint64": "uint64", "int64": "int64",
    "float32": "float32", "float64": "float64", "cfloat32": "complex64", "cfloat64": "complex128",
}  # fmt: skip

_MISSING = "FileNotFoundError: there is no such file"
_NAMED = 20


@dataclass(frozen=True)
class Mosaic:
    """What a VRT says of its bands. `dtype` is what they are read as; None for a type that there is not."""

    dtype: str | None
    values: tuple[int | float | None, ...]
    apart: bool

    def nodata(self, band: int | None) -> tuple[int | float | None, ...]:
        """The nodata value of all bands that are read, or one for each where they differ."""
        if band is not None:
            return (self.values[band],)
        return self.values if self.apart else self.values[:1]


def inspect(path: str, band: int | None, band_nodata: str | None) -> Mosaic:
    raw = _text(path)
    try:
        root = elements(raw.decode("utf-8", "replace"), path)
    except ElementTree.ParseError as problem:
        raise VRTUnsupportedError(f"{path} is no XML: {problem}") from problem
    bands = root.findall("VRTRasterBand")
    if not bands:
        raise VRTUnsupportedError(f"{path} has no VRTRasterBand: at least one expected")
    types = [entry.get("dataType", "Float32").strip().lower() for entry in bands]
    if band is None and len(set(types)) > 1:
        raise MixedBandMetadataError(
            f"{path}: the bands have different types ({', '.join(types)}) and one array holds one: pass "
            "band to read one"
        )
    _nearest(root, path)
    values = tuple(nodata.parse(entry.findtext("NoDataValue")) for entry in bands)
    stated = {value for value in values if value is not None and value == value}
    with_nan = any(value is not None and value != value for value in values)
    mixed = len(stated) + with_nan > 1
    if mixed and band_nodata is None:
        raise MixedBandMetadataError(
            f"{path}: the bands have different nodata values ({', '.join(map(str, values))}) and attributes "
            "hold one: pass "
            "band_nodata='first' to mask each band by its own and to keep that of the first"
        )
    chosen = bands[band : band + 1] if band is not None and band >= 0 else bands
    dtype = _TYPES.get(types[bands.index(chosen[0])] if chosen else types[0])
    if dtype is not None and not dtype.startswith("complex") and any(map(_is_scaled, chosen)):
        dtype = "float64"
    return Mosaic(dtype, values, mixed)


def _text(path: str) -> bytes:
    """The content of a VRT: of a regular file, whose size is checked before it is read."""
    limit = environment.vrt_max_xml_bytes()
    with regular.opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(limit + 1) if size <= limit else b""
    if max(size, len(raw)) > limit:
        raise VRTUnsupportedError(
            f"{path} has {max(size, len(raw)):,} bytes, over the limit of {limit:,}: raise STRILE_VRT_MAX_XML_BYTES"
        )
    return raw


def _is_scaled(band: ElementTree.Element) -> bool:
    """Whether a source changes its values: they have fractions then, whatever type the band states."""
    for name, neutral in (("ScaleRatio", 1), ("ScaleOffset", 0)):
        if any(nodata.parse(element.text) != neutral for element in band.iter(name)):
            return True
    return False


def _nearest(root: ElementTree.Element, path: str) -> None:
    """Refuses a source that names another resampling than nearest and changes its size; GDAL passes over the
    element and takes the nearest."""
    if next(root.iter("ResampleAlg"), None) is None:
        return
    for source in root.findall("VRTRasterBand/*[ResampleAlg]"):
        name = (source.findtext("ResampleAlg") or "").strip()
        sizes = [_size(source.find(rect)) for rect in ("SrcRect", "DstRect")]
        if name and not name.lower().startswith("near") and sizes[0] != sizes[1]:
            raise VRTUnsupportedError(
                f"{path}: a source is resampled by {name!r}: only the nearest pixel is taken"
            )


def _size(rect: ElementTree.Element | None) -> tuple[Any, ...]:
    return () if rect is None else tuple(nodata.parse(rect.get(side)) for side in ("xSize", "ySize"))


def needed(
    dataset: Any, call: Arguments, bands: tuple[int, ...], window: tuple[int, ...]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The holes that a window of some bands will have, as `vrt_holes` lists them, and the sources it will be
    made of. A source that must not be opened, is placed in a way no mosaic can follow, or is of another reference
    system, is an error: headers are looked at, pixels are not."""
    path = str(call.source)
    row, column, row1, column1 = window
    holes: list[dict[str, Any]] = []
    there: list[dict[str, Any]] = []
    looked_at: dict[str, str | None] = {}
    broken: dict[str, str] = {}
    wanted = set(bands)
    whole = (0.0, 0.0, float(dataset.facts["pages"][0]["levels"][0]["width"]), float(row1))
    for entry in dataset.sources():
        x, y, width, height = entry["target_rect"] = entry["target_rect"] or whole
        apart = x >= column1 or x + width <= column or y >= row1 or y + height <= row
        if apart or entry["band"] not in wanted:
            continue
        if entry["problem"] is not None:
            raise VRTUnsupportedError(f"{path}: {entry['problem']}")
        found = entry["path"]
        if found is None:
            holes.append(_hole(entry, path, _MISSING))
            continue
        if found not in looked_at and found not in broken and not found.lower().endswith(".vrt"):
            opened = _opened(found, call)
            if isinstance(opened, str):
                broken[found] = opened
            else:
                looked_at[found] = _look(opened, found, call)
        if found in broken:
            holes.append(_hole(entry, path, broken[found]))
        else:
            there.append(entry)
    if holes and call.missing_sources == "raise":
        names = sorted({hole["source"] for hole in holes})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise FileNotFoundError(
            f"{path} needs {', '.join(names[:_NAMED])}{more}, not there: pass missing_sources='warn' for a "
            "partial mosaic"
        )
    _one_system(_system(dataset), looked_at, path)
    return holes, there


def damaged(sources: list[dict[str, Any]], problems: dict[str, str], path: str) -> list[dict[str, Any]]:
    """The holes of sources that a read was to be made of and went on without, by name."""
    return [
        _hole(entry, path, f"StrileError: {problems[entry['name']]}")
        for entry in sources
        if entry["name"] in problems
    ]


def _hole(entry: dict[str, Any], path: str, error: str) -> dict[str, Any]:
    name = entry["name"]
    return {
        "source": name if os.path.isabs(name) else os.path.join(os.path.dirname(os.path.abspath(path)), name),
        "band": entry["band"],
        "dst_rect": tuple(int(number) for number in entry["target_rect"]),
        "error": error,
    }


def _opened(path: str, call: Arguments) -> Any:
    """A source, or the problem of one that cannot be opened and may be gone on without."""
    from .. import _core

    try:
        return _core.Dataset.open(path, sidecars=False)
    except (StrileError, OSError) as problem:
        if call.missing_sources == "raise":
            raise
        return f"{type(problem).__name__}: {problem}"


def _look(dataset: Any, path: str, call: Arguments) -> str | None:
    """The reference system of a source; the rules for files hold for it too."""
    facts = Facts.of(dataset)
    tags = {tag: value for tag, _, _, value in dataset.tags(tables=False)}
    stored_grid(facts, tags, call.allow_rotated, path)
    nodata.declared(nodata.parse(facts.nodata_text), facts.dtype, call.allow_invalid_nodata, path)
    return _system(dataset)


def _system(dataset: Any) -> str | None:
    crs = dataset.facts["crs"]
    if crs is None:
        return None
    return f"EPSG:{crs['epsg']}" if crs["epsg"] else None


def _one_system(of_mosaic: str | None, of_sources: dict[str, str | None], path: str) -> None:
    """Systems that have a code and differ in it; others cannot be told apart for certain."""
    for source, system in of_sources.items():
        if of_mosaic is not None and system is not None and system != of_mosaic:
            raise VRTUnsupportedError(
                f"{path} is in {of_mosaic} and its source {source} in {system}: a mosaic is not "
                "reprojected, warp it first"
            )
