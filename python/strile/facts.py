"""Provides `Facts`, a typed view of the metadata that the core reads from a file.

The core makes a dict per open dataset, which gets names and types here; only values that
follow from one field are computed. All readers use these facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from . import _core

Transform = tuple[float, float, float, float, float, float]
IDENTITY: Transform = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
"""The transform of an image without georeferencing: its own pixel grid."""


class BoundingBox(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True, kw_only=True)
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
    compression_code: int | None = None
    predictor: int
    photometric: int
    planar: str
    orientation: int
    extra_samples: tuple[int, ...]
    sidecar: bool
    has_mask: bool
    largest_block: int | None = None
    georeference: dict[str, Any] | None = None

    @property
    def fewer_bits(self) -> int | None:
        """Returns the stored bits of a sample if its type has more, else None."""
        full = np.dtype(self.dtype).itemsize * 8
        bits = set(self.bits)
        return min(bits) if len(bits) == 1 and min(bits) < full and np.dtype(self.dtype).kind == "u" else None

    def halved(self, times: int) -> Level:
        """Returns the level as decoded without this many wavelet levels of JPEG 2000."""
        if times == 0:
            return self
        width, height, *block = (-(-side >> times) for side in (self.width, self.height, *self.block))
        return replace(self, width=width, height=height, block=(block[0], block[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crs:
    """A reference system as the file states it."""

    kind: str
    epsg: int | None = None
    horizontal_epsg: int | None = None
    wkt: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The metadata of one band."""

    description: str | None = None
    unit: str | None = None
    scale: float | None = None
    offset: float | None = None
    items: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The metadata of a file. `transform` is that of pixel corners, as stored:
    before the orientation is applied."""

    kind: str
    byte_order: str = "little"
    bigtiff: bool = False
    pages: tuple[tuple[Level, ...], ...]
    nodata: int | float | None = None
    nodata_text: str | None = None
    transform: Transform | None = None
    area_or_point: str | None = None
    crs: Crs | None = None
    gcps: tuple[tuple[float, float, float, float, float], ...] = ()
    geokeys: dict[int, Any] = field(default_factory=dict)
    bands: tuple[Band, ...] = ()
    items: tuple[tuple[str, str, str | None], ...] = ()
    categories: tuple[str, ...] = ()
    mask_source: str = "none"
    colours: tuple[str | None, ...] = ()
    """The colour interpretation of each band, in GDAL's names."""
    warnings: tuple[tuple[str, str, str], ...] = ()

    @staticmethod
    def of(dataset: Any) -> Facts:
        """Returns the facts of a `strile._core.Dataset`, made once per open file."""
        memo = dataset.memo
        if "facts" not in memo:
            raw = dataset.facts
            parts: dict[str, Any] = {
                "pages": tuple(tuple(_record(Level, level) for level in page["levels"]) for page in raw["pages"]),
                "crs": None if raw.get("crs") is None else _record(Crs, raw["crs"]),
                "bands": tuple(_record(Band, band) for band in raw.get("bands") or ()),
            }
            memo["facts"] = _record(Facts, raw | parts)
        facts: Facts = memo["facts"]
        return facts

    @property
    def scales(self) -> tuple[float, ...]:
        """Returns the scale of each band."""
        return tuple(1.0 if band.scale is None else float(band.scale) for band in self.bands)

    @property
    def offsets(self) -> tuple[float, ...]:
        """Returns the offset of each band."""
        return tuple(0.0 if band.offset is None else float(band.offset) for band in self.bands)

    def level(self, number: int = 0, page: int = 0) -> Level:
        return self.pages[page][number]

    def transform_of(self, level: Level) -> Transform:
        """Returns the transform of a level of the first page, which covers what the full image covers."""
        full = self.level()
        return _core.scaled(self.transform or IDENTITY, full.width / level.width, full.height / level.height)

    @property
    def dtype(self) -> np.dtype:
        """Returns the type of the pixels as stored."""
        return np.dtype(self.level().dtype)


def _record(kind: type, raw: dict[str, Any]) -> Any:
    """Makes a record of a dict of the core. Missing values, and those that are None, have their defaults."""
    values = {one.name: raw[one.name] for one in fields(kind) if raw.get(one.name) is not None}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
