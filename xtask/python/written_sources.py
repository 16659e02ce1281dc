"""Small rasters of every kind, written by GDAL and by tifffile, for check_written.

A source is drawn from its number alone, so that one can be made again without the others.
"""

import base64
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import rasterio
import tifffile
from affine import Affine
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp
from rasterio.rpc import RPC

TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
         "complex64", "complex128")
# Most codecs and colours are for 8 bits.
DRAWN = TYPES + ("uint8",) * 7 + ("uint16",) * 3
SIZES = ((1, 1), (1, 300), (300, 1), (5, 7), (16, 16), (17, 33), (64, 48), (129, 257), (256, 256), (300, 211))
CONTENTS = ("smooth", "noise", "constant", "holes", "runs")
LAEA = "+proj=laea +lat_0=48.5 +lon_0=9.25 +x_0=1000 +y_0=2000 +ellps=GRS80 +units=m"
UTM = Affine(10, 0, 400000, 0, -10, 5000000)


@dataclass
class Source:
    """A file, and what decides which options suit it."""

    name: str
    path: str
    dtype: np.dtype
    bands: int
    content: str
    bits: int = 0  # stored bits of a sample where fewer than the type has
    palette: bool = False
    alpha: bool = False
    narrow: bool = False  # one column
    fits: tuple = ()  # depths below the type's that hold all samples
    traits: list = field(default_factory=list)


def pixels(rng, dtype, shape, content):
    """Samples: ramps, the whole range of the type, one value, rectangles of zero, or few values in long runs."""
    dtype = np.dtype(dtype)
    bands, height, width = shape
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return (pixels(rng, part, shape, content) + 1j * pixels(rng, part, shape, content)).astype(dtype)
    y, x = np.mgrid[0:height, 0:width]
    ramp = 90 + 30 * np.sin(x / 17 + np.arange(bands)[:, None, None]) + 30 * np.cos(y / 23) + rng.random(shape)
    if content == "smooth":
        return ramp.astype(dtype)
    if content == "constant":
        return np.full(shape, rng.integers(0, 100), dtype)
    if content == "runs":
        values = rng.integers(0, 3, (bands, -(-height // 8), -(-width // 24))) * 40
        return np.kron(values, np.ones((1, 8, 24)))[:, :height, :width].astype(dtype)
    if content == "holes":
        out = ramp.astype(dtype)
        for _ in range(3):
            top, left = rng.integers(0, height), rng.integers(0, width)
            out[:, top:top + rng.integers(1, 200), left:left + rng.integers(1, 200)] = 0
        return out
    if dtype.kind == "f":
        out = (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(dtype)
        special = [0.0, 1.0, np.finfo(dtype).max, np.finfo(dtype).tiny, -np.finfo(dtype).max]
        out.reshape(-1)[:min(5, out.size)] = special[:min(5, out.size)]
        return out
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def places(height, width):
    """Georeferences: their name, what `rasterio.open` is told, what is set afterwards."""
    corner = [GroundControlPoint(row, column, 9 + column / 1e4 + row / 1e6, 48 - row / 1e4, 7.5, str(n), "p")
              for n, (row, column) in enumerate([(0, 0), (0.5, width), (height, width - 0.25), (height, 0.125)])]
    line = [float(np.float32(v)) for v in np.linspace(-0.01, 0.02, 20)]
    unit = [1.0] + [0.0] * 19
    rpc = RPC(height_off=100.5, height_scale=500.25, lat_off=48.125, lat_scale=0.5, line_den_coeff=unit,
              line_num_coeff=line, line_off=2048.5, line_scale=4096.0, long_off=9.25, long_scale=0.75,
              samp_den_coeff=[1.0] + line[1:], samp_num_coeff=line[::-1], samp_off=1024.0, samp_scale=2048.0,
              err_bias=1.5, err_rand=0.25)
    return [
        ("none", {}, {}),
        ("utm", dict(crs="EPSG:32633", transform=UTM), {}),
        ("geographic", dict(crs="EPSG:4326", transform=Affine(1 / 3, 0, -10.1, 0, -1 / 3, 51.7)), {}),
        ("point", dict(crs="EPSG:3857", transform=Affine(2.5, 0, 17.125, 0, -2.5, 33.5)), dict(AREA_OR_POINT="Point")),
        ("rotated", dict(crs="EPSG:25832", transform=Affine(9, 2, 3e5, 3, -8, 5e6)), {}),
        ("rotated_point", dict(crs="EPSG:25832", transform=Affine(9, 2, 3e5, 3, -8, 5e6)), dict(AREA_OR_POINT="Point")),
        ("south_up", dict(crs="EPSG:32733", transform=Affine(10, 0, 400000, 0, 10, 5000000)), {}),
        ("laea", dict(crs=LAEA, transform=Affine(25, 0, -1000.5, 0, -25, 2000.25)), {}),
        ("compound", dict(crs="EPSG:9518", transform=Affine(0.1, 0, 5, 0, -0.1, 50)), {}),
        ("transform_alone", dict(transform=UTM), {}),
        ("crs_alone", dict(crs="EPSG:2056"), {}),
        ("gcps", dict(gcps=corner, crs="EPSG:4326"), {}),
        ("rpc", dict(rpcs=rpc), {}),
    ]


def nodata_of(rng, dtype):
    """A value of the type that stands in the pixels, or none."""
    dtype = np.dtype(dtype)
    if rng.random() < 0.5 or dtype.kind == "c":
        return None
    if dtype.kind == "f":
        return [float("nan"), 0.0, -9999.0, -32768.5][rng.integers(4)]
    info = np.iinfo(dtype)
    # rasterio has no more than doubles here.
    return int([0, 7, min(info.max, 1 << 53), max(info.min, -1 << 53)][rng.integers(4)])


def describe(rng, file, traits):
    """Words and numbers of bands and file."""
    if rng.random() < 0.4:
        traits.append("words")
        file.update_tags(TITLE="a <title> & \"more\" ünïcode", EMPTY_LOOKING=" ", TIFFTAG_SOFTWARE="maker 1.0",
                         TIFFTAG_DATETIME="2026:01:02 03:04:05", TIFFTAG_IMAGEDESCRIPTION="what it is",
                         TIFFTAG_XRESOLUTION="72", TIFFTAG_YRESOLUTION="72", TIFFTAG_RESOLUTIONUNIT="2 (pixels/inch)",
                         TIFFTAG_COPYRIGHT="nobody", TIFFTAG_ARTIST="x")
        file.update_tags(ns="MY_DOMAIN", KEY="value", OTHER="a=b")
        file.update_tags(1, WAVELENGTH="665", STATISTICS_MINIMUM="0", STATISTICS_MAXIMUM="9.5")
        file.update_tags(file.count, ns="BAND_DOMAIN", deep="yes")
        file.update_tags(ns="xml:XMP", **{"xml:XMP": '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>'})
    if rng.random() < 0.4:
        traits.append("bands")
        file.descriptions = [f"band ü{n} & <x>" for n in range(file.count)]
        file.units = ["m", "K", "", "mm", "1"][:file.count]
        file.scales = [0.1 * (n + 1) for n in range(file.count)]
        file.offsets = [-3.25 + n for n in range(file.count)]


def by_gdal(path, number, rng):
    """A file of GDAL's."""
    dtype = DRAWN[number % len(DRAWN)]
    stored, bits = dtype, 0
    if dtype == "float16":
        stored, bits = "float32", 16
    height, width = SIZES[rng.integers(len(SIZES))]
    bands = int(rng.choice([1, 1, 2, 3, 4, 5]))
    content = CONTENTS[rng.integers(len(CONTENTS))]
    traits, options = [], {}
    samples = pixels(rng, dtype, (bands, height, width), content).astype(stored)
    if dtype == "float16":
        samples = np.clip(samples, -60000, 60000)
    nodata = nodata_of(rng, dtype)
    if nodata is not None:
        options["nodata"] = nodata
        traits.append(f"nodata={nodata}")
        samples[:, rng.random((height, width)) < 0.2] = nodata
        samples[:, height // 3:, : width // 2] = nodata
    place, geo, words = places(height, width)[rng.integers(13)]
    traits.append(place)
    palette = dtype in ("uint8", "uint16") and bands == 1 and rng.random() < 0.25
    alpha = not palette and dtype in ("uint8", "uint16") and bands in (2, 4) and rng.random() < 0.6
    if dtype == "uint8" and bands == 1 and rng.random() < 0.35:
        bits = int(rng.choice([1, 2, 4, 7]))
    elif dtype == "uint16" and rng.random() < 0.3:
        bits = int(rng.choice([9, 12, 15]))
    elif dtype == "uint32" and rng.random() < 0.3:
        bits = 20
    if bits and np.dtype(dtype).kind == "u":
        samples %= 1 << bits
        if nodata is not None:
            options["nodata"] = nodata % (1 << bits)
    if bits:
        options["NBITS"] = bits
    if bands > 1 and rng.random() < 0.5:
        options["interleave"] = "band"
    if rng.random() < 0.5:
        options.update(tiled=True, blockxsize=64, blockysize=32)
    if bands >= 3 and dtype in ("uint8", "uint16") and rng.random() < 0.6:
        options["photometric"] = "rgb"
        traits.append("rgb")
    if rng.random() < 0.15:
        options["SOURCE_ICC_PROFILE"] = base64.b64encode(bytes(range(200))).decode()
        traits.append("icc")
    if alpha:
        options["ALPHA"] = ["YES", "PREMULTIPLIED"][rng.integers(2)]
        traits.append("alpha")
    profile = dict(driver="GTiff", width=width, height=height, count=bands, dtype=stored, **geo, **options)
    masked = not alpha and nodata is None and rng.random() < 0.3
    inside = rng.random() < 0.7
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=inside):
        with rasterio.open(path, "w", compress=["none", "deflate", "lzw"][rng.integers(3)], **profile) as file:
            if palette:
                traits.append("palette")
                count = 1 << min(bits or (8 if dtype == "uint8" else 16), 16)
                file.write_colormap(1, {n: (n * 7 % 256, n * 13 % 256, n % 256, 255) for n in range(count)})
            file.update_tags(**words)
            describe(rng, file, traits)
            file.write(samples)
            if masked:
                traits.append("mask" if inside else "mask_beside")
                file.write_mask((rng.random((height, width)) < 0.7).astype("uint8") * 255)
        if place == "none" and rng.random() < 0.7:
            traits.append("world_file")
            Path(path).with_suffix(".tfw").write_text("2.5\n0.5\n-0.25\n-3.0\n1000.5\n2000.25\n")
        if nodata is None and not masked and content != "constant" and rng.random() < 0.25:
            traits.append("pam")  # what GDAL finds out about a file goes to its sidecar
            with rasterio.open(path) as file:
                file.statistics(1)
        if bands == 5 and rng.random() < 0.5:
            traits.append("meanings")
            with rasterio.open(path, "r+") as file:
                file.colorinterp = [ColorInterp.gray, ColorInterp.undefined, ColorInterp.cyan, ColorInterp.alpha,
                                    ColorInterp.red]
    name = f"{number}_{dtype}_{bands}x{height}x{width}_{content}_{'_'.join(traits)}"
    fits = ()
    if dtype in ("uint16", "uint32") and not palette and not bits:
        fits = tuple(n for n in (9, 12, 15, 20, 31) if int(samples.max()) >> n == 0 and n < 8 * np.dtype(dtype).itemsize
                     and (dtype == "uint16" or n > 16))
    return Source(name.replace(" ", ""), path, np.dtype(stored), bands, content, bits, palette, alpha, width == 1, fits,
                  traits)


def by_tifffile(path, number, rng):
    """A file of tifffile's: float16 in its own type, both byte orders, planes."""
    dtype = np.dtype(TYPES[number // 4 % len(TYPES)])
    height, width = SIZES[rng.integers(len(SIZES))]
    bands = int(rng.choice([1, 3]))
    content = CONTENTS[rng.integers(len(CONTENTS))]
    samples = pixels(rng, dtype, (bands, height, width), content)
    planar = bands > 1 and rng.random() < 0.5
    options = dict(photometric="rgb" if bands == 3 and dtype.kind == "u" else "minisblack", metadata=None,
                   byteorder="<>"[rng.integers(2)], bigtiff=bool(rng.integers(2)), description="made by tifffile",
                   resolution=(300, 300), compression=["none", "deflate", "lzw", "zstd"][rng.integers(4)])
    if bands > 1:
        options["planarconfig"] = "separate" if planar else "contig"
    if rng.random() < 0.5:
        options["tile"] = (32, 64)
    else:
        options["rowsperstrip"] = int(rng.integers(1, 50))
    # Some other program's tag, which goes along.
    options["extratags"] = [(65010, 4, 3, (1, 2, 70000), True), (65011, 2, 0, "private words", True)]
    arranged = samples[0] if bands == 1 else samples if planar else np.moveaxis(samples, 0, -1)
    tifffile.imwrite(path, arranged, **options)
    stored = np.dtype("float32") if dtype == np.float16 else dtype
    name = f"{number}_{dtype}_{bands}x{height}x{width}_{content}_tifffile"
    return Source(name, path, stored, bands, content, 16 if dtype == np.float16 else 0,
                  narrow=width == 1)


def make(folder, number):
    """The source of a number."""
    rng = np.random.default_rng([3, number])
    path = f"{folder}/source_{number}.tif"
    return by_tifffile(path, number, rng) if number % 4 == 3 else by_gdal(path, number, rng)
