"""`strile.plan`: what `read` would do, without doing it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, onto
from .asked import bands_of, device_of, flag_of, index_of, level_of, text_of, window_of
from .reading import opened
from .reading.arguments import halvings, pixel_limit
from .reading.source import Source

if TYPE_CHECKING:
    from ._core import Plan


def plan(
    source: str | os.PathLike[str] | Any,
    *,
    window: Any = None,
    bands: Sequence[int] | None = None,
    level: int | None = None,
    reduce: int = 0,
    page: int = 0,
    device: Any = "cpu",
    decode_on: str = "auto",
    masked: bool = False,
    unpack: bool = False,
    max_pixels: int | None = None,
    cache: str = "auto",
    allow_outside: bool = False,
    allowed_roots: Iterable[str | os.PathLike[str]] = (),
    allowed_hosts: Sequence[str] = (),
    storage_options: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    store: Any = None,
    sidecars: str = "auto",
    grid: Any = None,
    resampling: str = "nearest",
    tolerance: float | None = None,
    datum_shift: str = "required",
    source_crs: Any = None,
    nodata: float | None = None,
    fill: float | None = None,
    top: str = "last",
    polygon: Any = None,
    polygon_crs: Any = None,
    order: int | None = None,
    tps: bool = False,
    rpc: bool = False,
    rpc_height: float | None = None,
) -> Plan:
    """The plan of a read: engine and reason, blocks, byte ranges, memory; `print(plan.explain())`.

    The keywords are those of `strile.read`. With `grid` the plan also says which level of each file is read, and the operation between
    the datums."""
    places: dict[str, Any] = {
        "allow_outside": allow_outside, "allowed_roots": allowed_roots, "allowed_hosts": allowed_hosts,
        "storage_options": storage_options, "anonymous": anonymous, "store": store, "sidecars": sidecars,
    }  # fmt: skip
    of_grid = {
        "tolerance": tolerance, "datum_shift": datum_shift, "source_crs": source_crs, "nodata": nodata, "fill": fill, "top": top,
        "polygon": polygon, "polygon_crs": polygon_crs, "order": order, "tps": tps, "rpc": rpc, "rpc_height": rpc_height,
    }  # fmt: skip
    if grid is not None or polygon is not None:
        onto.refuse_with_grid({"reduce": reduce})
        files = opened.datasets(source, places)
        if grid is None:
            onto.refuse_with_polygon({"window": window, "level": level})
            grid = onto.own_grid(files[0], polygon, polygon_crs, datum_shift)
        wanted = onto.onto_of(grid, resampling=resampling, level=level, **of_grid)
        window = window_of(window)
        return _core.plan_onto(
            files,
            page=index_of(page, "page"),
            window=None if window is None else tuple(window),
            bands=bands_of(bands),
            device=device_of(device),
            decode_on=text_of(decode_on, "decode_on"),
            masked=flag_of(masked, "masked"),
            unpack=flag_of(unpack, "unpack"),
            max_pixels=pixel_limit(max_pixels),
            cache=text_of(cache, "cache"),
            **wanted.keywords(),
        )
    onto.refuse_without_grid(of_grid)
    where = Source.of(source, **places)
    dataset = opened.dataset(where, level=level_of(level))
    return dataset.plan(
        page=index_of(page, "page"),
        level=level_of(level),
        reduce=halvings(reduce),
        window=window_of(window),
        bands=bands_of(bands),
        device=device_of(device),
        decode_on=text_of(decode_on, "decode_on"),
        masked=flag_of(masked, "masked"),
        unpack=flag_of(unpack, "unpack"),
        max_pixels=pixel_limit(max_pixels),
        cache=text_of(cache, "cache"),
    )
