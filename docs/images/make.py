"""Makes the pictures of this folder: python make.py STRILE, where STRILE is the program. Needs numpy and tifffile; `view.png` also needs
rasterio, Pillow, node, Chromium and the packages that `cargo xtask view` installs.

The terrain is synthetic: ridges summed over ten octaves, coloured by height and shaded from the north-west. strile writes it as a
COG and draws the pictures from it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tifffile

HERE = Path(__file__).parent
STOPS = (0.0, 0.16, 0.17, 0.35, 0.55, 0.78, 1.0)
COLOURS = np.array(
    [(24, 52, 96), (70, 130, 170), (196, 190, 140), (88, 130, 72), (134, 124, 84), (150, 132, 120), (250, 250, 250)], float
)


def noise(random, y, x):
    """Smooth noise at places: values at whole numbers, interpolated with zero slope there."""
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    values = random.random((512, 512))
    v, u = (f * f * f * (f * (f * 6 - 15) + 10) for f in (y - top, x - left))
    at = lambda row, column: values[row % 512, column % 512]
    upper = at(top, left) * (1 - u) + at(top, left + 1) * u
    lower = at(top + 1, left) * (1 - u) + at(top + 1, left + 1) * u
    return upper * (1 - v) + lower * v


def terrain(shape):
    random = np.random.default_rng(8)
    rows, columns = np.mgrid[: shape[0], : shape[1]] / shape[1]
    height, weight, total = np.zeros(shape), 1.0, 0.0
    for octave in range(9):
        turn, cells = 0.6 * octave, 3 * 2**octave
        y = cells * (rows * np.cos(turn) + columns * np.sin(turn))
        x = cells * (columns * np.cos(turn) - rows * np.sin(turn))
        layer = noise(random, y, x)
        ridged = 1 - np.abs(2 * layer - 1)
        height += weight * (layer if octave < 1 else ridged) * (0.35 + 0.65 * (height / total if total else 1))
        total += weight
        weight *= 0.5
    height -= height.min()
    height /= height.max()
    return np.maximum(height, 0.16 + 0.25 * (height - 0.16))  # shallow water


def shaded(height, relief=420.0):
    slope_y, slope_x = np.gradient(height * relief)
    normal = np.sqrt(slope_x**2 + slope_y**2 + 1)
    light = (0.55 * slope_x + 0.55 * slope_y + 0.63) / normal
    colour = np.stack([np.interp(height, STOPS, COLOURS[:, band]) for band in range(3)], -1)
    return (colour * np.clip(0.45 + 0.8 * light, 0, 1.25)[..., None]).clip(0, 255).astype(np.uint8)


def viewed(strile, folder):
    """`strile view` in a browser, over heights in metres."""
    import rasterio
    from PIL import Image

    height = (400 + 2600 * terrain((1280, 2000))).astype(np.float32)
    place = {"crs": "EPSG:32632", "transform": rasterio.Affine(30, 0, 580000, 0, -30, 5190000)}
    dem = Path(folder, "dem.tif")
    profile = {"driver": "COG", "width": 2000, "height": 1280, "count": 1, "dtype": "float32", "compress": "deflate", **place}
    with rasterio.open(dem, "w", **profile) as file:
        file.write(height, 1)
    script = HERE.parents[1] / "crates/serve/page/tests/picture.mjs"
    subprocess.run(["node", script, strile, dem, HERE / "view.png"], check=True)
    with Image.open(HERE / "view.png") as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(HERE / "view.png", optimize=True)


def main():
    strile = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        source, cog = Path(folder, "terrain.tif"), Path(folder, "cog.tif")
        tifffile.imwrite(source, shaded(terrain((1280, 3200))), photometric="rgb", tile=(256, 256), compression="zlib")
        subprocess.run([strile, "-q", "convert", source, cog, "--of", "COG", "-outsize", "800", "320", "-r", "average"], check=True)
        subprocess.run([strile, "-q", "dump", cog, "--raw-values", "-o", HERE / "terrain.png"], check=True)
        viewed(strile, folder)


if __name__ == "__main__":
    main()
