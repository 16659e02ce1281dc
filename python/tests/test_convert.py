"""`strile.convert` and `strile.convert_many`: options reach the core, and rasterio reads what they ask for."""

from __future__ import annotations

import numpy as np
import pytest
import strile

rasterio = pytest.importorskip("rasterio")

PLACE = dict(crs="EPSG:32632", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6))


def write(path, values, **profile):
    count, height, width = values.shape
    profile = dict(driver="GTiff", dtype=values.dtype, count=count, height=height, width=width) | PLACE | profile
    scales, colormap = profile.pop("scales", None), profile.pop("colormap", None)
    with rasterio.open(path, "w", **profile) as file:
        file.write(values)
        if scales:
            file.scales, file.offsets = [scales[0]] * count, [scales[1]] * count
        if colormap:
            file.write_colormap(1, colormap)
    return path


@pytest.fixture
def scene(tmp_path):
    values = np.random.default_rng(1).integers(0, 255, (3, 60, 80)).astype("uint8")
    return write(tmp_path / "scene.tif", values, photometric="RGB"), values


def read(path):
    with rasterio.open(path) as file:
        return file.read(), file.profile | {"file": file.tags(), "colours": [c.name for c in file.colorinterp]}


def test_a_part_of_another_size(scene, tmp_path):
    path, values = scene
    out = strile.convert(path, tmp_path / "out.tif", srcwin=(8, 4, 40, 20), outsize=("50%", 0), resampling="average")
    made, profile = read(out)
    mean = values[:, 4:24, 8:48].reshape(3, 10, 2, 20, 2).mean(axis=(2, 4))
    assert np.array_equal(made, np.floor(mean + 0.5))
    assert profile["transform"] == rasterio.Affine(20, 0, 5e5 + 80, 0, -20, 5e6 - 40)
    out = strile.convert(path, tmp_path / "corner.tif", projwin=(500100, 4999900, 500300, 4999700), tr=(20, 20))
    assert read(out)[0].shape == (3, 10, 10)
    out = strile.convert(path, tmp_path / "box.tif", bbox=(500105, 4999705, 500295, 4999895))
    assert np.array_equal(read(out)[0], values[:, 10:30, 10:30])


def test_values_and_types(scene, tmp_path):
    path, values = scene
    made, _ = read(strile.convert(path, tmp_path / "a.tif", dtype=np.float32, scale=(0, 200, 0, 1)))
    assert made.dtype == "float32" and np.allclose(made, values / 200)
    made, _ = read(strile.convert(path, tmp_path / "b.tif", scale={2: (0, 255, 255, 0)}))
    assert np.array_equal(made[1], 255 - values[1]) and np.array_equal(made[0], values[0])
    made, _ = read(strile.convert(path, tmp_path / "c.tif", scale=True, dtype="UInt16"))
    assert (made.reshape(3, -1).min(1).tolist(), made.reshape(3, -1).max(1).tolist()) == ([0] * 3, [65535] * 3)
    made, _ = read(strile.convert(path, tmp_path / "d.tif", scale=(0, 255, 0, 100), exponent=2, dtype="Float64"))
    assert np.allclose(made, (values / 255.0) ** 2 * 100)


def test_scale_and_offset_are_applied_and_set(tmp_path):
    values = np.arange(24, dtype="int16").reshape(1, 4, 6)
    values[0, 0, 0] = -99
    path = write(tmp_path / "packed.tif", values, scales=(0.5, 10), nodata=-99)
    out = strile.convert(path, tmp_path / "out.tif", unscale=True, dtype="float32")
    with rasterio.open(out) as file:
        assert (file.scales, file.offsets, file.nodata) == ((1.0,), (0.0,), -99)
        made = file.read(1)
    assert made[0, 0] == -99 and np.array_equal(made.ravel()[1:], values.ravel()[1:] * 0.5 + 10)
    out = strile.convert(path, tmp_path / "said.tif", a_scale=3, a_offset=-1)
    with rasterio.open(out) as file:
        assert (file.scales, file.offsets) == ((3.0,), (-1.0,)) and np.array_equal(file.read(), values)


def test_nodata_is_never_scaled_and_has_to_fit(tmp_path):
    values = np.array([[[-9999.0, 0.0, 0.2, 7.0]]], dtype="float32")
    path = write(tmp_path / "dem.tif", values, nodata=-9999)
    with pytest.raises(strile.StrileError, match="nodata -9999 cannot be stored as uint8; set `nodata`"):
        strile.convert(path, tmp_path / "out.tif", dtype="uint8")
    assert not (tmp_path / "out.tif").exists()
    with pytest.warns(UserWarning, match="2 samples of valid pixels would have become nodata"):
        out = strile.convert(path, tmp_path / "out.tif", dtype="uint8", nodata=0)
    assert read(out)[0].tolist() == [[[0, 1, 1, 7]]]
    with pytest.warns(UserWarning, match="1 sample outside the range of uint8"):
        out = strile.convert(path, tmp_path / "none.tif", dtype="uint8", nodata="none")
    assert read(out)[0].tolist() == [[[0, 0, 0, 7]]]


def test_palettes_are_expanded_and_not_mixed(tmp_path):
    values = np.random.default_rng(2).integers(0, 4, (1, 20, 30)).astype("uint8")
    colours = {n: (n * 60, 10, 255 - n * 60, 255) for n in range(4)}
    path = write(tmp_path / "classes.tif", values, colormap=colours, photometric="PALETTE")
    made, profile = read(strile.convert(path, tmp_path / "rgb.tif", expand="rgb"))
    assert profile["colours"] == ["red", "green", "blue"]
    assert np.array_equal(made, np.moveaxis(np.array([colours[n][:3] for n in range(4)])[values[0]], -1, 0))
    with pytest.raises(strile.StrileError, match="would mix the indices of a palette"):
        strile.convert(path, tmp_path / "mixed.tif", outsize=(10, 0), resampling="bilinear")
    made, profile = read(strile.convert(path, tmp_path / "small.tif", outsize=(10, 0), resampling="mode"))
    assert profile["colours"] == ["palette"] and set(np.unique(made)) <= set(range(4))


def test_what_is_said_of_pixels(scene, tmp_path):
    path, values = scene
    out = strile.convert(path, tmp_path / "out.tif", colorinterp=["gray", "undefined", "alpha"], metadata={"A": 1}, a_ullr=(0, 6, 8, 0))
    made, profile = read(out)
    assert profile["colours"] == ["gray", "undefined", "alpha"] and profile["file"]["A"] == "1"
    assert profile["transform"] == rasterio.Affine(0.1, 0, 0, 0, -0.1, 6) and np.array_equal(made, values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(resampling="gauss", outsize=(5, 5)), "expected one of nearest, bilinear"),
        (dict(dtype="CInt16"), "expected one of Byte"),
        (dict(outsize=(5, 5), tr=(1, 1)), "`outsize` and `tr` cannot be combined"),
        (dict(srcwin=(0, 0, 5, 5), projwin=(0, 5, 5, 0)), "cannot be combined"),
        (dict(srcwin=(500, 0, 5, 5)), "lies outside the image"),
        (dict(srcwin=(-5, 0, 10, 5), epo=True), "lies partly outside"),
        (dict(colorinterp=["mauve"]), "is not a colour interpretation"),
        (dict(scale=(1, 2, 3)), "expected 0, 2 or 4"),
        (dict(expand="rgb"), "takes one band"),
        (dict(ovr=3), "there is no level 4"),
    ],
)
def test_what_cannot_be_is_an_error(scene, tmp_path, options, message):
    with pytest.raises(strile.StrileError, match=message):
        strile.convert(scene[0], tmp_path / "out.tif", **options)
    assert not (tmp_path / "out.tif").exists()


def test_many_files_go_into_a_folder(scene, tmp_path):
    path, values = scene
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.tif", "b.tiff"):
        (folder / name).write_bytes(path.read_bytes())
    (folder / "c.tif").write_bytes(b"nothing")
    calls = []
    with pytest.warns(UserWarning, match="c.tif failed"):
        results = strile.convert_many(
            [folder], tmp_path / "out", jobs=2, format="cog", outsize=("50%", 0), progress=lambda done, all: calls.append((done, all))
        )
    assert [result["state"] for result in results] == ["written", "written", "failed"]
    assert results[2]["error"] and calls[-1][0] == calls[-1][1]
    assert read(results[1]["output"])[0].shape == (3, 30, 40)
    with pytest.warns(UserWarning, match="c.tif failed"):
        again = strile.convert_many([folder], tmp_path / "out", format="cog")
    assert [result["state"] for result in again] == ["skipped", "skipped", "failed"]
    with pytest.raises(strile.StrileError, match="would both be written to"):
        strile.convert_many([folder / "a.tif", folder / "a.tif"], tmp_path / "other")
    with pytest.raises(strile.StrileError, match="is an input and would be replaced"):
        strile.convert_many([folder], folder, overwrite=True)
    with pytest.raises(TypeError, match="unexpected options"):
        strile.convert_many([folder], tmp_path / "out", outsise=(1, 2))
