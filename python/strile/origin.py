"""Makes the attributes of a `Raster` when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .reading.source import Source


@dataclass(frozen=True, slots=True)
class Origin:
    """The read of a raster. Called, it returns the attributes that `open_geotiff` gives the same pixels."""

    dataset: Any
    source: Source
    page: int
    level: int
    reduce: int
    window: tuple[int, int, int, int] | None
    bands: list[int] | None
    masked: bool
    unpack: bool

    def __call__(self) -> dict[str, Any]:
        from . import _core
        from .facts import Facts
        from .reading import sidecars
        from .reading.mask import FileMask

        if self.page != 0:
            return {}
        facts = Facts.of(self.dataset)
        number, reduce = self.level, self.reduce
        level = facts.level(number).halved(reduce)
        left, top, width, height = self.window or (0, 0, level.width, level.height)
        grid = _core.placement(self.dataset, number, reduce, allow_rotated=True, oriented=False)
        attrs: dict[str, Any] = _core.placed(
            self.dataset, grid, number, top, left, shifted=True, allow_unparseable_crs=True
        )
        attrs |= _core.stated(self.dataset, number)
        value = self.dataset.facts["stated_nodata"]
        if value is not None:
            attrs |= {"nodata": value, "masked_nodata": self.masked or self.unpack}
        if self.unpack:
            attrs["mask_and_scale_dtype"] = facts.dtype.name
        if level.fewer_bits is not None and facts.kind != "vrt":
            attrs["nbits"] = level.fewer_bits
        if self.bands is not None:
            attrs["source_bands"] = tuple(band - 1 for band in self.bands)
        categories, tables = sidecars.categories(self.dataset, stacklevel=2)
        attrs |= categories
        if tables is not None:
            attrs["tables"] = tables
        if facts.mask_source == "image" and not (self.masked or self.unpack):
            attrs["mask_dropped"] = "image"
            if number == 0 and reduce == 0:
                window = (top, left, top + height, left + width)
                attrs["mask"] = FileMask(self.source, self.dataset.version, window, None)
        return attrs
