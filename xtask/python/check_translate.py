"""`strile convert` with the options of gdal_translate, judged by GDAL: the same command line for both.

    check_translate.py STRILE [--gdal-python PYTHON] [--filter TEXT]

Files of many types, with nodata, masks, alpha, palettes, control points, RPCs and overviews are converted by both with
the same options; size, type, transform, nodata, colours, control points and pixels must be equal, or within the tolerance
that a case states. So are the lines of the guide `docs/coming-from-gdal.md`. GDAL runs in an interpreter that has its
bindings (Debian's python3-gdal); where there is none these cases are skipped aloud. Sizes, windows, methods and types are
judged by rasterio and numpy as well, which are always there. Options that strile refuses must name themselves. Prints `N passed, N failed`; exit status 1
where any failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import rasterio
from rasterio.control import GroundControlPoint
from rasterio.errors import NotGeoreferencedWarning
from rasterio.rpc import RPC

TRANSLATE = """
import json, sys
from osgeo import gdal
gdal.UseExceptions()
gdal.PushErrorHandler("CPLQuietErrorHandler")
for line in sys.stdin:
    number, source, target, options = json.loads(line)
    try:
        made = gdal.Translate(target, source, options=options)
        made = None
        print(json.dumps([number, None]), flush=True)
    except Exception as error:
        print(json.dumps([number, str(error)]), flush=True)
"""

rng = np.random.default_rng(11)
PLACE = dict(crs="EPSG:32632", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6))


def smooth(shape, low, high):
    """A surface with noise, so that filters differ from each other and from the nearest pixel."""
    bands, rows, columns = shape
    y, x = np.mgrid[0:rows, 0:columns]
    made = [np.sin(x / (7 + band)) * np.cos(y / (9 + band)) + rng.normal(0, 0.1, (rows, columns)) for band in range(bands)]
    made = np.stack(made)
    return low + (made - made.min()) / (made.max() - made.min()) * (high - low)


def write(path, values, mask=None, colormap=None, overviews=None, scale=None, gcps=None, rpcs=None, statistics=True, **profile):
    count, height, width = values.shape
    profile = dict(driver="GTiff", dtype=values.dtype, count=count, height=height, width=width) | PLACE | profile
    if gcps or rpcs:
        profile.pop("transform")
        profile.pop("crs")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **profile) as file:
        file.write(values)
        if mask is not None:
            file.write_mask(mask)
        if colormap:
            file.write_colormap(1, colormap)
        if scale:
            file.scales, file.offsets = [scale[0]] * count, [scale[1]] * count
        if gcps:
            file.gcps = (gcps, rasterio.CRS.from_epsg(4326))
        if rpcs:
            file.rpcs = rpcs
        file.update_tags(WHAT="made here")
        if statistics:
            file.update_tags(1, STATISTICS_MINIMUM="0", STATISTICS_MAXIMUM="9")
    if overviews:
        with rasterio.open(path, "r+") as file:
            file.build_overviews(overviews, rasterio.enums.Resampling.average)


def sources(folder):
    shape = (3, 77, 101)
    rgb = smooth(shape, 0, 255).astype("uint8")
    write(folder / "rgb.tif", rgb, photometric="RGB")
    write(folder / "tiled.tif", rgb, photometric="RGB", tiled=True, blockxsize=16, blockysize=32, compress="LZW", interleave="band")
    write(folder / "masked.tif", rgb, mask=rng.random(shape[1:]) < 0.8, photometric="RGB")
    alpha = np.concatenate([rgb, (rng.random((1, *shape[1:])) < 0.7) * np.uint8(255)]).astype("uint8")
    write(folder / "rgba.tif", alpha, photometric="RGB", alpha="YES")
    for dtype, low, high, nodata in [("int16", -500, 3000, -9999), ("uint16", 0, 60000, 0), ("float32", -5, 800, -9999), ("float64", -1e3, 1e3, None), ("uint32", 0, 4e9, None), ("int8", -100, 100, -128)]:
        values = smooth((1, 90, 120), low, high).astype(dtype)
        if nodata is not None:
            values[rng.random(values.shape) < 0.2] = nodata
        write(folder / f"{dtype}.tif", values, nodata=nodata, statistics=dtype != "float64")
    values = smooth((1, 90, 120), 0, 10).astype("float32")
    values[rng.random(values.shape) < 0.2] = np.nan
    write(folder / "nan.tif", values, nodata=float("nan"))
    write(folder / "scaled.tif", smooth((2, 60, 80), 0, 10000).astype("int16"), scale=(0.01, -3.5), nodata=-32768)
    classes = rng.integers(0, 6, (1, 64, 80)).astype("uint8")
    colours = {n: (n * 40, 255 - n * 40, n * 7, 255) for n in range(6)}
    write(folder / "palette.tif", classes, colormap=colours, photometric="PALETTE")
    write(folder / "grey_palette.tif", classes, colormap={n: (n * 40,) * 3 + (255,) for n in range(6)}, photometric="PALETTE")
    write(folder / "hidden.tif", classes, colormap=colours, photometric="PALETTE", nodata=2)
    write(folder / "bits.tif", (smooth((1, 64, 80), 0, 1) > 0.5).astype("uint8"), nbits=1)
    write(folder / "complex.tif", (smooth((1, 40, 50), -5, 5) + 1j * smooth((1, 40, 50), -5, 5)).astype("complex64"))
    write(folder / "wide.tif", (rng.integers(-2**62, 2**62, (1, 40, 50))).astype("int64"))
    write(folder / "overviews.tif", smooth((1, 128, 192), 0, 60000).astype("uint16"), overviews=[2, 4], tiled=True, blockxsize=64, blockysize=64)
    points = [GroundControlPoint(r, c, c / 10 + 5, 50 - r / 10) for r, c in [(0, 0), (0, 80), (60, 0), (60, 80), (31.5, 12.25)]]
    write(folder / "gcps.tif", smooth((1, 60, 80), 0, 255).astype("uint8"), gcps=points)
    rpc = RPC(height_off=10, height_scale=100, lat_off=50, lat_scale=1, line_den_coeff=[1.0] + [0.0] * 19, line_num_coeff=[0.0, 1.0] + [0.0] * 18, line_off=30.0, line_scale=31.0, long_off=5, long_scale=1, samp_den_coeff=[1.0] + [0.0] * 19, samp_num_coeff=[0.0, 0.0, 1.0] + [0.0] * 17, samp_off=40.0, samp_scale=41.0, err_bias=None, err_rand=None)
    write(folder / "rpc.tif", smooth((1, 60, 80), 0, 255).astype("uint8"), rpcs=rpc)
    (folder / "mosaic.vrt").write_text(
        '<VRTDataset rasterXSize="120" rasterYSize="90"><SRS>EPSG:32632</SRS><GeoTransform>500000, 10, 0, 5000000, 0, -10</GeoTransform>'
        '<VRTRasterBand dataType="Int16" band="1"><NoDataValue>-9999</NoDataValue><SimpleSource><SourceFilename relativeToVRT="1">int16.tif</SourceFilename>'
        '<SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>')


EXACT = dict(near=0)
FILTERS = ["bilinear", "cubic", "cubicspline", "lanczos"]


def cases():
    """(source, options, what may differ): `near` of integers, `share` of floats, `some` of the pixels may be one off."""
    real = ["rgb", "tiled", "masked", "int16", "uint16", "float32", "float64", "uint32", "nan", "scaled", "bits"]
    for name in [*real, "complex", "wide", "int8", "palette", "gcps", "rpc", "overviews"]:
        yield name, "-srcwin 7 5 30 20", EXACT
        yield name, "-outsize 50% 50%", EXACT
        yield name, "-outsize 33 0", EXACT
        yield name, "-outsize 0 133", EXACT
        yield name, "-outsize 170 41", EXACT
        yield name, "-srcwin 3 4 31 17 -outsize 62 51", EXACT
    for name in ["rgb", "int16", "float32"]:
        yield name, "-srcwin -10 -5 40 30", EXACT
        yield name, "-srcwin 70 60 60 40 -outsize 30 20", EXACT
        yield name, "-projwin 500103 4999888 500407 4999602", EXACT
        yield name, "-projwin 500103 4999888 500407 4999602 -outsize 20 10", EXACT
        yield name, "-tr 30 20", EXACT
        yield name, "-tr 7 7 -projwin 500100 4999900 500400 4999600", EXACT
        yield name, "-srcwin 5 6 20 20 -a_ullr 0 10 20 -10", EXACT
    # Filters differ by float32 arithmetic; scattered nodata by the order of sums.
    for method in [*FILTERS, "average", "rms"]:
        loose = dict(near=1, share=2e-5)
        # NaN spreads through GDAL's filters.
        for name in ["rgb", "tiled", "int16", "uint16", "float32", "float64", "scaled"] + ["nan"] * (method not in FILTERS):
            yield name, f"-r {method} -outsize 50% 50%", loose
            yield name, f"-r {method} -outsize 37 29", loose
            if method in FILTERS:
                yield name, f"-r {method} -outsize 200% 150%", loose
        yield "rgb", f"-r {method} -srcwin 10 20 41 33 -outsize 17 11", loose
        yield "float64", f"-r {method} -tr 23 31", loose
        yield "float64", f"-r {method} -projwin 500103 4999888 500407 4999602", loose
        yield "mosaic", f"-r {method} -outsize 40 30", loose
    # A mode of parts of pixels differs between GDAL's versions, and so does one of nothing but nodata.
    for name in ["rgb", "palette", "bits"]:
        yield name, "-r mode -srcwin 0 0 80 64 -outsize 20 16", dict(near=0, table=name != "bits")
    for name in ["int16", "uint16", "float32", "float64", "uint32", "rgb", "wide"]:
        for to in ["Byte", "Int16", "UInt16", "Int32", "UInt32", "Float32", "Float64"]:
            yield name, f"-ot {to} -a_nodata none", dict(near=0, share=0)
    yield "int16", "-ot Float32", EXACT
    yield "int16", "-ot Int32", EXACT
    yield "uint16", "-ot UInt32", EXACT
    yield "complex", "-ot CFloat64", EXACT
    yield "complex", "-ot Float32", EXACT
    yield "rgb", "-ot CFloat32", EXACT
    one = dict(near=0, some=0.001)
    yield "rgb", "-scale 0 255 255 0", one
    yield "rgb", "-scale 20 200 0 1000 -ot UInt16", one
    yield "uint32", "-scale 0 4000000000 0 255 -ot Byte", one
    yield "float64", "-scale -1000 1000 0 255 -ot Byte", one
    yield "float64", "-scale -1000 1000 0 255 -ot Byte -exponent 0.5", one
    yield "rgb", "-scale_2 0 100 0 200", one
    yield "rgb", "-scale 0 10 0 20 -scale 5 10 0 9 -scale 0 255 0 10", one
    yield "int16", "-scale -500 3000 1 255", one
    yield "float32", "-scale 0 800 0 1 -ot Float64", dict(share=1e-6)
    yield "scaled", "-unscale -ot Float32", dict(share=1e-6)
    yield "scaled", "-unscale -ot Float64", dict(share=1e-6)
    yield "scaled", "-unscale", one
    yield "scaled", "-unscale -ot Float32 -outsize 40 30", dict(share=1e-6)
    for name in ["palette", "hidden"]:
        yield name, "-expand rgb", EXACT
        yield name, "-expand rgba", EXACT
        yield name, "-expand rgb -outsize 50% 50%", EXACT
    yield "grey_palette", "-expand gray", EXACT
    for name in ["rgb", "masked", "rgba"]:
        yield name, "-b 2", EXACT
        yield name, "-b 3 -b 1 -b 2", EXACT
    yield "rgb", "-b 1 -b 1 -colorinterp_2 alpha", EXACT
    yield "rgb", "-b 1", EXACT
    yield "int16", "-mo A=b -mo WHAT=changed", EXACT
    yield "int16", "-a_scale 0.5 -a_offset 3", EXACT
    yield "scaled", "-a_scale 2", EXACT
    yield "rgb", "-colorinterp gray,undefined,undefined", EXACT
    yield "tiled", "-colorinterp blue,green,red", EXACT
    yield "overviews", "-ovr NONE -outsize 48 32", EXACT
    yield "overviews", "-ovr NONE -r average -outsize 48 32", dict(near=1)
    yield "overviews", "-ovr 0", EXACT
    yield "overviews", "-ovr 1 -srcwin 16 16 64 64", EXACT
    yield "overviews", "-r average -outsize 25% 25%", dict(near=1)
    yield "overviews", "-r cubic -outsize 40 30", dict(near=1)
    yield "mosaic", "-srcwin 7 5 30 20 -ot Float32", EXACT


GUIDE = Path(__file__).parents[2] / "docs/coming-from-gdal.md"
# The files of the guide.
NAMES = {"scene.tif": "rgb", "dem.tif": "int16", "large.tif": "overviews", "packed.tif": "scaled", "classes.tif": "palette"}


def lines_of_the_guide():
    """(source, options of GDAL, options of strile) of each line of the table."""
    for line in GUIDE.read_text().splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0].startswith("gdal_translate "):
            (*theirs,), (*ours,) = cells[0].split()[1:], cells[1].split()[2:]
            name = next(word for word in theirs if word in NAMES)
            assert name in ours and theirs.count("out.tif") == ours.count("out.tif") == 1, line
            left_out = (name, "out.tif")
            yield NAMES[name], [w for w in theirs if w not in left_out], [w for w in ours if w not in left_out]


def facts(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(path) as file:
            told = dict(
                shape=file.shape, dtypes=file.dtypes, nodata=str(file.nodata), colours=[c.name for c in file.colorinterp],
                scales=file.scales, offsets=file.offsets,
                tags={k: v for k, v in file.tags().items() if k in ("A", "WHAT")},
                statistics=[{k for k in file.tags(b) if k.startswith("STATISTICS")} for b in file.indexes],
            )
            place = [tuple(file.transform), [(p.row, p.col, p.x, p.y) for p in file.gcps[0]]]
            if file.rpcs:
                place.append((file.rpcs.samp_off, file.rpcs.line_off, file.rpcs.samp_scale, file.rpcs.line_scale))
            try:
                table = file.colormap(1)
            except ValueError:
                table = None
            return told, place, table, file.read(), file.dataset_mask()


METHODS = {"nearest": "nearest", "bilinear": "bilinear", "cubic": "cubic", "cubicspline": "cubic_spline", "lanczos": "lanczos",
           "average": "average", "rms": "rms", "mode": "mode"}


def by_rasterio(strile, folder):
    """Cases judged by rasterio's reads of another size, and by numpy's types: each a name and why it failed, or None."""
    out = folder / "ours.tif"

    def converted(name, *options):
        run = subprocess.run([strile, "-q", "convert", str(folder / f"{name}.tif"), str(out), "--overwrite", *map(str, options)],
                             capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip())
        with rasterio.open(out) as file:
            return file.read()

    def case(name, window, size, method):
        with rasterio.open(folder / f"{name}.tif") as file:
            resampling = rasterio.enums.Resampling[METHODS[method]]
            nodata = file.nodata
            theirs = file.read(window=rasterio.windows.Window(*window), out_shape=(file.count, size[1], size[0]), resampling=resampling)
        ours = converted(name, "-srcwin", *window, "-outsize", *size, "-r", method)
        if ours.dtype.kind == "f":
            share = 2e-5
            same = np.isclose(ours, theirs, rtol=share, atol=share * np.nanmax(np.abs(theirs)), equal_nan=True)
        else:
            same = np.abs(ours.astype("float64") - theirs.astype("float64")) <= (0 if method in ("nearest", "mode") else 1)
        if method == "mode" and nodata is not None:
            # GDAL's mode of nothing but nodata is 0.
            same |= np.isnan(ours) if np.isnan(nodata) else ours == nodata
        return None if same.all() else f"{np.sum(~same)} of {same.size} samples differ"

    for name in ["rgb", "tiled", "int16", "uint16", "float32", "float64", "nan", "uint32"]:
        for method in METHODS:
            if name == "nan" and method in FILTERS:
                continue  # NaN spreads through GDAL's filters.
            for window, size in [((0, 0, 100, 76), (50, 38)), ((4, 8, 64, 48), (16, 12)), ((3, 5, 70, 60), (29, 31)), ((10, 10, 40, 40), (90, 70))]:
                whole = window[2] % size[0] == 0 and window[3] % size[1] == 0
                # GDAL's versions differ in the mode of parts of pixels.
                if method in ("mode",) and not whole or method in ("average", "rms") and size[0] > window[2]:
                    continue
                yield f"{name} {window} {size} {method}", lambda n=name, w=window, z=size, m=method: case(n, w, z, m)

    def typed(name, dtype):
        with rasterio.open(folder / f"{name}.tif") as file:
            values = file.read()
        to = np.dtype(dtype)
        if to.kind in "ui":
            info = np.iinfo(to)
            rounded = np.sign(values) * np.floor(np.abs(values) + 0.5) if values.dtype.kind == "f" else values
            theirs = np.clip(rounded, max(info.min, -(2**63)), info.max).astype(to)
        else:
            theirs = values.astype(to)
        ours = converted(name, "-ot", dtype, "-a_nodata", "none")
        return None if ours.dtype == to and np.array_equal(ours, theirs, equal_nan=True) else "other values"

    def stretched(name):
        # GDAL estimates the range of a large band; strile reads all of it.
        with rasterio.open(folder / f"{name}.tif") as file:
            values = file.read(masked=True).astype("float64")
        low, high = (getattr(values, end)(axis=(1, 2)).reshape(-1, 1, 1) for end in ("min", "max"))
        theirs = np.floor((values - low) / (high - low) * 255 + 0.5)
        ours = converted(name, "-scale", "-ot", "Byte", "-a_nodata", "none")
        wrong = (np.abs(ours - theirs) > 0) & ~np.ma.getmaskarray(values)
        return None if np.mean(wrong) < 0.001 else f"{np.sum(wrong)} samples differ"

    for name in ["rgb", "int16", "float64", "uint32"]:
        yield f"{name} stretched", lambda n=name: stretched(n)
    for name in ["rgb", "int16", "uint16", "float32", "float64"]:
        for dtype in ["uint8", "int16", "uint16", "int32", "float32", "float64"]:
            yield f"{name} as {dtype}", lambda n=name, d=dtype: typed(n, d)


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, (list, tuple)) else [value]


def judged(ours, theirs, may):
    """Why two files differ, or nothing."""
    (told, place, table, pixels, mask), (gdal_told, gdal_place, gdal_table, gdal_pixels, gdal_mask) = facts(ours), facts(theirs)
    # Statistics of values of another type are left out; GDAL keeps some.
    if any(a - b for a, b in zip(told.pop("statistics"), gdal_told.pop("statistics"))):
        return "statistics that GDAL leaves out"
    for key, value in told.items():
        if value != gdal_told[key]:
            return f"{key}: {value}, GDAL has {gdal_told[key]}"
    # GDAL before 3.8 took offsets of RPCs for those of corners, not of centres.
    near = 2 if len(place) == 3 else 1e-7
    if len(flat(place)) != len(flat(gdal_place)) or not np.allclose(flat(place), flat(gdal_place), rtol=1e-9, atol=near):
        return f"place: {place}, GDAL has {gdal_place}"
    if table != gdal_table and may.get("table", True):
        return "another colour table"
    if may.get("mask", True) and not np.array_equal(mask, gdal_mask):
        return f"mask: {np.sum(mask != gdal_mask)} of {mask.size} pixels differ"
    if pixels.dtype.kind in "fc":
        a, b = pixels.astype("complex128"), gdal_pixels.astype("complex128")
        share = may.get("share", 0)
        same = np.isclose(a, b, rtol=share, atol=share * np.nanmax(np.abs(b), initial=0), equal_nan=True)
    elif may.get("near"):
        same = np.abs(pixels.astype("float64") - gdal_pixels.astype("float64")) <= may["near"]
    else:
        same = pixels == gdal_pixels
        if may.get("some") and np.mean(~same) <= may["some"]:
            same |= np.abs(pixels.astype("float64") - gdal_pixels.astype("float64")) <= 1
    if same.all():
        return None
    at = tuple(np.argwhere(~same)[0])
    return f"{np.sum(~same)} of {same.size} samples differ, first {at}: {pixels[at]}, GDAL has {gdal_pixels[at]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("strile")
    parser.add_argument("--gdal-python", default="/usr/bin/python3", help="interpreter that has GDAL's own bindings")
    parser.add_argument("--filter", default="")
    arguments = parser.parse_args()
    has = subprocess.run([arguments.gdal_python, "-c", "from osgeo import gdal"], capture_output=True).returncode == 0
    all_cases = [(name, options.split(), options.split(), may) for name, options, may in cases()]
    guide = list(lines_of_the_guide())
    assert len(guide) >= 20, guide
    all_cases += [(*line, dict(near=1)) for line in guide]
    chosen = [case for case in all_cases if arguments.filter in f"{case[0]} {' '.join(case[1])}"]
    passed = failed = skipped = 0
    if not has:
        print(f"skipped: {len(chosen)} comparisons with GDAL: no GDAL bindings for {arguments.gdal_python} (Debian's python3-gdal)")
        chosen, skipped = [], len(chosen)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            sources(folder)
        path = lambda name: str(folder / ("mosaic.vrt" if name == "mosaic" else f"{name}.tif"))
        jobs = [[n, path(name), str(folder / f"gdal{n}.tif"), theirs] for n, (name, theirs, _, _) in enumerate(chosen)]
        lines = "".join(json.dumps(job) + "\n" for job in jobs)
        errors = {}
        if chosen:
            done = subprocess.run([arguments.gdal_python, "-c", TRANSLATE], input=lines, capture_output=True, text=True)
            errors = dict(json.loads(line) for line in done.stdout.splitlines())
        for name, case in by_rasterio(arguments.strile, folder):
            if arguments.filter not in name:
                continue
            try:
                problem = case()
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            passed, failed = passed + (problem is None), failed + (problem is not None)
            if problem is not None:
                print(f"FAIL {name}, by rasterio: {problem}", flush=True)
        for number, (name, _, options, may) in enumerate(chosen):
            ours, theirs = folder / f"ours{number}.tif", folder / f"gdal{number}.tif"
            run = subprocess.run([arguments.strile, "-q", "convert", path(name), str(ours), *options], capture_output=True, text=True)
            error = errors.get(number, "GDAL stopped")
            if run.returncode or error:
                problem = f"strile: {run.stderr.strip() or 'written'}; GDAL: {error or 'written'}"
            else:
                try:
                    problem = judged(ours, theirs, may)
                except Exception as error:
                    problem = f"check: {type(error).__name__}: {error}"
            passed, failed = passed + (problem is None), failed + (problem is not None)
            if problem is not None:
                print(f"FAIL {name} {' '.join(options)}: {problem}", flush=True)
            for file in (ours, theirs):
                for left in folder.glob(file.name + "*"):
                    left.unlink()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
