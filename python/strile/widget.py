"""The page of `strile view` with a reduced raster inside, for notebooks whose browser reaches no server."""

from __future__ import annotations

import gzip
import json
import urllib.request
from base64 import b64encode
from typing import Any

import numpy as np

MOST_BANDS = 16
"""Bands that a page holds."""
MOST_PASS = 64 << 20
"""Pixels of a file without overviews that may be read to make a page."""
TILE = 256
TIMEOUT = 60.0
STYLE = '<link rel="stylesheet" href="app.css">'
SCRIPT = '<script type="module" src="app.js"></script>'


def embedded_page(url: str, most: int) -> str | None:
    """Returns the page at `url` as one document that holds at most `most` bytes of samples of its first raster; None if no level is that small, or
    if the raster cannot be read."""
    if most <= 0:
        return None
    try:
        data = _data(url, most)
        page = _get(f"{url}index.html")[0].decode()
        style, script = (_get(url + name)[0].decode() for name in ("app.css", "app.js"))
    except (OSError, ValueError, TypeError):
        return None
    if data is None:
        return None
    # A value cannot end the script.
    held = json.dumps(data).replace("<", "\\u003c")
    scripts = f'<script id="strile-data" type="application/json">{held}</script><script type="module">{script}</script>'
    return page.replace(STYLE, f"<style>{style}</style>").replace(SCRIPT, scripts)


def _get(url: str) -> tuple[bytes, Any]:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        return answer.read(), answer.headers


def _data(url: str, most: int) -> dict[str, Any] | None:
    """Returns the facts, statistics and tiles of a raster, as the page's `embedded.js` takes them."""
    source = next((one for one in json.loads(_get(f"{url}api/sources")[0]) if one["ok"] is not False), None)
    if source is None:
        return None
    address = f"{url}api/{source['id']}"
    info = json.loads(_get(f"{address}/info")[0])
    chosen = _chosen(info, most)
    if chosen is None:
        return None
    level, bands = chosen
    asked = ",".join(str(band) for band in bands)
    tiles: dict[str, Any] = {}
    for row in range(-(-level["height"] // TILE)):
        for column in range(-(-level["width"] // TILE)):
            place = f"{level['level']}/{column}/{row}"
            body, headers = _get(f"{address}/tile/{place}?bands={asked}")
            tiles[place] = {
                "width": int(headers["X-Width"]), "height": int(headers["X-Height"]), "dtype": headers["X-Dtype"], "mask": headers["X-Mask"],
                "bands": bands, "data": b64encode(gzip.compress(body, 6, mtime=0)).decode(),
            }  # fmt: skip
    statistics = json.loads(_get(f"{address}/statistics?bands={asked}")[0])
    return {"name": source["name"], "info": {**info, "levels": [level]}, "statistics": statistics, "tiles": tiles}


def _chosen(info: dict[str, Any], most: int) -> tuple[dict[str, Any], list[int]] | None:
    """Returns the largest level with at most `most` bytes, and its bands: all of few, else as many as fit."""
    size = np.dtype(info["dtype"]).itemsize
    stored = [level for level in info["levels"] if level["stored"]]
    if stored and stored[-1]["width"] * stored[-1]["height"] > MOST_PASS:
        return None
    for count in (min(info["count"], MOST_BANDS), min(info["count"], 3), 1):
        for level in info["levels"]:
            if level["width"] * level["height"] * (count * size + 1) <= most:
                return level, list(range(1, count + 1))
    return None
