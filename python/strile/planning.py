"""`strile.plan`: what `read` would do, without doing it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .requested import requested

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
    rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Plan:
    """The plan of a read: engine and reason, blocks, byte ranges, memory; `print(plan.explain())`.

    The keywords are those of `strile.read`. With `grid` the plan also says which level of each file is read, and the operation between
    the datums."""
    return requested(source, locals()).plan()
