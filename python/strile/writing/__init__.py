"""Writing arrays as GeoTIFF: what `strile.to_geotiff` is made of.

A call goes through four steps, each in its own modules, and none looks back:

1. `arguments`: every keyword is checked by itself, before data or target are looked at.
2. `raster` (of `layout`, `georef`, `crs`, `nodata`, `tags`, `pack`): the array becomes a `RasterToWrite`, a
   description that holds no pixel and has computed none.
3. `output`: where the file goes, and one writer of the core for it; `vrt` for a mosaic of tiles.
4. `pieces` (whole arrays) and `stream` (dask): pixels go to that writer, which is the only encoder. What a
   piece needs on its way (type, packing, inversion, statistics) is `pixels`, the same for both.
"""
