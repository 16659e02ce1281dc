"""The goals of the fuzzer, worked on by CPU cores that would idle while other parts use the GPU: `--beside JOBS`.

Continues from docs/bench/fuzz.json. `fuzz-goals.json` has the new sums: put it into the repository as docs/bench/fuzz.json and run
`cargo xtask fuzz --table`.
"""
import os
import shutil
import signal
import subprocess
import tomllib

from session import Session


class Goals:
    """The fuzzer in the background, at the lowest priority."""

    def __init__(self, session: Session, jobs: int):
        self.session = session
        self.sums = session.work / "fuzz-goals.json"
        if not self.sums.exists():
            shutil.copyfile(session.root / "docs/bench/fuzz.json", self.sums)
        commit = tomllib.loads((session.carry / "bundle.toml").read_text())["revision"][:12]
        words = ["nice", "-n", "19", session.program("fuzz"), "--goals", "--jobs", jobs, "--sums", self.sums]
        words += ["--commit", commit, "--keep", session.out / "fuzz-failures"]
        with (session.out / "fuzz-goals.log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in words], cwd=session.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env=dict(os.environ),
            )

    def stop(self) -> None:
        """Ends it: sums are written after every piece of work, so little is lost."""
        ended = self.process.poll()
        if ended is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()
        shutil.copyfile(self.sums, self.session.out / "fuzz-goals.json")
        self.session.say(f"fuzzer's goals: {'stopped' if ended is None else f'ended with {ended}'}")
