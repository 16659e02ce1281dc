"""Colour ramps by name, each as nine colours at even distances.

The colours are those of matplotlib's maps of the same names at 0, 1/8, … 1.
"""

from __future__ import annotations

from typing import Any

from ..errors import StrileError
from .arguments import is_bool

RAMPS = {
    name: tuple((int(text[0:2], 16), int(text[2:4], 16), int(text[4:6], 16)) for text in colours.split())
    for name, colours in {
        "viridis": "440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725",
        "plasma": "0d0887 4c02a1 7e03a8 aa2395 cc4778 e66c5c f89540 fdc527 f0f921",
        "magma": "000004 1d1147 51127c 832681 b73779 e75263 fc8961 fec488 fcfdbf",
        "inferno": "000004 210c4a 57106e 8a226a bc3754 e45a31 f98e09 f9cb35 fcffa4",
        "cividis": "00224e 1a386f 434e6c 61656f 7d7c78 9b9476 bcae6c dec958 fee838",
        "greys": "ffffff f0f0f0 d9d9d9 bdbdbd 959595 727272 515151 242424 000000",
        "spectral": "9e0142 dd4a4c f98e52 fed481 ffffbe d6ee9b 86cfa5 3d95b8 5e4fa2",
        "terrain": "333399 0888ee 01cc66 81e680 fefe98 beac76 815e56 c1b0ac ffffff",
    }.items()
}


def ramp_name(value: Any) -> str | None:
    """None and False: no ramp; True: the default; else the name, whatever its case."""
    if value is None or (is_bool(value) and not value):
        return None
    if is_bool(value):
        return "viridis"
    if not isinstance(value, str) or value.lower() not in RAMPS:
        raise StrileError(f"color_ramp={value!r} is not known: expected one of {', '.join(RAMPS)}")
    return value.lower()
