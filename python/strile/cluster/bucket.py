"""A write to a bucket, from the client's side: begins the upload, has workers send its parts, and removes it where that fails."""

from __future__ import annotations

import logging
from typing import Any

from .. import _core
from ..reading.storage import storage_of
from ..writing import output
from . import uploading
from .graph import Graph

log = logging.getLogger("strile")


class BegunUpload:
    """An upload, begun by this process before any work is done, and gone with the write unless that was completed."""

    def __init__(self, url: str, storage_options: Any) -> None:
        remote = storage_of(url, storage_options).for_core(url)
        self._object = _core.SharedObject.begin(url, remote)
        self.upload = uploading.Upload(url, remote, self._object.ticket, self._object.in_order)

    def __enter__(self) -> BegunUpload:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        try:
            self._object.abort()
        except Exception as problem:
            # The error of the write is raised; the next write removes what is left.
            log.warning("the upload is left unfinished (remove it with `strile uploads`): %s", problem)


def computed(
    client: Any, graph: Graph, upload: uploading.Upload, token: str, progress: output.Progress | None
) -> dict[str, Any]:
    """Returns the report of the completing task. Whatever stops this stops the tasks too."""
    from distributed import as_completed

    total = sum(graph.blocks.values())
    *records, layout = client.get(graph.tasks, [*graph.blocks, graph.end], sync=False)
    held = [*records, layout]
    try:
        done = 0
        for future in as_completed(records):
            if future.status == "error":
                future.result()
            done += graph.blocks[future.key]
            if progress is not None:
                progress(min(done, total - 1), total)
        named = client.submit(uploading.needs_of, layout, key=f"strile-needs-{token}")
        held.append(named)
        needs = named.result()
        log.info("by a cluster: %d parts of an upload", len(needs))
        sent: list[Any] = []
        for number, need in enumerate(needs[:-1], 1):
            before = sent[-1] if upload.in_order and sent else None
            sent.append(
                client.submit(
                    uploading.put,
                    upload,
                    layout,
                    number,
                    need,
                    [records[at] for at in need],
                    before,
                    key=f"strile-put-{token}-{number}",
                )
            )
        held.extend(sent)
        last = client.submit(
            uploading.complete,
            upload,
            layout,
            needs[-1],
            [records[at] for at in needs[-1]],
            sent,
            key=f"strile-complete-{token}",
        )
        held.append(last)
        # Blocks are freed when they are sent.
        del records
        held = [*sent, last]
        report: dict[str, Any] = last.result()
    except BaseException:
        for future in reversed(held):
            future.release()
        raise
    if progress is not None:
        progress(total, total)
    return report
