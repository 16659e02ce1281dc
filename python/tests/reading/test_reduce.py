"""JPEG 2000 at lower resolutions: every tile as OpenJPEG gives it, and pictures of files without overviews."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr
from strile.backend import StrileBackend

imagecodecs = pytest.importorskip("imagecodecs")
tifffile = pytest.importorskip("tifffile")


def made(folder: Path, pixels: np.ndarray, tile: int, *, reversible: bool = True) -> Path:
    """A file whose tiles OpenJPEG encoded."""

    def tiles() -> Any:
        for row in range(0, pixels.shape[0], tile):
            for column in range(0, pixels.shape[1], tile):
                yield pixels[row : row + tile, column : column + tile].tobytes()

    path = folder / "made.tif"
    level = 0 if reversible else 40
    encoded = [
        imagecodecs.jpeg2k_encode(
            np.frombuffer(one, pixels.dtype).reshape(tile, tile, *pixels.shape[2:]),
            level=level,
            reversible=reversible,
            codecformat="j2k",
        )
        for one in tiles()
    ]
    tifffile.imwrite(
        path,
        iter(encoded),
        shape=pixels.shape,
        dtype=pixels.dtype,
        tile=(tile, tile),
        compression=34712,
        photometric="rgb" if pixels.ndim == 3 else "minisblack",
    )
    return path


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.parametrize(
    ("shape", "dtype", "reversible"),
    [((512, 1024), np.uint16, True), ((512, 512, 3), np.uint8, True), ((512, 512), np.uint8, False)],
)
@pytest.mark.parametrize("reduce", [1, 2])
def test_every_tile_is_as_openjpeg_gives_it(
    tmp_path: Path, shape: tuple[int, ...], dtype: Any, reversible: bool, reduce: int
) -> None:
    y, x = np.mgrid[: shape[0], : shape[1]]
    values = (np.sin(x / 9.0) + np.cos(y / 7.0) + 2) * 60 + np.random.default_rng(3).integers(0, 9, shape[:2])
    pixels = values.astype(dtype)
    if len(shape) == 3:
        pixels = np.stack([pixels, pixels[::-1], pixels[:, ::-1]], axis=-1)
    path = made(tmp_path, np.ascontiguousarray(pixels), 512, reversible=reversible)
    found = strile.read(path, reduce=reduce, device="cpu").numpy()
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        side = 512 >> reduce
        for at, (offset, count) in enumerate(zip(page.dataoffsets, page.databytecounts, strict=True)):
            file.filehandle.seek(offset)
            stream = tmp_path / "tile.j2k"
            stream.write_bytes(file.filehandle.read(count))
            # GDAL gives lower resolutions, by OpenJPEG, as overviews.
            with rasterio.open(stream, overview_level=reduce - 1) as opened:
                tile = opened.read()
            assert tile.shape[1:] == (side, side)
            part = found[:, :, at * side :][:, :, :side]
            # Floats of lossy streams are rounded apart, at full size as well.
            assert np.abs(part.astype(int) - tile).max() <= (0 if reversible else 1)


def test_a_large_file_without_overviews_has_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strile import quicklook

    pixels = np.tile(np.arange(256, dtype=np.uint8), (256, 1))
    path = made(tmp_path, pixels, 128)
    monkeypatch.setattr(quicklook, "MOST_PIXELS", 5000)
    with strile.open(path) as dataset:
        shown = imagecodecs.png_decode(dataset.quicklook(64))
        assert shown.shape == (64, 64, 2)
        assert (np.diff(shown[5, :, 0].astype(int)) >= 0).all()
        assert dataset.quicklook(256) is None


def test_what_has_no_lower_resolution_says_why(tmp_path: Path) -> None:
    path = made(tmp_path, np.zeros((256, 256), np.uint8), 128)
    with strile.open(path) as dataset:
        assert "halved 2 times" in dataset.plan(reduce=2).explain()
        with pytest.raises(strile.StrileError, match="7 wavelet levels to be left out of"):
            dataset.read(reduce=7)
    plain = tmp_path / "plain.tif"
    tifffile.imwrite(plain, np.zeros((16, 16), np.uint8))
    with pytest.raises(strile.StrileError, match="only those of JPEG 2000 hold lower resolutions"):
        strile.read(plain, reduce=1)


@pytest.fixture
def placed(tmp_path: Path) -> Path:
    """A file of 500 × 300 pixels of 10 m, its tiles of 128² cut at the edges, without overviews."""
    pixels = (np.mgrid[:384, :512].sum(axis=0) % 251).astype(np.uint8)
    path = tmp_path / "placed.tif"
    tiles = [pixels[row : row + 128, column : column + 128] for row in range(0, 384, 128) for column in range(0, 512, 128)]
    encoded = [imagecodecs.jpeg2k_encode(np.ascontiguousarray(tile), level=0, codecformat="j2k") for tile in tiles]
    tifffile.imwrite(
        path, iter(encoded), shape=(300, 500), dtype=np.uint8, tile=(128, 128), compression=34712, photometric="minisblack",
        extratags=[(33550, 12, 3, (10.0, 10.0, 0.0), True), (33922, 12, 6, (0.0, 0.0, 0.0, 1000.0, 9000.0, 0.0), True)],
    )  # fmt: skip
    return path


@pytest.mark.parametrize("chunks", [None, 64])
def test_open_geotiff_places_the_smaller_image_as_an_overview(placed: Path, chunks: int | None) -> None:
    array = strile.open_geotiff(placed, reduce=2, chunks=chunks)
    np.testing.assert_array_equal(array, strile.read(placed, reduce=2, device="cpu").numpy()[0])
    assert array.shape == (75, 125)
    assert array.attrs["transform"] == (40.0, 0.0, 1000.0, 0.0, -40.0, 9000.0)
    assert array.x[0] == 1020.0 and array.x[-1] == 1000 + 5000 - 20 and array.y[-1] == 9000 - 3000 + 20
    part = strile.open_geotiff(placed, reduce=2, chunks=chunks, window=(10, 20, 75, 125))
    np.testing.assert_array_equal(part, array[10:, 20:])
    np.testing.assert_array_equal(part.x, array.x[20:])
    box = strile.open_geotiff(placed, reduce=2, chunks=chunks, bbox=(1800.0, 6000.0, 6000.0, 8600.0))
    assert box.identical(part)
    # Sides that no factor divides: the pixels cover what the file covers.
    assert strile.open_geotiff(placed, reduce=3, chunks=chunks).attrs["transform"][0] == 10.0 * 500 / 63
    with pytest.raises(strile.StrileError, match="75 rows and 125 columns"):
        strile.open_geotiff(placed, reduce=2, chunks=chunks, window=(0, 0, 76, 5))


@pytest.mark.parametrize("chunks", [None, {}])
def test_the_engine_places_the_smaller_image_as_an_overview(placed: Path, chunks: dict | None) -> None:
    opened = xr.open_dataset(placed, engine=StrileBackend, reduce=2, chunks=chunks)
    np.testing.assert_array_equal(opened.band_data, strile.read(placed, reduce=2, device="cpu").numpy())
    assert opened.spatial_ref.attrs["GeoTransform"] == "1000.0 40.0 0.0 9000.0 0.0 -40.0"
    np.testing.assert_array_equal(opened.x, strile.open_geotiff(placed, reduce=2).x)
    np.testing.assert_array_equal(opened.band_data[0, 3:9, ::5], opened.band_data.values[0, 3:9, ::5])
    assert opened.band_data.encoding["preferred_chunks"] == {"y": 75, "x": 125, "band": 1}


def test_a_lazy_open_says_at_once_what_has_no_lower_resolution(tmp_path: Path) -> None:
    plain = tmp_path / "plain.tif"
    tifffile.imwrite(plain, np.zeros((16, 16), np.uint8))
    words = "only those of JPEG 2000 hold lower resolutions"
    with pytest.raises(strile.StrileError, match=words):
        strile.open_geotiff(plain, reduce=1, chunks=8)
    with pytest.raises(strile.StrileError, match=words):
        xr.open_dataset(plain, engine=StrileBackend, reduce=1)
    with pytest.raises(strile.StrileError, match=words):
        strile.plan(plain, reduce=1)
    mosaic = tmp_path / "mosaic.vrt"
    mosaic.write_text('<VRTDataset rasterXSize="16" rasterYSize="16"><VRTRasterBand dataType="Byte" band="1"/></VRTDataset>')
    with pytest.raises(strile.StrileError, match="VRT"):
        xr.open_dataset(mosaic, engine=StrileBackend, reduce=1)
