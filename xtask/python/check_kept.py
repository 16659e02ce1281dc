"""What goes in comes out, and what cannot be done is an error: `strile convert` and `strile dump` judged by rasterio.

- A colour table beside grey samples (rasterio's usual order: pixels first, then `write_colormap`) stays.
- Colour tables, category names and attribute tables of an `.aux.xml` go along.
- Integers of every depth that GDAL writes, in both byte orders, are read and written as GDAL reads them. Once 24-bit
  samples of big-endian files came with their bytes reversed.
- A nodata value that no sample can hold, and outputs named as files of other formats, are errors that leave nothing.

usage: check_kept.py STRILE
"""

import json
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import rasterio

WAYS = {"gtiff": [], "cog": ["--of", "COG"]}
TABLE = {0: (0, 0, 0, 255), 1: (200, 30, 10, 255), 2: (10, 200, 30, 255), 255: (255, 255, 255, 255)}
PAM = """<PAMDataset>
  <PAMRasterBand band="1">
    <GDALRasterAttributeTable tableType="thematic">
      <FieldDefn index="0"><Name>VALUE</Name><Type>0</Type><Usage>0</Usage></FieldDefn>
      <FieldDefn index="1"><Name>Cover &amp; use</Name><Type>2</Type><Usage>2</Usage></FieldDefn>
      <Row index="0"><F>0</F><F>none</F></Row>
      <Row index="1"><F>1</F><F>for&#228;st</F></Row>
    </GDALRasterAttributeTable>
    <CategoryNames><Category>none</Category><Category>forest</Category></CategoryNames>
  </PAMRasterBand>
  <PAMRasterBand band="2">
    <ColorTable><Entry c1="1" c2="2" c3="3" c4="255" /><Entry c1="9" c2="8" c3="7" c4="0" /></ColorTable>
    <CategoryNames><Category>low</Category><Category /><Category>high</Category></CategoryNames>
  </PAMRasterBand>
</PAMDataset>
"""
KEPT = ("GDALRasterAttributeTable", "CategoryNames", "ColorTable")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def picture(path, pixels, **options):
    bands, height, width = pixels.shape
    profile = {"driver": "GTiff", "width": width, "height": height, "count": bands, "dtype": pixels.dtype.name}
    with rasterio.open(path, "w", **profile, **options) as file:
        file.write(pixels)


def tree(element):
    """An element without the white space between elements."""
    own = (element.text or "").strip() if len(element) else element.text or ""
    return element.tag, sorted(element.attrib.items()), own, [tree(child) for child in element]


def tables(path):
    found = {}
    for band in ET.parse(path).getroot().iter("PAMRasterBand"):
        for element in band:
            if element.tag in KEPT:
                found[band.get("band"), element.tag] = tree(element)
    return found


def colour_tables(strile, folder):
    source = folder / "grey_table.tif"
    picture(source, np.random.default_rng(1).integers(0, 3, (1, 300, 400), dtype="uint8"), photometric="minisblack")
    with rasterio.open(source, "r+") as file:
        file.write_colormap(1, TABLE)
    with rasterio.open(source) as file:
        before = file.colormap(1), file.read()
    for way, options in WAYS.items():
        out = folder / f"grey_table_{way}.tif"
        done = run(strile, "convert", source, out, *options)
        if done.returncode:
            yield f"colour table {way}", done.stderr
            continue
        with rasterio.open(out) as file:
            try:
                same = file.colormap(1) == before[0] and np.array_equal(file.read(), before[1])
            except ValueError:
                same = False
        yield f"colour table {way}", None if same else "the colour table is lost or another"
        found = json.loads(run(strile, "compare", source, out, "--json").stdout)["differences"]
        found = [difference for difference in found if difference["category"] != "overviews"]
        yield f"colour table {way} compared", str(found) if found else None


def pam(strile, folder):
    source = folder / "tables.tif"
    picture(source, np.random.default_rng(1).integers(0, 3, (2, 300, 400), dtype="uint8"), photometric="minisblack")
    Path(f"{source}.aux.xml").write_text(PAM, encoding="utf-8")
    before = tables(f"{source}.aux.xml")
    for way, options in WAYS.items():
        out = folder / f"tables_{way}.tif"
        done = run(strile, "convert", source, out, *options)
        beside = Path(f"{out}.aux.xml")
        if done.returncode or not beside.exists():
            yield f"sidecar tables {way}", done.stderr or "no .aux.xml was written"
            continue
        after = tables(beside)
        yield f"sidecar tables {way}", None if after == before else f"{after} in place of {before}"


def depths(strile, folder):
    for bits in range(1, 33):
        size = next(size for size in (8, 16, 32) if bits <= size)
        # A smooth picture: a slope that reaches both ends of the range.
        rows, columns = np.mgrid[0:11, 0:37]
        slope = ((rows + columns) * ((1 << bits) - 1) // 46).astype(f"uint{size}")
        if bits == 1:
            slope = (slope > 0).astype("uint8")
        for order in ("LITTLE", "BIG"):
            source = folder / f"depth_{bits}_{order}.tif"
            options = {} if bits in (8, 16, 32) else {"nbits": bits}
            picture(source, slope[None], endianness=order, photometric="minisblack", **options)
            with rasterio.open(source) as file:
                wanted = file.read()
            out = folder / f"depth_{bits}_{order}.npy"
            done = run(strile, "dump", source, "-o", out, "--format", "npy")
            fault = done.stderr if done.returncode else None
            if fault is None and not np.array_equal(np.load(out).reshape(wanted.shape), wanted):
                fault = f"read {np.load(out).ravel()[:4]}, where GDAL has {wanted.ravel()[:4]}"
            yield f"{bits} bits {order} read", fault
            again = folder / f"depth_{bits}_{order}_again.tif"
            done = run(strile, "convert", source, again, "--co", f"ENDIANNESS={order}", "--reencode")
            fault = done.stderr if done.returncode else None
            if fault is None:
                with rasterio.open(again) as file:
                    fault = None if np.array_equal(file.read(), wanted) else "written otherwise than GDAL reads"
            yield f"{bits} bits {order} written", fault


def refusals(strile, folder):
    source = folder / "plain.tif"
    picture(source, np.zeros((1, 20, 30), "uint8"))
    for name, words in {
        "nodata beyond the type": ["convert", source, folder / "a.tif", "-a_nodata", "-9999"],
        "nodata NaN of integers": ["convert", source, folder / "b.tif", "-a_nodata", "nan"],
        "nodata fraction of integers": ["convert", source, folder / "c.tif", "-a_nodata", "0.5"],
        "convert to PNG": ["convert", source, folder / "d.png"],
        "convert to JPEG": ["convert", source, folder / "d.JPG"],
        "dump to JPEG": ["dump", source, "-o", folder / "e.jpg"],
        "dump to TIFF": ["dump", source, "-o", folder / "f.tif"],
    }.items():
        before = sorted(folder.iterdir())
        done = run(strile, *words)
        fault = None if done.returncode == 2 and sorted(folder.iterdir()) == before else f"{done.returncode} {done.stderr}"
        yield name, fault


def main(strile):
    warnings.simplefilter("ignore")
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for check in (colour_tables, pam, depths, refusals):
            for name, fault in check(strile, Path(folder)):
                count += 1
                if fault:
                    wrong.append(f"{name}: {fault}")
    for fault in wrong:
        print("FAIL", fault)
    print(f"{count - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
