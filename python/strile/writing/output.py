"""Writes a raster to a path, a URL or a file object.

A target is a local path, a URL of a bucket, another URL that fsspec knows, or an object with `write`. Nothing of it is
touched before the file is complete; after a failure it is as it was.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _core, environment
from ..errors import DeviceError, GeoTIFFFallbackWarning, StrileError
from ..extras import require
from ..reading.shown import redacted
from ..reading.storage import is_bucket, storage_of
from . import sidecars
from .arguments import WriteArguments
from .pixels import Statistics, Steps, stream_of
from .raster import Piece, RasterToWrite, options_of
from .stream import StreamPlan, plan_stream

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Target:
    """`given` is what `to_geotiff` returns, `opened` what the core writes to."""

    given: Any
    opened: Any
    local: str | None
    bucket: bool = False

    @property
    def is_vrt(self) -> bool:
        return self.local is not None and self.local.lower().endswith(".vrt")


def target_of(path: Any, storage_options: Any = None) -> Target:
    target = _target_of(path)
    if storage_options is not None and not target.bucket:
        raise StrileError("storage_options apply to URLs of buckets (s3, gs, az, abfs), and path is none: drop them")
    return target


def _target_of(path: Any) -> Target:
    if hasattr(path, "__fspath__"):
        path = os.fspath(path)
    if isinstance(path, str):
        scheme, separator, _ = path.partition("://")
        if not path.lower().endswith(".vrt"):
            _core.check_target(path)
        if not separator:
            return Target(path, path, path)
        if scheme.lower() in ("http", "https"):
            raise NotImplementedError(
                f"{redacted(path)}: cannot write over HTTP; write to a local path or to cloud storage"
            )
        if is_bucket(path):
            if path.lower().endswith(".vrt"):
                raise StrileError(f"{redacted(path)}: a mosaic of tiles is written to a local folder, not to a bucket")
            return Target(path, path, None, bucket=True)
        return Target(path, _Url(path), None)
    if callable(getattr(path, "write", None)):
        return Target(path, _Overwritten(path), None)
    raise TypeError(f"path is {type(path).__name__}: expected a path or an object with write()")


class _Overwritten:
    """A file object of the caller: emptied, where it can be, when the first bytes come and not before."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.begun = False
        self.name = str(getattr(file, "name", type(file).__name__))

    def write(self, content: bytes) -> Any:
        if not self.begun:
            self.begun = True
            if callable(getattr(self.file, "getbuffer", None)):
                self.file.seek(0)
                self.file.truncate()
        return self.file.write(content)

    def close(self) -> None:
        """Does nothing: the file is the caller's."""

    def discard(self) -> None:
        """Does nothing: bytes that a failed write has passed on cannot be taken back."""


class _Url:
    """An object of a filesystem of fsspec, opened when the first bytes come."""

    def __init__(self, url: str) -> None:
        self.name = url
        self.file: Any = None

    def write(self, content: bytes) -> Any:
        if self.file is None:
            fsspec = require("fsspec", f"writing to {self.name}", "remote")
            filesystem, path = fsspec.core.url_to_fs(self.name)
            self.file = filesystem.open(path, "wb")
        return self.file.write(content)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def discard(self) -> None:
        # Uploads in parts that are never completed leave nothing; others have no way back.
        if self.file is not None and hasattr(self.file, "discard"):
            self.file.discard()


def device_for(raster: RasterToWrite, arguments: WriteArguments) -> str:
    """Returns the engine that encodes: that of the device which holds the pixels, or the requested one; else the CPU."""
    if arguments.gpu is False:
        return "cpu"
    if raster.device is not None:
        return f"cuda:{raster.device}"
    if not arguments.gpu:
        return "cpu"
    found = _core.devices()
    usable = [device for device in found if device["usable"] and device["name"].startswith("cuda")]
    if usable:
        return str(usable[0]["name"])
    reasons = [device["description"] for device in found if device["name"].startswith("cuda")]
    reason = reasons[0] if reasons else "there is no CUDA device"
    if environment.strict():
        raise DeviceError(f"gpu=True: {reason}")
    warnings.warn(
        f"to_geotiff(gpu=True) is written by the CPU: {reason}", GeoTIFFFallbackWarning, stacklevel=5
    )
    return "cpu"


def write_file(
    raster: RasterToWrite, arguments: WriteArguments, target: Target, progress: Progress | None
) -> None:
    if arguments.cluster is not False and (arguments.cluster or "distributed" in sys.modules):
        from ..cluster.write import write as by_cluster

        if by_cluster(raster, arguments, target, progress):
            return
    device = device_for(raster, arguments)
    options = options_of(raster, arguments, device)
    plan: StreamPlan | None = None
    if raster.is_lazy:
        plan = plan_stream(raster, arguments)
        buffer = plan.core_buffer if device == "cpu" else max(arguments.buffer, 1 << 20)
        options |= {"spooled": plan.spooled, "buffer": buffer}
    remote = storage_of(target.opened, arguments.storage_options).for_core(target.opened) if target.bucket else None
    options |= {"sidecars": target.local is not None or target.bucket, "remote": remote}
    statistics = gathered(raster, arguments, target)
    steps = steps_of(raster, device, statistics)
    rows = arguments.tile_size if arguments.tiled else 256
    writer = _core.Writer(target.opened, raster.spec, _core.WriteOptions(**options))
    try:
        # An array that is there is one piece: the core cuts it, and copies nothing.
        source = [Piece(raster.array, 0, 0)] if plan is None else plan.pieces(raster, rows)
        for piece in source:
            mask = None if raster.mask is None else raster.mask.of(piece.array, piece.row, piece.column)
            stored = steps.apply(piece.array)
            writer.write(
                stored,
                piece.row,
                piece.column,
                axes=steps.axes,
                mask=mask,
                stream=stream_of(stored),
                progress=progress,
            )
            del piece, stored
        if steps.missing is not None:
            steps.missing.check(target.given)
        bounds = finish_sidecars(writer, raster, arguments, target, statistics)
        report = writer.finish(progress)
        if target.local is None and not target.bucket:
            target.opened.close()
    except BaseException:
        writer.abort()
        if target.local is None and not target.bucket:
            target.opened.discard()
        raise
    for message in report["warnings"]:
        warnings.warn(f"{redacted(str(target.given))}: {message}", UserWarning, stacklevel=4)
    put_style(arguments, target, bounds)


def steps_of(raster: RasterToWrite, device: str, statistics: Statistics | None) -> Steps:
    return Steps(
        dtype=raster.dtype,
        axes=raster.layout.axes,
        declared=raster.array.dtype if raster.is_lazy else None,
        device=device,
        packing=raster.packing,
        inverted=raster.spec.inverted,
        statistics=statistics,
        missing=None if raster.missing is None else raster.missing.fresh(),
    )


def wants_style(raster: RasterToWrite, arguments: WriteArguments, target: Target) -> bool:
    """Returns whether a style is written: for one band of measured values, stored unchanged."""
    names, colours = raster.categories
    return (
        arguments.ramp is not None
        and target.local is not None
        and raster.layout.bands == 1
        and not arguments.pack
        and not names
        and not colours
        and not raster.spec.has_palette
    )


def gathered(raster: RasterToWrite, arguments: WriteArguments, target: Target) -> Statistics | None:
    if wants_style(raster, arguments, target) and arguments.ramp_range is None:
        return Statistics(raster.nodata)
    return None


def finish_sidecars(
    writer: Any,
    raster: RasterToWrite,
    arguments: WriteArguments,
    target: Target,
    statistics: Statistics | None,
) -> sidecars.Range | None:
    """Puts `.aux.xml` beside the file; the bounds of a style, where there is to be one."""
    if target.local is None and not target.bucket:
        return None
    styled = wants_style(raster, arguments, target)
    content = aux_of(raster, arguments, statistics, styled)
    if content is not None:
        writer.sidecar(".aux.xml", content)
    return sidecars.style_bounds(statistics, arguments.ramp_range) if styled else None


def aux_of(
    raster: RasterToWrite, arguments: WriteArguments, statistics: Statistics | None, styled: bool
) -> bytes | None:
    names, colours = raster.categories
    bounds = sidecars.style_bounds(None, arguments.ramp_range) if styled else None
    return sidecars.aux_xml(names, colours, statistics, bounds, raster.tables)


def put_style(arguments: WriteArguments, target: Target, bounds: sidecars.Range | None) -> None:
    if bounds is not None and target.local is not None and arguments.ramp is not None:
        _core.write_style(os.path.splitext(target.local)[0] + ".qml", arguments.ramp, bounds)
