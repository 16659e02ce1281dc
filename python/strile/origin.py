"""Where the pixels of a `Raster` come from: made into attributes when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .reading.source import Source


@dataclass(frozen=True, slots=True)
class Origin:
    """A read. Called, it gives the attributes that `open_geotiff` gives of the same pixels."""

    dataset: Any
    source: Source
    place: dict[str, Any]
    bands: list[int] | None
    masked: bool
    unpack: bool

    def __call__(self) -> dict[str, Any]:
        from .facts import Facts
        from .reading import attrs as attributes
        from .reading import metadata, nodata, pam, reference
        from .reading.georef import level_grid, stored_grid
        from .reading.mask import FileMask

        if self.place["page"] != 0:
            return {}
        facts = Facts.of(self.dataset)
        number = self.place["level"]
        stored = facts.level(number)
        level = stored.halved(self.place["reduce"])
        name = str(self.source)
        of_file = facts.kind != "vrt"
        own = list(self.dataset.tags(0, number, tables=False)) if of_file else []
        base = list(self.dataset.tags(0, 0, tables=False)) if of_file else []
        facts = facts.placed_as(stored)
        stated = own if stored.georeference is not None else base
        grid = stored_grid(facts, {tag: value for tag, _, _, value in stated}, True, name)
        grid = level_grid(grid, facts.level(), stored, {tag: value for tag, _, _, value in own}, name)
        grid = grid.reduced(stored.width / level.width, stored.height / level.height)
        column, row = (0, 0) if self.place["window"] is None else self.place["window"][:2]
        text = attributes.metadata_text(own, base)
        items = metadata.items(text, name)
        attrs: dict[str, Any] = {attributes.CONTRACT: attributes.CONTRACT_VERSION}
        crs = reference.attributes(facts, True, name) if grid.rotated is None else {}
        attrs |= attributes.georeference(grid, crs, row, column)
        if grid.gcps:
            attrs["gcps"] = tuple((down - row, across - column, *rest) for down, across, *rest in grid.gcps)
        attrs |= attributes.described(own, base, items, text)
        if of_file:
            attrs |= attributes.colours(level)
        value = nodata.parse(facts.nodata_text)
        value = facts.nodata if value is None else value
        if value is not None:
            attrs |= {"nodata": value, "masked_nodata": self.masked or self.unpack}
        if self.unpack:
            attrs["mask_and_scale_dtype"] = facts.dtype.name
        if level.fewer_bits is not None and of_file:
            attrs["nbits"] = level.fewer_bits
        if self.bands is not None:
            attrs["source_bands"] = tuple(band - 1 for band in self.bands)
        if not (self.source.is_object or self.source.is_remote):
            attrs |= pam.categories(self.source.location)
            tables = pam.tables(self.source.location)
            if tables is not None:
                attrs["tables"] = tables
        if facts.mask_source == "image" and not (self.masked or self.unpack):
            attrs["mask_dropped"] = "image"
            if number == 0 and self.place["reduce"] == 0:
                left, top, width, height = self.place["window"] or (0, 0, level.width, level.height)
                window = (top, left, top + height, left + width)
                attrs["mask"] = FileMask(self.source, self.dataset.version, window, None)
        return attrs
