"""`strile.view`: a page in the background of this process, for files and arrays."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

NOISE = np.random.default_rng(5).integers(0, 60_000, (2, 300, 700), np.uint16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    strile.to_geotiff(NOISE, str(tmp_path / "scene.tif"), crs=32633, dims=("band", "y", "x"), tile_size=128, cog=True)
    return tmp_path / "scene.tif"


def get(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return answer.read()


def tile(shown: strile.View, bands: str = "1") -> np.ndarray:
    """The first tile of the full image."""
    return np.frombuffer(get(f"{shown.url}api/0/tile/0/0/0?bands={bands}"), np.uint16).reshape(-1, 256, 256)


def folders() -> set[str]:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("strile-view-")}


def test_files_are_served_until_the_view_is_closed(path: Path) -> None:
    shown = strile.view(path)
    assert b"<html" in get(shown.url)
    assert np.array_equal(tile(shown, "1,2"), NOISE[:, :256, :256])
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"http://127.0.0.1:{shown.port}/")
    # The name of a notebook's proxy; the secret part of the address is what counts.
    assert b"<html" in get(shown.url, Host="hub.example.org")
    assert not shown.closed and shown.url.rstrip("/").rsplit("/", 1)[1] not in repr(shown)
    shown.close()
    assert shown.closed
    with pytest.raises(urllib.error.URLError):
        get(shown.url)
    shown.close()


def test_folders_lists_and_datasets(path: Path) -> None:
    for source in (path.parent, [path, str(path)], strile.open(path)):
        with strile.view(source) as shown:
            assert json.loads(get(f"{shown.url}api/sources"))[0]["ok"]
        assert shown.closed


@pytest.mark.parametrize("kind", ["numpy", "DataArray", "dask", "Raster"])
def test_arrays_are_shown_and_nothing_stays(path: Path, kind: str) -> None:
    before = folders()
    array: Any = NOISE
    keywords: dict[str, Any] = {}
    if kind == "numpy":
        keywords["dims"] = ("band", "y", "x")
    elif kind == "Raster":
        array = strile.read(path)
    else:
        array = strile.open_geotiff(path, chunks=None if kind == "DataArray" else 128)
    shown = strile.view(array, **keywords)
    assert np.array_equal(tile(shown, "1,2"), NOISE[:, :256, :256])
    assert len(folders() - before) == 1
    shown.close()
    assert folders() == before


def test_an_array_that_cannot_be_written_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = folders()
    with pytest.raises((strile.StrileError, TypeError)):
        strile.view(np.array(["text"]))
    monkeypatch.setattr("strile.viewer.MOST_BYTES", 1000)
    with pytest.raises(strile.StrileError, match="840,000 bytes, and at most 1,000"):
        strile.view(NOISE, dims=("band", "y", "x"))
    assert folders() == before


def test_a_notebook_gets_a_picture_and_a_script_that_finds_the_page(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/</script>/")
    with strile.view(path, height=321, proxy="/mine/8123/") as shown:
        html = shown._repr_html_()
        token = shown.url.rstrip("/").rsplit("/", 1)[1]
        assert "src='data:image/png;base64," in html and f'"port": {shown.port}' in html and token in html
        assert '"height": 321' in html and '"proxy": "/mine/8123/"' in html
        assert html.count("</script>") == 1 and html.endswith("</script>")
    closed = shown._repr_html_()
    assert "data:image/png" in closed and "<script" not in closed and "closed" in closed
    # A file that is gone is told in the picture's place.
    path.unlink()
    assert "no picture" in shown._repr_html_()


def held(html: str) -> dict[str, Any] | None:
    """The data of the page that a notebook's output holds."""
    facts = json.loads(html[html.rindex(")({") + 2 : html.rindex(")</script>")])
    if facts["page"] is None:
        return None
    assert "app.css" not in facts["page"].split("<script")[0] and 'src="app.js"' not in facts["page"]
    data = facts["page"].split('<script id="strile-data" type="application/json">')[1].split("</script>")[0]
    return json.loads(data)


def test_a_notebook_that_reaches_no_server_gets_the_raster_in_the_page(path: Path) -> None:
    with strile.view(path) as shown:
        data = held(shown._repr_html_())
        assert data is not None and data["name"] == "scene.tif" and [one["band"] for one in data["statistics"]] == [1, 2]
        assert [level["width"] for level in data["info"]["levels"]] == [700]
        whole = np.zeros_like(NOISE)
        for place, tile in data["tiles"].items():
            _, column, row = (int(number) for number in place.split("/"))
            samples = np.frombuffer(gzip.decompress(base64.b64decode(tile["data"])), np.uint16)
            part = samples.reshape(2, tile["height"], tile["width"])
            whole[:, row * 256 : row * 256 + tile["height"], column * 256 : column * 256 + tile["width"]] = part
        assert np.array_equal(whole, NOISE)
    # A level that fits, one band where two do not fit, and none.
    with strile.view(path, embed=300_000) as shown:
        data = held(shown._repr_html_())
        assert data is not None and data["info"]["levels"][0]["width"] == 350
        assert sum(len(base64.b64decode(tile["data"])) for tile in data["tiles"].values()) < 300_000
    for embed in (0, 1000):
        with strile.view(path, embed=embed) as shown:
            assert held(shown._repr_html_()) is None


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"port": 70_000}, "0 to 65535"),
        ({"embed": -1}, "embed"),
        ({"basemap": "tiles/{z}/{x}/{y}"}, "begins with https://"),
        ({"decode_on": "tpu"}, "decode_on"),
        ({"decode_on": "cuda:99"}, "cannot decode on cuda:99"),
        ({"dims": ("y", "x")}, "names the axes of an array"),
        ({"anonymous": True}, "anonymous"),
        ({"sidecars": "perhaps"}, "sidecars"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(path: Path, keywords: dict[str, Any], told: str) -> None:
    with pytest.raises(strile.StrileError, match=told):
        strile.view(path, **keywords)


def test_nothing_to_show_is_refused(tmp_path: Path) -> None:
    for source, told in ((tmp_path, "found no GeoTIFF"), (tmp_path / "no.tif", "no.tif"), ([], "empty list")):
        with pytest.raises(strile.StrileError, match=told):
            strile.view(source)


def test_the_process_ends_and_removes_the_file_of_an_array() -> None:
    before = folders()
    script = "import numpy, strile; shown = strile.view(numpy.zeros((90, 90), 'uint8')); print(shown.port, flush=True)"
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0 and int(ended.stdout) > 0, ended.stderr
    assert time.monotonic() - begun < 30 and folders() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_leaves_the_server_to_its_parent(path: Path) -> None:
    script = (
        "import os, strile, sys, urllib.request\n"
        f"shown = strile.view({str(path)!r})\n"
        "child = os.fork()\n"
        "if child == 0:\n    assert shown.closed\n    shown.close()\n    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "urllib.request.urlopen(shown.url, timeout=30).read()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_bucket_is_listed_and_shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = pytest.importorskip("moto.server", reason="moto is not installed: there is no bucket to ask")
    fsspec = pytest.importorskip("s3fs", reason="s3fs is not installed: no bucket is filled")
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        address = "http://{}:{}".format(*moto.get_host_and_port())
        for name, value in {
            "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        store = fsspec.S3FileSystem(skip_instance_cache=True)
        store.mkdir("viewed")
        for number in range(3):
            store.put(str(path), f"viewed/2024/{number}.tif")
        store.pipe("viewed/2024/notes.txt", b"not a raster")
        store.put(str(path), "viewed/2023/other.tif")
        with strile.view("s3://viewed/2024") as shown:
            assert [one["name"] for one in json.loads(get(f"{shown.url}api/sources"))] == ["0.tif", "1.tif", "2.tif"]
            assert np.array_equal(tile(shown), NOISE[:1, :256, :256])
        with pytest.raises(strile.StrileError, match="no such bucket"):
            strile.view("s3://nothing-there/")
    finally:
        moto.stop()
