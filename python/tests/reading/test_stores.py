"""Buckets and stores through every door: options by the names of other libraries, stores as objects, and no secrets in sight."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr
from strile.reading.source import Source
from strile.reading.storage import storage_of

fsspec = pytest.importorskip("fsspec")
moto = pytest.importorskip("moto.server", reason="moto is not installed: there is no bucket to ask")

SECRET = "concealed"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def local(gtiff: Any, pixels: np.ndarray) -> Path:
    path: Path = gtiff(
        np.tile(pixels, (16, 16)), name="scene.tif", nodata=7, crs="EPSG:32633", transform=(30.0, 0, 5e5, 0, -30.0, 4e6), tiled=True,
        blockxsize=64, blockysize=64, compress="deflate",
    )  # fmt: skip
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4], rasterio.enums.Resampling.nearest)
    return path


@pytest.fixture
def options(address: str, local: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Of s3fs, for a bucket that holds the file; the environment says nothing."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    import boto3

    s3 = boto3.client("s3", endpoint_url=address, aws_access_key_id="me", aws_secret_access_key=SECRET, region_name="us-east-1")
    s3.create_bucket(Bucket="scenes")
    s3.upload_file(str(local), "scenes", "a/scene.tif", ExtraArgs={"ACL": "public-read"})
    return {"key": "me", "secret": SECRET, "endpoint_url": address, "client_kwargs": {"region_name": "us-east-1"}}


URL = "s3://scenes/a/scene.tif"


def test_every_door_takes_storage_options(options: dict[str, Any], local: Path) -> None:
    near = strile.open_geotiff(local)
    for route in ({}, {"chunks": 256}):
        far = strile.open_geotiff(URL, storage_options=options, **route)
        assert far.compute().identical(strile.open_geotiff(local, **route).compute())
        assert far.encoding["source"] == URL
    engine = xr.open_dataset(URL, engine="strile", storage_options=options)
    with xr.open_dataset(local, engine="strile") as of_file:
        assert engine.identical(of_file)
    window = (10, 20, 30, 40)
    expected = strile.read(local, window=window).numpy()
    np.testing.assert_array_equal(strile.read(URL, window=window, storage_options=options).numpy(), expected)
    np.testing.assert_array_equal(strile.read(URL, size=50, storage_options=options).numpy(), strile.read(local, size=50).numpy())
    with strile.open(URL, storage_options=options) as dataset:
        np.testing.assert_array_equal(dataset.read(1), near.values)
        assert len(dataset.overviews(1)) == 2
    batch = strile.read_batch([URL, local], [[0, *window], [1, *window]], storage_options=options)
    np.testing.assert_array_equal(batch.numpy(), np.stack([expected, expected]))
    assert "remote" in strile.plan(URL, storage_options=options).explain()


def test_a_bucket_is_read_without_fsspec(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strile.reading.remote._opened", None)
    assert strile.open_geotiff(URL, window=(0, 0, 5, 5), storage_options=options).shape == (5, 5)


def test_a_public_bucket_needs_no_credentials(options: dict[str, Any]) -> None:
    reached = {"endpoint": options["endpoint_url"], "region": "us-east-1"}
    assert strile.open_geotiff(URL, window=(0, 0, 5, 5), anonymous=True, storage_options=reached).shape == (5, 5)


def test_pickled_tasks_have_what_they_need_and_show_nothing(options: dict[str, Any], local: Path) -> None:
    far = strile.open_geotiff(URL, chunks=256, storage_options=options)
    assert pickle.loads(pickle.dumps(far)).compute().equals(strile.open_geotiff(local))
    engine = xr.open_dataset(URL, engine="strile", storage_options=options)
    assert pickle.loads(pickle.dumps(engine)).compute().identical(engine.compute())
    source = Source.of(URL, storage_options=options)
    shown = [repr(source), str(source), repr(source.storage), repr(far), repr(far.attrs), repr(far.encoding), repr(dict(far.data.dask))]
    shown += [repr(engine), repr(engine.encoding), str(strile.plan(URL, storage_options=options)), repr(strile.open(URL, storage_options=options))]
    assert not any(SECRET in text for text in shown)


def test_errors_show_no_secrets(options: dict[str, Any]) -> None:
    with pytest.raises(FileNotFoundError, match=r"s3://scenes/none\.tif") as told:
        strile.open_geotiff("s3://scenes/none.tif", storage_options=options)
    assert SECRET not in str(told.value)
    with pytest.raises(TypeError, match="`secret`") as wrong:
        strile.open_geotiff(URL, storage_options=options | {"secret": [SECRET]})
    assert SECRET not in str(wrong.value)


def test_unknown_options_are_refused_with_the_known_ones() -> None:
    with pytest.raises(strile.StrileError, match=r"'keyy', which s3 URLs do not take; known are .*endpoint_url.*key, "):
        strile.open_geotiff(URL, storage_options={"keyy": SECRET})
    with pytest.raises(strile.StrileError, match=r"http\(s\) URLs do not take"):
        strile.open_geotiff("https://example.org/a.tif", storage_options={"key": SECRET})
    with pytest.raises(strile.StrileError, match="apply to URLs"):
        strile.open_geotiff("a.tif", storage_options={"key": SECRET})
    with pytest.raises(strile.StrileError, match="apply to URLs"):
        strile.open_geotiff("a.tif", anonymous=True)
    with pytest.raises(TypeError, match="expected a dict"):
        strile.open_geotiff(URL, storage_options="key")
    with pytest.raises(strile.StrileError, match="sidecars is 'often'"):
        strile.open_geotiff(URL, sidecars="often")


@pytest.mark.parametrize(
    "url, given, expected",
    [
        ("s3://b/k", {"anon": True}, {"anonymous": True}),
        ("s3://b/k", {"skip_signature": True, "aws_region": "x"}, {"anonymous": True, "region": "x"}),
        ("s3://b/k", {"requester_pays": True, "use_ssl": False}, {"request_payer": True, "allow_http": True}),
        ("s3://b/k", {"key": "a", "secret": "b", "token": "c"},
         {"settings": (("aws_access_key_id", "a"), ("aws_secret_access_key", "b"), ("aws_session_token", "c"))}),
        ("s3://b/k", {"AWS_ACCESS_KEY_ID": "a", "connect_timeout": 3, "max_retries": 2},
         {"connect_timeout": 3.0, "retries": 2, "settings": (("aws_access_key_id", "a"),)}),
        ("gs://b/k", {"token": "anon"}, {"anonymous": True}),
        ("gs://b/k", {"token": {"a": 1}}, {"settings": (("google_service_account_key", '{"a": 1}'),)}),
        ("az://b/k", {"account_name": "n", "account_key": "k"},
         {"settings": (("azure_storage_account_key", "k"), ("azure_storage_account_name", "n"))}),
        ("abfss://b@n.dfs.core.windows.net/k", {"connection_string": "AccountName=n;AccountKey=k==;EndpointSuffix=x"},
         {"settings": (("azure_storage_account_key", "k=="), ("azure_storage_account_name", "n"))}),
        ("https://h/k", {"headers": {"X": "y"}, "timeout": 4}, {"headers": (("X", "y"),), "stall_timeout": 4.0}),
        ("memory://b/k", {"any": {"thing": [1]}}, {"any": {"thing": (1,)}}),
    ],
)  # fmt: skip
def test_names_of_other_libraries(url: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    storage = storage_of(url, given)
    assert (dict(storage.options) if url[:6] != "memory" else storage.for_fsspec()) == expected
    assert pickle.loads(pickle.dumps(storage)) == storage
    hash(storage)


def test_an_endpoint_of_the_url_s_choice_stays_refused(options: dict[str, Any]) -> None:
    """The endpoint is the caller's, and may be in a private network; a host in a URL may not."""
    with pytest.raises(strile.UnsafeURLError):
        strile.open_geotiff(f"{options['endpoint_url']}/scenes/a/scene.tif")


@pytest.fixture(params=["fsspec", "s3fs", "obstore", "obstore-s3"])
def store(request: pytest.FixtureRequest, local: Path, options: dict[str, Any]) -> tuple[Any, str]:
    """A store and the path of the file in it."""
    if request.param == "fsspec":
        memory = fsspec.filesystem("memory")
        memory.pipe("/stored/scene.tif", local.read_bytes())
        return memory, "/stored/scene.tif"
    if request.param == "s3fs":
        pytest.importorskip("s3fs")
        return fsspec.filesystem("s3", **options), "scenes/a/scene.tif"
    stores = pytest.importorskip("obstore.store", reason="obstore is not installed: none of its stores is read")
    if request.param == "obstore":
        return stores.LocalStore(str(local.parent)), "scene.tif"
    reached = {"endpoint": options["endpoint_url"], "access_key_id": "me", "secret_access_key": SECRET, "region": "us-east-1"}
    return stores.S3Store("scenes", config=reached, client_options={"allow_http": True}), "a/scene.tif"


def test_a_path_in_a_store(store: tuple[Any, str], local: Path) -> None:
    where, path = store
    near = strile.open_geotiff(local)
    assert strile.open_geotiff(path, store=where).identical(near)
    assert strile.open_geotiff(path, store=where, chunks=256).compute().equals(near)
    window = [5, 6, 70, 80]
    expected = strile.read(local, window=window).numpy()
    np.testing.assert_array_equal(strile.read(path, window=window, store=where).numpy(), expected)
    np.testing.assert_array_equal(strile.read_batch([path], [window], store=where).numpy()[0], expected)
    with strile.open(path, store=where) as dataset:
        assert dataset.shape == near.shape
    assert xr.open_dataset(path, engine="strile", store=where)["band_data"].shape == (1, *near.shape)


def test_a_store_is_pickled_for_workers(store: tuple[Any, str], local: Path) -> None:
    where, path = store
    far = strile.open_geotiff(path, store=where, chunks=256)
    assert pickle.loads(pickle.dumps(far)).compute().equals(strile.open_geotiff(local))


def test_what_is_not_in_a_store_is_told(store: tuple[Any, str]) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        strile.open_geotiff("nowhere.tif" if "/" not in store[1] else f"{store[1].rpartition('/')[0]}/nowhere.tif", store=store[0])


def test_a_file_that_fsspec_has_not_opened_yet(local: Path) -> None:
    fsspec.filesystem("memory").pipe("/later/scene.tif", local.read_bytes())
    far = strile.open_geotiff(fsspec.open("memory://later/scene.tif"), chunks=256)
    assert far.compute().equals(strile.open_geotiff(local))


def test_an_open_file_of_a_store(local: Path) -> None:
    fsspec.filesystem("memory").pipe("/open/scene.tif", local.read_bytes())
    with fsspec.filesystem("memory").open("/open/scene.tif") as file:
        np.testing.assert_array_equal(strile.open_geotiff(file).values, strile.open_geotiff(local).values)


def test_what_is_no_store_is_refused() -> None:
    with pytest.raises(TypeError, match="store is a dict: expected a filesystem of fsspec or a store of obstore"):
        strile.open_geotiff("a.tif", store={})
    with pytest.raises(strile.StrileError, match="pass the path in the store"):
        strile.open_geotiff(URL, store=fsspec.filesystem("memory"))


@pytest.mark.parametrize("url", ["reference://a.tif", "zip://a.tif", "local:///etc/passwd", "data:image/tiff", "jupyter://h/a.tif"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises((strile.UnsafeURLError, FileNotFoundError)):
        strile.open_geotiff(url)


def test_a_variable_permits_schemes(monkeypatch: pytest.MonkeyPatch, local: Path) -> None:
    with pytest.raises(strile.UnsafeURLError, match="STRILE_GEOTIFF_ALLOW_SCHEMES=local"):
        strile.open_geotiff(f"local://{local}")
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_SCHEMES", "local, zip")
    assert strile.open_geotiff(f"local://{local}").identical(strile.open_geotiff(local))


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/a.tif", "sftp://localhost/a.tif", "webhdfs://[::1]/a.tif", "ftp://10.1.2.3/a.tif"])
def test_private_hosts_are_refused_by_fsspec_too(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", raising=False)
    with pytest.raises(strile.UnsafeURLError, match="private network"):
        strile.open_geotiff(url)


def test_chained_urls_need_a_variable(monkeypatch: pytest.MonkeyPatch, local: Path) -> None:
    fsspec.filesystem("memory").pipe("/chained/scene.tif", local.read_bytes())
    with pytest.raises(strile.UnsafeURLError, match="chained"):
        strile.open_geotiff("simplecache::memory://chained/scene.tif")
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_CHAINED_URLS", "1")
    assert strile.open_geotiff("simplecache::memory://chained/scene.tif").shape == (640, 800)
