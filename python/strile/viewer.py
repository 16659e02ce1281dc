"""`view`: the page of `strile view` for notebooks, served by this process in the background."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .checks import count_of, path_of, text_of
from .errors import StrileError
from .reading.shown import is_uri, shown
from .widget import embedded_page

if TYPE_CHECKING:
    from . import _core

MOST_BYTES = 4 << 30
"""Bytes of an array that is written into a temporary file to be viewed."""
PICTURE = 512
"""Pixels at the longer side of the picture that is shown where neither the page nor a script runs."""


def view(
    source: Any,
    *,
    port: int = 0,
    height: int = 600,
    proxy: str | None = None,
    dims: Sequence[str] | None = None,
    embed: int = 4 << 20,
    basemap: str | None = None,
    threads: int | None = None,
    memory: int | None = None,
    decode_on: str = "auto",
    storage_options: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    sidecars: str = "auto",
) -> View:
    """Shows rasters in a browser, or in the output of a notebook's cell: the page of `strile view`.

    `source` is a path or URL, a folder or a bucket (`s3://bucket/folder`), a list of these, or an array: a DataArray, a `Raster`, or
    an array of numpy, CuPy, dask or another library that `to_geotiff` takes. Files are read where they are. An array, of 4 GiB at
    most, is written into a temporary file, which `close` or the end of the process removes; `dims` names its axes.

    A server answers on 127.0.0.1 in the background, at `View.url`, which has a secret part. It ends with `View.close()`, with the
    `with` block, or with the process. A notebook shows the page in a frame: through jupyter-server-proxy if that is there, else from
    this machine. `proxy` is the address that a proxy of your own has for the port, as "/user/me/proxy/8123/" with `port=8123`. If the
    notebook's browser reaches neither, the frame shows a reduced copy of the first raster, which needs no server: the output of the cell
    holds at most `embed` bytes of its samples (0: a picture instead).

    `basemap` is the address of pictures below rasters in Web Mercator, as "https://example.org/{z}/{x}/{y}.png". The browser asks for
    them; without it the page loads nothing from elsewhere.

    `port` 0 takes a free one. `height` is that of the frame in pixels. `memory` (bytes) and `threads` limit the server, `decode_on` is
    that of `strile.read`; `storage_options`, `anonymous` and `sidecars` are those of `open_geotiff`."""
    from . import _core

    # Looked at before anything is written.
    checked: dict[str, Any] = {
        "port": _port_of(port),
        "threads": count_of(threads, "threads"),
        "memory": count_of(memory, "memory"),
        "decode_on": text_of(decode_on, "decode_on"),
        "sidecars": text_of(sidecars, "sidecars"),
        "basemap": None if basemap is None else text_of(basemap, "basemap"),
    }
    held = count_of(embed, "embed", 0)
    rows = count_of(height, "height")
    prefix = None if proxy is None else text_of(proxy, "proxy")
    paths = _paths_of(source)
    remote = _remote_of(paths or [], storage_options, anonymous)
    folder = None
    if paths is None:
        folder = tempfile.TemporaryDirectory(prefix="strile-view-")
        try:
            paths = [_written(source, Path(folder.name), dims)]
        except BaseException:
            folder.cleanup()
            raise
    elif dims is not None:
        raise StrileError("view: `dims` names the axes of an array, and files were given; drop it")
    try:
        server = _core.Viewer(paths, remote=remote, **checked)
    except BaseException:
        if folder is not None:
            folder.cleanup()
        raise
    first = paths[0] if os.path.isfile(paths[0]) else None
    return View(server, folder, first, 600 if rows is None else rows, prefix, 0 if held is None else held)


class View:
    """A page that is served until it is closed. A notebook shows it in a frame."""

    def __init__(self, server: Any, folder: Any, first: str | None, height: int, proxy: str | None, embed: int) -> None:
        self._server, self._first, self._height, self._proxy, self._embed = server, first, height, proxy, embed
        self._ended = weakref.finalize(self, _end, server, folder, os.getpid())

    @property
    def url(self) -> str:
        """Returns the address for a browser on this machine. Its secret part opens the page: do not publish it."""
        return self._server.url

    @property
    def port(self) -> int:
        """Returns the port on 127.0.0.1."""
        return self._server.port

    @property
    def closed(self) -> bool:
        """Returns whether the server has ended."""
        return self._server.closed

    def close(self) -> None:
        """Ends the server and removes the temporary file of an array."""
        self._ended()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"on port {self.port}"
        return f"<strile.View {state}; its address is View.url>"

    def _repr_html_(self) -> str:
        return _html(self)


def _port_of(port: Any) -> int:
    number = count_of(port, "port", 0)
    if number is None or number > 65535:
        raise StrileError(f"port is {port!r}: expected 0 to 65535")
    return number


def _end(server: Any, folder: Any, process: int) -> None:
    # The server and the file are those of the process that made them, not of its forks.
    if process == os.getpid():
        server.close()
        if folder is not None:
            folder.cleanup()


def _paths_of(source: Any) -> list[str] | None:
    """Paths and URLs; None for an array."""
    from .dataset import Dataset

    if isinstance(source, Dataset):
        if not os.path.isfile(source.name):
            raise StrileError(f"view: {source.name} is not a local file; give its path or URL, not the open Dataset")
        return [source.name]
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    elif not (isinstance(source, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in source)):
        return None
    if not source:
        raise StrileError("view: expected at least one path, got an empty list")
    return [path_of(one, "source") for one in source]


def _remote_of(paths: list[str], storage_options: Any, anonymous: Any) -> _core.RemoteOptions | None:
    from .reading.storage import refuse, storage_of

    url = next((path for path in paths if is_uri(path)), None)
    storage = storage_of(url or "https://", storage_options, anonymous)
    if url is None:
        if storage:
            refuse(shown(paths[0]) if paths else "an array", storage)
        return None
    return storage.for_core(url)


def _written(array: Any, folder: Path, dims: Sequence[str] | None) -> str:
    """Writes an array to a temporary file with overviews."""
    from .write import to_geotiff

    size = getattr(array, "nbytes", None)
    if isinstance(size, int) and size > MOST_BYTES:
        raise StrileError(
            f"view: the array has {size:,} bytes, and at most {MOST_BYTES:,} are copied to be viewed; write it by `to_geotiff` and "
            "view the file"
        )
    path = folder / "array.tif"
    to_geotiff(array, str(path), cog=True, compression="zstd", compression_level=1, dims=dims)
    return str(path)


def _html(shown_view: View) -> str:
    """Returns a picture, and a script that puts the page in its place: from the server where the browser reaches it, else a copy that holds
    the raster itself."""
    picture = _picture(shown_view._first)
    if shown_view.closed:
        return f"<div>{picture}<p>The page is closed; call strile.view again.</p></div>"
    name = f"strile-{uuid4().hex}"
    token = shown_view.url.rstrip("/").rsplit("/", 1)[1]
    facts = dumps({
        "box": name, "port": shown_view.port, "token": token, "height": shown_view._height, "proxy": shown_view._proxy,
        "prefix": os.environ.get("JUPYTERHUB_SERVICE_PREFIX"), "page": embedded_page(shown_view.url, shown_view._embed),
    })  # fmt: skip
    # A value cannot end the script.
    facts = facts.replace("<", "\\u003c")
    return (
        f"<div id='{name}'>{picture}<p>The server of strile.view is not reached from here, so this is a reduced copy. On the machine that "
        f"runs the notebook the page is at <code>View.url</code>; install jupyter-server-proxy, or forward port {shown_view.port} (ssh -L).</p></div>"
        f"<script>({_SCRIPT})({facts})</script>"
    )


# `/proxy/PORT/` is jupyter-server-proxy's; where it is not installed, another answer comes than the page's style sheet.
_SCRIPT = """async ({box, port, token, height, proxy, prefix, page}) => {
  const place = document.getElementById(box), config = document.getElementById("jupyter-config-data");
  const base = prefix ?? (config ? JSON.parse(config.textContent).baseUrl : document.body.dataset.baseUrl);
  const proxied = proxy ?? (base ? `${base.replace(/\\/$/, "")}/proxy/${port}/` : null);
  const is_page = async (url) => {
    const answer = await fetch(new URL("app.css", url), {cache: "no-store"});
    return answer.ok && (answer.headers.get("content-type") ?? "").startsWith("text/css");
  };
  const is_there = async (url) => { await fetch(new URL("app.css", url), {mode: "no-cors", cache: "no-store"}); return true; };
  const tries = [];
  if (proxied) tries.push([new URL(`${proxied}${token}/`, location.href).href, is_page]);
  if (["localhost", "127.0.0.1"].includes(location.hostname))
    tries.push([`http://${location.hostname}:${port}/${token}/`, is_there]);
  const framed = (more) => {
    const frame = document.createElement("iframe");
    Object.assign(frame, {title: "strile view", allowFullscreen: true}, more);
    frame.style.cssText = `width: 100%; height: ${height}px; border: 0`;
    return frame;
  };
  for (const [url, answers] of tries) {
    if (!await answers(url).catch(() => false)) continue;
    place?.replaceChildren(framed({src: url}));
    return;
  }
  if (!page || !place) return;
  const frame = framed({srcdoc: page});
  frame.sandbox = "allow-scripts";
  place.querySelector("img, em")?.replaceWith(frame);
}"""


def _picture(path: str | None) -> str:
    from . import quicklook
    from .dataset import open as open_dataset

    def drawn() -> bytes | None:
        with open_dataset(path) as dataset:
            return dataset.quicklook(PICTURE)

    return "" if path is None else quicklook.html(drawn)
