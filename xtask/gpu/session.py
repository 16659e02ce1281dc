"""One visit to a machine with a GPU: where things lie, how long there is, the raw log, and what each part found.

Everything a part runs goes through `Session.run`: it has a time limit, its output is in the raw log, and a program
that hangs or is missing is a result like any other. What a part found is kept by part and by the hash of the sources,
in the work folder and in $OUT/state.json, so that a round can be done in several visits: put that file into
carry/state.json to go on from it.
"""
import datetime
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

LOG_LIMIT = 12 << 20


@dataclass
class Ended:
    """How a program ended: `code` is None when it ran out of time and -1 when it did not start."""

    code: int | None
    output: str
    seconds: float

    @property
    def well(self) -> bool:
        return self.code == 0

    def tail(self, lines: int = 12) -> str:
        return "\n".join(self.output.strip().splitlines()[-lines:])


class Session:
    def __init__(self, root: Path, limit: float, most_rounds: int | None = None):
        self.root = root
        self.carry = root / "carry"
        self.work = Path(os.environ.get("STRILE_GPU_WORK", root / "out" / "gpu"))
        self.out = Path(os.environ.get("OUT", root / "out" / "back"))
        for folder in (self.work, self.out):
            folder.mkdir(parents=True, exist_ok=True)
        self.deadline = time.monotonic() + limit
        self.most_rounds = most_rounds
        # What earlier calls on this machine logged belongs to the same round.
        self.kept_log = self.work / "gpu-verified.log"
        self.log_path = self.out / "gpu-verified.log"
        if self.kept_log.exists():
            self.log_path.write_text(self.kept_log.read_text())
        self.log_size = self.log_path.stat().st_size if self.log_path.exists() else 0
        self.log(f"# {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC")

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def rounds(self, usual: int) -> int:
        """Rounds of a part that alternates programs: the usual number, or fewer with `--rounds`."""
        return usual if self.most_rounds is None else min(usual, self.most_rounds)

    def log(self, text: str) -> None:
        if self.log_size > LOG_LIMIT:
            return
        # Where the tree and its results lie on that machine is nobody's business.
        text = text.replace(f"{self.root}/", "").replace(f"{self.out}/", "")
        self.log_size += len(text) + 1
        for path in (self.log_path, self.kept_log):
            with path.open("a") as log:
                log.write(text + "\n")

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.log(text)

    def programs(self) -> Path:
        """The folder with `bin` and `tests`: the bundle's archive unpacked, once for each archive.

        Its parts, carry/programs.1 and so on, may have come in several calls; bundle.toml has the hash of the whole."""
        folder, stamp = self.work / "programs", self.work / "programs" / "archive.sha256"
        told = tomllib.loads((self.carry / "bundle.toml").read_text()).get("programs")
        if stamp.exists() and stamp.read_text() == told:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        parts = sorted(self.carry.glob("programs.*"), key=lambda part: int(part.suffix[1:]))
        packed = b"".join(part.read_bytes() for part in parts)
        if hashlib.sha256(packed).hexdigest() != told:
            names = ", ".join(part.name for part in parts) or "none"
            self.say(f"carry/: the parts of the programs ({names}) are not those of bundle.toml: send all of them")
            return folder
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:xz") as archive:
            archive.extractall(folder, filter="data")
        stamp.write_text(told)
        return folder

    def program(self, name: str) -> Path | None:
        """A program of ours; None where the bundle has none."""
        path = self.programs() / "bin" / name
        if not path.is_file():
            return None
        path.chmod(0o755)
        return path

    @staticmethod
    def older_bench(strile: Path) -> list:
        """The command that measures with an earlier revision's `strile`: the program `bench` beside it (`bench-before` beside
        `strile-before`); its command `strile bench` where there is none."""
        beside = strile.with_name(strile.name.replace("strile", "bench"))
        for program in (strile, beside):
            if program.is_file():
                program.chmod(0o755)
        return [beside] if beside.is_file() else [strile, "bench"]

    def run(self, command: list, limit: float, env: dict | None = None, keep: int = 4 << 20) -> Ended:
        """Runs to the end or to the limit (the session's own end counts too), stdout and stderr together."""
        limit = max(1.0, min(limit, self.left()))
        words = [str(word) for word in command]
        self.log("$ " + " ".join(words if len(words) < 40 else words[:39] + [f"… {len(words) - 39} more"]))
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                words, cwd=self.root, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )
        except OSError as reason:
            self.log(f"did not start: {reason}")
            return Ended(-1, f"did not start: {reason}", 0.0)
        try:
            output, _ = process.communicate(timeout=limit)
            code = process.returncode
        except subprocess.TimeoutExpired:
            # Its children too: compute-sanitizer runs the program in a process of its own.
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            code = None
        text = output.decode(errors="replace")
        seconds = time.monotonic() - started
        self.log(text if len(text) <= keep else text[: keep // 2] + "\n…\n" + text[-keep // 2 :])
        self.log(f"-> {'out of time' if code is None else code}, {seconds:.1f} s")
        return Ended(code, text, seconds)


class State:
    """What parts found, for one hash of the sources."""

    def __init__(self, session: Session, source_hash: str):
        self.session = session
        self.hash = source_hash
        self.parts: dict[str, dict] = {}
        for path in (session.carry / "state.json", session.work / "state.json"):
            try:
                kept = json.loads(path.read_text())
            except (OSError, ValueError):
                continue
            if kept.get("hash") == source_hash:
                self.parts.update(kept.get("parts", {}))

    def keep(self, part: str, found: dict) -> None:
        self.parts[part] = found
        text = json.dumps({"hash": self.hash, "parts": self.parts}, indent=1)
        for folder in (self.session.work, self.session.out):
            (folder / "state.json").write_text(text)
