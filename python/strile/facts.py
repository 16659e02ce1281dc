"""A typed view of what the core tells of a file before any pixel is read.

The core makes the dict once per open dataset; here it gets names and types, nothing is computed but what
follows from one field. Readers of pixels, the xarray engine and the handle all look at files through this.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

Transform = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Level:
    """One resolution of an image: the full one, or an overview."""

    width: int
    height: int
    bands: int
    dtype: str
    bits: tuple[int, ...]
    sample_formats: tuple[int, ...]
    block: tuple[int, int]
    tiled: bool
    compression: str
    compression_code: int
    predictor: int
    photometric: int
    planar: str
    orientation: int
    extra_samples: tuple[int, ...]
    sidecar: bool
    has_mask: bool
    largest_block: int | None
    georeference: dict[str, Any] | None

    @property
    def fewer_bits(self) -> int | None:
        """Bits that a sample is stored in, where its type has more."""
        full = np.dtype(self.dtype).itemsize * 8
        bits = set(self.bits)
        return min(bits) if len(bits) == 1 and min(bits) < full and np.dtype(self.dtype).kind == "u" else None

    def halved(self, times: int) -> Level:
        """The level as JPEG 2000 decodes it without this many wavelet levels."""
        if times == 0:
            return self
        width, height, *block = (-(-side >> times) for side in (self.width, self.height, *self.block))
        return replace(self, width=width, height=height, block=(block[0], block[1]))


@dataclass(frozen=True, slots=True)
class Crs:
    """A reference system as the file states it."""

    epsg: int | None
    horizontal_epsg: int | None
    wkt: str | None
    name: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class Band:
    """What is said of one band."""

    description: str | None
    unit: str | None
    scale: float | None
    offset: float | None
    items: dict[str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known of a file without reading pixels. `transform` is that of pixel corners, as stored:
    before the orientation is applied."""

    kind: str
    byte_order: str
    bigtiff: bool
    pages: tuple[tuple[Level, ...], ...]
    nodata: int | float | None
    nodata_text: str | None
    transform: Transform | None
    area_or_point: str | None
    crs: Crs | None
    gcps: tuple[tuple[float, float, float, float, float], ...]
    geokeys: dict[int, Any]
    bands: tuple[Band, ...]
    items: tuple[tuple[str, str, str | None], ...]
    categories: tuple[str, ...]
    mask_source: str
    colours: tuple[str | None, ...]
    """What each band stands for, in GDAL's words."""
    warnings: tuple[tuple[str, str, str], ...]

    @staticmethod
    def of(dataset: Any) -> Facts:
        """The facts of a `strile._core.Dataset`, made once per open file."""
        memo = dataset.memo
        if "facts" not in memo:
            memo["facts"] = Facts._made(dataset.facts)
        facts: Facts = memo["facts"]
        return facts

    @staticmethod
    def _made(raw: dict[str, Any]) -> Facts:
        crs = raw.get("crs")
        return Facts(
            kind=raw["kind"],
            byte_order=raw.get("byte_order", "little"),
            bigtiff=raw.get("bigtiff", False),
            pages=tuple(tuple(_record(Level, level) for level in page["levels"]) for page in raw["pages"]),
            nodata=raw.get("nodata"),
            nodata_text=raw.get("nodata_text"),
            transform=_optional_tuple(raw.get("transform")),
            area_or_point=raw.get("area_or_point"),
            crs=None if crs is None else _record(Crs, crs),
            gcps=tuple(raw.get("gcps") or ()),
            geokeys=dict(raw.get("geokeys") or {}),
            bands=tuple(_record(Band, band) for band in raw.get("bands") or ()),
            items=tuple(raw.get("items") or ()),
            categories=tuple(raw.get("categories") or ()),
            mask_source=raw.get("mask_source", "none"),
            colours=tuple(raw.get("colours") or ()),
            warnings=tuple(raw.get("warnings") or ()),
        )

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of each band."""
        return tuple(1.0 if band.scale is None else float(band.scale) for band in self.bands)

    @property
    def offsets(self) -> tuple[float, ...]:
        """The offset of each band."""
        return tuple(0.0 if band.offset is None else float(band.offset) for band in self.bands)

    def level(self, number: int = 0, page: int = 0) -> Level:
        return self.pages[page][number]

    @property
    def dtype(self) -> np.dtype:
        """The type of the pixels as stored."""
        return np.dtype(self.level().dtype)


def _record(kind: type, raw: dict[str, Any]) -> Any:
    values = {field.name: raw.get(field.name) for field in fields(kind)}
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return kind(**frozen)


def _optional_tuple(value: Any) -> Any:
    return None if value is None else tuple(float(number) for number in value)
