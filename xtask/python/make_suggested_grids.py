"""Makes crates/raster/src/grid/suggested.txt: grids that GDAL suggests for rasters in another reference system.

Usage: python make_suggested_grids.py OUT. Needs rasterio.
"""

import sys

import rasterio
from rasterio.crs import CRS
from rasterio.warp import calculate_default_transform

MODIS = "+proj=sinu +lon_0=0 +R=6371007.181 +units=m"
# System, width, height, (left, top, pixel width, pixel height), system of the suggestion.
CASES = [
    ("EPSG:32633", 8192, 8192, (399960, 5600040, 10, 10), "EPSG:3857"),
    ("EPSG:32633", 8192, 4000, (399960, 5600040, 10, 10), "EPSG:4326"),
    ("EPSG:32633", 1000, 1000, (399960, 5600040, 10, 10), "EPSG:32632"),
    ("EPSG:32633", 1000, 1000, (399960, 5600040, 10, 10), "EPSG:3035"),
    ("EPSG:4326", 3600, 1800, (-180, 90, 0.1, 0.1), "EPSG:6933"),
    ("EPSG:4326", 3600, 1700, (-180, 85, 0.1, 0.1), "EPSG:3857"),
    ("EPSG:4326", 1200, 1200, (10, 50, 0.0008333333333333334, 0.0008333333333333334), "EPSG:32632"),
    ("EPSG:4326", 1200, 1200, (10, 50, 0.0008333333333333334, 0.0008333333333333334), "EPSG:25832"),
    ("EPSG:4326", 2400, 1200, (-10, 70, 0.02, 0.02), "EPSG:3035"),
    ("EPSG:3035", 5000, 4600, (900000, 5500000, 1000, 1000), "EPSG:4326"),
    ("EPSG:3035", 5000, 4600, (900000, 5500000, 1000, 1000), "EPSG:3857"),
    ("EPSG:3413", 1000, 1000, (-2500000, 2500000, 5000, 5000), "EPSG:4326"),
    ("EPSG:3413", 700, 800, (-600000, -700000, 2000, 2000), "EPSG:4326"),
    ("EPSG:3413", 700, 800, (-600000, -700000, 2000, 2000), "EPSG:3995"),
    ("EPSG:3031", 500, 500, (-2500000, 2500000, 10000, 10000), "EPSG:4326"),
    ("EPSG:3031", 500, 500, (500000, 2500000, 2000, 2000), "EPSG:4326"),
    ("EPSG:5070", 4000, 3000, (-2000000, 3000000, 1000, 1000), "EPSG:4326"),
    ("EPSG:5070", 4000, 3000, (-2000000, 3000000, 1000, 1000), "EPSG:3857"),
    ("EPSG:5070", 300, 3000, (-2000000, 3000000, 1000, 1000), "EPSG:32614"),
    ("EPSG:32760", 1000, 1000, (700000, 8200000, 100, 100), "EPSG:4326"),
    ("EPSG:32701", 1000, 1000, (100000, 8200000, 100, 100), "EPSG:4326"),
    ("EPSG:32701", 1000, 1000, (100000, 8200000, 100, 100), "EPSG:3857"),
    (MODIS, 2400, 2400, (-8895604.157333, 4447802.078667, 463.3127165, 463.3127165), "EPSG:4326"),
    (MODIS, 2400, 2400, (-8895604.157333, 4447802.078667, 463.3127165, 463.3127165), "EPSG:32613"),
    (MODIS, 2400, 2400, (0, 5559752.598333, 463.3127165, 463.3127165), "EPSG:4326"),
    ("EPSG:3857", 512, 512, (-20037508.342789244, 20037508.342789244, 78271.51696402048, 78271.51696402048), "EPSG:4326"),
    ("EPSG:3857", 256, 256, (1000000, 6500000, 100, 100), "EPSG:32632"),
    ("EPSG:2263", 2000, 1500, (980000, 220000, 5, 5), "EPSG:4269"),
    ("EPSG:2263", 2000, 1500, (980000, 220000, 5, 5), "EPSG:26918"),
    ("EPSG:2154", 3000, 3000, (600000, 6900000, 25, 25), "EPSG:4326"),
    ("EPSG:2154", 30, 20, (600000, 6900000, 25, 25), "EPSG:3857"),
    ("EPSG:4326", 7, 5, (10, 50, 1, 1), "EPSG:32632"),
]
HEAD = "# Grids suggested by rasterio {} (GDAL {}), CHECK_WITH_INVERT_PROJ=YES: system; width, height and transform of a raster; system; width, height and transform of the suggestion.\n"


def main(out):
    with open(out, "w") as file, rasterio.Env(CHECK_WITH_INVERT_PROJ="YES"):
        file.write(HEAD.format(rasterio.__version__, rasterio.__gdal_version__))
        for system, width, height, (left, top, across, down), target in CASES:
            crs, dst_crs = CRS.from_user_input(system), CRS.from_user_input(target)
            edges = {"left": left, "top": top, "right": left + width * across, "bottom": top - height * down}
            transform, dst_width, dst_height = calculate_default_transform(crs, dst_crs, width, height, **edges)
            given = " ".join(str(v) for v in (width, height, float(left), float(across), 0.0, float(top), 0.0, -float(down)))
            suggested = " ".join(str(v) for v in (dst_width, dst_height, *transform.to_gdal()))
            file.write("\t".join((system, given, target, suggested)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
