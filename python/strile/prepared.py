"""Prepares `strile.read` and `strile.plan`: open files, and the options of the core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core, grid_options
from ._core import Execution, Meaning, Place, ReadOptions
from .checks import bands_of, device_of, flag_of, index_of, level_of, text_of, window_of
from .origin import Origin
from .reading import opened
from .reading.arguments import halvings, pixel_limit
from .reading.source import SOURCE_KEYWORDS, Source


@dataclass(frozen=True)
class PreparedRead:
    """A read of one file, or of files onto a grid. `origin` makes the attributes of the result."""

    files: list[Any]
    options: ReadOptions
    origin: Callable[[], dict[str, Any]]

    def read(self, **target: Any) -> Any:
        first, *others = self.files
        if isinstance(self.origin, grid_options.GridOrigin):
            grid_options.operation_attrs(self.files, self.origin.onto, stacklevel=4)
        found = _core.read_onto(self.files, self.options, **target) if others else first.read(self.options, **target)
        if target.get("out") is None:
            found.set_origin(self.origin)
        return found

    def plan(self) -> _core.Plan:
        first, *others = self.files
        return _core.plan_onto(self.files, self.options) if others else first.plan(self.options)


def execution_of(given: Mapping[str, Any]) -> Execution:
    """Returns how a read is carried out, by keywords of readers."""
    return Execution(
        decode_on=text_of(given["decode_on"], "decode_on"),
        max_pixels=pixel_limit(given["max_pixels"]),
        cache=text_of(given["cache"], "cache"),
    )


def prepare(path: Any, given: Mapping[str, Any]) -> PreparedRead:
    """Prepares a read by the keywords of `strile.read`, of which `strile.plan` has most."""
    masked, unpack = flag_of(given["masked"], "masked"), flag_of(given["unpack"], "unpack")
    page, reduce, level = index_of(given["page"], "page"), halvings(given["reduce"]), given["level"]
    places = {name: given[name] for name in SOURCE_KEYWORDS}
    has_grid = given["grid"] is not None or given["polygon"] is not None
    wanted = None
    if has_grid:
        grid_options.refuse_with_grid({"size": given.get("size"), "reduce": reduce})
        files, source = opened.datasets(path, places), None
        grid = given["grid"]
        if grid is None:
            grid_options.refuse_with_polygon({"window": given["window"], "level": level})
            grid = grid_options.own_grid(files[0], given["polygon"], given["polygon_crs"], given["datum_shift"])
        keywords = {name: given[name] for name in (*grid_options.OF_GRIDS, "polygon")}
        wanted = grid_options.onto_of(grid, resampling=given["resampling"], level=level, **keywords)
        level = 0
    else:
        grid_options.refuse_without_grid(given)
        level = level_of(level)
        is_open = hasattr(path, "_opened")
        source = path._source if is_open else Source.of(path, **places)
        files = [path._opened() if is_open else opened.dataset(source, level=level)]
    window, bands = window_of(given["window"]), bands_of(given["bands"])
    place = Place(page=page, level=level, reduce=reduce, window=window, bands=bands, onto=wanted)
    device = device_of(given["device"], given.get("out"))
    options = ReadOptions(place, Meaning(masked=masked, unpack=unpack), execution=execution_of(given), device=device)
    origin: Callable[[], dict[str, Any]]
    if wanted is not None:
        origin = grid_options.GridOrigin(files, wanted, window, bands, masked, unpack)
    else:
        assert source is not None
        origin = Origin(files[0], source, page, level, reduce, window, bands, masked, unpack)
    return PreparedRead(files, options, origin)


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
    rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> _core.Plan:
    """Returns the plan of a read without reading pixels: engine and reason, blocks, byte ranges, memory. `print(plan.explain())` shows it.

    The keywords are those of `strile.read`. With `grid` the plan also has the level that each file is read at, and the operation between
    the datums."""
    return prepare(source, locals()).plan()
