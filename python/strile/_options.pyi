"""The options of reads and of remote files: classes of `strile._core`, described here."""

from collections.abc import Sequence
from typing import Any, Literal

from ._core import Dataset, Grid, Window

class Place:
    """Which pixels are read: a page and level (0 full, then overviews), a window (column, row, width, height) in pixels of the level, or of the
    grid, and bands, which count from 1. `reduce`: how many times JPEG 2000 is halved while it is decoded; windows are then of the halved
    image."""

    def __init__(
        self, *, page: int = 0, level: int = 0, reduce: int = 0, window: Window | None = None, bands: Sequence[int] | None = None,
        layer: Literal["pixels", "mask"] = "pixels", onto: Onto | None = None,
    ) -> None: ...

class Meaning:
    """How stored values are converted. `float_type` is the type that `masked` and `unpack` give; None: float32 if that is exact.
    `scaling`: scale and offset for `unpack`, in place of those that the file states. `look_for`: a stored value, or "nodata" for the value
    of each band, that the pixels are searched for; NaN in pixels that were converted. See `Raster.found`."""

    def __init__(
        self, *, masked: bool = False, unpack: bool = False, scaling: tuple[float, float] | None = None,
        float_type: Literal["float16", "float32", "float64"] | str | None = None,
        invert_white: bool = False, look_for: int | float | Literal["nodata"] | None = None,
    ) -> None: ...

class Layout:
    """How pixels are ordered in the result: (band, y, x), or (y, x, band) with interleave "pixel"."""

    def __init__(self, *, interleave: Literal["band", "pixel"] = "band", apply_orientation: bool = False) -> None: ...

class Execution:
    """How a read is carried out. `decode_on`: the processor that decodes. `max_pixels`: the most samples of the result; None refuses what is
    implausible for the file. `max_cloud_bytes`: the most bytes fetched from remote sources. `cache`: "auto", "off", "encoded" or "decoded";
    see `strile.read`. `memory` and `threads`: limits of the call."""

    def __init__(
        self, *, decode_on: str = "auto", on_fault: Literal["fail", "fill"] | str = "fail", max_pixels: int | None = None,
        max_cloud_bytes: int | None = None, cache: str = "auto", device_memory: int | None = None, memory: int | None = None,
        threads: int | None = None,
    ) -> None: ...

class ReadOptions:
    """All options of a read. `device` holds the result: `cpu` by default, or that of `out`."""

    def __init__(
        self, place: Place | None = None, meaning: Meaning | None = None, layout: Layout | None = None, execution: Execution | None = None,
        *, device: str | None = None,
    ) -> None: ...

class Onto:
    """A grid and the resampling onto it. Can be pickled. `level` None is the coarsest that suffices. `polygon_crs`: None for that of the text of the
    polygon, empty for that of the grid."""

    def __init__(
        self, grid: Grid, *, resampling: str = "nearest", tolerance: float | None = None, level: int | None = None,
        datum_shift: str = "required", source_crs: Any = None, nodata: int | float | None = None, fill: int | float | None = None,
        dtype: str | None = None, top: str = "last", polygon: str | None = None, polygon_crs: str | None = None, order: int | None = None,
        tps: bool = False, rpc: bool = False, rpc_height: float | None = None,
        rpc_dem: tuple[str, str, float | None] | None = None,
    ) -> None: ...
    @property
    def grid(self) -> Grid: ...
    @property
    def resampling(self) -> str:
        """The resampling method, by its name in plans."""
    @property
    def level(self) -> int | None: ...
    def missing_value(self, dataset: Dataset, masked: bool) -> int | float | None:
        """Returns the value of missing pixels in the result; `dataset` is the first file."""

class RemoteOptions:
    """How remote files are reached; `strile.reading.storage` makes it. Can be pickled."""
    def __init__(
        self, *, anonymous: bool = False, allow_http: bool = False, request_payer: bool = False,
        deny_private_hosts: bool = True, allowed_private_hosts: Sequence[str] | None = None,
        region: str | None = None, endpoint: str | None = None,
        headers: Sequence[tuple[str, str]] | None = None, settings: Sequence[tuple[str, str]] | None = None,
        connect_timeout: float | None = None, stall_timeout: float | None = None, total_timeout: float | None = None,
        retries: int | None = None, merge_gap: int | None = None,
    ) -> None: ...
