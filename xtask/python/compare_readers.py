#!/usr/bin/env python3
"""Files written by GDAL and by tifffile, read by `strile dump`, compared with the array they were made from.

One line a case: `PASS name`, or `FAIL name: reason`; exit status 1 when one fails. Lossless cases must be equal bit for
bit, lossy ones are held against GDAL's own reading. Where a build of GDAL lacks a codec the case is a `SKIP`.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import rasterio
import tifffile
from rasterio.errors import NotGeoreferencedWarning
from rasterio.transform import Affine

WIDTH, HEIGHT = 150, 97  # neither a multiple of a block's side: edges are cut
TRANSFORM = Affine(10.0, 0.0, 400000.0, 0.0, -10.0, 5000000.0)


def pixels(dtype, bands=1, bits=None, seed=7):
    """Smooth ramps with noise, the whole range of the type used somewhere."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    shape = (bands, HEIGHT, WIDTH)
    if dtype.kind == "c":
        part = np.float32 if dtype.itemsize == 8 else np.float64
        return (rng.standard_normal(shape).astype(part) + 1j * rng.standard_normal(shape).astype(part)).astype(dtype)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    ramp = (y * 3 + x * 2)[None] + rng.integers(0, 5, shape)
    if dtype.kind == "f":
        return (ramp * 0.37 + rng.standard_normal(shape)).astype(dtype)
    if bits:
        return (ramp % (1 << bits)).astype(dtype)
    info = np.iinfo(dtype)
    a = (ramp % 256).astype(np.uint8).astype(dtype) if dtype.itemsize == 1 else ramp.astype(dtype)
    a[0, 0, :2] = info.min, info.max
    return a


def gdal_cases():
    """(name, array, creation options, tolerance); no tolerance is bit for bit."""
    tiles = dict(tiled=True, blockxsize=64, blockysize=32)
    layouts = dict(tiles=tiles, strips=dict(blockysize=16), one_strip=dict(blockysize=HEIGHT),
                   planar=dict(tiles, interleave="band"), planar_strips=dict(interleave="band", blockysize=16))
    types = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64",
             "complex64", "complex128")
    for dtype in types:
        for name, layout in (("tiles", tiles), ("strips", layouts["strips"])):
            yield f"type/{dtype}_{name}", pixels(dtype), dict(layout, compress="deflate"), None
    for codec in ("none", "packbits", "lzw", "deflate", "zstd", "lzma"):
        for name, layout in layouts.items():
            yield f"codec/{codec}_{name}", pixels("uint16", 3), dict(layout, compress=codec), None
    for codec in ("lzw", "deflate", "zstd"):
        for dtype in types[:8]:
            yield f"predictor2/{codec}_{dtype}", pixels(dtype, 2), dict(tiles, compress=codec, predictor=2), None
        for dtype in ("float32", "float64"):
            for name, layout in layouts.items():
                options = dict(layout, compress=codec, predictor=3)
                yield f"predictor3/{codec}_{dtype}_{name}", pixels(dtype, 3), options, None
    big = dict(tiles, ENDIANNESS="BIG")
    for dtype in ("uint16", "int32", "float32", "float64", "complex64"):
        yield f"big_endian/{dtype}", pixels(dtype, 2), dict(big, compress="none"), None
    yield "big_endian/predictor2", pixels("uint16", 3), dict(big, compress="deflate", predictor=2), None
    yield "big_endian/predictor3", pixels("float32", 3), dict(big, compress="deflate", predictor=3), None
    yield "structure/bigtiff", pixels("uint16", 3), dict(tiles, BIGTIFF="YES", compress="lzw"), None
    yield "structure/bigtiff_big_endian", pixels("uint16"), dict(big, BIGTIFF="YES", compress="lzw"), None
    sparse = pixels("uint16", 2)
    sparse[:, :64, :] = 0
    yield "structure/sparse", sparse, dict(tiles, SPARSE_OK="TRUE", compress="deflate"), None
    sparse = pixels("int16")
    sparse[:, 32:, 64:] = -9999
    yield "structure/sparse_nodata", sparse, dict(tiles, SPARSE_OK="TRUE", compress="deflate", nodata=-9999), None
    for bits in (1, 2, 4, 7):
        yield f"bits/{bits}", pixels("uint8", 1, bits), dict(tiles, NBITS=bits, compress="deflate"), None
    for bits in (9, 12, 15):
        yield f"bits/{bits}", pixels("uint16", 1, bits), dict(tiles, NBITS=bits, compress="lzw"), None
    yield "bits/20", pixels("uint32", 1, 20), dict(tiles, NBITS=20, compress="zstd"), None
    half = pixels("float32").astype(np.float16).astype(np.float32)
    yield "bits/float16", half, dict(tiles, NBITS=16, compress="deflate"), None
    yield "bits/float16_predictor3", half, dict(tiles, NBITS=16, compress="deflate", predictor=3), None
    for codec in ("lerc", "lerc_deflate", "lerc_zstd"):
        yield f"codec/{codec}", pixels("float32"), dict(tiles, compress=codec, MAX_Z_ERROR=0), None
    yield "codec/webp_lossless", pixels("uint8", 3), dict(tiles, compress="webp", WEBP_LOSSLESS="YES"), None
    yield "codec/jxl_lossless", pixels("uint8", 3), dict(tiles, compress="jxl", JXL_LOSSLESS="YES"), None
    bilevel = (pixels("uint8", 1) > 100).astype(np.uint8)
    for codec in ("ccittrle", "ccittfax3", "ccittfax4"):
        yield f"codec/{codec}", bilevel, dict(blockysize=16, NBITS=1, compress=codec), None
    jpeg = dict(tiled=True, blockxsize=64, blockysize=64, compress="jpeg", JPEG_QUALITY=90)
    yield "codec/jpeg_grey", pixels("uint8"), jpeg, 1.0
    yield "codec/jpeg_rgb", pixels("uint8", 3), jpeg, 1.0
    yield "codec/jpeg_ycbcr", pixels("uint8", 3), dict(jpeg, photometric="ycbcr"), 2.0
    for name, nodata in (("nan", float("nan")), ("number", -32768.5)):
        yield f"geo/nodata_{name}", pixels("float32"), dict(tiles, compress="deflate", nodata=nodata), None


def tifffile_cases():
    """(name, array, keywords of imwrite)"""
    tile = dict(tile=(32, 64))
    for codec in ("none", "packbits", "lzw", "deflate", "adobe_deflate", "zstd", "lzma"):
        for order in "<>":
            name = f"{codec}_{'little' if order == '<' else 'big'}"
            yield name, pixels("uint16"), dict(tile, compression=codec, byteorder=order)
    for codec in ("deflate", "zstd", "lzw"):
        for order in "<>":
            name = f"{codec}_{'little' if order == '<' else 'big'}"
            yield f"predictor2_{name}", pixels("int32"), dict(tile, compression=codec, predictor=2, byteorder=order)
            yield f"predictor3_{name}", pixels("float64"), dict(tile, compression=codec, predictor=3, byteorder=order)
    lossless = dict(jpegxl=dict(lossless=True), jpeg2000=dict(level=0), webp=dict(lossless=True), lerc=dict(level=0))
    for codec, arguments in lossless.items():
        yield f"{codec}_lossless", pixels("uint8", 3), dict(tile, compression=codec, compressionargs=arguments)
    yield "float16", pixels("float16"), dict(tile, compression="deflate")
    yield "strips_of_7_rows", pixels("uint16"), dict(rowsperstrip=7, compression="deflate")
    yield "bigtiff", pixels("uint16"), dict(tile, bigtiff=True, compression="zstd")


def strile_dump(strile, path, *options):
    """(array, geo) of `strile dump --format raw`, or an error with its words."""
    done = subprocess.run([strile, "dump", "--format", "raw", *options, path], capture_output=True, timeout=60)
    if done.returncode != 0:
        raise ValueError(f"exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[:200]}")
    head, _, body = done.stdout.partition(b"\n")
    head = json.loads(head)
    return np.frombuffer(body, np.dtype(head["dtype"]).newbyteorder("<")).reshape(head["shape"]), head.get("geo") or {}


def difference(got, want, tolerance=None):
    """Why two arrays are not the same, or None."""
    if got.shape != want.shape:
        return f"shape {got.shape}, {want.shape} expected"
    if {want.dtype.name, got.dtype.name} == {"float16", "float32"}:  # half floats may come widened
        got, want = got.astype(np.float32), want.astype(np.float32)
    if got.dtype.name != want.dtype.name:
        return f"type {got.dtype.name}, {want.dtype.name} expected"
    if tolerance is not None:
        mean = float(np.abs(got.astype(float) - want.astype(float)).mean())
        return f"mean difference {mean:.2f}, at most {tolerance} expected" if mean > tolerance else None
    if got.tobytes() != np.ascontiguousarray(want).tobytes():
        return f"{int((got != want).sum())} of {want.size} samples differ"
    return None


def geo_difference(geo, nodata):
    if geo.get("epsg") != 32633:
        return f"epsg {geo.get('epsg')}, 32633 expected"
    if list(geo.get("transform") or [])[:6] != list(TRANSFORM)[:6]:
        return f"transform {geo.get('transform')}, {list(TRANSFORM)[:6]} expected"
    found = geo.get("nodata")
    same = found is None if nodata is None else found is not None and (
        float(found) == nodata or (float(found) != float(found) and nodata != nodata))
    return None if same else f"nodata {found}, {nodata} expected"


class Report:
    def __init__(self, only):
        self.only, self.failed = only, 0

    def case(self, name, check):
        """Runs one case: `check()` gives None or a reason."""
        if self.only not in name:
            return
        try:
            reason = check()
        except Unavailable as e:
            print(f"SKIP {name}: {e}")
            return
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
            reason = f"{type(e).__name__} {e}"
        self.failed += reason is not None
        print(f"PASS {name}" if reason is None else f"FAIL {name}: {' '.join(reason.split())}", flush=True)


class Unavailable(Exception):
    """This build of the writer lacks what the case needs."""


def gdal_file(path, array, options):
    profile = dict(driver="GTiff", width=WIDTH, height=HEIGHT, count=array.shape[0], dtype=array.dtype, interleave="pixel",
                   crs="EPSG:32633", transform=TRANSFORM)
    profile.update(options)
    try:
        with rasterio.open(path, "w", **profile) as out:
            out.write(array)
    except (rasterio.errors.RasterioError, rasterio._err.CPLE_BaseError) as e:
        raise Unavailable(str(e)) from e


def check_gdal(strile, folder, array, options, tolerance):
    path = os.path.join(folder, "case.tif")
    gdal_file(path, array, options)
    want = array
    if tolerance is not None:
        with rasterio.open(path) as source:
            want = source.read()
    got, geo = strile_dump(strile, path)
    return difference(got, want, tolerance) or geo_difference(geo, options.get("nodata"))


def check_tifffile(strile, folder, array, keywords):
    path = os.path.join(folder, "case.tif")
    chunky = np.moveaxis(array, 0, -1) if array.shape[0] > 1 else array[0]
    photometric = "rgb" if array.shape[0] == 3 else "minisblack"
    tifffile.imwrite(path, chunky, photometric=photometric, metadata=None, **keywords)
    if not np.array_equal(tifffile.imread(path), chunky):
        return "tifffile does not read back what it wrote"
    got, _ = strile_dump(strile, path)
    return difference(got, array)


def check_overviews(strile, folder, external):
    path = os.path.join(folder, "overviews.tif")
    gdal_file(path, pixels("uint16", 2), dict(tiled=True, blockxsize=32, blockysize=32, compress="deflate"))
    with rasterio.Env(TIFF_USE_OVR="YES" if external else "NO"):
        with rasterio.open(path, "r+") as source:
            source.build_overviews([2, 4], rasterio.enums.Resampling.average)
    try:
        for level in (0, 1):
            with rasterio.open(path, overview_level=level) as source:
                want = source.read()
            reason = difference(strile_dump(strile, path, "--level", str(level + 1))[0], want)
            if reason:
                return f"overview {level}: {reason}"
        return None if os.path.exists(path + ".ovr") == external else "GDAL put the overviews elsewhere"
    finally:
        for name in (path, path + ".ovr"):
            if os.path.exists(name):
                os.remove(name)


def check_mask(strile, folder):
    path = os.path.join(folder, "mask.tif")
    mask = (pixels("uint8")[0] > 60).astype(np.uint8) * 255
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK="YES"):
        gdal_file(path, pixels("uint8", 3), dict(tiled=True, blockxsize=64, blockysize=64, compress="deflate"))
        with rasterio.open(path, "r+") as out:
            out.write_mask(mask)
    return difference(strile_dump(strile, path, "--mask")[0], mask[None])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strile", required=True, help="the strile binary")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore", NotGeoreferencedWarning)
    report, strile = Report(options.only), os.path.abspath(options.strile)
    with tempfile.TemporaryDirectory() as folder:
        for name, array, creation, tolerance in gdal_cases():
            report.case(f"gdal/{name}", lambda: check_gdal(strile, folder, array, creation, tolerance))
        for name, array, keywords in tifffile_cases():
            report.case(f"tifffile/{name}", lambda: check_tifffile(strile, folder, array, keywords))
        report.case("gdal/overviews_internal", lambda: check_overviews(strile, folder, False))
        report.case("gdal/overviews_external", lambda: check_overviews(strile, folder, True))
        report.case("gdal/mask_internal", lambda: check_mask(strile, folder))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
