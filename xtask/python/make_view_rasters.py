"""Makes the rasters that the browser tests of `strile view` look at: make_view_rasters.py FOLDER.

GDAL (by rasterio) and tifffile write them. Each is odd in its own way; all are small. The names are those of
crates/serve/page/tests/strile.mjs.
"""

import sys
from pathlib import Path

import numpy as np
import rasterio
import tifffile
from rasterio.transform import Affine

UTM = Affine(10.0, 0.0, 500000.0, 0.0, -10.0, 5200000.0)


def hills(height, width):
    """Heights in metres, smooth enough to shade."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    return 800 + 300 * np.sin(x / 70) * np.cos(y / 90) + 120 * np.sin((x + 2 * y) / 31) + 15 * np.sin(x / 5) * np.sin(y / 6)


def write(path, data, mask=None, colours=None, descriptions=None, **options):
    bands = data if data.ndim == 3 else data[np.newaxis]
    profile = {"driver": "GTiff", "count": bands.shape[0], "height": bands.shape[1], "width": bands.shape[2], "dtype": bands.dtype}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **{**profile, **options}) as file:
        file.write(bands)
        if mask is not None:
            file.write_mask(mask)
        if colours is not None:
            file.write_colormap(1, colours)
        for index, text in enumerate(descriptions or [], 1):
            file.set_band_description(index, text)


def damaged(path):
    """Tiles by Deflate, one of them overwritten."""
    write(path, (hills(600, 800) % 251).astype(np.uint8), tiled=True, blockxsize=256, blockysize=256, compress="deflate")
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        offset, count = page.dataoffsets[5], page.databytecounts[5]
    with open(path, "r+b") as file:
        file.seek(offset + 2)
        file.write(b"\xff" * (count - 2))


def mosaic(folder):
    """Two halves under a VRT."""
    data = hills(300, 500).astype(np.float32)
    for name, part, left in (("west", data[:, :250], 0), ("east", data[:, 250:], 250)):
        write(folder / f"parts/{name}.tif", part, crs="EPSG:32632", transform=UTM * Affine.translation(left, 0))
    source = """<SimpleSource><SourceFilename relativeToVRT="1">parts/{name}.tif</SourceFilename><SourceBand>1</SourceBand>
<SrcRect xOff="0" yOff="0" xSize="250" ySize="300"/><DstRect xOff="{left}" yOff="0" xSize="250" ySize="300"/></SimpleSource>"""
    sources = "".join(source.format(name=name, left=left) for name, left in (("west", 0), ("east", 250)))
    transform = ", ".join(map(str, UTM.to_gdal()))
    (folder / "mosaic.vrt").write_text(
        f'<VRTDataset rasterXSize="500" rasterYSize="300"><SRS>EPSG:32632</SRS><GeoTransform>{transform}</GeoTransform>'
        f'<VRTRasterBand dataType="Float32" band="1">{sources}</VRTRasterBand></VRTDataset>'
    )


def main(folder):
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    y, x = np.mgrid[:500, :640]
    height = hills(700, 900)
    rgb = np.stack([(x + 2 * y) % 256, (3 * x) % 256, (x * y) % 256]).astype(np.uint8)
    write(folder / "strips.tif", (height * 20).astype(np.uint16), compress="lzw", blockysize=1)
    dem = height.astype(np.float32)
    dem[200:260, 300:420] = -9999
    write(folder / "cog.tif", dem, driver="COG", nodata=-9999, crs="EPSG:32632", transform=UTM, compress="deflate", blocksize=256)
    write(folder / "southup.tif", height.astype(np.int16), crs="EPSG:32632", transform=Affine(10, 0, 5e5, 0, 10, 5e6))
    write(folder / "rotated.tif", rgb[0], crs="EPSG:32632", transform=UTM * Affine.rotation(30))
    many = (np.arange(64)[:, None, None] * 900 + (x + y)[:260, :300]).astype(np.uint16)
    write(folder / "bands64.tif", many, interleave="band", compress="deflate", descriptions=[f"channel {i}" for i in range(1, 65)])
    write(folder / "complex.tif", ((x - 300) + 1j * (y - 200)).astype(np.complex64))
    write(folder / "palette.tif", ((x // 40 + y // 40) % 4).astype(np.uint8), colours={0: (20, 60, 120), 1: (80, 160, 90), 2: (230, 220, 150), 3: (150, 60, 50)})
    write(folder / "masked.tif", rgb, mask=((x - 320) ** 2 + (y - 250) ** 2 < 200**2).astype(np.uint8) * 255, photometric="rgb")
    alpha = np.concatenate([rgb, ((x > 300) * 255).astype(np.uint8)[np.newaxis]])
    write(folder / "alpha.tif", alpha, photometric="rgb", alpha="yes", tiled=True, blockxsize=128, blockysize=128, compress="zstd")
    write(folder / "int64.tif", (2**53 + x * 3 + y).astype(np.int64))
    write(folder / "white.tif", ((x // 16 + y // 16) % 2).astype(np.uint8), nbits=1, photometric="miniswhite", compress="ccittfax4")
    write(folder / "jpeg.tif", np.repeat(hills(500, 640)[np.newaxis] / 6, 3, 0).astype(np.uint8), photometric="ycbcr", compress="jpeg", tiled=True, blockxsize=256, blockysize=256)
    write(folder / "big.tif", hills(500, 640) + 1e9, endianness="big", bigtiff="yes")
    tifffile.imwrite(folder / "half.tif", (hills(500, 640) / 10).astype(np.float16), predictor=False)
    mosaic(folder)
    damaged(folder / "damaged.tif")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
