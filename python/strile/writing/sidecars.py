"""Small files beside a raster: GDAL's `.aux.xml` (names and colours of categories, statistics) and QGIS's
`.qml` style.

The core makes `.aux.xml` and puts it beside the file together with it. A `.qml` has another base
name, so it is written after the file, by a rename as well.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from .. import _core
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
    tables: tuple[str, tuple[int, ...]] | None = None,
) -> bytes | None:
    """The text of `.aux.xml`; None where there is nothing to say. `bounds` replace statistics that were
    not gathered; `tables` is the text of tables that say what colours would, and which of its bands each band is."""
    figures = _figures(statistics, bounds)
    items = [(f"STATISTICS_{key}", number_text(value)) for key, value in figures.items()]
    text, bands = (None, ()) if tables is None else tables
    return _core.aux_xml([str(name) for name in names], [_rgba(colour) for colour in colours], items, text, bands)


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


def _rgba(colour: Any) -> tuple[int, ...]:
    """Red, green, blue and alpha, which is 255 where it is left out, from 0 to 255."""
    try:
        parts = [int(part) for part in np.asarray(colour).ravel()]
    except (TypeError, ValueError):
        parts = []
    if len(parts) == 3:
        parts.append(255)
    if len(parts) != 4 or not all(0 <= part <= 255 for part in parts):
        raise StrileError(
            f"attrs['category_colors'] has {colour!r}: expected (red, green, blue, alpha) from 0 to 255"
        )
    return tuple(parts)


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
