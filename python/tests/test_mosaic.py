"""`strile.vrt`: what it writes, read by rasterio, and beside what gdalbuildvrt writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
from affine import Affine
from rasterio.enums import ColorInterp

GDAL = shutil.which("gdalbuildvrt")


def tile(path: Path, column: int = 0, row: int = 0, *, bands: int = 1, seed: int = 0, step: float = 10.0, **keys: Any) -> np.ndarray:
    """A file of 30 × 20 pixels with its corner at a column and row of a grid of 10 m."""
    mask, tags, describe = keys.pop("mask", None), keys.pop("tags", {}), keys.pop("describe", None)
    pixels = np.random.default_rng(seed).integers(0, 200, (bands, 20, 30)).astype(keys.get("dtype", "uint8"))
    keys = {"dtype": "uint8", "crs": "EPSG:32632", **keys}
    place = rasterio.Affine(step, 0, 500000 + 10 * column, 0, -step, 5000000 - 10 * row)
    path.parent.mkdir(exist_ok=True)
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(path, "w", driver="GTiff", width=30, height=20, count=bands, transform=place, **keys) as file,
    ):
        file.write(pixels)
        file.update_tags(**tags)
        if describe is not None:
            describe(file)
        if mask is not None:
            file.write_mask(mask)
    return pixels


def names(file: Any) -> None:
    file.descriptions = ("red edge",) + file.descriptions[1:]
    file.scales = (0.0001,) * file.count
    file.offsets = (-0.1,) * file.count
    file.units = ("reflectance",) + file.units[1:]
    file.update_tags(1, wavelength="705")


def quiet(*arguments: Any, **keywords: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return strile.vrt(*arguments, **keywords)


def facts(path: Path) -> dict[str, Any]:
    with rasterio.open(path) as file:
        return {
            "names": file.descriptions,
            "scales": file.scales,
            "offsets": file.offsets,
            "units": file.units,
            "nodata": file.nodatavals,
            "colours": file.colorinterp,
            "crs": file.crs.to_epsg(),
            "tags": {k: v for k, v in file.tags().items() if not k.startswith("OVR_")},
            "of_band": {k: v for k, v in file.tags(1).items() if not k.startswith("STATISTICS_")},
        }


def test_what_all_files_say_is_kept(tmp_path: Path) -> None:
    """Names, scales and offsets were lost, so that reflectances became digital numbers."""
    keys = {"bands": 2, "nodata": 255, "describe": names, "tags": {"SENSOR": "MSI"}}
    left = tile(tmp_path / "a.tif", **keys)
    right = tile(tmp_path / "b.tif", 30, seed=1, **keys)
    path = Path(quiet([tmp_path / "a.tif", tmp_path / "b.tif"], tmp_path / "all.vrt"))
    assert facts(path) == facts(tmp_path / "a.tif")
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(file.read(), np.concatenate([left, right], axis=2))
    handle = strile.open(path)
    assert handle.descriptions == ("red edge", None) and handle.scales == (0.0001,) * 2 and handle.offsets == (-0.1,) * 2
    assert handle.units[0] == "reflectance" and handle.nodata == 255


def test_pictures_palettes_and_categories_are_kept(tmp_path: Path) -> None:
    tile(tmp_path / "rgb.tif", bands=3, photometric="RGB")
    path = quiet([tmp_path / "rgb.tif"], tmp_path / "rgb.vrt")
    assert rasterio.open(path).colorinterp == (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
    colours = {value: (value, 255 - value, 7, 255) for value in range(256)}
    for name in ("p.tif", "q.tif"):
        tile(tmp_path / name, photometric="PALETTE", describe=lambda file: file.write_colormap(1, colours))
        aux = "<PAMDataset><PAMRasterBand band=\"1\"><CategoryNames><Category>sea</Category></CategoryNames></PAMRasterBand></PAMDataset>"
        (tmp_path / f"{name}.aux.xml").write_text(aux)
    path = quiet([tmp_path / "p.tif", tmp_path / "q.tif"], tmp_path / "p.vrt")
    with rasterio.open(path) as file:
        assert file.colormap(1) == colours and file.colorinterp == (ColorInterp.palette,)
    assert "<Category>sea</Category>" in Path(path).read_text()
    # Other colours would give the values another meaning.
    colours[3] = (1, 2, 3, 255)
    tile(tmp_path / "r.tif", photometric="PALETTE", describe=lambda file: file.write_colormap(1, colours))
    with pytest.raises(ValueError, match="colour table"):
        strile.vrt([tmp_path / "p.tif", tmp_path / "r.tif"], tmp_path / "no.vrt")
    assert not (tmp_path / "no.vrt").exists()


@pytest.mark.parametrize("overlap", [0, 10])
def test_masks_and_alpha(overlap: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for at, name in enumerate(("a.tif", "b.tif")):
        tile(tmp_path / name, at * (30 - overlap), seed=at, mask=rng.integers(0, 2, (20, 30)).astype("uint8") * 255)
    tile(tmp_path / "c.tif", 15, seed=7)
    sources = [str(tmp_path / name) for name in ("a.tif", "b.tif", "c.tif")]
    path = quiet(sources, tmp_path / "m.vrt")
    same_as_gdal(path, sources)
    for at, name in enumerate(("d.tif", "e.tif")):
        tile(tmp_path / name, at * (30 - overlap), bands=4, seed=at, photometric="RGB", alpha="YES")
    sources = [str(tmp_path / name) for name in ("d.tif", "e.tif")]
    path = quiet(sources, tmp_path / "alpha.vrt")
    assert rasterio.open(path).colorinterp[3] == ColorInterp.alpha
    same_as_gdal(path, sources)


def same_as_gdal(path: str, sources: list[str], *options: str) -> None:
    """Pixels, masks, size and place of ours and of gdalbuildvrt's, read by rasterio; and ours read by strile."""
    with rasterio.open(path) as file:
        ours, mask = file.read(), file.dataset_mask()
        np.testing.assert_array_equal(strile.open(path).read(), ours)
        if GDAL is None:
            return
        other = Path(path).with_suffix(".gdal.vrt")
        subprocess.run([GDAL, "-q", *options, other, *sources], check=True)
        with rasterio.open(other) as gdal:
            assert (gdal.width, gdal.height) == (file.width, file.height)
            assert gdal.transform.almost_equals(file.transform)
            np.testing.assert_array_equal(ours, gdal.read())
            np.testing.assert_array_equal(mask, gdal.dataset_mask())
            assert gdal.nodatavals == file.nodatavals
            assert gdal.colorinterp == file.colorinterp or "-separate" in options


@pytest.mark.parametrize(
    ("keywords", "options"),
    [
        ({}, []),
        ({"te": (500055, 4999850, 500500, 5000010)}, ["-te", "500055", "4999850", "500500", "5000010"]),
        ({"te": (500100, 4999900, 500400, 5000000)}, ["-te", "500100", "4999900", "500400", "5000000"]),
        ({"tr": (15, 15)}, ["-tr", "15", "15"]),
        ({"tr": (5, 4)}, ["-tr", "5", "4"]),
        (
            {"te": (500055, 4999850, 500500, 5000010), "tr": (15, 15)},
            ["-te", "500055", "4999850", "500500", "5000010", "-tr", "15", "15"],
        ),
        ({"separate": True}, ["-separate"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("nodata", [None, 7])
def test_placed_as_gdalbuildvrt_does(keywords: dict[str, Any], options: list[str], nodata: int | None, tmp_path: Path) -> None:
    """`-separate`, `-te` and `-tr`."""
    sources = [str(tmp_path / name) for name in ("a.tif", "b.tif", "c.tif")]
    for at, (path, place) in enumerate(zip(sources, ((0, 0), (20, 5), (25, 8)), strict=True)):
        tile(Path(path), *place, seed=at, nodata=nodata)
    path = quiet(sources, tmp_path / "ours.vrt", **keywords)
    same_as_gdal(path, sources, *options)


def test_separate_keeps_what_each_file_says(tmp_path: Path) -> None:
    tile(tmp_path / "a.tif", bands=2, nodata=3, describe=names)
    tile(tmp_path / "b.tif", seed=1, nodata=9, describe=lambda file: setattr(file, "descriptions", ("nir",)))
    path = strile.vrt([tmp_path / "a.tif", tmp_path / "b.tif"], tmp_path / "s.vrt", separate=True)
    with rasterio.open(path) as file:
        assert file.count == 3 and file.descriptions == ("red edge", None, "nir")
        assert file.nodatavals == (3, 3, 9) and file.scales == (0.0001, 0.0001, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ({"describe": names}, {}, "scale and offset"),
        ({"crs": "EPSG:3857"}, {}, "reference system"),
        ({"bands": 2}, {}, "2 bands"),
        ({"dtype": "int16"}, {}, "int16"),
        ({"step": 20.0}, {}, "`-tr`"),
        ({"bands": 3, "photometric": "RGB"}, {"bands": 3, "photometric": "MINISBLACK"}, "colour Red"),
    ],
)
def test_files_that_contradict_each_other(first: Any, second: Any, match: str, tmp_path: Path) -> None:
    tile(tmp_path / "a.tif", **first)
    tile(tmp_path / "b.tif", 30, **second)
    with pytest.raises(ValueError, match=match):
        strile.vrt([tmp_path / "a.tif", tmp_path / "b.tif"], tmp_path / "no.vrt")
    assert not (tmp_path / "no.vrt").exists()


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ({"tags": {"DATE": "1"}}, {"tags": {"DATE": "2"}}, "DATE"),
        ({"describe": lambda file: setattr(file, "descriptions", ("a",))}, {}, "band 1 has the name a"),
        ({"nodata": 3}, {"nodata": 4}, "nodata value 3"),
        ({"tags": {"AREA_OR_POINT": "Point"}}, {}, "AREA_OR_POINT"),
        ({"describe": lambda file: file.update_tags(1, STATISTICS_MEAN="4")}, {}, "statistics"),
    ],
)
def test_what_is_lost_is_named(first: Any, second: Any, match: str, tmp_path: Path) -> None:
    tile(tmp_path / "a.tif", **first)
    tile(tmp_path / "b.tif", 30, **second)
    with pytest.warns(RuntimeWarning, match=match):
        strile.vrt([tmp_path / "a.tif", tmp_path / "b.tif"], tmp_path / "all.vrt")
    rasterio.open(tmp_path / "all.vrt").close()


def test_paths_are_relative(tmp_path: Path) -> None:
    """Paths were stored absolute, and then refused."""
    pixels = tile(tmp_path / "tiles" / "a.tif")
    (tmp_path / "made").mkdir()
    path = Path(quiet([tmp_path / "tiles" / "a.tif"], tmp_path / "made" / "all.vrt"))
    assert 'relativeToVRT="1">../tiles/a.tif<' in path.read_text()
    os.rename(tmp_path / "made", tmp_path / "moved")
    path = tmp_path / "moved" / "all.vrt"
    np.testing.assert_array_equal(rasterio.open(path).read(), pixels)
    with pytest.raises(strile.VRTUnsupportedError, match="allowed_roots"):
        strile.open_geotiff(path)
    for keywords in ({"allow_outside": True}, {"allowed_roots": [tmp_path / "tiles"]}):
        np.testing.assert_array_equal(strile.open_geotiff(path, **keywords).values, pixels[0])


def test_arguments_that_are_refused(tmp_path: Path) -> None:
    tile(tmp_path / "a.tif")
    for arguments, match in (
        (([tmp_path / "a.tif"], tmp_path / "x.tif"), r"ends in `\.vrt`"),
        (([], tmp_path / "x.vrt"), "at least one file"),
    ):
        with pytest.raises(ValueError, match=match):
            strile.vrt(*arguments)
    with pytest.raises(TypeError, match="a list of paths"):
        strile.vrt(str(tmp_path / "a.tif"), tmp_path / "x.vrt")
    with pytest.raises(ValueError, match="no file lies in the extent"):
        strile.vrt([tmp_path / "a.tif"], tmp_path / "x.vrt", te=(0, 0, 1, 1), tr=(0.1, 0.1))
    path = strile.vrt([tmp_path / "a.tif"], tmp_path / "x.vrt")
    with pytest.raises((ValueError, OSError)):
        strile.vrt([tmp_path / "a.tif"], path)
    strile.vrt([tmp_path / "a.tif"], path, overwrite=True, nodata=None)
    with pytest.raises(ValueError, match="source of itself"):
        strile.vrt([path], path, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["a.tif", "x.vrt"]


def test_mosaics_of_mosaics(tmp_path: Path) -> None:
    pixels = tile(tmp_path / "a.tif", nodata=5, describe=names)
    inner = quiet([tmp_path / "a.tif"], tmp_path / "inner.vrt")
    path = Path(quiet([inner], tmp_path / "outer.vrt"))
    np.testing.assert_array_equal(strile.open(path).read(), np.where(pixels == 5, 5, pixels))
    assert facts(path) == facts(tmp_path / "a.tif")


def test_files_that_a_mosaic_cannot_lay_say_how_they_are_placed(tmp_path: Path) -> None:
    """"has no georeference" was said of files with control points."""
    from rasterio.control import GroundControlPoint
    from rasterio.rpc import RPC

    def write(name: str, after: Any = None, **profile: Any) -> Path:
        path = tmp_path / name
        with rasterio.open(path, "w", driver="GTiff", dtype="uint8", count=1, height=8, width=8, **profile) as file:
            file.write(np.zeros((1, 8, 8), np.uint8))
            if after is not None:
                after(file)
        return path

    points = [GroundControlPoint(r, c, c * 1.0, -r * 1.0, 0.0) for r in (0, 8) for c in (0, 8)]
    numbers = [1.0] * 20
    rpc = RPC(1, 1, 45, 1, numbers, numbers, 4, 4, 11, 1, numbers, numbers, 4, 4)
    files = {
        "placed by 4 ground control points": write("gcps.tif", gcps=points, crs="EPSG:4326"),
        "placed by RPCs": write("rpcs.tif", lambda file: setattr(file, "rpcs", rpc)),
        "south-up": write("south.tif", crs="EPSG:4326", transform=Affine(1, 0, 0, 0, 1, 0)),
        "rotated or sheared grid": write("turned.tif", crs="EPSG:4326", transform=Affine(1, 0.5, 0, 0.5, -1, 0)),
        "no georeference, so": write("none.tif", crs=None),
    }
    for words, path in files.items():
        with pytest.raises(strile.StrileError, match=words) as caught:
            strile.vrt([path], tmp_path / "a.vrt")
        assert ("warp the file first (`strile warp`)" in str(caught.value)) == (path.name != "none.tif")
        assert not (tmp_path / "a.vrt").exists()
