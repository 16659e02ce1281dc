"""Sources that Python reads, and mosaics."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from asking import planned, read
from strile import _core, errors

tifffile = pytest.importorskip("tifffile")

PIXELS = np.random.default_rng(5).integers(0, 250, (3, 200, 300)).astype("u1")


def file_bytes(tmp_path: Path, name: str = "a.tif", pixels: np.ndarray = PIXELS, **options: object) -> bytes:
    path = tmp_path / name
    tifffile.imwrite(path, np.moveaxis(pixels, 0, -1), tile=(64, 64), compression="zlib", photometric="rgb", **options)
    return path.read_bytes()


class Reader:
    """Bytes, and what was asked of them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.calls: list[list[tuple[int, int]]] = []

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        self.calls.append(ranges)
        return [self.data[start:end] for start, end in ranges]


@pytest.mark.parametrize("thread", [False, True])
def test_ranges_give_the_pixels_of_the_file(tmp_path: Path, thread: bool) -> None:
    data = file_bytes(tmp_path)
    reader = Reader(data)
    found: list[np.ndarray] = []

    def work() -> None:
        dataset = _core.Dataset.open_ranges(reader, "mem://a", len(data))
        assert dataset.name == "mem://a" and dataset.version == (len(data), "")
        assert dataset.facts == _core.Dataset.open(str(tmp_path / "a.tif")).facts
        assert dataset.tags() == _core.Dataset.open(str(tmp_path / "a.tif")).tags()
        opened = len(reader.calls)
        found.append(dataset.read().numpy())
        # One call a batch, and blocks that follow one another in one range.
        assert len(reader.calls) == opened + 1 and len(reader.calls[-1]) == 1
        found.append(read(dataset, window=(70, 70, 100, 60), out=np.empty((3, 60, 100), "u1")))
        assert dataset.plan().figures["fetch"] == "staged"

    if thread:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    else:
        work()
    assert np.array_equal(found[0], PIXELS) and np.array_equal(found[1], PIXELS[:, 70:130, 70:170])


class Broken(Exception):
    """What a reader raises."""


@pytest.mark.parametrize("good", [0, 1])
@pytest.mark.parametrize("error", [Broken("no more"), KeyboardInterrupt(), FileNotFoundError(2, "gone")])
def test_what_a_reader_raises_is_raised(tmp_path: Path, good: int, error: BaseException) -> None:
    data = file_bytes(tmp_path)

    class Faulty(Reader):
        def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
            if len(self.calls) == good:
                raise error
            return super().read_ranges(ranges)

    with pytest.raises(type(error)) as raised:
        _core.Dataset.open_ranges(Faulty(data), "a", len(data)).read()
    assert raised.value is error


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda given: [one[:-1] for one in given], "bytes for the range"),
        (lambda given: [one + b"x" for one in given], "bytes for the range"),
        (lambda given: given[1:], "0 answers to 1 ranges"),
    ],
)
@pytest.mark.parametrize("good", [0, 1])
def test_short_answers_are_errors(tmp_path: Path, answer, words: str, good: int) -> None:
    data = file_bytes(tmp_path)

    class Short(Reader):
        def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
            given = super().read_ranges(ranges)
            return answer(given) if len(self.calls) > good else given

    with pytest.raises(errors.StrileError, match=words):
        _core.Dataset.open_ranges(Short(data), "a", len(data)).read()


def test_answers_of_another_kind_are_type_errors(tmp_path: Path) -> None:
    class Wrong:
        def read_ranges(self, ranges: list[tuple[int, int]]) -> list[str]:
            return ["text" for _ in ranges]

    with pytest.raises(TypeError):
        _core.Dataset.open_ranges(Wrong(), "a", 1000)
    with pytest.raises(TypeError, match="read_ranges"):
        _core.Dataset.open_ranges(object(), "a", 1000)


def test_ranges_with_sidecars(tmp_path: Path) -> None:
    data, small = file_bytes(tmp_path), file_bytes(tmp_path, "b.tif", PIXELS[:, ::2, ::2], subfiletype=1)
    aux = "<PAMDataset><PAMRasterBand band='1'><NoDataValue>7</NoDataValue></PAMRasterBand></PAMDataset>"
    dataset = _core.Dataset.open_ranges(
        Reader(data), "a", len(data), overviews=(Reader(small), "a.ovr", len(small)), aux_xml=aux
    )
    assert dataset.facts["nodata"] == 7
    assert [level["sidecar"] for level in dataset.facts["pages"][0]["levels"]] == [False, True]
    assert np.array_equal(read(dataset, level=1).numpy(), PIXELS[:, ::2, ::2])
    warned = _core.Dataset.open_ranges(Reader(data), "a", len(data), overviews=(Reader(b"no TIFF" * 9), "a.ovr", 63))
    assert [code for code, _, _ in warned.facts["warnings"]] == ["unusable-sidecar"]

    class Fails:
        def read_ranges(self, ranges: object) -> list[bytes]:
            raise Broken

    with pytest.raises(Broken):
        _core.Dataset.open_ranges(Reader(data), "a", len(data), overviews=(Fails(), "a.ovr", 63))


def mosaic(folder: Path, first: str = "left.tif", second: str = "right.tif") -> str:
    pixels = np.arange(40 * 60, dtype="u2").reshape(40, 60)
    tifffile.imwrite(folder / "left.tif", pixels[:, :30])
    tifffile.imwrite(folder / "right.tif", pixels[:, 30:])

    def source(name: str, column: int) -> str:
        relative = 0 if name.startswith("/") else 1
        return (
            f'<SimpleSource><SourceFilename relativeToVRT="{relative}">{name}</SourceFilename>'
            f'<SourceBand>1</SourceBand><SrcRect xOff="0" yOff="0" xSize="30" ySize="40"/>'
            f'<DstRect xOff="{column}" yOff="0" xSize="30" ySize="40"/></SimpleSource>'
        )

    (folder / "all.vrt").write_text(
        '<VRTDataset rasterXSize="60" rasterYSize="40"><VRTRasterBand dataType="UInt16" band="1">'
        f"<NoDataValue>9</NoDataValue>{source(first, 0)}{source(second, 30)}</VRTRasterBand></VRTDataset>"
    )
    return str(folder / "all.vrt")


def test_a_mosaic_is_a_dataset(tmp_path: Path) -> None:
    expected = np.arange(40 * 60, dtype="u2").reshape(40, 60)
    dataset = _core.Dataset.open_vrt(mosaic(tmp_path))
    facts = dataset.facts
    assert facts["kind"] == "vrt" and facts["nodata"] == 9 and facts["band_nodata"] == [9]
    level = facts["pages"][0]["levels"][0]
    assert (level["width"], level["height"], level["bands"], level["dtype"]) == (60, 40, 1, "uint16")
    assert np.array_equal(dataset.read().numpy()[0], expected)
    out = np.zeros((40, 120), "u2")[:, ::2]
    seen: list[tuple[int, int]] = []
    assert read(dataset, out=out, progress=lambda *now: seen.append(now)) is out and np.array_equal(out, expected)
    assert seen[-1] == (2, 2)
    assert np.array_equal(read(dataset, window=(20, 3, 20, 7)).numpy()[0], expected[3:10, 20:40])
    one, other = dataset.sources()
    assert one == {
        "name": "left.tif", "path": str((tmp_path / "left.tif").resolve()), "problem": None, "band": 1,
        "source_band": 1, "source_rect": (0, 0, 30, 40), "target_rect": (0, 0, 30, 40), "exists": True,
    }
    assert other["target_rect"] == (30, 0, 30, 40)
    plan = planned(dataset, device="cpu")
    assert plan.engine == "cpu" and plan.fallback is None and plan.figures["tiles"] == 2 and plan.figures["blended"] == 0
    masked = read(dataset, masked=True, device="cpu").numpy()[0]
    assert np.array_equal(masked, np.where(expected == 9, np.nan, expected).astype("f4"), equal_nan=True)
    for call in (lambda: read(dataset, level=1), dataset.tags):
        with pytest.raises(errors.StrileError, match="VRT"):
            call()
    assert dataset.holes() == [] and dataset.version[0] == (tmp_path / "all.vrt").stat().st_size


def test_missing_sources_are_raised_or_told(tmp_path: Path) -> None:
    path = mosaic(tmp_path, second="gone.tif")
    with pytest.raises(errors.StrileError, match="gone.tif"):
        _core.Dataset.open_vrt(path).read()
    dataset = _core.Dataset.open_vrt(path, missing="warn")
    assert [source["exists"] for source in dataset.sources()] == [True, False]
    assert dataset.holes() == []
    assert (dataset.read().numpy()[0, :, 30:] == 9).all()
    assert dataset.holes() == [("gone.tif", "there is no such file")]


def test_sources_elsewhere_need_a_root(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "vrt", tmp_path / "data"
    folder.mkdir()
    elsewhere.mkdir()
    mosaic(elsewhere)
    path = mosaic(folder, second=str(elsewhere / "right.tif"))
    refused = _core.Dataset.open_vrt(path)
    assert "outside" in refused.sources()[1]["problem"] and not refused.sources()[1]["exists"]
    with pytest.raises(errors.StrileError, match="outside"):
        refused.read()
    assert _core.Dataset.open_vrt(path, allowed_roots=[str(elsewhere)]).read().shape == (1, 40, 60)
    inside = mosaic(folder, second=str(folder / "right.tif"))
    assert _core.Dataset.open_vrt(inside).read().shape == (1, 40, 60)
    escaping = mosaic(folder, second="../data/right.tif")
    with pytest.raises(errors.StrileError, match=r"`\.\.`"):
        _core.Dataset.open_vrt(escaping, allowed_roots=[str(folder)]).read()
    for keywords in ({"allowed_roots": [str(elsewhere)]}, {"allow_outside": True}):
        assert _core.Dataset.open_vrt(escaping, **keywords).read().shape == (1, 40, 60)


def test_what_is_no_mosaic_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.vrt"
    path.write_text('<VRTDataset rasterXSize="1" rasterYSize="1" subClass="VRTWarpedDataset"></VRTDataset>')
    with pytest.raises(errors.VRTUnsupportedError):
        _core.Dataset.open_vrt(str(path))
    with pytest.raises(errors.StrileError, match="over the limit of 10"):
        _core.Dataset.open_vrt(str(path), max_bytes=10)
    with pytest.raises(FileNotFoundError):
        _core.Dataset.open_vrt(str(tmp_path / "missing.vrt"))
