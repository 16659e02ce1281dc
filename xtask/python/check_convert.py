"""Converts files with strile and judges the result: `strile compare`, rasterio, `strile cog validate`, rio-cogeo.

usage: check_convert.py STRILE [CORPUS] [--all] [--seed N] [--filter TEXT] [--json FILE]

Each file of the corpus (a few made here where none is named) is written three ways: as GTiff, as COG, and band by band
with ZSTD. Pixels, masks, georeference and metadata must be equal; rasterio must give the same pixels and mask of both
files where it and strile agree about the first; a COG must be valid, strictly. Overviews appended by `strile overview`
to the files made here must be those of the COG. What strile cannot read it must not write. Damaged files of the corpus
must end in an error or in a right file, in bounded time and memory. After an error nothing may be left, neither file nor
temporary. A drawn sample of two minutes, or everything with `--all`. One line for each failure, then
`N passed, N failed`; exit status 1 when one failed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import rasterio
import tifffile
from rasterio.errors import NotGeoreferencedWarning

WAYS = {
    "gtiff": [],
    "cog": ["--of", "COG"],
    "bands": ["--co", "COMPRESS=ZSTD", "--co", "INTERLEAVE=BAND"],
}
SECONDS, MEGABYTES = 60, 1024
# Only the first page and its full image are written; overviews are made anew.
LEFT_OUT = ("pages", "overviews")
# What rasterio gives as its own rendering (RGBA of a palette, say) is not held against the result.
JUDGED_BY_GDAL = ("agree", "agree-values", "only-rasterio")
SAMPLE_SECONDS = 110
# Differences that are known: the end of a file's name, the category, and why.
KNOWN = [
    ("lenna_256_logl16.tiff", "colour", "codes of SGI LogLuv are kept as plain samples, with a warning"),
    ("lenna_256_logl16.tiff", "extra-samples", "the same"),
    ("logluv-3c-16b.tiff", "colour", "the same"),
    ("logluv-3c-16b.tiff", "extra-samples", "the same"),
    ("off_l16.tif", "colour", "the same"),
    ("off_luv24.tif", "colour", "the same"),
    ("off_luv24.tif", "extra-samples", "the same"),
    ("off_luv32.tif", "colour", "the same"),
    ("off_luv32.tif", "extra-samples", "the same"),
    ("uint16_sgilog.tif", "colour", "the same"),
    ("_esri.tif", "crs", "ESRI's names of registered parts are written as those of the registry"),
    ("arcgis_geodataxform_coeffx_coeffy.tif", "crs", "its parallels are in another order than those of its code"),
    ("byte_gcp.tif", "gcp-crs", "a local system without a unit; in keys it has metres"),
    ("one_strip_nobytecount.tif", "cog", "one pixel wide: rio-cogeo finds no overview of it smaller"),
    ("big_g4.tif", "cog", "the same"),
    ("usda_naip_256_webp_z3.tif", "cog", "rio-cogeo takes an overview as wide as its tiles for one in strips"),
    ("test_esri_wkt.tif", "crs", "ESRI's text of a registered system is written as its code"),
    ("planar-yuv444-jpeg-lzw.tif", "colour", "planes of YCbCr are kept as plain samples, with a warning"),
    ("planar-yuv444-jpeg-lzw.tif", "extra-samples", "the same"),
    ("int12_ycbcr_contig.tif", "colour", "the same"),
    ("int12_ycbcr_contig.tif", "extra-samples", "the same"),
    ("invalid_GeogAngularUnitSizeGeoKey.tif", "crs", "a unit without a size is degrees"),
]


def peak(pid):
    """The most memory a process had, in MB; what the system tells at its end counts our own too."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def run(command, limit=SECONDS):
    """Exit status, output and messages; a negative status is a signal or a limit passed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        end, memory = time.monotonic() + limit, 0
        while (status := process.poll()) is None:
            memory = max(memory, peak(process.pid))
            if time.monotonic() > end:
                process.kill()
                process.wait()
                return -1000, "", f"more than {limit} s"
            time.sleep(0.002)
        out.seek(0)
        err.seek(0)
        texts = [file.read().decode("utf-8", "replace") for file in (out, err)]
        if memory > MEGABYTES:
            return -1001, texts[0], f"{memory} MB of memory"
        return status, *texts


def pixels(path):
    """All bands and the mask of the dataset, as rasterio gives them."""
    with rasterio.open(path) as dataset:
        return dataset.read(), dataset.dataset_mask(), dataset.transform, dataset.crs, dataset.nodatavals


def same(a, b, tolerance):
    if a.shape != b.shape:
        return False
    if tolerance:
        return np.allclose(a.astype("c16"), b.astype("c16"), rtol=0, atol=tolerance, equal_nan=True)
    # GDAL has no type for integers of 24 bits; rasterio none for complex integers.
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def judged_by_gdal(record, source, out):
    """Why rasterio finds the result different, or nothing."""
    try:
        before = pixels(source)
    except Exception:  # What GDAL cannot read says nothing.
        return None
    try:
        after = pixels(out)
    except Exception as error:
        return f"rasterio: {error}"
    if record["oracle"]["cls"] == "rendered":
        return None
    # Decoders of lossy streams may differ by rounding.
    tolerance = 0 if record["oracle"]["cls"] == "exact" else 4
    if not same(before[0], after[0], tolerance):
        return f"rasterio: other pixels, {before[0].dtype}{before[0].shape} and {after[0].dtype}{after[0].shape}"
    if not same(before[1], after[1], tolerance):
        return "rasterio: another mask"
    if not np.allclose(before[2], after[2], rtol=1e-9, atol=1e-9):
        return f"rasterio: another transform, {tuple(before[2])} and {tuple(after[2])}"
    if (before[3] is None) != (after[3] is None):
        return f"rasterio: another reference system, {before[3]} and {after[3]}"
    return None


def validated(strile, record, out):
    """Why a file is not a valid COG, or nothing."""
    status, told, message = run([strile, "cog", "validate", "--strict", out])
    if status != 0:
        return f"cog validate: {told.strip()} {message.strip()}"
    try:
        from rio_cogeo import cog_validate
    except ImportError:
        return None
    try:
        valid, errors, found = cog_validate(str(out), strict=True, quiet=True)
    except Exception as error:  # Nor did GDAL open every file that this was made of.
        return None if record["oracle"]["status"] not in JUDGED_BY_GDAL else f"rio-cogeo: {error}"
    return None if valid else f"rio-cogeo: {errors + found}"


def is_known(record, category):
    return any(record["name"].endswith(end) and category == known for end, known, _ in KNOWN)


def converted(strile, record, source, way, folder):
    """One case: `None` where all is well, `unread` where strile does not read the file, else what is wrong."""
    out = folder / "out.tif"
    status, _, message = run([strile, "-q", "convert", source, out, *WAYS[way]])
    left = sorted(path.name for path in folder.iterdir())
    if status < 0 or status > 2 or "panicked" in message:
        return f"status {status}: {message.strip()}"
    if status != 0:
        if left:
            return f"left {left} after an error: {message.strip()}"
        if record["oracle"]["cls"] == "hostile":
            return "unread"
        return "unread" if run([strile, "-q", "compare", source, source])[0] == 2 else message.strip()
    if set(left) - {"out.tif", "out.tif.aux.xml"}:
        return f"left {left}"
    status, told, message = run([strile, "-q", "compare", "--json", source, out])
    if status not in (0, 1):
        return f"compare: {message.strip()}"
    found = [
        f"{entry['category']}: {entry['place']}: {entry['message']}"
        for entry in json.loads(told)["differences"]
        if entry["category"] not in LEFT_OUT
        and not entry["place"].startswith(("overview ", "page "))
        and not is_known(record, entry["category"])
        # Colours that a damaged palette lacks are black.
        and not (record["oracle"]["cls"] == "hostile" and entry["category"] == "colour-table")
    ]
    if found:
        return "; ".join(found)
    wrong = None
    if record["oracle"]["status"] in JUDGED_BY_GDAL:
        wrong = judged_by_gdal(record, source, out)
    if wrong is None and way == "cog" and not is_known(record, "cog"):
        wrong = validated(strile, record, out)
    return wrong


def overviewed(strile, record, source, folder):
    """Overviews appended to a file: `None` where rasterio and tifffile read it, with the overviews of a COG."""
    out, cog = folder / "out.tif", folder / "cog.tif"
    out.write_bytes(source.read_bytes())
    for command in (["overview", out, "--count", 2], ["convert", "--of", "COG", "--co", "OVERVIEW_COUNT=2", source, cog]):
        status, _, message = run([strile, "-q", *command])
        if status != 0:
            return message.strip()
    with rasterio.open(out) as dataset:
        if dataset.overviews(1) != [2, 4]:
            return f"rasterio: overviews {dataset.overviews(1)}"
    if not same(pixels(source)[0], pixels(out)[0], 0):
        return "rasterio: other pixels"
    with tifffile.TiffFile(out) as file:
        if sum(page.is_reduced and not page.is_mask for page in file.pages) != 2:
            return "tifffile: not two reduced pages"
    for level in (0, 1):
        with rasterio.open(out, overview_level=level) as a, rasterio.open(cog, overview_level=level) as b:
            # Those of a JPEG file are JPEG too.
            if record["oracle"]["cls"] == "exact" and not same(a.read(), b.read(), 0):
                return f"overview {level} differs from that of a COG"
    return None


def made(folder):
    """Files of our own, where there is no corpus: types, layouts, masks, palettes, nodata."""
    rng = np.random.default_rng(3)
    profiles = [
        dict(dtype="uint8", count=3, photometric="RGB", tiled=True, blockxsize=256, blockysize=128),
        dict(dtype="uint8", count=4, photometric="RGB", alpha="YES", compress="LZW"),
        dict(dtype="uint8", count=3, photometric="YCBCR", compress="JPEG", tiled=True),
        dict(dtype="uint16", count=5, interleave="band", nbits=12, compress="DEFLATE"),
        dict(dtype="int16", count=1, nodata=-9999, compress="DEFLATE", predictor=2, BIGTIFF="YES"),
        dict(dtype="float32", count=2, nodata=float("nan"), compress="ZSTD", predictor=3, tiled=True),
        dict(dtype="float64", count=1, ENDIANNESS="BIG", compress="LERC"),
        dict(dtype="complex64", count=1, compress="PACKBITS"),
        dict(dtype="uint8", count=1, nbits=1, compress="CCITTFAX4"),
        dict(dtype="int8", count=1, sparse_ok=True, tiled=True, crs=None, transform=rasterio.Affine(1, 2, 3, 4, -5, 6)),
    ]
    for number, profile in enumerate(profiles):
        dtype, shape = np.dtype(profile["dtype"]), (profile["count"], 700, 611)
        values = rng.integers(0, 2 if profile.get("nbits") == 1 else 100, shape).astype(dtype)
        if profile.get("compress") == "JPEG":
            # Decoders differ in noise of colours by more than rounding.
            values = np.broadcast_to(np.mgrid[0:shape[1], 0:shape[2]].sum(0) // 6, shape).astype(dtype)
        if profile.get("nodata") is not None:
            values[rng.random(shape) < 0.1] = profile["nodata"]
        place = dict(crs="EPSG:32632", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6))
        path = folder / f"made{number}.tif"
        profile = dict(driver="GTiff", height=shape[1], width=shape[2], **(place | profile))
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **profile) as file:
            file.write(values)
            file.update_tags(WHAT="made <here>")
            file.set_band_description(1, "the first")
            if number == 0:
                file.write_mask(rng.random(shape[1:]) < 0.9)
            if number == 8:
                file.write_colormap(1, {0: (0, 0, 0, 255), 1: (255, 255, 255, 255)})
        cls = "lossy" if profile.get("compress") == "JPEG" else "exact"
        yield dict(name=path.name, oracle=dict(status="agree", cls=cls)), path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("strile")
    parser.add_argument("corpus", nargs="?", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotGeoreferencedWarning)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if arguments.corpus:
            manifest = json.loads((arguments.corpus / "manifest.json").read_text())
            hostile = [record | dict(oracle=dict(status="hostile", cls="hostile")) for record in manifest["hostile"]]
            files = [(record, arguments.corpus / record["name"]) for record in manifest["files"] + hostile]
        else:
            files = list(made(folder))
        ways = [*WAYS] if arguments.corpus else [*WAYS, "overviews"]
        cases = [(record, path, way) for record, path in files for way in ways if arguments.filter in record["name"]]
        if not arguments.all:
            random.Random(arguments.seed).shuffle(cases)

        def one(number):
            if not arguments.all and time.monotonic() - begin > SAMPLE_SECONDS:
                return None
            record, path, way = cases[number]
            place = folder / str(number)
            place.mkdir()
            try:
                if way == "overviews":
                    result = overviewed(arguments.strile, record, path, place)
                else:
                    result = converted(arguments.strile, record, path, way, place)
            except Exception as error:
                result = f"check: {type(error).__name__}: {error}"
            for left in place.iterdir():
                left.unlink()
            if result not in (None, "unread"):
                print(f"FAIL {record['name']} {way}: {result}", flush=True)
            return record["name"], way, result

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = [result for result in pool.map(one, range(len(cases))) if result]
    failed = [result for result in results if result[2] not in (None, "unread")]
    unread = sum(result[2] == "unread" for result in results)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=0))
    print(f"{len(results)} of {len(cases)} cases, {unread} of them files that strile refuses")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
