"""The soak run on the GPU: both engines read, write, convert and abort for five minutes, and every result is compared.

`soak` makes its files itself; the corpus is added where the bundle has one. It fails where a result is wrong, or where
memory, descriptors, threads or device memory grow by its rule. Its result is `soak.json`; put it into the repository as
`docs/bench/soak-gpu.json` and run `cargo xtask soak --document`.
"""
import json

import corpus
from session import Session

MINUTES = 5.0
# To make the files and to end the last round.
MARGIN = 60


def run(session: Session) -> dict:
    program = session.program("soak")
    if program is None:
        return {"ok": False, "why": "the bundle has no soak"}
    minutes = min(MINUTES, (session.left() - MARGIN) / 60)
    if minutes < 0.5:
        return {"ok": False, "why": f"{session.left():.0f} s were left"}
    result = session.out / "soak.json"
    words = ["--minutes", f"{minutes:.2f}", "--threads", 16, "--device", "cuda:0", "--json", result]
    if folder := corpus.unpack(session):
        words += ["--files", folder / "files"]
    ended = session.run([program, *words], minutes * 60 + MARGIN)
    session.say(ended.tail(6))
    try:
        found = json.loads(result.read_text())
    except (OSError, ValueError) as reason:
        return {"ok": False, "why": f"no result ({ended.code}): {reason}"}
    problems = found["wrong"] + [f"{line['figure']} grew: {line}" for line in found["growth"] if not line["ok"]]
    if minutes < MINUTES:
        problems.append(f"ran for {minutes:.1f} minutes, expected {MINUTES:.0f}")
    told = {key: found[key] for key in ("minutes", "threads", "files", "operations", "growth")}
    ok = ended.well and bool(found["ok"]) and not problems
    return {"ok": ok, **told, "names": problems[:10], **({} if ok else {"why": f"{len(problems)} problems, exit {ended.code}"})}
