"""What `strile.read` and `strile.plan` are asked for: open files, and the options of the core. `plan` is here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core, onto
from ._core import Execution, Meaning, Place, ReadOptions
from .asked import bands_of, device_of, flag_of, index_of, level_of, text_of, window_of
from .origin import Origin
from .reading import opened
from .reading.arguments import halvings, pixel_limit
from .reading.source import PLACES, Source


@dataclass(frozen=True)
class Requested:
    """Pixels of one file, or of files on a grid. `origin` gives the attributes of the result."""

    files: list[Any]
    options: ReadOptions
    origin: Callable[[], dict[str, Any]]

    def read(self, **target: Any) -> Any:
        first, *others = self.files
        if isinstance(self.origin, onto.OntoOrigin):
            onto.told(self.files, self.origin.onto, stacklevel=4)
        found = _core.read_onto(self.files, self.options, **target) if others else first.read(self.options, **target)
        if target.get("out") is None:
            found.set_origin(self.origin)
        return found

    def plan(self) -> _core.Plan:
        first, *others = self.files
        return _core.plan_onto(self.files, self.options) if others else first.plan(self.options)


def execution_of(given: Mapping[str, Any]) -> Execution:
    """How a read is carried out, by keywords of readers."""
    return Execution(
        decode_on=text_of(given["decode_on"], "decode_on"),
        max_pixels=pixel_limit(given["max_pixels"]),
        cache=text_of(given["cache"], "cache"),
    )


def requested(path: Any, given: Mapping[str, Any]) -> Requested:
    """The request of the keywords of `strile.read`, of which `strile.plan` has most."""
    masked, unpack = flag_of(given["masked"], "masked"), flag_of(given["unpack"], "unpack")
    page, reduce, level = index_of(given["page"], "page"), halvings(given["reduce"]), given["level"]
    places = {name: given[name] for name in PLACES}
    has_grid = given["grid"] is not None or given["polygon"] is not None
    wanted = None
    if has_grid:
        onto.refuse_with_grid({"size": given.get("size"), "reduce": reduce})
        files, source = opened.datasets(path, places), None
        grid = given["grid"]
        if grid is None:
            onto.refuse_with_polygon({"window": given["window"], "level": level})
            grid = onto.own_grid(files[0], given["polygon"], given["polygon_crs"], given["datum_shift"])
        keywords = {name: given[name] for name in (*onto.OF_GRIDS, "polygon")}
        wanted = onto.onto_of(grid, resampling=given["resampling"], level=level, **keywords)
        level = 0
    else:
        onto.refuse_without_grid(given)
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
        origin = onto.OntoOrigin(files, wanted, window, bands, masked, unpack)
    else:
        assert source is not None
        origin = Origin(files[0], source, page, level, reduce, window, bands, masked, unpack)
    return Requested(files, options, origin)


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
    """The plan of a read: engine and reason, blocks, byte ranges, memory; `print(plan.explain())`.

    The keywords are those of `strile.read`. With `grid` the plan also says which level of each file is read, and the operation between
    the datums."""
    return requested(source, locals()).plan()
