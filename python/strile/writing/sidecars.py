"""Small files beside a raster: GDAL's `.aux.xml` (names and colours of categories, statistics) and QGIS's
`.qml` style.

Texts are made here; the core puts `.aux.xml` beside the file together with it. A `.qml` has another base
name, so it is written after the file, by a rename as well.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from ..errors import StrileError
from .pixels import Statistics
from .ramps import RAMPS

Range = tuple[float, float]


def number_text(value: float) -> str:
    """Short, and the same number when it is read back."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def aux_xml(
    names: Sequence[str],
    colours: Sequence[Any],
    statistics: Statistics | None,
    bounds: Range | None,
    tables: Mapping[int, tuple[str, ...]] | None = None,
) -> bytes | None:
    """The text of `.aux.xml`; None where there is nothing to say. `bounds` stand for statistics nobody
    gathered; `tables` are elements by band, from 0, which say what colours would."""
    root = ET.Element("PAMDataset")
    band = ET.SubElement(root, "PAMRasterBand", band="1")
    kept = dict(tables or {})
    if names:
        listed = ET.SubElement(band, "CategoryNames")
        for name in names:
            ET.SubElement(listed, "Category").text = str(name)
    if 0 in kept:
        band.extend(ET.fromstring(text) for text in kept[0])
    elif colours:
        _colour_table(band, names, [_rgba(colour) for colour in colours])
    figures = _figures(statistics, bounds)
    if figures:
        metadata = ET.SubElement(band, "Metadata")
        for key, value in figures.items():
            ET.SubElement(metadata, "MDI", key=f"STATISTICS_{key}").text = number_text(value)
    for number in sorted(kept.keys() - {0}):
        other = ET.SubElement(root, "PAMRasterBand", band=str(number + 1))
        other.extend(ET.fromstring(text) for text in kept[number])
    if not names and not colours and not figures and not kept:
        return None
    ET.indent(root)
    return ET.tostring(root, encoding="unicode").encode() + b"\n"


def _figures(statistics: Statistics | None, bounds: Range | None) -> dict[str, float]:
    if bounds is not None:
        return {"MINIMUM": bounds[0], "MAXIMUM": bounds[1]}
    if statistics is None or not statistics.count:
        return {}
    return {
        "MINIMUM": statistics.minimum,
        "MAXIMUM": statistics.maximum,
        "MEAN": statistics.mean,
        "STDDEV": statistics.deviation,
    }


TYPES_AND_USAGES = {
    "Value": (0, 5), "Class": (2, 2), "Red": (0, 6), "Green": (0, 7), "Blue": (0, 8), "Alpha": (0, 9),
}  # fmt: skip
"""Columns of an attribute table: GDAL's numbers of their type (integer, text) and of what they are for."""


def _colour_table(band: ET.Element, names: Sequence[str], colours: list[list[int]]) -> None:
    """Colours by value twice: as a colour table, which GDAL draws with, and as attributes, which QGIS
    lists."""
    table = ET.SubElement(band, "ColorTable")
    for colour in colours:
        ET.SubElement(table, "Entry", {f"c{number}": str(part) for number, part in enumerate(colour, 1)})
    attributes = ET.SubElement(band, "GDALRasterAttributeTable", tableType="thematic")
    for index, (name, (kind, usage)) in enumerate(TYPES_AND_USAGES.items()):
        column = ET.SubElement(attributes, "FieldDefn", index=str(index))
        for tag, text in (("Name", name), ("Type", str(kind)), ("Usage", str(usage))):
            ET.SubElement(column, tag).text = text
    for value, colour in enumerate(colours):
        row = ET.SubElement(attributes, "Row", index=str(value))
        name = names[value] if value < len(names) else ""
        for cell in (value, name, *colour):
            ET.SubElement(row, "F").text = str(cell)


def _rgba(colour: Any) -> list[int]:
    """Red, green, blue and alpha, which is 255 where it is left out, from 0 to 255."""
    try:
        parts = [int(part) for part in np.asarray(colour).ravel()]
    except (TypeError, ValueError):
        parts = []
    if len(parts) == 3:
        parts.append(255)
    if len(parts) != 4 or not all(0 <= part <= 255 for part in parts):
        raise StrileError(
            f"attrs['category_colors'] has {colour!r}: (red, green, blue, alpha) from 0 to 255 expected"
        )
    return parts


def qml(ramp: str, bounds: Range) -> bytes:
    """A style of QGIS: a single band in pseudocolour, interpolated between the colours of a ramp."""
    low, high = bounds
    colours = RAMPS[ramp]
    last = len(colours) - 1
    root = ET.Element("qgis", version="3.28.0", styleCategories="Symbology")
    pipe = ET.SubElement(root, "pipe")
    limits: dict[str, Any] = {"classificationMin": number_text(low), "classificationMax": number_text(high)}
    renderer = ET.SubElement(
        pipe,
        "rasterrenderer",
        type="singlebandpseudocolor",
        band="1",
        opacity="1",
        alphaBand="-1",
        nodataColor="",
        **limits,
    )
    shader = ET.SubElement(
        ET.SubElement(renderer, "rastershader"),
        "colorrampshader",
        colorRampType="INTERPOLATED",
        classificationMode="1",
        clip="0",
        minimumValue=number_text(low),
        maximumValue=number_text(high),
    )
    options = ET.SubElement(
        ET.SubElement(shader, "colorramp", name="[source]", type="gradient"), "Option", type="Map"
    )
    rgba = [f"{red},{green},{blue},255" for red, green, blue in colours]
    stops = ":".join(f"{place / last:g};{rgba[place]}" for place in range(1, last))
    for name, value in (
        ("color1", rgba[0]), ("color2", rgba[-1]), ("discrete", "0"), ("rampType", "gradient"), ("stops", stops),
    ):  # fmt: skip
        ET.SubElement(options, "Option", name=name, type="QString", value=value)
    for place, colour in enumerate(colours):
        value = number_text(low + (high - low) * place / last)
        text = "#{:02x}{:02x}{:02x}".format(*colour)
        ET.SubElement(shader, "item", value=value, color=text, alpha="255", label=value)
    ET.SubElement(pipe, "brightnesscontrast", brightness="0", contrast="0", gamma="1")
    ET.SubElement(pipe, "huesaturation", saturation="0", colorizeOn="0")
    ET.SubElement(pipe, "rasterresampler", maxOversampling="2")
    ET.SubElement(root, "blendMode").text = "0"
    ET.indent(root)
    head = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
    return (head + ET.tostring(root, encoding="unicode") + "\n").encode()


def style_bounds(statistics: Statistics | None, bounds: Range | None) -> Range | None:
    """Between which values a ramp lies; None where they are no range: constant data, no data."""
    if bounds is None and statistics is not None and statistics.count:
        bounds = statistics.minimum, statistics.maximum
    if bounds is None or not all(map(math.isfinite, bounds)) or not bounds[0] < bounds[1]:
        return None
    return bounds


def put(path: str, content: bytes) -> None:
    """A small file, whole or not at all."""
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".strile-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp gives a file to its owner alone; a raster's neighbours are as open as the raster.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
