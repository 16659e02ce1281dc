"""`strile info --json` judged by rasterio: kind, EPSG code and place of the reference systems of made files and, where
STRILE_CORPUS names it, of the corpus. The doors of the Python package are judged alike by its tests (test_doors.py).

usage: check_doors.py STRILE
"""

import json
import subprocess
import sys
import tempfile
import warnings

import doors


def said(strile, path):
    """Kind, code and text by `info`; None where strile cannot open the file."""
    run = subprocess.run([strile, "info", "--json", path], capture_output=True, text=True)
    if run.returncode != 0:
        return None
    crs = (json.loads(run.stdout)["files"][0]["geo"] or {}).get("crs") or {}
    return crs.get("kind"), crs.get("epsg"), crs.get("wkt")


def main(strile):
    warnings.simplefilter("ignore")
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in doors.made(folder) + doors.corpus():
            judged = doors.judged(path)
            ours = said(strile, path) if judged is not None else None
            if ours is None:
                continue
            count += 1
            fault = doors.fault(*judged, ours)
            if fault:
                wrong.append(f"{name}: {fault}")
    for fault in wrong:
        print("FAIL", fault)
    print(f"{count - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
