"""VRT mosaics through strile and GDAL: equal pixels, whole and by windows.

    check_vrt.py STRILE
    check_vrt.py --device cuda:0

Makes tiles with rasterio, mosaics of them by hand in GDAL's form and by GDAL's own writer, and compares
`strile dump` with rasterio; with `--device`, what the Python package decodes and blends on that device. Prints `N passed, N failed` and exits 1 where any failed.
"""

import itertools
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
from rasterio.transform import from_origin
from rasterio.windows import Window

NAMES = {"uint8": "Byte", "int8": "Int8", "uint16": "UInt16", "int16": "Int16", "uint32": "UInt32", "int32": "Int32",
         "uint64": "UInt64", "int64": "Int64", "float32": "Float32", "float64": "Float64", "complex64": "CFloat32"}
rng = np.random.default_rng(7)
picks = random.Random(7)


def tile(path, dtype, shape=(1, 40, 50), nodata=None, values=None, **more):
    """A tile of random values, some of them nodata."""
    if values is None:
        if np.dtype(dtype).kind == "c":
            values = (rng.normal(0, 100, shape) + 1j * rng.normal(0, 100, shape)).astype(dtype)
        elif np.dtype(dtype).kind == "f":
            values = rng.normal(0, 300, shape).astype(dtype)
        else:
            info = np.iinfo(dtype)
            values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        if nodata is not None:
            values[rng.random(shape) < 0.3] = nodata
    profile = dict(driver="GTiff", dtype=dtype, count=shape[0], height=shape[1], width=shape[2], nodata=nodata,
                   crs="EPSG:32632", transform=from_origin(5e5, 5e6, 10, 10), **more)
    with rasterio.open(path, "w", **profile) as file:
        file.write(values)


def source(name, band=1, src=None, dst=None, kind="SimpleSource", extra="", attributes=""):
    rect = lambda tag, r: "" if r is None else '<{} xOff="{}" yOff="{}" xSize="{}" ySize="{}"/>'.format(tag, *r)
    return (f'<{kind}{attributes}><SourceFilename relativeToVRT="1">{name}</SourceFilename><SourceBand>{band}</SourceBand>'
            f'{rect("SrcRect", src)}{rect("DstRect", dst)}{extra}</{kind}>')


def mosaic(path, size, bands, dtype, more=""):
    """`bands`: for each band its elements."""
    text = f'<VRTDataset rasterXSize="{size[0]}" rasterYSize="{size[1]}"><SRS>EPSG:32632</SRS>'
    text += "<GeoTransform>500000, 10, 0, 5000000, 0, -10</GeoTransform>"
    for number, elements in enumerate(bands, 1):
        text += f'<VRTRasterBand dataType="{NAMES[dtype]}" band="{number}">{elements}</VRTRasterBand>'
    path.write_text(text + more + "</VRTDataset>")


def mosaics(folder):
    """Every VRT to be compared."""
    for dtype in NAMES:
        for name in "ab":
            tile(folder / f"{name}_{dtype}.tif", dtype)
    tile(folder / "rgb.tif", "uint8", (3, 40, 50), compress="deflate", interleave="pixel")
    tile(folder / "rgba.tif", "uint8", (4, 40, 50), photometric="rgb", alpha="yes")
    tile(folder / "nod_u8.tif", "uint8", nodata=7)
    tile(folder / "nod_i16.tif", "int16", nodata=-9999)
    tile(folder / "nod_f32.tif", "float32", nodata=-9999)
    tile(folder / "nan_f32.tif", "float32", nodata=float("nan"))
    tile(folder / "nod_f64.tif", "float64", nodata=-1e30)
    tile(folder / "nod_i32.tif", "int32", nodata=-2147483648)
    tile(folder / "tiled.tif", "uint16", (1, 300, 400), tiled=True, blockxsize=64, blockysize=64, compress="lzw")
    full = (0, 0, 50, 40)
    for dtype in NAMES:
        two = source(f"a_{dtype}.tif", 1, full, (3, 2, 50, 40)) + source(f"b_{dtype}.tif", 1, full, (30, 20, 50, 40))
        mosaic(folder / f"plain_{dtype}.vrt", (100, 70), [two], dtype)
        mosaic(folder / f"fill_{dtype}.vrt", (100, 70), ["<NoDataValue>17</NoDataValue>" + two], dtype)
        for other in NAMES:
            if (dtype == "complex64") <= (other == "complex64"):
                mosaic(folder / f"from_{dtype}_to_{other}.vrt", (60, 50), [source(f"a_{dtype}.tif", 1, full, (1, 1, 50, 40))], other)
    mosaic(folder / "norect.vrt", (45, 60), [source("a_uint8.tif")], "uint8")
    mosaic(folder / "hidden.vrt", (60, 60), ["<NoDataValue>9</NoDataValue><HideNoDataValue>1</HideNoDataValue>" + source("a_uint8.tif")], "uint8")
    mosaic(folder / "rgb.vrt", (70, 60), [source("rgb.tif", b, full, (5, 6, 50, 40)) for b in (3, 1, 2)], "uint8")
    mosaic(folder / "mixed.vrt", (70, 60), [source("rgb.tif", 2, full, (5, 6, 50, 40)), source("a_uint8.tif", 1, full, (0, 0, 50, 40))], "uint8")
    for at, (src, dst) in enumerate([
            ((0, 0, 50, 40), (0, 0, 25, 20)), ((0, 0, 50, 40), (0, 0, 100, 80)), ((0, 0, 50, 40), (10, 10, 33, 17)),
            ((5, 7, 20, 20), (3, 4, 47, 51)), ((0.3, 0.6, 40, 30), (2, 2, 40, 30)), ((0, 0, 50, 40), (2.5, 3.5, 50, 40)),
            ((1.25, 2.75, 30.5, 20.5), (4.4, 5.5, 61.7, 44.1)), ((-5, -5, 50, 40), (10, 10, 50, 40)),
            ((20, 20, 50, 40), (0, 0, 50, 40)), ((0, 0, 50, 40), (-10, -7, 50, 40)), ((0, 0, 50, 40), (60, 50, 90, 90)),
            ((0, 0, 50, 40), (0.0004, 0.9997, 50, 40)), ((10, 10, 1, 1), (0, 0, 80, 80)), ((0, 0, 50, 40), (3, 3, 1, 1))]):
        mosaic(folder / f"rect_{at}.vrt", (110, 90), [source("a_uint16.tif", 1, src, dst)], "uint16")
        mosaic(folder / f"crect_{at}.vrt", (110, 90), [source("a_float32.tif", 1, src, dst, "ComplexSource", "<ScaleRatio>2</ScaleRatio>")], "float32")
    for name, dtype, nodata in [("nod_u8", "uint8", 7), ("nod_u8", "float32", 7), ("nod_i16", "int16", -9999), ("nod_i16", "uint8", -9999),
                                ("nod_f32", "float32", -9999), ("nan_f32", "float32", "nan"), ("nod_f64", "float64", "-1e30"),
                                ("nod_f64", "float32", "-1e30"), ("nod_i32", "int32", -2147483648), ("nod_u8", "uint8", 300),
                                ("nod_f32", "uint8", -9999), ("nan_f32", "uint8", "nan")]:
        under = source("a_uint8.tif", 1, full, (0, 0, 50, 40))
        over = source(f"{name}.tif", 1, full, (10, 10, 50, 40), "ComplexSource", f"<NODATA>{nodata}</NODATA>")
        mosaic(folder / f"nodata_{name}_{dtype}_{nodata}.vrt", (70, 60), [under + over], dtype)
    for at, extra in enumerate(["<ScaleOffset>10.3</ScaleOffset><ScaleRatio>0.37</ScaleRatio>", "<ScaleRatio>0</ScaleRatio><ScaleOffset>99</ScaleOffset>",
                                "<LUT>0:10,100:200.5,255:3</LUT>", "<NODATA>7</NODATA><ScaleRatio>1.5</ScaleRatio>", "<UseMaskBand>true</UseMaskBand>",
                                "<Exponent>0.5</Exponent><SrcMin>0</SrcMin><SrcMax>200</SrcMax><DstMin>0</DstMin><DstMax>255</DstMax>"]):
        for dtype, name in itertools.product(["uint8", "int16", "float32", "float64", "int32"], ["nod_u8", "nod_f32", "nod_i32"]):
            under = source("a_uint8.tif", 1, full, (0, 0, 50, 40))
            mosaic(folder / f"complex_{at}_{name}_{dtype}.vrt", (70, 60), [under + source(f"{name}.tif", 1, full, (10, 10, 50, 40), "ComplexSource", extra)], dtype)
    for band in (1, 4):
        mosaic(folder / f"alpha_{band}.vrt", (70, 60), [source("rgba.tif", band, full, (1, 1, 50, 40), "ComplexSource", "<UseMaskBand>true</UseMaskBand>")], "uint8")
    for name in ("rgba", "nod_u8", "a_uint8"):
        mosaic(folder / f"mask_{name}.vrt", (70, 60), [source(f"{name}.tif", "mask,1", full, (1, 1, 50, 40))], "uint8")
    mosaic(folder / "nbits.vrt", (50, 40), ['<Metadata domain="IMAGE_STRUCTURE"><MDI key="NBITS">4</MDI></Metadata>' + source("a_uint8.tif", 1, full, full)], "uint8")
    mosaic(folder / "nested.vrt", (120, 90), [source("rgb.vrt", 2, (0, 0, 70, 60), (20, 10, 70, 60)) + source("plain_uint8.vrt", 1, (10, 10, 50, 50), (0, 0, 50, 50))], "uint8")
    mosaic(folder / "nested_scaled.vrt", (120, 90), [source("plain_uint16.vrt", 1, (0, 0, 100, 70), (20, 10, 61, 53))], "uint16")
    grid = "".join(source("tiled.tif", 1, (x * 40, y * 30, 40, 30), ((9 - x) * 40, (9 - y) * 30, 40, 30)) for x in range(10) for y in range(10))
    mosaic(folder / "grid.vrt", (400, 300), [grid], "uint16")
    for name in ("rgb", "rgba", "tiled", "nod_f32"):
        rasterio.shutil.copy(folder / f"{name}.tif", folder / f"copied_{name}.vrt", driver="VRT")
    return sorted(folder.glob("*.vrt"))


def dump(strile, vrt, window):
    out = vrt.with_suffix(".npy")
    command = [strile, "--quiet", "dump", str(vrt), "--output", str(out)]
    if window is not None:
        command += ["--window", ",".join(map(str, window))]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    pixels = np.load(out)
    return pixels if pixels.ndim == 3 else pixels[None]


def on_device(device, vrt, window):
    import strile

    words = {} if window is None else {"window": window}
    try:
        return strile.read(str(vrt), device=device, decode_on=device, **words).numpy()
    except strile.StrileError as problem:
        raise RuntimeError(str(problem)) from problem


def read(file, window, by_rows):
    """A window. GDAL 3.10 takes nodata for valid where it reads more than one row of a mask at once."""
    x, y, width, height = window
    parts = [(y + row, 1) for row in range(height)] if by_rows else [(y, height)]
    return np.concatenate([file.read(window=Window(x, top, width, rows)) for top, rows in parts], axis=1)


def main():
    take, words = (on_device, sys.argv[2]) if sys.argv[1] == "--device" else (dump, sys.argv[1])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for vrt in mosaics(Path(name)):
            with rasterio.open(vrt) as file:
                width, height = file.width, file.height
                windows = [None]
                for _ in range(3):
                    x, y = picks.randrange(width), picks.randrange(height)
                    windows.append((x, y, picks.randint(1, width - x), picks.randint(1, height - y)))
                for window in windows:
                    expected = read(file, window or (0, 0, width, height), vrt.name.startswith("mask_"))
                    try:
                        found = take(words, vrt, window)
                        same = found.dtype == expected.dtype and np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc")
                        problem = "" if same else f"{np.sum(found != expected)} of {expected.size} pixels differ"
                    except (RuntimeError, ValueError) as error:
                        same, problem = False, str(error)
                    passed, failed = passed + same, failed + (not same)
                    if not same:
                        print(f"FAIL {vrt.name} {window or 'whole'}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
