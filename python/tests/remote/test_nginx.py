"""Files behind nginx, as it is configured for downloads."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import strile
from servers import Missing, free_port, wait_for

NOISE = np.random.default_rng(5).integers(0, 2**16, (2000, 3000), np.uint16)

CONFIG = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/errors;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/requests;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  gzip on;
  gzip_types *;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


class Nginx:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        self.seen = 0

    def requests(self) -> list[str]:
        """Those since the last look."""
        lines = (self.folder / "requests").read_text().splitlines()
        new, self.seen = lines[self.seen :], len(lines)
        return new


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    (folder / "files").mkdir()
    for outer in (folder, *folder.parents):
        if os.geteuid() == 0 and str(outer).startswith(str(tmp_path_factory.getbasetemp())):
            # It gives its rights up where it can.
            outer.chmod(0o755)
    (folder / "nginx.conf").write_text(CONFIG.format(folder=folder, port=port))
    strile.to_geotiff(NOISE, folder / "files/cog.tif", cog=True, crs=32633)
    process = subprocess.Popen(
        [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, process, "nginx")
    except Missing as reason:
        pytest.skip(f"no nginx: {reason}")
    yield Nginx(folder, port)
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")


def test_pixels_are_those_of_the_local_file(nginx: Nginx) -> None:
    far = strile.open_geotiff(f"{nginx.url}/cog.tif")
    near = strile.open_geotiff(str(nginx.folder / "files/cog.tif"))
    assert np.array_equal(far.values, NOISE) and np.array_equal(far.values, near.values)
    nginx.requests()
    window = strile.open_geotiff(f"{nginx.url}/cog.tif", window=(100, 200, 400, 500))
    assert np.array_equal(window.values, NOISE[100:400, 200:500])
    asked = nginx.requests()
    # One for the header, the rest for the tiles of the window; none but ranges, and none in vain.
    assert all('"GET /cog.tif' in line and " 206 " in line for line in asked), asked
    assert len(asked) <= 3, asked


def test_a_file_that_is_replaced_is_an_error(nginx: Nginx) -> None:
    url, path = f"{nginx.url}/changing.tif", nginx.folder / "files/changing.tif"
    strile.to_geotiff(NOISE, path)
    lazy = strile.open_geotiff(url, chunks=1000)
    strile.to_geotiff(NOISE + 1, path)
    os.utime(path, (1, 1))
    with pytest.raises(strile.StrileError, match="changed"):
        lazy.compute()


def test_what_is_not_there_is_told(nginx: Nginx) -> None:
    with pytest.raises(FileNotFoundError):
        strile.open_geotiff(f"{nginx.url}/nowhere.tif")
