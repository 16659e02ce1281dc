"""A warp of 20 GB in 1 GiB: `strile warp` of a mosaic of 78 copies of one int16 file onto EPSG:3857, with the peak of its memory.

The mosaic is a VRT over the file of make_nodata.py, 98304 × 106496 pixels of 5 m. Windows of the result are compared with GDAL's
WarpedVRT (`large_compare.py`).
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import peers
from session import Session

from python import unpacked

COLUMNS, ROWS, ACROSS, DOWN = 16384, 8192, 6, 13
LIMIT_MIB = 1024


def mosaic(file: Path, path: Path) -> int:
    """Writes the VRT beside the file; returns the bytes of its pixels."""
    width, height = COLUMNS * ACROSS, ROWS * DOWN
    sources = "".join(
        f"<ComplexSource><SourceFilename relativeToVRT=\"1\">{file.name}</SourceFilename><SourceBand>1</SourceBand>"
        f"<SrcRect xOff=\"0\" yOff=\"0\" xSize=\"{COLUMNS}\" ySize=\"{ROWS}\"/>"
        f"<DstRect xOff=\"{x * COLUMNS}\" yOff=\"{y * ROWS}\" xSize=\"{COLUMNS}\" ySize=\"{ROWS}\"/>"
        "<NODATA>-9999</NODATA></ComplexSource>"
        for y in range(DOWN)
        for x in range(ACROSS)
    )
    path.write_text(
        f"<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\"><SRS>EPSG:32633</SRS>"
        "<GeoTransform>250000, 5, 0, 5600000, 0, -5</GeoTransform>"
        f"<VRTRasterBand dataType=\"Int16\" band=\"1\"><NoDataValue>-9999</NoDataValue>{sources}</VRTRasterBand></VRTDataset>"
    )
    return width * height * 2


def run(session: Session) -> dict:
    strile, package = session.program("strile"), unpacked(session)
    if strile is None or package is None:
        return {"ok": False, "why": "the bundle has no strile or no wheel"}
    folder = session.work / "nodata"
    env = peers.environment(session, "six")
    session.run([sys.executable, Path(__file__).with_name("make_nodata.py"), folder], 60, env)
    vrt, out = folder / "large.vrt", session.work / "large.tif"
    size = mosaic(folder / "nodata_i16_256.tif", vrt)
    words = ["timeout", int(max(session.left() - 20, 1)), strile, "-q", "warp", vrt, out, "-t_srs", "EPSG:3857", "-r", "bilinear"]
    words += ["-co", "COMPRESS=ZSTD", "-co", "TILED=YES", "-co", "LEVEL=1", "--overwrite"]
    words += ["--decode-on", "cpu", "--memory", f"{LIMIT_MIB}MiB"]
    session.log("$ " + " ".join(str(word) for word in words))
    started = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE)
    told = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds, peak = round(time.monotonic() - started, 1), used.ru_maxrss >> 10
    if os.waitstatus_to_exitcode(status):
        return {"ok": False, "why": told.decode(errors="replace").strip()[-300:]}
    script = Path(__file__).with_name("large_compare.py")
    compared = session.run([sys.executable, script, vrt, out], 60, env)
    found = {"gb": round(size / 1e9, 1), "seconds": seconds, "peak_mib": peak, "against_gdal": compared.tail(1)}
    session.say(json.dumps(found))
    out.unlink(missing_ok=True)
    return {"ok": compared.well and peak <= LIMIT_MIB, **found}
