"""The part of the core's interface that writes. `strile._core` has these classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ._core import RemoteOptions

Progress = Callable[[int, int], object]

class RasterSpec:
    """A raster to be written: size, type, placement and metadata."""

    def __new__(
        cls,
        *,
        width: int,
        height: int,
        bands: int,
        dtype: str,
        mask: bool = False,
        transform: Sequence[float] | None = None,
        gcps: Sequence[tuple[float, ...]] = (),
        area_or_point: Literal["area", "point"] | None = None,
        crs: int | str | None = None,
        crs_citation: str | None = None,
        nodata: float | None = None,
        nodata_text: str | None = None,
        categories: Sequence[str] = (),
        band_descriptions: Sequence[str | None] | None = None,
        band_units: Sequence[str | None] | None = None,
        scales: Sequence[float | None] | None = None,
        offsets: Sequence[float | None] | None = None,
        items: Sequence[tuple[Any, ...]] = (),
        extra_tags: Sequence[tuple[int, int, int | None, Any]] | None = None,
        photometric: int | Literal["auto"] | None = None,
        alpha: bool = False,
        extra_samples: Sequence[int] | None = None,
        colormap: Sequence[int] | None = None,
        attrs: Mapping[Any, Any] | None = None,
        source_bands: Sequence[int] | None = None,
        dropped_items: Sequence[str] = (),
        statistics: bool = True,
        scaling: bool = True,
        changed: bool = False,
        overviews: bool = False,
    ) -> RasterSpec:
        """`nodata_text` states a nodata value that no sample can have; `crs_citation` names a reference system that nothing else
        is known of. `attrs` are attributes of an array that was read: tags, items, colours and resolution in them hold for the
        raster too, below what other keywords say. `source_bands` says which bands (from 0) of that file the raster has,
        `statistics` and `scaling` whether those of the file hold, `changed` that pixels were computed with since,
        `overviews` that there will be some. Items are (name, value, domain) or (name, value, domain, band from 1)."""
    def part(self, row: int, column: int, height: int, width: int) -> RasterSpec: ...
    @property
    def dtype(self) -> str: ...
    @property
    def inverted(self) -> bool:
        """Whether 0 is white: pixels must be passed inverted."""
    @property
    def has_palette(self) -> bool: ...
    @property
    def warnings(self) -> list[str]:
        """Describes in words what of `attrs` is not written."""

class WriteOptions:
    """How a raster is written. An option that is None has its default."""

    def __new__(
        cls,
        *,
        format: Literal["gtiff", "cog"] = "gtiff",
        compression: str | None = None,
        level: int | None = None,
        quality: int | None = None,
        lossless: bool | None = None,
        max_error: float | None = None,
        predictor: int | str | None = None,
        tile: tuple[int, int] | None = None,
        strip_rows: int | None = None,
        planar: Literal["contig", "separate"] = "contig",
        sparse: bool = False,
        bigtiff: Literal["auto", "yes", "no", "if_safer"] = "auto",
        overviews: str | int | Sequence[int] | None = None,
        resampling: str | None = None,
        bits: int | None = None,
        nan_to_nodata: bool = False,
        spooled: bool = False,
        buffer: int | None = None,
        reproducible: bool = False,
        encode_on: str = "auto",
        sidecars: bool = True,
        remote: RemoteOptions | None = None,
    ) -> WriteOptions: ...

class ConvertOptions:
    """How a file is converted: the options of `strile.convert`, by their names. One that is None has its default."""

    def __new__(cls, **keywords: Any) -> ConvertOptions: ...

class Writer:
    """A file being written, which appears at the target with `finish`."""

    def __init__(
        self,
        target: str | Any,
        raster: RasterSpec,
        options: WriteOptions,
        *,
        memory: int | None = None,
        threads: int | None = None,
    ) -> None:
        """`target`: a path, a URL of a bucket, or an object with `write(bytes)`."""
    def explain(self) -> str: ...
    @property
    def encoder(self) -> tuple[str, str]: ...
    @property
    def blocks(self) -> int: ...
    @property
    def device(self) -> str: ...
    def write(
        self,
        array: Any,
        row: int,
        column: int,
        *,
        axes: Literal["yx", "byx", "yxb"],
        mask: Any = None,
        stream: int | None = None,
        progress: Progress | None = None,
    ) -> None: ...
    def sidecar(self, suffix: str, content: bytes) -> None:
        """Adds a sidecar, which appears together with the target at its name plus `suffix`."""
    def finish(self, progress: Progress | None = None) -> dict[str, Any]: ...
    def abort(self) -> None: ...

class Parts:
    """A raster to be written in parts by several processes. It takes the arguments of a Writer, the same in every process."""

    def __init__(self, raster: RasterSpec, options: WriteOptions, size: tuple[int, int]) -> None:
        """`size`: the columns and rows wanted in a part; they come out as whole blocks."""
    def explain(self) -> str: ...
    @property
    def encoder(self) -> str: ...
    @property
    def is_big(self) -> bool: ...
    @property
    def blocks(self) -> int: ...
    @property
    def tiers(self) -> list[dict[str, Any]]:
        """Of each: `level` (whose pixels its parts are given), `levels` (that they encode), `image` and `size` of a
        part in pixels (columns, rows), `columns` and `rows` of parts. The first is that of the full image; each later
        one is given what the parts of the one before hand on."""
    def part(self, tier: int, row: int, column: int) -> dict[str, Any]:
        """`own`, `need` and `beyond` (or None) as (column, row, width, height), and `blocks`."""
    def encode(
        self, tier: int, row: int, column: int, *, path: str | None = None, memory: int | None = None, threads: int | None = None
    ) -> PartWriter: ...
    def lay_out(
        self,
        name: str,
        parts: Sequence[tuple[int, int, int, bytes]],
        sidecars: Sequence[tuple[str, bytes]],
        *,
        memory: int | None = None,
    ) -> dict[str, Any]:
        """Returns the result of `Assembly.lay_out`; `stretches` of the file in order, each bytes, or a part's number and from where to
        where in its records; and `sidecars`. `parts`: tier, row, column and index of all."""
    def assemble(self, target: str | Any, *, memory: int | None = None) -> Assembly: ...

class PartWriter:
    """A part being encoded."""

    @property
    def device(self) -> str: ...
    def write(
        self, array: Any, row: int, column: int, *, axes: Literal["yx", "byx", "yxb"], stream: int | None = None
    ) -> None: ...
    def finish(self) -> dict[str, Any]:
        """Returns `index`, `records` (None if they are in a file), `beyond` (bytes, shape, axes; or None), `blocks`."""
    def abort(self) -> None: ...

class Assembly:
    """A file that is joined from parts, and appears at the target with `commit`."""

    def add(self, tier: int, row: int, column: int, index: bytes, records: bytes | str) -> None: ...
    def sidecar(self, suffix: str, content: bytes) -> None: ...
    def lay_out(self) -> dict[str, Any]: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
