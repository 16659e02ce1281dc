"""Mosaics on the device: open_geotiff(gpu=True) of a VRT gives the pixels, coordinates and attributes of the CPU."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import strile
from alike import same
from terrain import terrain

Mosaic = tuple[str, np.ndarray]


@pytest.fixture
def mosaic(tmp_path: Path) -> Mosaic:
    """Four by four tiles of float32, and their pixels."""
    pixels = terrain((512, 512), "float32")
    path = str(tmp_path / "tiles.vrt")
    strile.to_geotiff(pixels, path, tile_size=128, crs=32633)
    return path, pixels


def test_a_mosaic_comes_as_cupy(cupy, mosaic: Mosaic) -> None:
    path, pixels = mosaic
    found = strile.open_geotiff(path, gpu=True)
    assert isinstance(found.data, cupy.ndarray)
    assert np.array_equal(cupy.asnumpy(found.data), pixels)
    same(found, strile.open_geotiff(path))


def test_chunks_of_a_mosaic_are_cupy_without_a_detour(cupy, mosaic: Mosaic) -> None:
    import dask.array

    path, pixels = mosaic
    found = strile.open_geotiff(path, gpu=True, chunks=(64, 128))
    assert isinstance(found.data, dask.array.Array) and isinstance(found.data._meta, cupy.ndarray)
    assert found.data.numblocks == (8, 4)
    block = found.data.blocks[3, 2].compute()
    assert isinstance(block, cupy.ndarray) and np.array_equal(cupy.asnumpy(block), pixels[192:256, 256:384])
    same(found, strile.open_geotiff(path))


@pytest.mark.parametrize("request_", [{"window": (100, 50, 413, 311)}, {"window": (100, 50, 413, 311), "chunks": 64}], ids=str)
def test_windows_of_a_mosaic(mosaic: Mosaic, request_: dict) -> None:
    path, _ = mosaic
    same(strile.open_geotiff(path, gpu=True, **request_), strile.open_geotiff(path, window=request_["window"]))


@pytest.mark.parametrize("request_", [{}, {"masked": True}, {"dtype": "float64", "masked": True}], ids=str)
def test_nodata_of_a_mosaic(tmp_path: Path, request_: dict) -> None:
    pixels = terrain((300, 400), "int16")
    pixels[20:90, 50:200] = -999
    path = str(tmp_path / "holes.vrt")
    strile.to_geotiff(pixels, path, tile_size=128, nodata=-999)
    same(strile.open_geotiff(path, gpu=True, **request_), strile.open_geotiff(path, **request_))


def test_bands_of_a_mosaic(tmp_path: Path) -> None:
    pixels = np.moveaxis(terrain((3, 300, 260), "uint16"), 0, -1)
    path = str(tmp_path / "bands.vrt")
    strile.to_geotiff(pixels, path, tile_size=128)
    for request_ in ({}, {"band": 1}, {"chunks": 100}):
        eager = {key: value for key, value in request_.items() if key != "chunks"}
        same(strile.open_geotiff(path, gpu=True, **request_), strile.open_geotiff(path, **eager))


def test_a_mosaic_that_is_scaled(tmp_path: Path) -> None:
    """A source that is drawn at half its size by its nearest pixels."""
    strile.to_geotiff(terrain((200, 300), "float32"), str(tmp_path / "source.tif"), compression="deflate")
    path = tmp_path / "half.vrt"
    path.write_text(
        '<VRTDataset rasterXSize="150" rasterYSize="100"><VRTRasterBand dataType="Float32" band="1">'
        '<SimpleSource><SourceFilename relativeToVRT="1">source.tif</SourceFilename><SourceBand>1</SourceBand>'
        '<SrcRect xOff="0" yOff="0" xSize="300" ySize="200"/><DstRect xOff="0" yOff="0" xSize="150" ySize="100"/></SimpleSource>'
        "</VRTRasterBand></VRTDataset>"
    )
    same(strile.open_geotiff(str(path), gpu=True), strile.open_geotiff(str(path)))
