"""Makes crates/crs/src/epsg.txt: the definition of every reference system of the EPSG registry.

Each text is what GDAL writes for the code (`OSRExportToWkt`), so that GDAL, rasterio and pyproj take a file read by
strile for the same system as one they read themselves. The edition is that of the rasterio wheel pinned in
requirements.txt. Run this when that pin changes, then `check_doors.py`.

The data are facts of the EPSG Geodetic Parameter Dataset of IOGP; its terms of use (https://epsg.org/terms-of-use.html)
allow distribution when the source is named, the data are not sold as such and changes are marked. The head of the file
does so.

usage: make_epsg.py CRATES/TIFF/SRC/GEO/EPSG.TXT
"""

import re
import sys

import rasterio
from rasterio.crs import CRS
from rasterio.errors import CRSError

HEAD = """\
# Reference systems by EPSG code, one per line, sorted by code: code, tab, WKT. Made by xtask/python/make_epsg.py.
# A system inside another is replaced by its code: GEOGCS[4269]. Inside PROJCS it has no AXIS. UNIT[9001] is the metre.
# Facts from the EPSG Geodetic Parameter Dataset of IOGP (epsg.org, terms of use there), as GDAL {gdal} writes them
# (changed: shortened by such references; remarks, scopes and areas of use left out).
"""
METRE = 'UNIT["metre",1,AUTHORITY["EPSG","9001"]]'
PARTS = ("GEOGCS", "PROJCS", "VERT_CS")


def definition(code):
    try:
        system = CRS.from_epsg(code)
    except CRSError:
        return None
    try:
        return system.to_wkt()
    except CRSError:
        return system.to_wkt(version="WKT2_2019")


def end_of(text, start):
    """The position behind the node that begins at `start`."""
    depth, quoted = 0, False
    for at in range(start, len(text)):
        char = text[at]
        if char == '"':
            quoted = not quoted
        elif not quoted and char == "[":
            depth += 1
        elif not quoted and char == "]":
            depth -= 1
            if depth == 0:
                return at + 1
    raise ValueError(text)


def without(text, keyword):
    """The text without any node of this keyword."""
    while (at := text.find(f",{keyword}[")) >= 0:
        text = text[:at] + text[end_of(text, at + 1) :]
    return text


def shortened(text, known):
    """The text with references in place of the systems in it, wherever these are the registered ones."""
    outer = text.index("[")
    for keyword in PARTS:
        at = outer
        while (at := text.find(f",{keyword}[", at)) >= 0:
            end = end_of(text, at + 1)
            inner = text[at + 1 : end]
            code = re.search(r'AUTHORITY\["EPSG","(\d+)"\]\]$', inner)
            if code and int(code[1]) in known:
                whole = known[int(code[1])]
                same = without(whole, "AXIS") if text.startswith("PROJCS") else whole
                if same == inner:
                    text = f"{text[: at + 1]}{keyword}[{code[1]}]{text[end:]}"
            at += 1
    return text.replace(METRE, "UNIT[9001]")


def main(path):
    with rasterio.Env(OSR_USE_NON_DEPRECATED="NO"):
        known = {code: text for code in range(1024, 1 << 16) if (text := definition(code))}
        known = {code: without(without(text, "USAGE"), "REMARK") for code, text in known.items()}
        for code, text in known.items():
            assert re.search(rf'(AUTHORITY\["EPSG","{code}"\]|ID\["EPSG",{code}\])\]$', text), text
            assert "\t" not in text and "\n" not in text
        lines = [f"{code}\t{shortened(text, known)}\n" for code, text in sorted(known.items())]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(HEAD.format(gdal=rasterio.__gdal_version__))
        file.writelines(lines)
    print(f"{len(lines)} systems")


if __name__ == "__main__":
    main(sys.argv[1])
