#!/usr/bin/env python3
"""What `strile convert` writes, read by GDAL, by tifffile and by strile, and held against the source as GDAL sees it.

    check_written.py STRILE [--only N[:M]] [--first N] [--sources N] [--draws N] [--keep FOLDER]

Sources are those of written_sources; for each of them options are drawn: codec, level, predictor, blocks, interleaving,
byte order, BigTIFF, sparse blocks, depth, format, overviews. Lossless codecs must be equal bit for bit in every reader
that has them (GDAL has neither JPEG 2000 nor LZ4; tifffile is given the lz4 library); LERC stays within its error; JPEG
and WebP are as near to the source as what GDAL writes at the same quality. Georeference, nodata, masks, colours, words and
numbers are those that GDAL finds in the source. COGs must be valid for `rio cogeo validate --strict`, for
`strile cog validate --strict` and for GDAL's validator, which is skipped aloud where `--gdal-python` does not have it.

One line for each failure, with the number for `--only` and the command; `N passed, N failed` at the end.
"""

import argparse
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import imagecodecs
import numpy as np
import rasterio
import tifffile
import written_sources
from affine import Affine
from check_cog_verdicts import by_gdal, by_strile
from rasterio.enums import MaskFlags
from rasterio.windows import Window

BYTES = ("NONE", "PACKBITS", "LZW", "DEFLATE", "ZSTD", "LZMA", "LZ4")
PREDICTED = ("LZW", "DEFLATE", "ZSTD", "LZMA", "LZ4")
CODES = dict(NONE=1, CCITTRLE=2, CCITTFAX3=3, CCITTFAX4=4, LZW=5, JPEG=7, DEFLATE=8, PACKBITS=32773, JPEG2000=34712,
             LERC=34887, LERC_DEFLATE=34887, LERC_ZSTD=34887, LZMA=34925, ZSTD=50000, WEBP=50001, LZ4=50004)
LEVELS = dict(DEFLATE=("ZLEVEL", (1, 6, 9, 12)), ZSTD=("ZSTD_LEVEL", (1, 9, 19)), LZMA=("LZMA_PRESET", (0, 6)))
NOT_GDAL = ("JPEG2000", "LZ4")
RESAMPLINGS = ("nearest", "average", "min", "max", "median", "mode", "rms", "gauss", "bilinear", "cubic", "lanczos")


class Wrong(Exception):
    """What is wrong with a file."""


def expect(what, found, expected):
    if found != expected:
        found, expected = str(found), str(expected)
        start = max(len(os.path.commonprefix([found, expected])) - 30, 0)
        raise Wrong(f"{what}: found {found[start:start + 300]}, expected {expected[start:start + 300]}")


def codecs_of(source):
    """Codecs that hold these samples."""
    names = list(BYTES)
    depth = source.bits or 8 * source.dtype.itemsize
    whole = source.bits == 0
    if source.dtype.kind in "iuf" and source.dtype.itemsize <= (8 if source.dtype.kind == "f" else 4) and whole:
        names += ["LERC", "LERC_DEFLATE", "LERC_ZSTD"]
    if source.dtype.kind in "iu" and depth in (8, 16) and whole:
        names.append("JPEG2000")
    if source.dtype == np.uint8 and whole and not source.palette:
        names += ["JPEG"] if source.bands in (1, 3) else []
        names += ["WEBP", "WEBP"] if source.bands in (3, 4) else []
    if depth == 1 and source.bands == 1:
        names += ["CCITTRLE", "CCITTFAX3", "CCITTFAX4"] * 2
    return names


def draw(rng, source):
    """Format, codec, creation options."""
    names = codecs_of(source)
    codec = names[rng.integers(len(names))]
    cog = bool(rng.random() < 0.45)
    options = dict(COMPRESS=codec)
    pick = lambda *choices: choices[rng.integers(len(choices))]
    if codec in BYTES and source.fits and rng.random() < 0.3:
        options["NBITS"] = pick(*source.fits)
    if codec in LEVELS and rng.random() < 0.4:
        name, levels = LEVELS[codec]
        options["LEVEL" if cog else name] = pick(*levels)
    if codec in PREDICTED:
        depth = options.get("NBITS") or source.bits or 8 * source.dtype.itemsize
        allowed = ["1"] + (["2"] * (depth in (8, 16, 32, 64) and not source.dtype.kind == "c")) + (["3"] * (source.dtype.kind == "f"))
        predictor = pick(None, *allowed)
        if predictor:
            options["PREDICTOR"] = predictor
    if codec.startswith("LERC"):
        options["MAX_Z_ERROR"] = pick("0", "0", "0.01", "2.5") if source.dtype.kind == "f" else pick("0", "0", "3")
    if codec in ("JPEG", "WEBP"):
        options["QUALITY" if cog else {"JPEG": "JPEG_QUALITY", "WEBP": "WEBP_LEVEL"}[codec]] = pick(50, 75, 90, 95)
    if codec == "JPEG2000" and rng.random() < 0.3:
        options["QUALITY"] = pick(40, 60)  # dB against the whole range of the type
    if codec == "WEBP" and rng.random() < 0.5:
        options = dict(COMPRESS=codec, WEBP_LOSSLESS="YES")
    if cog:
        # rio-cogeo takes the ratio of widths for the decimation: columns of one pixel have no valid overviews.
        options["BLOCKSIZE"] = 512 if source.narrow else pick(16, 64, 128, 512)
        if rng.random() < 0.8:
            # Filters lead from the ends of the range to infinity, which LERC does not store.
            ends = codec.startswith("LERC") and source.dtype.kind == "f" and source.content == "noise"
            known = 2 if source.dtype.kind == "c" else 6 if ends else len(RESAMPLINGS)
            options["OVERVIEW_RESAMPLING"] = pick(*RESAMPLINGS[:known])
        if rng.random() < 0.15:
            options["OVERVIEWS"] = "NONE"
    else:
        layout = pick("tiles", "strips", "rows", "default", "fax" if codec.startswith("CCITT") else "tiles")
        if layout == "tiles":
            options.update(TILED="YES", BLOCKXSIZE=pick(16, 64, 256), BLOCKYSIZE=pick(16, 32, 512))
        elif layout == "strips":
            options["TILED"] = "NO"
        elif layout == "rows":
            options["BLOCKYSIZE"] = pick(8, 16, 64) if codec == "JPEG" else pick(1, 3, 16, 1000)
        if rng.random() < 0.15:
            options["OVERVIEW_COUNT"] = pick(1, 3)
    big_endian = codec.startswith("LERC") and source.dtype.itemsize > 1
    if rng.random() < 0.3 and not big_endian:
        options["ENDIANNESS"] = pick("BIG", "LITTLE")
    if source.bands > 1 and codec != "WEBP":
        options["INTERLEAVE"] = pick("PIXEL", "BAND")
    if rng.random() < 0.3:
        options["BIGTIFF"] = pick("YES", "NO", "IF_SAFER", "IF_NEEDED")
    if rng.random() < 0.3:
        options["SPARSE_OK"] = "YES"
    return cog, codec, options


def words_of(file, band=None):
    """Tags by domain, but for those that say how pixels are stored."""
    spaces = {*(file.tag_namespaces(band) if band else file.tag_namespaces()), None}
    spaces -= {"IMAGE_STRUCTURE", "DERIVED_SUBDATASETS"}
    found = {space: dict(sorted((file.tags(band, ns=space) if band else file.tags(ns=space)).items())) for space in spaces}
    return {str(space): found[space] for space in sorted(found, key=str) if found[space]}


def system(crs):
    """WKT, with numbers as far as writers agree on them."""
    return crs and re.sub(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?", lambda number: f"{float(number[0]):.10g}", crs.to_wkt())


def facts(file):
    """What a file says, as GDAL tells it."""
    gcps, gcp_crs = file.gcps
    told = dict(size=(file.count, file.height, file.width), types=file.dtypes, crs=system(file.crs),
                transform=tuple(file.transform), gcp_crs=system(gcp_crs),
                gcps=[(p.row, p.col, p.x, p.y, p.z) for p in gcps], rpcs=file.rpcs and file.rpcs.to_gdal(),
                nodata=str(file.nodatavals), masks=[set(map(str, flags)) for flags in file.mask_flag_enums],
                colours=[colour.name for colour in file.colorinterp], descriptions=file.descriptions, units=file.units,
                scales=file.scales, offsets=file.offsets, words=words_of(file))
    for band in file.indexes:
        told[f"words of band {band}"] = words_of(file, band)
    if "palette" in told["colours"]:
        told["palette"] = file.colormap(1)
    return told


def same(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def expect_pixels(reader, found, expected, allowed=None):
    """Equal bit for bit, or within what is allowed."""
    if allowed is None:
        if not same(found, expected):
            if found.shape != expected.shape or found.dtype != expected.dtype:
                raise Wrong(f"{reader}: {found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}")
            unlike = np.argwhere((found != expected) & ~((found != found) & (expected != expected)))
            at = tuple(unlike[0]) if len(unlike) else None
            raise Wrong(f"{reader}: {len(unlike)} of {expected.size} samples differ, first at {at}"
                        + (f": {found[at]}, expected {expected[at]}" if at else " (NaN or -0 of other bits)"))
        return
    found, expected = found.astype("f8"), expected.astype("f8")
    if not np.array_equal(np.isnan(found), np.isnan(expected)):
        raise Wrong(f"{reader}: NaN elsewhere")
    worst = float(np.nanmax(np.abs(found - expected), initial=0))
    if worst > allowed:
        raise Wrong(f"{reader}: {worst} off, at most {allowed} expected")


def noise(found, expected):
    """Ratio of peak signal to noise, in dB."""
    error = np.mean((found.astype("f8") - expected.astype("f8")) ** 2)
    peak = 256.0**expected.dtype.itemsize - 1
    return 999.0 if error == 0 else 10 * np.log10(peak**2 / error)


def strile_dump(strile, path, *options):
    run = subprocess.run([strile, "-q", "dump", "--format", "raw", *options, path], capture_output=True, timeout=60)
    if run.returncode != 0:
        raise Wrong(f"strile dump: {run.stderr.decode(errors='replace').strip()[:300]}")
    head, _, body = run.stdout.partition(b"\n")
    head = json.loads(head)
    return np.frombuffer(body, np.dtype(head["dtype"]).newbyteorder("<")).reshape(head["shape"])


def opened_by_gdal(path, codec):
    """The file, or where GDAL lacks the codec a copy whose tags say that there is none: for all but pixels."""
    if codec not in NOT_GDAL:
        return path
    copy = path + ".tags.tif"
    shutil.copy(path, copy)
    with tifffile.TiffFile(copy, mode="r+b") as tiff:
        for page in tiff.pages:
            if page.compression == CODES[codec]:
                page.tags["Compression"].overwrite(1)
    return copy


def lz4_in_tifffile():
    tifffile.TIFF.DECOMPRESSORS._codecs[CODES["LZ4"]] = lambda data, out=None, **_: imagecodecs.lz4f_decode(data)


def give_nodata(page):
    """tifffile takes numbers at the ends of integer types for none of them, and fills missing blocks with 0."""
    text = page.tags.get("GDAL_NODATA")
    if text is not None:
        kind = page.dtype.type
        page.__dict__["nodata"] = kind(int(text.value) if page.dtype.kind in "iu" else float(text.value))


def tifffile_read(page):
    pixels = page.asarray()
    if page.samplesperpixel == 1:
        pixels = pixels.reshape(1, page.imagelength, page.imagewidth)
    elif page.planarconfig == 1:
        pixels = np.moveaxis(pixels.reshape(page.imagelength, page.imagewidth, -1), -1, 0)
    return np.ascontiguousarray(pixels).reshape(page.samplesperpixel, page.imagelength, page.imagewidth)


def widened(pixels, source):
    """Half floats come as such from tifffile and strile, and widened from GDAL; bits as truths from tifffile."""
    if pixels.dtype == bool:
        return pixels.astype("uint8")
    return pixels.astype("float32") if pixels.dtype == np.float16 else pixels.astype(pixels.dtype.newbyteorder("="))


def check_storage(path, page, source, cog, codec, options, lossless):
    """The bytes are as the options want them."""
    head = Path(path).read_bytes()[:4]
    expect("byte order", head[:2], b"MM" if options.get("ENDIANNESS") == "BIG" else b"II")
    expect("BigTIFF", 43 in head[2:4], options.get("BIGTIFF") == "YES")
    expect("compression", int(page.compression), CODES[codec])
    if "PREDICTOR" in options:
        expect("predictor", int(page.predictor), int(options["PREDICTOR"]))
    if "BLOCKXSIZE" in options or cog:
        wanted = (options.get("BLOCKYSIZE"), options.get("BLOCKXSIZE")) if not cog else (options["BLOCKSIZE"],) * 2
        expect("tiles", page.tile, wanted)
    elif options.get("TILED") == "NO" or "BLOCKYSIZE" in options:
        expect("tiled", page.is_tiled, False)
        if "BLOCKYSIZE" in options:
            expect("rows", page.rowsperstrip, min(options["BLOCKYSIZE"], page.imagelength))
    if source.bands > 1:
        expect("planes", int(page.planarconfig), 2 if options.get("INTERLEAVE") == "BAND" else 1)
    if source.bits and codec in BYTES:
        expect("bits", page.bitspersample, options.get("NBITS", source.bits))
    elif "NBITS" in options:
        expect("bits", page.bitspersample, options["NBITS"])
    if lossless:
        check_sparse(page, "SPARSE_OK" in options)


def check_sparse(page, sparse):
    """Blocks of nothing but nodata, or 0, are left out where that was asked for, and no others are."""
    if not sparse:
        expect("blocks left out", sum(count == 0 for count in page.databytecounts), 0)
        return
    if page.compression == 1 and not any(page.dataoffsets):
        return
    pixels, nodata = tifffile_read(page), page.nodata
    if pixels.dtype == np.float16 and "GDAL_NODATA" in page.tags:
        # A number between half floats is none of them.
        pixels, nodata = pixels.astype("f8"), float(page.tags["GDAL_NODATA"].value)
    height, width = page.tile if page.is_tiled else (page.rowsperstrip, page.imagewidth)
    planes = pixels.shape[0] if page.planarconfig == 2 else 1
    across, down = -(-page.imagewidth // width), -(-page.imagelength // height)
    for index, (offset, count) in enumerate(zip(page.dataoffsets, page.databytecounts)):
        plane, (row, column) = index // (across * down), divmod(index % (across * down), across)
        part = pixels[plane:plane + 1] if planes > 1 else pixels
        part = part[:, row * height:(row + 1) * height, column * width:(column + 1) * width]
        empty = bool(np.all(part == nodata) or (nodata != nodata and np.all(part != part)))
        if (offset == 0) != empty or (count == 0) != empty:
            raise Wrong(f"sparse block {index} (row {row}, column {column}): empty {empty}, offset {offset}, count {count}")


def check_levels(strile, path, file, cog, options, resampled, readable, rng):
    """Sizes of overviews, the pixels of one of them in GDAL and strile, and what nearest takes."""
    block = options.get("BLOCKSIZE")
    sizes, size = [], (file.height, file.width)
    count = options.get("OVERVIEW_COUNT", 0 if not cog or "OVERVIEWS" in options else 99)
    while len(sizes) < count and (max(size) > block if cog else max(size) > 1):
        size = (-(-size[0] // 2), -(-size[1] // 2))
        sizes.append(size)
    expect("overviews", len(file.overviews(1)), len(sizes))
    if not sizes or not readable:
        return
    level = int(rng.integers(len(sizes)))
    with rasterio.open(path, OVERVIEW_LEVEL=level) as reduced:
        expect(f"size of overview {level}", (reduced.height, reduced.width), sizes[level])
        pixels = reduced.read()
        if file.mask_flag_enums[0] == [MaskFlags.per_dataset] and not resampled["alpha"]:
            mask = strile_dump(strile, path, "--mask", "--level", str(level + 1))[0]
            expect_pixels(f"mask of overview {level}", mask, reduced.dataset_mask())
    ours = widened(strile_dump(strile, path, "--level", str(level + 1)), None)
    if resampled["lossless"]:
        expect_pixels(f"overview {level}", ours, pixels)
    if options.get("OVERVIEW_RESAMPLING") == "nearest" and resampled["lossless"]:
        with rasterio.open(path, **({"OVERVIEW_LEVEL": level - 1} if level else {})) as above:
            expect_pixels(f"nearest overview {level}", pixels, np.ascontiguousarray(above.read()[:, ::2, ::2]))


def lossy_twin(path, source_path, codec, options):
    """The same by GDAL's driver: a bound for what a codec loses."""
    twin = path + ".gdal.tif"
    quality = options.get("QUALITY") or options.get("JPEG_QUALITY") or options.get("WEBP_LEVEL")
    more = dict(JPEG_QUALITY=quality) if codec == "JPEG" else dict(WEBP_LEVEL=quality)
    with rasterio.open(path) as ours:
        more["PHOTOMETRIC"] = "YCBCR" if "YCbCr" in ours.tags(ns="IMAGE_STRUCTURE").get("COMPRESSION", "") else None
        more["INTERLEAVE"] = ours.interleaving.name if ours.count > 1 else None
    more = {key: value for key, value in more.items() if value}
    with rasterio.open(source_path) as source:
        profile = dict(driver="GTiff", count=source.count, height=source.height, width=source.width, dtype="uint8",
                       tiled=True, blockxsize=64, blockysize=64, compress=codec)
        pixels = source.read()
    with rasterio.open(twin, "w", **profile, **more) as file:
        file.write(pixels)
    with rasterio.open(twin) as file:
        return file.read()


def check_file(strile, source, path, cog, codec, options, rng):
    """Raises what is wrong with one file."""
    lossy = codec in ("JPEG", "WEBP") and "WEBP_LOSSLESS" not in options or codec == "JPEG2000" and "QUALITY" in options
    error = float(options.get("MAX_Z_ERROR", 0))
    lossless = not lossy and error == 0
    readable = codec not in NOT_GDAL
    with rasterio.open(source.path) as file:
        expected, told = file.read(), facts(file)
        masks = file.read_masks()
    allowed = None
    if error:
        rounding = np.abs(expected[np.isfinite(expected)]).max(initial=0) * np.finfo(source.dtype).eps \
            if source.dtype.kind == "f" else 0
        allowed = error + rounding
    if lossy:
        allowed = 255.0 ** source.dtype.itemsize
    with rasterio.open(opened_by_gdal(path, codec)) as file:
        found = facts(file)
        for key, value in told.items():
            expect(key, found.get(key), value)
        if readable:
            pixels = file.read()
            expect_pixels("GDAL", pixels, expected, allowed)
            if lossy:
                ours, theirs = noise(pixels, expected), noise(lossy_twin(path, source.path, codec, options), expected)
                if ours < theirs - 1.0:
                    raise Wrong(f"{ours:.1f} dB, {theirs:.1f} dB through GDAL's encoder of the same quality")
            if lossless or file.mask_flag_enums[0] == [MaskFlags.per_dataset]:
                expect_pixels("masks in GDAL", file.read_masks(), masks)
        resampled = dict(lossless=lossless, alpha=source.alpha)
        check_levels(strile, path, file, cog, options, resampled, readable, rng)
    own = widened(strile_dump(strile, path), source)
    expect_pixels("strile", own, expected, allowed)
    if codec == "JPEG2000" and lossy and noise(own, expected) < options["QUALITY"] - 0.5:
        raise Wrong(f"{noise(own, expected):.1f} dB, {options['QUALITY']} asked for")
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[0]
        give_nodata(page)
        check_storage(path, page, source, cog, codec, options, lossless)
        # It leaves NaN, which LERC keeps in masks, as 0; takes a missing block without a codec for the file's first bytes,
        # and a plane of JPEG for all three colours.
        nan = codec.startswith("LERC") and bool(np.isnan(expected).any())
        missing = codec == "NONE" and not any(page.dataoffsets)
        plane = codec == "JPEG" and page.planarconfig == 2
        if not (nan or missing or plane):
            theirs = widened(tifffile_read(page), source)
            expect_pixels("tifffile", theirs, expected, allowed)
            if codec in ("JPEG", "WEBP") and lossy:
                expect_pixels("strile beside tifffile", own, theirs, 3)
    # GDAL's build makes the chroma between samples up otherwise than libjpeg does by default.
    if lossy and readable and page.photometric != 6:
        expect_pixels("strile beside GDAL", own, pixels, 3)
    with tifffile.TiffFile(source.path) as before:
        for tag in (65010, 65011):
            if tag in before.pages[0].tags:
                expect(f"tag {tag}", page.tags.get(tag) and page.tags[tag].value, before.pages[0].tags[tag].value)


def check_window(strile, source, path, rng):
    """A part of some bands: their pixels, and where they lie."""
    with rasterio.open(source.path) as file:
        x, y = int(rng.integers(file.width)), int(rng.integers(file.height))
        width, height = int(rng.integers(1, file.width - x + 1)), int(rng.integers(1, file.height - y + 1))
        window = Window(x, y, width, height)
        bands = [int(band) for band in rng.permutation(file.count)[:rng.integers(1, file.count + 1)] + 1]
        expected = file.read(bands, window=window)
        transform = file.window_transform(window) if file.transform != Affine.identity() else file.transform
        gcps = [(p.row - y, p.col - x, p.x, p.y, p.z) for p in file.gcps[0]]
        told = dict(crs=system(file.crs), nodata=file.nodatavals[:1], gcps=gcps, transform=transform,
                    bands=[(file.scales[b - 1], file.offsets[b - 1], file.units[b - 1], file.descriptions[b - 1]) for b in bands])
    command = [strile, "-q", "convert", source.path, path, "--window", f"{x},{y},{width},{height}"]
    command += [word for band in bands for word in ("--band", str(band))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        raise Wrong(f"exit {run.returncode}: {run.stderr.strip()[:300]}")
    with rasterio.open(path) as file:
        gcps = [(p.row, p.col, p.x, p.y, p.z) for p in file.gcps[0]]
        expect_pixels("window", file.read(), expected)
        found = dict(crs=system(file.crs), nodata=file.nodatavals[:1], gcps=gcps, transform=file.transform,
                     bands=list(zip(file.scales, file.offsets, file.units, file.descriptions)))
    expect("transform", np.allclose(found.pop("transform"), told.pop("transform"), rtol=1e-14, atol=1e-9), True)
    expect("part", str(found), str(told))


def check_source(job):
    """All draws of one source: (failures, passed, COGs)."""
    strile, folder, number, draws = job
    warnings.simplefilter("ignore")
    logging.getLogger("tifffile").setLevel(logging.CRITICAL)
    lz4_in_tifffile()
    source = written_sources.make(folder, number)
    failures, passed, cogs = [], 0, []
    for at in range(-1, draws):
        rng = np.random.default_rng([5, number, at + 1])
        cog, codec, options = draw(rng, source)
        path = f"{folder}/out_{number}_{at}.tif"
        Path(path).unlink(missing_ok=True)
        cog = cog and at >= 0
        command = [strile, "-q", "convert", source.path, path, "--of", "COG" if cog else "GTiff"]
        command += [word for key, value in options.items() for word in ("--co", f"{key}={value}")]
        try:
            if at < 0:
                check_window(strile, source, path, rng)
                passed += 1
                continue
            run = subprocess.run(command, capture_output=True, text=True, timeout=60)
            if run.returncode != 0:
                raise Wrong(f"exit {run.returncode}: {run.stderr.strip()[:300]}")
            check_file(strile, source, path, cog, codec, options, rng)
            passed += 1
        except (Wrong, rasterio.errors.RasterioError, ValueError, KeyError, IndexError, RuntimeError, OSError,
                subprocess.TimeoutExpired, tifffile.TiffFileError) as problem:
            words = re.sub(r"\s+", " ", f"{type(problem).__name__} {problem}")
            failures.append(f"FAIL {number}:{at} {source.name}: {words}; {shlex.join(command)}")
        if cog and os.path.exists(path):
            cogs.append((f"{number}:{at}", opened_by_gdal(path, codec), codec))
        elif os.path.exists(path):
            os.remove(path)
    return failures, passed, cogs


def judge_cogs(strile, cogs, gdal_python):
    """Failures and verdicts passed of the three validators."""
    from rio_cogeo.cogeo import cog_validate

    failures, passed, paths = [], 0, [path for _, path, _ in cogs]
    verdicts = {"strile": {}, "rio-cogeo": {}}
    for at in range(0, len(paths), 100):
        verdicts["strile"] |= by_strile(strile, paths[at:at + 100])
    for path in paths:
        _, errors, found = cog_validate(path, strict=True, quiet=True)
        verdicts["rio-cogeo"][path] = dict(errors=errors, warnings=found)
    probe = [gdal_python, "-c", "import osgeo_utils.samples.validate_cloud_optimized_geotiff"]
    try:
        subprocess.run(probe, check=True, capture_output=True)
        verdicts["GDAL"] = by_gdal(gdal_python, paths)
    except (OSError, subprocess.CalledProcessError):
        print(f"SKIP GDAL's validator: osgeo_utils cannot be imported by {gdal_python} (Debian's python3-gdal)")
    for judge, told in verdicts.items():
        for name, path, codec in cogs:
            verdict = told.get(path)
            if verdict is None:
                continue
            found = [*verdict.get("errors", []), *verdict.get("warnings", []), *filter(None, [verdict.get("unusable")])]
            if found:
                failures.append(f"FAIL {name} COG of {codec} for {judge}: {str(found)[:300]}; {path}")
            else:
                passed += 1
        print(f"{judge}: {len(told)} COGs judged")
    return failures, passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strile", help="the program")
    parser.add_argument("--only", default="", help="number of a source, or SOURCE:DRAW")
    parser.add_argument("--first", type=int, default=0, help="number of the first source")
    parser.add_argument("--sources", type=int, default=200, help="how many sources")
    parser.add_argument("--draws", type=int, default=8, help="files written of each")
    parser.add_argument("--keep", help="folder that files stay in")
    parser.add_argument("--gdal-python", default="/usr/bin/python3", help="interpreter that has GDAL's own bindings")
    arguments = parser.parse_args()
    os.environ["GDAL_PAM_ENABLED"] = "YES"
    strile = os.path.abspath(arguments.strile)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        os.makedirs(folder, exist_ok=True)
        wanted = arguments.only.partition(":")[0]
        numbers = [int(wanted)] if wanted else range(arguments.first, arguments.first + arguments.sources)
        failures, passed, cogs = [], 0, []
        with ProcessPoolExecutor() as pool:
            jobs = [(strile, folder, number, arguments.draws) for number in numbers]
            for wrong, right, files in pool.map(check_source, jobs, chunksize=4):
                failures, passed, cogs = failures + wrong, passed + right, cogs + files
        warnings.simplefilter("ignore")
        wrong, right = judge_cogs(strile, cogs, arguments.gdal_python)
        failures, passed = failures + wrong, passed + right
        for failure in failures:
            if arguments.only in failure:
                print(failure)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
