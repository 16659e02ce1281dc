"""Files that few programs write: overviews of any factor, bands of different types, inks, profiles, mosaics of mosaics. The judges are
GDAL, through rasterio, and tifffile."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import strile

rasterio, tifffile = pytest.importorskip("rasterio"), pytest.importorskip("tifffile")


def test_overviews_of_any_factor_are_read_as_gdal_does(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    pixels = np.random.default_rng(2).normal(500, 90, (301, 403)).astype("float32")
    strile.to_geotiff(pixels, path, tile_size=64)
    with rasterio.open(path, "r+") as file:
        file.build_overviews([3, 5, 7], rasterio.enums.Resampling.average)
    with strile.open(path) as src:
        assert src.overviews(1) == [3, 5, 7]
    for number in range(3):
        with rasterio.open(path, overview_level=number) as file:
            expected = file.read()
        assert np.array_equal(strile.read(path, level=number + 1).numpy(), expected)
        assert np.array_equal(strile.open_geotiff(path, overview_level=number + 1), expected[0])


def write_mixed(path: Path, bits: list[int], formats: list[int], pixels: bytes) -> None:
    """Writes two bands of 4 × 4 pixels, interleaved, in one strip; each with its own depth and format."""
    fields = {256: [4], 257: [4], 258: bits, 259: [1], 262: [1], 273: [0], 277: [2], 278: [4], 279: [len(pixels)], 284: [1], 339: formats}
    fields[273] = [8 + 2 + 12 * len(fields) + 4]
    entries = [struct.pack("<HHI2H", tag, 3, len(values), *(values + [0])[:2]) for tag, values in fields.items()]
    path.write_bytes(struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + b"".join(entries) + bytes(4) + pixels)


def test_unsigned_bands_of_different_depths_are_read(tmp_path: Path) -> None:
    """8 and 16 bits; GDAL refuses it."""
    path = tmp_path / "mixed.tif"
    first, second = np.arange(16, dtype="u1") * 17, np.arange(16, dtype="<u2") * 4369
    write_mixed(path, [8, 16], [1, 1], b"".join(a.tobytes() + b.tobytes() for a, b in zip(first, second)))
    with pytest.raises(rasterio.errors.RasterioIOError, match="different values per sample"):
        rasterio.open(path)
    read = strile.read(path).numpy()
    assert read.dtype == np.uint16 and np.array_equal(read[1].ravel(), second)
    # Samples of fewer bits span the range of the widest.
    assert np.array_equal(read[0].ravel(), first.astype("u2") * 257)


@pytest.mark.parametrize(("bits", "formats"), [([8, 32], [1, 3]), ([32, 32], [1, 3]), ([16, 16], [1, 2])])
def test_bands_of_different_kinds_are_refused_as_gdal_does(tmp_path: Path, bits: list[int], formats: list[int]) -> None:
    path = tmp_path / "mixed.tif"
    write_mixed(path, bits, formats, bytes(16 * sum(bits) // 8))
    with pytest.raises(rasterio.errors.RasterioIOError, match="different values per sample"):
        rasterio.open(path)
    with pytest.raises(strile.UnsupportedGeoTIFFFeatureError, match="mixing sample formats"):
        strile.read(path)


@pytest.mark.parametrize(("photometric", "bands", "dtype"), [(5, 4, "uint8"), (5, 4, "uint16"), (8, 3, "uint8")])
def test_cmyk_and_cielab_are_the_stored_samples(tmp_path: Path, photometric: int, bands: int, dtype: str) -> None:
    """As tifffile gives them: no conversion to RGB."""
    path = tmp_path / "inks.tif"
    samples = np.random.default_rng(3).integers(0, 200, (40, 50, bands), dtype=dtype)
    tifffile.imwrite(path, samples, photometric=photometric, planarconfig="contig", tile=(16, 16), compression="zlib")
    read = strile.read(path).numpy()
    assert read.dtype == dtype and np.array_equal(np.moveaxis(read, 0, -1), tifffile.imread(path))


def test_colour_profiles_and_xmp_are_kept_byte_for_byte(tmp_path: Path) -> None:
    profile, packet = bytes(range(256)) * 3, b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
    path, copy = tmp_path / "photo.tif", tmp_path / "copy.tif"
    pixels = np.random.default_rng(3).integers(0, 255, (64, 64, 3), dtype="uint8")
    extra = [(700, "B", len(packet), packet, True), (34675, "B", len(profile), profile, True)]
    tifffile.imwrite(path, pixels, photometric="rgb", extratags=extra)
    strile.convert(path, copy, format="cog")
    with tifffile.TiffFile(copy) as file:
        tags = file.pages[0].tags
        assert bytes(tags[700].value) == packet and bytes(tags[34675].value) == profile
        assert np.array_equal(file.pages[0].asarray(), pixels)


def test_exif_that_is_left_out_is_reported(tmp_path: Path) -> None:
    """GDAL leaves it out, too, and says nothing."""
    path, text = tmp_path / "photo.tif", b"2024:01:01 00:00:00\0"
    pixels = np.random.default_rng(3).integers(0, 255, (64, 64, 3), dtype="uint8")
    # tifffile does not write this tag: another one becomes it, and points to a directory at the end.
    tifffile.imwrite(path, pixels, photometric="rgb", extratags=[(34700, "I", 1, 0xDEADBEEF, True)])
    data = path.read_bytes()
    data += b"\0" * (len(data) % 2)
    entry = struct.pack("<HHI", 34700, 4, 1) + struct.pack("<I", 0xDEADBEEF)
    assert data.count(entry) == 1
    directory = struct.pack("<HHHIII", 1, 0x9003, 2, len(text), len(data) + 18, 0) + text
    path.write_bytes(data.replace(entry, struct.pack("<HHII", 34665, 4, 1, len(data))) + directory)
    with tifffile.TiffFile(path) as file:
        assert file.pages[0].tags[34665].value == {"DateTimeOriginal": "2024:01:01 00:00:00"}
    with pytest.warns(UserWarning, match="the EXIF tags of the camera are left out"):
        strile.convert(path, tmp_path / "copy.tif")
    assert np.array_equal(strile.read(tmp_path / "copy.tif").numpy(), np.moveaxis(pixels, -1, 0))


def test_mosaics_of_mosaics_are_read_as_gdal_does(tmp_path: Path) -> None:
    pixels = np.random.default_rng(6).integers(0, 255, (60, 80), dtype="uint8")
    for number, columns in enumerate((slice(0, 40), slice(40, 80))):
        transform = (1.0, 0.0, 1000.0 + 40 * number, 0.0, -1.0, 2000.0)
        strile.to_geotiff(pixels[:, columns], tmp_path / f"{number}.tif", crs=32632, transform=transform)
        strile.vrt([tmp_path / f"{number}.tif"], tmp_path / f"{number}.vrt")
    outer = strile.vrt([tmp_path / "0.vrt", tmp_path / "1.vrt"], tmp_path / "all.vrt")
    with rasterio.open(outer) as file:
        assert np.array_equal(file.read(1), pixels)
    assert np.array_equal(strile.read(outer).numpy()[0], pixels)


@pytest.mark.parametrize("element", ['<VRTDataset subClass="VRTWarpedDataset"', '<VRTRasterBand subClass="VRTDerivedRasterBand"'])
def test_warped_and_derived_mosaics_are_refused_by_name(tmp_path: Path, element: str) -> None:
    name = element.split()[0][1:]
    text = '<VRTDataset rasterXSize="8" rasterYSize="8"><VRTRasterBand dataType="Byte" band="1"/></VRTDataset>'
    (tmp_path / "a.vrt").write_text(text.replace(f"<{name}", element, 1))
    with pytest.raises(strile.VRTUnsupportedError, match=element.split('"')[1]):
        strile.read(tmp_path / "a.vrt")
