"""Reference systems of files by every door of strile, judged by rasterio: kind, EPSG code, and where the corners lie.

`made` writes files of the kinds that were once read differently by different doors. `fault` compares what a door says
with rasterio. `check_doors.py` and the tests of the Python package use both.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pyproj
import rasterio
import tifffile
from rasterio.crs import CRS
from rasterio.errors import CRSError

METRE = 1.0
# GDAL replaces deprecated codes by others, some on another datum; strile reports the code of the file.
KEEP_CODES = {"OSR_USE_NON_DEPRECATED": "NO"}

ESRI_MERCATOR = (
    'PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",'
    '6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION['
    '"Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER['
    '"Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",0.0],PARAMETER["Auxiliary_Sphere_Type",0.0],UNIT["Meter",1.0]]'
)
LCC_NAD83 = "+proj=lcc +lat_1=31.5 +lat_2=33.5 +lat_0=31 +lon_0=-100 +x_0=600000 +y_0=1000000 +datum=NAD83"
CODES = [3035, 3410, 3413, 3031, 3857, 32631, 27700, 2056, 31467, 2193, 5514, 2263, 4326, 4258, 4807, 4978, 4936, 7405, 5498]
MERCATOR = {3075: 7, 3080: 0.0, 3081: 0.0, 3082: 0.0, 3083: 0.0, 3092: 1.0}


def _plain(path, crs, **options):
    transform = rasterio.Affine(10, 0, 500000, 0, -10, 400000)
    if CRS.from_user_input(crs).is_geographic:
        transform = rasterio.Affine(0.01, 0, 5, 0, -0.01, 50)
    profile = {"driver": "GTiff", "width": 6, "height": 5, "count": 1, "dtype": "uint8"}
    with rasterio.open(path, "w", crs=crs, transform=transform, **profile, **options) as file:
        file.write(np.zeros((1, 5, 6), "uint8"))


def _keys(path, keys, minor=0):
    """A file with exactly these GeoKeys."""
    directory, doubles, text = [1, 1, minor, len(keys)], [], ""
    for key, value in sorted(keys.items()):
        if isinstance(value, str):
            directory += [key, 34737, len(value) + 1, len(text)]
            text += value + "|"
        elif isinstance(value, float):
            directory += [key, 34736, 1, len(doubles)]
            doubles.append(value)
        else:
            directory += [key, 0, 1, value]
    tags = [
        (33550, 12, 3, (10.0, 10.0, 0.0), True),
        (33922, 12, 6, (0.0, 0.0, 0.0, 500000.0, 400000.0, 0.0), True),
        (34735, 3, len(directory), tuple(directory), True),
    ]
    tags += [(34736, 12, len(doubles), tuple(doubles), True)] if doubles else []
    tags += [(34737, 2, len(text) + 1, text, True)] if text else []
    tifffile.imwrite(path, np.zeros((5, 6), "uint8"), extratags=tags)


def made(folder):
    """Writes the files; name and path of each."""
    warnings.simplefilter("ignore")
    name = "WGS_1984_Web_Mercator_Auxiliary_Sphere"
    own = {1024: 1, 1025: 1, 2048: 4326, 3072: 32767, 3074: 32767, 3076: 9001, **MERCATOR}
    makers = {f"epsg_{code}": lambda path, code=code: _plain(path, CRS.from_epsg(code)) for code in CODES}
    makers |= {
        "lcc_on_nad83": lambda path: _plain(path, LCC_NAD83),
        "esri_mercator_pe": lambda path: _plain(path, "EPSG:3857", GEOTIFF_KEYS_FLAVOR="ESRI_PE"),
        "esri_mercator_both": lambda path: _plain(path, ESRI_MERCATOR, GEOTIFF_KEYS_FLAVOR="ESRI_PE"),
        "esri_mercator_102100": lambda path: _plain(path, CRS.from_user_input("ESRI:102100")),
        "esri_mercator_cited": lambda path: _keys(path, own | {1026: f"PCS Name = {name}"}),
        "esri_mercator_named": lambda path: _keys(path, own | {3073: name}),
        "mercator_of_another_name": lambda path: _keys(path, own | {1026: "sea chart"}),
        "albers_esri": lambda path: _plain(path, "EPSG:5070", GEOTIFF_KEYS_FLAVOR="ESRI_PE"),
        "compound_without_code": lambda path: _plain(path, CRS.from_user_input("EPSG:32631+5773")),
        "compound_in_geotiff_1_0": lambda path: _keys(path, {1024: 1, 1025: 1, 3072: 32631, 4096: 5773}),
        "three_axes": lambda path: _plain(path, "EPSG:4979"),
        "geocentric_by_datum": lambda path: _keys(path, {1024: 3, 1025: 1, 2048: 4326}),
        "local": lambda path: _keys(path, {1024: 0, 1026: "site grid", 3076: 9001}),
        "other_unit": lambda path: _keys(path, {1024: 1, 1025: 1, 3072: 32631, 3076: 9003}),
        "mollweide": lambda path: _plain(path, CRS.from_user_input("ESRI:54009")),
        "utm_without_code": lambda path: _plain(
            path, CRS.from_wkt(CRS.from_epsg(32633).to_wkt().replace(',AUTHORITY["EPSG","32633"]', ""))
        ),
        "laea_without_code": lambda path: _plain(
            path, CRS.from_wkt(CRS.from_epsg(3035).to_wkt().replace(',AUTHORITY["EPSG","3035"]', ""))
        ),
        "moon": lambda path: _plain(path, "+proj=eqc +lat_ts=0 +lat_0=0 +lon_0=0 +R=1737400"),
    }
    found = []
    with rasterio.Env(**KEEP_CODES):
        for name, make in makers.items():
            path = Path(folder) / f"{name}.tif"
            make(path)
            found.append((name, path))
    return found


# Files whose system strile does not read, each with the reason.
LEFT_OUT = {
    "arcgis93_geodataxform_gcp.tif": "control points and system are in ArcGIS's GeodataXform, which is not read",
}


def corpus():
    """Files of the corpus in STRILE_CORPUS, unpacked; none where the variable is not set."""
    folder = os.environ.get("STRILE_CORPUS")
    if not folder or not (Path(folder) / "files").is_dir():
        return []
    files = sorted(path for path in (Path(folder) / "files").rglob("*") if path.name not in LEFT_OUT)
    return [(str(p.relative_to(folder)), p) for p in files if p.suffix.lower() in (".tif", ".tiff", ".btf", ".vrt")]


def judged(path):
    """What rasterio says of a file: (system, corners); None where it cannot be asked."""
    os.environ["PROJ_IGNORE_CELESTIAL_BODY"] = "YES"
    try:
        with warnings.catch_warnings(), rasterio.Env(**KEEP_CODES):
            warnings.simplefilter("ignore")
            with rasterio.open(path) as file:
                place, size = file.transform, (file.width, file.height)
                system = file.crs or file.gcps[1]
                if not system:
                    return None, None
                corners = None if file.gcps[0] else [place * at for at in ((0, 0), size)]
                return system, corners
    except (rasterio.errors.RasterioError, CRSError):
        return None


def kind(system):
    crs = pyproj.CRS.from_user_input(system)
    if crs.is_compound:
        return "compound"
    if crs.is_geocentric:
        return "geocentric"
    if crs.is_projected:
        return "projected"
    return "geographic" if crs.is_geographic else "local"


def fault(system, corners, said):
    """What is wrong with what a door said: (kind or None, code or None, WKT or None); None where nothing is."""
    our_kind, code, wkt = said
    if system is None:
        return None if code is None and wkt is None else f"rasterio reads no system, strile {code} {wkt}"
    text = system.to_wkt(version="WKT2_2019")
    if wkt is None:
        return f"no text, where rasterio has {text[:200]}"
    wanted = kind(text)
    if our_kind is not None and our_kind.replace("3d", "") != wanted:
        return f"kind {our_kind}, where rasterio's is {wanted}"
    if kind(wkt) != wanted:
        return f"text of a {kind(wkt)} system, where rasterio's is {wanted}: {wkt[:200]}"
    theirs = system.to_epsg()
    # PROJ names some systems by ESRI's code alone; a code of ours must then mean the same place, which is seen below.
    if code != theirs and theirs is not None:
        return f"code {code}, where rasterio's is {theirs}"
    if code is not None and _places(code, corners) is not None and not _near(code, text, corners):
        return f"EPSG:{code} is another place than {text[:200]}"
    if not _near(wkt, text, corners):
        return f"corners are at {_places(wkt, corners)}, where rasterio has {_places(text, corners)}"
    return None


def equal(system, wkt):
    """Whether rasterio takes our text for the system it read itself."""
    return CRS.from_wkt(wkt) == system


def _places(system, corners):
    crs = pyproj.CRS.from_user_input(system)
    if corners is None or not (crs.is_projected or crs.is_geographic):
        return None
    flat = crs.sub_crs_list[0] if crs.is_compound else crs.to_2d()
    to = pyproj.Transformer.from_crs(flat, "EPSG:4326", always_xy=True)
    return np.array([to.transform(*corner) for corner in corners])


def _near(one, other, corners):
    a, b = _places(one, corners), _places(other, corners)
    if a is None or b is None:
        return (a is None) == (b is None)
    both = np.isfinite(a) & np.isfinite(b)
    metres = np.abs(a - b)[both] * 111_000
    return bool((np.isfinite(a) == np.isfinite(b)).all() and (metres <= METRE).all())
