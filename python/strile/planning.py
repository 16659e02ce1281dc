"""`strile.plan`: what `open_geotiff` would do, without doing it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .asked import flag_of, index_of, text_of
from .errors import StrileError
from .facts import Facts
from .reading import opened
from .reading.arguments import corners_of, halvings, pixel_limit
from .reading.source import Source

if TYPE_CHECKING:
    from ._core import Plan


def plan(
    source: str | os.PathLike[str] | Any,
    *,
    window: tuple[int, int, int, int] | None = None,
    overview_level: int | None = None,
    reduce: int = 0,
    band: int | None = None,
    gpu: bool = False,
    device: str | None = None,
    masked: bool = False,
    unpack: bool = False,
    max_pixels: int | None = None,
    allow_outside: bool = False,
    allowed_roots: Iterable[str | os.PathLike[str]] = (),
) -> Plan:
    """The plan of a read: engine and reason, blocks, byte ranges, memory; `print(plan.explain())`.

    The keywords are those of `open_geotiff`: `window` is (row0, col0, row1, col1), `overview_level` 0 the
    full image, `band` counts from 0. `device` ("auto", "cpu", "cuda:1") asks for more than `gpu` can say."""
    if device is not None and gpu:
        raise TypeError("gpu and device are both given: pass one of them")
    where = Source.of(source, allow_outside=allow_outside, allowed_roots=allowed_roots)
    level = 0 if overview_level is None else index_of(overview_level, "overview_level")
    dataset = opened.dataset(where, level=level)
    request: dict[str, Any] = {
        "level": level,
        "reduce": halvings(reduce),
        "device": ("cuda" if flag_of(gpu, "gpu") else "cpu") if device is None else text_of(device, "device"),
        "masked": flag_of(masked, "masked"),
        "unpack": flag_of(unpack, "unpack"),
        "max_pixels": pixel_limit(max_pixels),
    }
    ends = corners_of(window)
    if ends is not None:
        row, column, end_row, end_column = ends
        shape = Facts.of(dataset).level(level).halved(request["reduce"])
        if not (0 <= row < end_row <= shape.height and 0 <= column < end_column <= shape.width):
            raise StrileError(
                f"window is {window}: (row0, col0, row1, col1) within {shape.height} rows and "
                f"{shape.width} columns expected"
            )
        request["window"] = (column, row, end_column - column, end_row - row)
    if band is not None:
        request["bands"] = [index_of(band, "band") + 1]
    return dataset.plan(**request)
