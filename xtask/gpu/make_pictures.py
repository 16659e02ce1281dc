"""Makes the pictures of the benchmark: `make_pictures.py FOLDER [--tiles 1024]`.

TIFFs whose tiles are picture streams, encoded by others: JPEG 2000 lossless and HTJ2K lossless of uint16 in 512² tiles
(OpenJPEG, OpenJPH; the tiles of the peers' figures), JPEG 2000 lossy of RGB (OpenJPEG, 40 dB), JPEG as GDAL writes it
(YCbCr 4:2:0 of quality 75 in 512² and in 256² tiles, grey of quality 90), and the same JPEG with its tables in every
tile for libraries that take whole streams alone. Beside FILE.tif lies FILE.tif.idx: offset and length of each tile, two
little-endian u64; meta.json lists everything; FILE.npy has the pixels of those that are lossless. Nothing is made twice.
"""
import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SIDE = 512
JPEGS = [  # name, tile, quality, grey
    ("jpeg_ycbcr_512", 512, 75, False), ("jpeg_ycbcr_256", 256, 75, False), ("jpeg_grey_512", 512, 90, True),
]


def noise(seed: int, falls: float) -> np.ndarray:
    """Spectral noise of one tile, deviation 1."""
    k = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None])
    k[0, 0] = 1
    white = np.random.default_rng(seed).standard_normal((SIDE, SIDE))
    field = np.fft.irfft2(np.fft.rfft2(white) * k**-falls, s=(SIDE, SIDE))
    return field / field.std()


def reflectance(seed: int) -> np.ndarray:
    fine = np.random.default_rng(seed + (1 << 20)).standard_normal((SIDE, SIDE)) * 12
    return np.clip(noise(seed, 1.1) * 600 + 1800 + fine, 0, 1e4).astype("u2")


def colours(seed: int) -> np.ndarray:
    base = noise(seed, 1.3)
    bands = [np.clip((base * 0.8 + noise(seed * 3 + i + (1 << 21), 0.8) * 0.3) * 45 + 120, 0, 255) for i in range(3)]
    return np.stack(bands, -1).astype("u1")


def described(path: Path, codec: str, tile: int, decoded: int, lossless: bool) -> dict:
    import tifffile

    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[0]
        offsets, lengths, bands = page.dataoffsets, page.databytecounts, page.samplesperpixel
        width, height, size = page.imagewidth, page.imagelength, page.dtype.itemsize
    np.array([offsets, lengths], dtype="<u8").T.copy().tofile(f"{path}.idx")
    return dict(
        name=path.stem, path=str(path), codec=codec, tile=tile, bands=bands, sample=size, width=width, height=height,
        decoded=decoded, encoded=int(sum(lengths)), tiles=len(offsets), lossless=lossless,
    )


def by_tiles(path: Path, tiles: list[np.ndarray], encode, pool: ThreadPoolExecutor) -> int:
    """A TIFF of streams that `encode` makes, in a square of tiles."""
    import tifffile

    streams = list(pool.map(encode, tiles))
    across = int(len(tiles) ** 0.5)
    first = tiles[0]
    shape = (across * SIDE, across * SIDE) + first.shape[2:]
    rgb = first.ndim == 3
    tifffile.imwrite(
        path, data=iter(streams), shape=shape, dtype=first.dtype, tile=(SIDE, SIDE), compression=34712,
        photometric="rgb" if rgb else "minisblack", planarconfig="contig" if rgb else None,
    )
    return int(np.prod(shape)) * first.itemsize


def mosaic(tiles: list[np.ndarray]) -> np.ndarray:
    across = int(len(tiles) ** 0.5)
    rows = [np.concatenate(tiles[at : at + across], axis=1) for at in range(0, len(tiles), across)]
    return np.concatenate(rows, axis=0)


def jpeg(path: Path, array: np.ndarray, tile: int, quality: int, tables: bool) -> None:
    import rasterio

    bands = array.shape[0]
    options = dict(
        driver="GTiff", width=array.shape[2], height=array.shape[1], count=bands, dtype="uint8", tiled=True,
        blockxsize=tile, blockysize=tile, compress="jpeg", JPEG_QUALITY=str(quality), NUM_THREADS="ALL_CPUS",
        JPEGTABLESMODE="1" if tables else "0", interleave="pixel",
    )
    if bands == 3:
        options["photometric"] = "ycbcr"
    with rasterio.open(path, "w", **options) as target:
        target.write(array)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiles", type=int, default=1024, help="tiles of a JPEG 2000 raster, a square number")
    args = parser.parse_args()
    import imagecodecs

    folder = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "meta.json"
    if listed.exists():
        return
    started, rows = time.perf_counter(), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        grey = list(pool.map(reflectance, range(args.tiles)))
        np.save(folder / "u16.npy", mosaic(grey))
        for name, encode in {
            "j2k_u16": lambda tile: imagecodecs.jpeg2k_encode(tile, level=0, codecformat="j2k", reversible=True),
            "ht_u16": lambda tile: imagecodecs.htj2k_encode(tile, reversible=True),
        }.items():
            decoded = by_tiles(folder / f"{name}.tif", grey, encode, pool)
            rows.append(described(folder / f"{name}.tif", "jpeg2000", SIDE, decoded, True) | {"pixels": "u16.npy"})
        del grey
        rgb = list(pool.map(colours, range(max(4, args.tiles // 4))))
        lossy = lambda tile: imagecodecs.jpeg2k_encode(tile, level=40, codecformat="j2k", reversible=False)
        decoded = by_tiles(folder / "j2k_rgb_lossy.tif", rgb, lossy, pool)
        rows.append(described(folder / "j2k_rgb_lossy.tif", "jpeg2000", SIDE, decoded, False))
        array = np.ascontiguousarray(np.moveaxis(mosaic(rgb), -1, 0))
    for name, tile, quality, is_grey in JPEGS:
        for ending, tables in (("", True), ("_whole", False)):
            path = folder / f"{name}{ending}.tif"
            jpeg(path, array[:1] if is_grey else array, tile, quality, tables)
            decoded = array.nbytes // 3 if is_grey else array.nbytes
            rows.append(described(path, "jpeg", tile, decoded, False) | {"whole": not tables})
    listed.write_text(json.dumps(rows, indent=1))
    for row in rows:
        print(f"{row['name']}: {row['tiles']} tiles, ratio {row['decoded'] / row['encoded']:.2f}", flush=True)
    print(f"pictures: {len(rows)} files, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
