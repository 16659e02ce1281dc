"""The package as a whole: what importing it costs, which names it has, and that it knows what it says it knows."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import strile


def python(code: str, *options: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_it_imports_no_other_package() -> None:
    heavy = ["numpy", "xarray", "dask", "pandas", "pyproj", "fsspec", "cupy", "rasterio", "strile._core"]
    loaded = python(f"import sys, strile; print([name for name in {heavy} if name in sys.modules])")
    assert loaded == "[]"


def test_every_public_name_is_there_and_typed() -> None:
    for name in strile.__all__:
        assert getattr(strile, name) is not None, name
    assert set(strile.__all__) <= set(dir(strile))
    assert (Path(strile.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        strile.opne  # noqa: B018


def test_no_module_takes_the_name_of_a_function() -> None:
    code = "import strile, pkgutil, importlib\n"
    code += "for m in pkgutil.walk_packages(strile.__path__, 'strile.'):\n"
    # The one that needs PyTorch.
    code += "    if m.name != 'strile.ml.torch_data': importlib.import_module(m.name)\n"
    code += "print(all(callable(getattr(strile, n)) for n in ('open', 'read', 'plan', 'read_batch', 'open_geotiff')))"
    assert python(code) == "True"


def test_errors_are_value_errors_and_warnings_are_warnings() -> None:
    for name in dir(strile.errors):
        kind = getattr(strile.errors, name)
        if isinstance(kind, type) and name.endswith("Error"):
            assert issubclass(kind, ValueError), name
        if isinstance(kind, type) and name.endswith("Warning"):
            assert issubclass(kind, Warning), name
    assert issubclass(strile.RotatedTransformError, strile.GeoTIFFAmbiguousMetadataError)
    assert not issubclass(strile.UnsafeURLError, strile.GeoTIFFAmbiguousMetadataError)


def test_constants() -> None:
    assert strile.GEOREF_STATUS_FULL in strile.GEOREF_STATUS_VALUES and len(strile.GEOREF_STATUS_VALUES) == 5
    assert strile.SUPPORTED_FEATURES["codec.deflate"] == "stable"
    assert set(strile.SUPPORTED_FEATURES.values()) <= {"stable", "advanced"}


@pytest.mark.parametrize("first, second", [("strile", "xarray"), ("xarray", "strile")])
def test_the_accessor_is_there_whatever_is_imported_first(first: str, second: str) -> None:
    code = f"import {first}, {second}, xarray; print(xarray.DataArray.strile.__name__, xarray.__loader__.__class__.__name__)"
    assert python(code, "-W", "error") == "DataArrayAccessor SourceFileLoader"


def test_registering_twice_says_nothing() -> None:
    from strile import accessor

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accessor.register()
        accessor.register()


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork on this system")
def test_a_fork_of_a_process_that_did_nothing_works(tmp_path: Path) -> None:
    code = "import os, strile\npid = os.fork()\nif pid == 0: os._exit(0 if len(strile.devices()) else 1)\n"
    assert python(code + "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))") == "0"
