"""Peers on the other end of a pipe: started once, asked file by file, so that rounds can alternate between them."""
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

from session import Session

THREADS = 16


def environment(session: Session, nvcomp: str) -> dict:
    """Variables with which the unpacked peers are found; `nvcomp` is the folder of the version wanted."""
    peers = session.work / "peers"
    libraries = [
        peers / nvcomp / "nvidia/libnvcomp/lib64", peers / "base/libkvikio/lib64", peers / "base/rapids_logger/lib64",
    ]
    there = [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    return {
        "PYTHONPATH": f"{peers / 'base'}:{session.work / 'wheel'}",
        "LD_LIBRARY_PATH": ":".join([str(p) for p in libraries] + there),
        "PYTHONUNBUFFERED": "1",
        "CPL_LOG": "/dev/null",
    }


class Peer:
    def __init__(self, session: Session, name: str, script: str = "peer_reader.py"):
        self.session, self.name, self.why = session, name, None
        script = Path(__file__).with_name(script)
        self.errors = (session.work / f"peer-{name}.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, str(script), name, str(THREADS)], cwd=session.root, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, env={**os.environ, **environment(session, "five")},
        )
        self.buffer = b""
        reply = self._line(90)
        while reply is not None and "note" in reply:
            session.say(f"{name}: {reply['note']}")
            reply = self._line(90)
        if reply is None or not reply.get("ready"):
            self._end(f"did not start: {(reply or {}).get('error', 'no answer')}")

    def _line(self, limit: float) -> dict | None:
        end = time.monotonic() + min(limit, max(1.0, self.session.left()))
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not chunk:
                return None
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            return self._line(limit)

    def _end(self, why: str) -> None:
        self.why = why
        self.session.say(f"{self.name}: {why}")
        self.close()

    def ask(self, path: str, repeat: int, npy: str | None) -> dict:
        """The answer of peer_reader.py; once a peer is gone, why."""
        return self.request({"path": path, "repeat": repeat, "npy": npy}, Path(path).name)

    def request(self, request: dict, what: str, limit: float = 60) -> dict:
        """The answer to a request about `what`; once a peer is gone, why."""
        if self.why:
            return {"error": self.why}
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except OSError as reason:
            self._end(f"gone: {reason}")
            return {"error": self.why}
        reply = self._line(limit)
        if reply is None:
            self._end(f"no answer to {what}")
            return {"error": self.why}
        self.session.log(f"{self.name} {what} {json.dumps(reply)}")
        return reply

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()
