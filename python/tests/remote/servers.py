"""Servers on loopback that speak the protocols of object stores. Each runs in a process of its own, on a free port, and ends with
the test session. One that is not installed is a reason to skip."""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of Azurite, which everybody knows."""

MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


class Missing(Exception):
    """A server that cannot be started here, and why."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[Any], name: str) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise Missing(f"{name} ended with status {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise Missing(f"{name} does not answer")


@dataclass
class Store:
    """A bucket `scenes` of a service. `url` is how strile names an object, `options` how it reaches the service."""

    name: str
    port: int
    process: subprocess.Popen[Any]
    prefix: str
    options: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def url(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    @property
    def flags(self) -> list[str]:
        """The options on the command line."""
        flags = [] if "endpoint" not in self.options else ["--endpoint", str(self.options["endpoint"]), "--allow-http"]
        return flags + (["--anonymous"] if self.options.get("anonymous") else [])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def get(self, key: str) -> bytes | None:
        """The object, not by strile; None if nothing is there."""
        raise NotImplementedError

    def put(self, key: str, content: bytes) -> None:
        raise NotImplementedError


def answer(request: urllib.request.Request) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class S3(Store):
    """moto."""

    @staticmethod
    def start() -> S3:
        try:
            import boto3
            import moto.server  # noqa: F401
        except ImportError as error:
            raise Missing(f"could not import '{error.name}'") from error
        process = subprocess.Popen(
            [sys.executable, "-c", MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise Missing("moto did not start")
        port = int(line)
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        store = S3(
            "s3",
            port,
            process,
            "s3://scenes",
            {"endpoint": f"http://127.0.0.1:{port}", "region": "us-east-1", **keys},
            {name.upper(): value for name, value in keys.items()} | {"AWS_REGION": "us-east-1"},
        )
        store.client = boto3.client("s3", endpoint_url=store.options["endpoint"], region_name="us-east-1", **keys)
        store.client.create_bucket(Bucket="scenes")
        return store

    client: Any = None

    def get(self, key: str) -> bytes | None:
        try:
            return bytes(self.client.get_object(Bucket="scenes", Key=key)["Body"].read())
        except self.client.exceptions.NoSuchKey:
            return None

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket="scenes", Key=key, Body=content)

    def uploads(self) -> list[dict[str, Any]]:
        return list(self.client.list_multipart_uploads(Bucket="scenes").get("Uploads", []))

    def parts(self, upload: dict[str, Any]) -> list[Any]:
        told = self.client.list_parts(Bucket="scenes", Key=upload["Key"], UploadId=upload["UploadId"])
        return list(told.get("Parts", []))


class Gcs(Store):
    """gcp-storage-emulator. It knows neither credentials nor conditions."""

    @staticmethod
    def start() -> Gcs:
        try:
            import gcp_storage_emulator  # noqa: F401
        except ImportError as error:
            raise Missing(f"could not import '{error.name}'") from error
        port = free_port()
        command = "from gcp_storage_emulator.__main__ import main; main()"
        arguments = ["start", "--host=127.0.0.1", f"--port={port}", "--in-memory", "--default-bucket=scenes"]
        process = subprocess.Popen(
            [sys.executable, "-c", command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(port, process, "gcp-storage-emulator")
        store = Gcs("gcs", port, process, "gs://scenes", {"endpoint": f"http://127.0.0.1:{port}", "anonymous": True})
        for _ in range(100):
            if answer(urllib.request.Request(store._at("") + "storage/v1/b/scenes"))[0] == 200:
                return store
            time.sleep(0.05)
        store.stop()
        raise Missing("gcp-storage-emulator made no bucket")

    def _at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def get(self, key: str) -> bytes | None:
        status, body = answer(urllib.request.Request(self._at(f"scenes/{quote(key)}")))
        return body if status == 200 else None

    def put(self, key: str, content: bytes) -> None:
        request = urllib.request.Request(self._at(f"scenes/{quote(key)}"), data=content, method="PUT")
        assert answer(request)[0] == 200


class Azure(Store):
    """Azurite."""

    @staticmethod
    def start() -> Azure:
        beside = Path(__file__).parents[3] / "target/azurite/node_modules/.bin/azurite-blob"
        program = shutil.which("azurite-blob") or (str(beside) if beside.exists() else None)
        if program is None or shutil.which("node") is None:
            raise Missing("azurite is not installed (npm install azurite)")
        port = free_port()
        process = subprocess.Popen(
            [program, "--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"]
            + ["--blobHost", "127.0.0.1", "--blobPort", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(port, process, "azurite")
        keys = {"azure_storage_account_name": ACCOUNT, "azure_storage_account_key": ACCOUNT_KEY}
        store = Azure(
            "azure",
            port,
            process,
            "az://scenes",
            {"endpoint": f"http://127.0.0.1:{port}/{ACCOUNT}", **keys},
            {name.upper(): value for name, value in keys.items()},
        )
        assert store.ask("PUT", "scenes", "restype=container")[0] == 201
        return store

    def ask(self, method: str, path: str, query: str = "", content: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """A request, signed with the account's key as the protocol says."""
        url = f"http://127.0.0.1:{self.port}/{ACCOUNT}/{quote(path)}" + (f"?{query}" if query else "")
        sent = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        named = "".join(f"{name}:{sent[name]}\n" for name in sorted(sent))
        asked = "".join("\n" + part.replace("=", ":", 1) for part in sorted(filter(None, query.split("&"))))
        length = str(len(content)) if content else ""
        kind = "application/octet-stream" if method == "PUT" else ""
        text = f"{method}\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{named}/{ACCOUNT}{urlsplit(url).path}{asked}"
        key = base64.b64decode(ACCOUNT_KEY)
        signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
        sent["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
        if kind:
            sent["Content-Type"] = kind
        data = content if method == "PUT" else None
        return answer(urllib.request.Request(url, data=data, headers=sent, method=method))

    def get(self, key: str) -> bytes | None:
        status, body = self.ask("GET", f"scenes/{key}")
        return body if status == 200 else None

    def put(self, key: str, content: bytes) -> None:
        assert self.ask("PUT", f"scenes/{key}", content=content, x_ms_blob_type="BlockBlob")[0] == 201


KINDS: dict[str, Any] = {"s3": S3, "gcs": Gcs, "azure": Azure}
