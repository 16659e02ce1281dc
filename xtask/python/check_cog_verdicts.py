#!/usr/bin/env python3
"""The verdicts of `strile cog validate` held against those of `rio cogeo validate` and of GDAL's validator.

Inputs: COGs that GDAL's COG driver writes with many options, the same files damaged or edited, plain GeoTIFFs, and every
TIFF of the folders given. Errors and warnings must agree for each validator: none, or some. A file that a validator
cannot open is not held against it. GDAL's validator takes part where `osgeo_utils` can be imported by `--gdal-python`,
and is skipped aloud elsewhere. One line for each disagreement, then `N passed, N failed`; exit status 1 when one fails.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import rasterio
import rasterio.shutil
from rasterio.enums import Resampling
from rasterio.errors import NotGeoreferencedWarning

WIDTH, HEIGHT = 1100, 900

# Read by the interpreter that has GDAL's bindings: names on standard input, a line of JSON for each on standard output.
GDAL_SCRIPT = r"""
import json, sys
from osgeo import gdal
from osgeo_utils.samples import validate_cloud_optimized_geotiff as validator
gdal.DontUseExceptions()
gdal.PushErrorHandler("CPLQuietErrorHandler")
for name in sys.stdin.read().splitlines():
    try:
        found_warnings, errors, _ = validator.validate(name, full_check=True)
        print(json.dumps({"errors": errors, "warnings": found_warnings}), flush=True)
    except Exception as error:
        print(json.dumps({"unusable": str(error)}), flush=True)
"""


def pixels(bands=1, dtype="uint8", size=(HEIGHT, WIDTH)):
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:size[0], 0:size[1]]
    return ((x // 3 + y // 2)[None] + rng.integers(0, 9, (bands, *size))).astype(dtype)


def write(path, array, mask=False, **options):
    profile = dict(driver="GTiff", count=array.shape[0], height=array.shape[1], width=array.shape[2], dtype=array.dtype)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **profile, **options) as file:
        file.write(array)
        if mask:
            file.write_mask((array[0] % 7 != 0).astype("uint8") * 255)
    return path


def cog(folder, name, array, mask=False, sparse=False, **options):
    plain = write(os.path.join(folder, "plain.tif"), array, mask)
    path = os.path.join(folder, name + ".tif")
    if sparse:
        options["SPARSE_OK"] = "YES"
    rasterio.shutil.copy(plain, path, driver="COG", **options)
    os.remove(plain)
    return path


def cogs(folder):
    for codec in ("NONE", "DEFLATE", "LZW", "ZSTD", "JPEG", "WEBP", "LERC"):
        bands = 3 if codec in ("JPEG", "WEBP") else 1
        for mask in (False, True):
            yield cog(folder, f"cog_{codec}_{mask}", pixels(bands), mask, COMPRESS=codec, BLOCKSIZE=256)
    for big in ("YES", "NO"):
        for interleave in ("PIXEL", "BAND", "TILE"):
            name = f"cog_big{big}_{interleave}"
            yield cog(folder, name, pixels(3, "uint16"), big == "YES", BIGTIFF=big, INTERLEAVE=interleave, BLOCKSIZE=128)
    for size in ((300, 400), (512, 512), (513, 40), (40, 2000), (1025, 1025), (2000, 30)):
        for block in (128, 512, 1024):
            yield cog(folder, f"cog_{size[0]}x{size[1]}_{block}", pixels(1, size=size), BLOCKSIZE=block)
    yield cog(folder, "cog_no_overviews", pixels(), OVERVIEWS="NONE")
    yield cog(folder, "cog_wide_tiles", pixels(), BLOCKSIZE=2048)
    empty = pixels()
    empty[:, :600, :700] = 0
    yield cog(folder, "cog_sparse", empty, sparse=True, BLOCKSIZE=128)
    yield cog(folder, "cog_sparse_mask", empty, mask=True, sparse=True, BLOCKSIZE=128)
    yield cog(folder, "cog_all_sparse", pixels() * 0, sparse=True, BLOCKSIZE=256)
    yield cog(folder, "cog_all_sparse_small", pixels(1, size=(100, 100)) * 0, sparse=True, BLOCKSIZE=128)


def plains(folder):
    tiles = dict(tiled=True, blockxsize=256, blockysize=256)
    cases = dict(
        strips={}, one_strip=dict(blockysize=HEIGHT), tiles=tiles, tiles_rect=dict(tiled=True, blockxsize=512, blockysize=16),
        tiles_big=dict(tiles, bigtiff="YES"), tiles_band=dict(tiles, interleave="band"), sparse=dict(tiles, sparse_ok=True),
        tall=dict(tiled=True, blockxsize=16, blockysize=1024))
    for name, options in cases.items():
        array = pixels(2)
        if name == "sparse":
            array[:, :700] = 0
        path = write(os.path.join(folder, f"plain_{name}.tif"), array, **options)
        yield path
        for order in ([2, 4], [4, 2], [2], [3]):
            other = os.path.join(folder, f"plain_{name}_{'_'.join(map(str, order))}.tif")
            shutil.copy(path, other)
            with rasterio.open(other, "r+") as file:
                for factor in order:
                    file.build_overviews([factor], Resampling.nearest)
            yield other
    for size in ((600, 600), (600, 1100), (1100, 600), (600, 1024), (500, 500), (500, 3000)):
        yield write(os.path.join(folder, f"strips_{size[0]}x{size[1]}.tif"), pixels(1, size=size))
    for internal in (False, True):
        path = write(os.path.join(folder, f"beside_{internal}.tif"), pixels(), **tiles)
        if internal:
            with rasterio.open(path, "r+") as file:
                file.build_overviews([2, 4], Resampling.nearest)
            shutil.copy(os.path.join(folder, "beside_False.tif.ovr"), path + ".ovr")
        else:
            with rasterio.Env(TIFF_USE_OVR=True), rasterio.open(path, "r+") as file:
                file.build_overviews([2, 4], Resampling.nearest)
        assert os.path.exists(path + ".ovr")
        yield path


def blocks_of(path):
    """The bytes of a little-endian classic file, and for each directory the type, count and place of its tags."""
    data = open(path, "rb").read()
    assert data[:4] == b"II*\0"
    at, tables = struct.unpack_from("<I", data, 4)[0], []
    while at:
        count = struct.unpack_from("<H", data, at)[0]
        entry = {}
        for i in range(count):
            tag, kind, number = struct.unpack_from("<HHI", data, at + 2 + 12 * i)
            size = {3: 2, 4: 4}.get(kind, 1) * number
            where = at + 2 + 12 * i + 8
            entry[tag] = (kind, number, where if size <= 4 else struct.unpack_from("<I", data, where)[0])
        tables.append(entry)
        at = struct.unpack_from("<I", data, at + 2 + 12 * count)[0]
    return data, tables


def array_of(data, entry):
    kind, count, where = entry
    return list(struct.unpack_from(f"<{count}{'H' if kind == 3 else 'I'}", data, where))


def damaged(folder):
    for mask in (False, True):
        bands = 3 if mask else 1
        whole = cog(folder, f"whole_{mask}", pixels(bands), mask, COMPRESS="DEFLATE", BLOCKSIZE=128)
        data, tables = blocks_of(whole)
        for level, table in enumerate(tables):
            offsets, sizes = array_of(data, table[324]), array_of(data, table[325])
            if len(offsets) < 3:
                continue

            def variant(name, change):
                changed = bytearray(data)
                change(changed)
                path = os.path.join(folder, f"damaged_{mask}_{level}_{name}.tif")
                open(path, "wb").write(changed)
                return path

            def swap(changed):
                kind, count, where = table[324]
                struct.pack_into("<II", changed, where, offsets[1], offsets[0])
                kind, count, where = table[325]
                struct.pack_into("<HH" if kind == 3 else "<II", changed, where, sizes[1], sizes[0])

            def put(at, value):
                return lambda changed: changed.__setitem__(slice(at, at + len(value)), value)

            yield variant("swapped", swap)
            yield variant("leader", put(offsets[1] - 4, b"\1\2\3\4"))
            yield variant("trailer", put(offsets[1] + sizes[1], b"\1\2\3\4"))
            yield variant("sparse_first", lambda changed: (
                struct.pack_into("<I", changed, table[324][2], 0),
                struct.pack_into("<H" if table[325][0] == 3 else "<I", changed, table[325][2], 0)))
            yield variant("mask_moved", lambda changed: struct.pack_into("<I", changed, table[324][2] + 4, offsets[0]))
        edition = data.index(b"KNOWN_INCOMPATIBLE_EDITION=NO\n ")
        path = os.path.join(folder, f"damaged_{mask}_edition.tif")
        text = b"KNOWN_INCOMPATIBLE_EDITION=YES\n"
        open(path, "wb").write(data[:edition] + text + data[edition + len(text):])
        yield path
        path = os.path.join(folder, f"damaged_{mask}_no_ghost.tif")
        open(path, "wb").write(data[:8] + bytes(43) + data[51:])
        yield path
        path = os.path.join(folder, f"edited_{mask}.tif")
        shutil.copy(whole, path)
        with rasterio.open(path, "r+", IGNORE_COG_LAYOUT_BREAK="YES") as file:
            file.write(np.full((bands, 128, 128), 3, "uint8"), window=((0, 128), (128, 256)))
            file.update_tags(NEW="item " * 100)
        yield path
        path = os.path.join(folder, f"appended_{mask}.tif")
        shutil.copy(cog(folder, "one", pixels(bands), mask, OVERVIEWS="NONE", BLOCKSIZE=128), path)
        with rasterio.open(path, "r+", IGNORE_COG_LAYOUT_BREAK="YES") as file:
            file.build_overviews([2, 4], Resampling.nearest)
        yield path


def by_strile(program, paths):
    run = subprocess.run([program, "-q", "cog", "validate", "--json", "--", *paths], capture_output=True, text=True)
    if run.returncode not in (0, 1, 2) or not run.stdout:
        return {path: {"unusable": run.stderr.strip()} for path in paths}
    told = {}
    for file in json.loads(run.stdout)["files"]:
        told[file["file"]] = file
    return {path: told.get(path, {"unusable": "not checked"}) for path in paths}


def by_rio(path, validate):
    try:
        _, errors, found = validate(path, quiet=True)
        return {"errors": errors, "warnings": found}
    except Exception as error:  # whatever the library meets in a file it cannot open
        return {"unusable": str(error)}


def by_gdal(python, paths):
    run = subprocess.run([python, "-c", GDAL_SCRIPT], input="\n".join(paths), capture_output=True, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    if len(lines) != len(paths):
        # It died on a file: that file is told by its neighbours.
        if len(paths) == 1:
            return {paths[0]: {"unusable": "ended early"}}
        half = len(paths) // 2
        return by_gdal(python, paths[:half]) | by_gdal(python, paths[half:])
    return dict(zip(paths, lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("strile", help="the program")
    parser.add_argument("folders", nargs="*", help="folders of files to check too")
    parser.add_argument("--gdal-python", default="/usr/bin/python3", help="interpreter that has GDAL's own bindings")
    parser.add_argument("--verbose", action="store_true", help="tell of every file")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    warnings.simplefilter("ignore", NotGeoreferencedWarning)
    judges = {}
    try:
        from rio_cogeo.cogeo import cog_validate
        judges["rio-cogeo"] = None
    except ImportError:
        sys.exit("rio-cogeo is not installed")
    probe = [arguments.gdal_python, "-c", "import osgeo_utils.samples.validate_cloud_optimized_geotiff"]
    try:
        subprocess.run(probe, check=True, capture_output=True)
        judges["gdal"] = None
    except (OSError, subprocess.CalledProcessError):
        print("SKIP gdal: osgeo_utils cannot be imported by", arguments.gdal_python)
    failed = passed = 0
    unusable = dict.fromkeys(judges, 0)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GDAL_PAM_ENABLED"] = "NO"
        paths = [*cogs(folder), *plains(folder), *damaged(folder)]
        for extra in arguments.folders:
            for base, _, names in sorted(os.walk(extra)):
                tiffs = [name for name in sorted(names) if open(os.path.join(base, name), "rb").read(2) in (b"II", b"MM")]
                paths += [os.path.join(base, name) for name in tiffs]
        ours = {}
        for at in range(0, len(paths), 50):
            ours |= by_strile(arguments.strile, paths[at:at + 50])
        if "gdal" in judges:
            judges["gdal"] = by_gdal(arguments.gdal_python, paths)
        if "rio-cogeo" in judges:
            judges["rio-cogeo"] = {path: by_rio(path, cog_validate) for path in paths}
        for path in paths:
            for judge, verdicts in judges.items():
                theirs, mine = verdicts[path], ours[path]
                if "unusable" in theirs or "unusable" in mine:
                    unusable[judge] += 1
                    if arguments.verbose:
                        print("UNUSABLE", judge, os.path.relpath(path, folder), theirs.get("unusable"), mine.get("unusable"))
                    continue
                kinds = ("errors", "warnings")
                found = [[f["code"] for f in mine[kind] if judge in f["found_by"]] for kind in kinds]
                expected = [theirs[kind] for kind in kinds]
                verdict = tuple(bool(kind) for kind in expected)
                if tuple(bool(kind) for kind in found) == verdict:
                    passed += 1
                    key = (judge, "errors" if verdict[0] else "warnings" if verdict[1] else "valid")
                    table[key] = table.get(key, 0) + 1
                else:
                    failed += 1
                    print(f"FAIL {os.path.basename(path)} ({path}): strile {found}, {judge} {expected}")
    for (judge, verdict), count in sorted(table.items()):
        print(f"{judge}: {count} agreed as {verdict}")
    for judge, count in unusable.items():
        print(f"{judge}: {count} not compared (one of the two cannot open the file)")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
