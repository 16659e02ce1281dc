"""Odd arguments of every public function are refused in words of strile, and never by a line of Python or Rust that was not
written for a caller: each argument in turn is given values of wrong kinds."""

from __future__ import annotations

import datetime
import inspect
import io
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

NAN = float("nan")
ODD: list[Any] = [
    None, NAN, float("inf"), -1, 0, 2.5, 1 << 70, True, "", "x", b"x", bytearray(b"x"), Path("none.tif"), "nö/t.tif", "a\0b",
    np.float32(1.5), np.uint8(2), np.array(3), np.array([1, 2]), np.zeros((0, 4)), np.array([1.5, NAN]), np.array(["a"]),
    np.array([None], object), np.datetime64("2020-01-01"), datetime.datetime(2026, 1, 1), slice(0, 10),
    (slice(None), slice(0, 5)), [], (), [1, 2], (1, 2, 3), (0, 0, 0, 0), (-1, -1, 4, 4), (NAN,) * 4, (1.5, 0, 4, 4),
    ("a",) * 4, [[None] * 4], {}, {"a": 1}, {1, 2}, object(), object, 1 + 2j, io.StringIO("x"), io.BytesIO(b""), ...,
]  # fmt: skip

OURS = (strile.StrileError, OSError, IndexError, ImportError, MemoryError)
FOREIGN = (
    "NaN to integer", "cannot unpack", "to unpack", "without an encoding", "has no attribute", "not iterable", "not subscriptable",
    "object of type", "cannot be interpreted", "float() argument", "int() argument", "unhashable", "truth value",
    "not supported between", "could not convert", "'NoneType'", "can't convert", "unsupported operand", "indices must",
    "expected str, bytes", "bytes-like", "invalid literal", "inhomogeneous", "not callable", "out of range integral",
)  # fmt: skip


def refused_in_words(call: Callable[[], Any]) -> str | None:
    """What is wrong with the way that a call is refused; None for calls that are served or refused well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
            if inspect.isgenerator(found):
                list(found)
    except (TypeError, ValueError, *OURS) as error:
        text = str(error)
        last = traceback.extract_tb(error.__traceback__)[-1]
        written = (last.line or "").startswith(("raise", 'f"', '"')) and "strile" in last.filename
        if written or (text and not any(words in text for words in FOREIGN)):
            return None
        return f"{type(error).__name__}: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    pixels = np.arange(3 * 32 * 48, dtype=np.uint16).reshape(3, 32, 48)
    place: dict[str, Any] = {"crs": 32633, "transform": (30, 0, 5e5, 0, -30, 46e5), "dims": ("band", "y", "x")}
    strile.to_geotiff(pixels, folder / "a.tif", nodata=0, **place)
    strile.vrt([folder / "a.tif"], folder / "a.vrt")
    return folder


def calls(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any], set[str]]]:
    """Functions, arguments that are good, and those that are left alone: GPUs that are not there, and outputs."""
    path, mosaic = str(folder / "a.tif"), str(folder / "a.vrt")
    handle, vrt = strile.open(path), strile.open(mosaic)
    pixels = np.zeros((32, 48), np.uint16)
    found: dict[str, tuple[Callable[..., Any], dict[str, Any], set[str]]] = {
        "open_geotiff": (strile.open_geotiff, {"source": path}, {"gpu", "progress"}),
        "open_geotiff of a VRT": (strile.open_geotiff, {"source": mosaic}, {"gpu", "progress"}),
        "open": (strile.open, {"source": mosaic}, set()),
        "read": (strile.read, {"path": path}, {"progress"}),
        "read in a size": (strile.read, {"path": path, "size": 16}, {"progress"}),
        "read_batch": (strile.read_batch, {"files": [path], "windows": [[0, 0, 8, 8]]}, set()),
        "plan": (strile.plan, {"source": path}, set()),
        "to_geotiff": (strile.to_geotiff, {"data": pixels, "path": folder / "out.tif"}, {"cluster", "progress", "path"}),
        "convert": (
            strile.convert, {"source": path, "target": folder / "copy.tif", "overwrite": True}, {"progress", "target"},
        ),
        "compare": (strile.compare, {"a": path, "b": path}, set()),
        "validate_cog": (strile.validate_cog, {"source": path}, set()),
        "info": (strile.info, {"source": path}, set()),
        "view": (strile.view, {"source": path}, set()),
        "vrt": (strile.vrt, {"sources": [path], "path": folder / "out.vrt", "overwrite": True}, {"path"}),
    }  # fmt: skip
    for name, file in (("Dataset", handle), ("VRT", vrt)):
        for method, good in (
            ("read", {}), ("read_masks", {}), ("dataset_mask", {}), ("sample", {"xy": [(5e5 + 9, 46e5 - 9)]}),
            ("index", {"x": 5e5, "y": 46e5}), ("xy", {"row": 0, "col": 0}), ("colormap", {}), ("statistics", {}), ("tags", {}),
            ("quicklook", {}), ("plan", {}),
        ):  # fmt: skip
            found[f"{name}.{method}"] = (getattr(file, method), good, {"progress"})
        found[f"{name}.read in a shape"] = (file.read, {"out_shape": (8, 8)}, {"progress"})
        found[f"{name}.read beyond"] = (file.read, {"boundless": True, "window": (-4, -4, 20, 20)}, {"progress"})
    return found


def test_arguments_are_refused_in_words(folder: Path) -> None:
    wrong = []
    for name, (function, good, spared) in calls(folder).items():
        for parameter in inspect.signature(function).parameters:
            if parameter in spared:
                continue
            for value in ODD:
                problem = refused_in_words(lambda: function(**{**good, parameter: value}))
                if problem is not None:
                    wrong.append(f"{name}({parameter}={value!r}): {problem}")
    assert wrong == [], "\n".join(wrong[:40])


ATTRIBUTES = """crs crs_wkt nodata nodatavals _FillValue transform gdal_metadata gdal_metadata_xml extra_tags colormap long_name
    units category_names image_description x_resolution resolution_unit gcps raster_type extra_samples photometric""".split()


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_attributes_are_refused_in_words(folder: Path, attribute: str) -> None:
    array = strile.open_geotiff(folder / "a.tif")
    wrong = []
    for value in ODD:
        given = array.assign_attrs({attribute: value})
        problem = refused_in_words(lambda: strile.to_geotiff(given, folder / "attributes.tif"))
        if problem is not None:
            wrong.append(f"attrs[{attribute!r}] = {value!r}: {problem}")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]", "object", "U4", "S4", "longdouble", "V4"])
def test_types_that_no_file_holds_are_named(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(strile.StrileError, match="cannot write an array of"):
        strile.to_geotiff(np.zeros((32, 48), dtype), tmp_path / "a.tif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [None, 5, "x", [], [[1, 2], [3]], np.zeros(()), np.zeros((0, 5)), np.zeros((2, 3, 4, 5))])
def test_data_that_is_no_raster_is_refused(tmp_path: Path, data: Any) -> None:
    with pytest.raises((strile.StrileError, TypeError)) as refused:
        strile.to_geotiff(data, tmp_path / "a.tif")
    assert not any(words in str(refused.value) for words in FOREIGN) and list(tmp_path.iterdir()) == []
