"""Every file of the corpus by the CPU engine and by the CUDA engine, in one process, bit for bit.

carry/bin/device_check FOLDER prints a JSON line a file: `file`, `same` (pixels, or both failed alike: lowest faulty
block, same kind), `codec`, `blocks`, `host_blocks` (left to the host by the device), and where `same` is false, `cpu`
and `cuda` in words. At least 98 % of the blocks of codecs with a kernel must be decoded on the device.
"""
import json
import tarfile
from pathlib import Path

from session import Session

# Codecs with a kernel, by the names device_check gives them, in lower case and without punctuation.
WITH_KERNEL = {"none", "uncompressed", "packbits", "lzw", "deflate", "adobedeflate", "olddeflate", "zstd", "lz4"}
SHARE = 0.98


def unpack(session: Session) -> Path | None:
    """The corpus of the bundle, unpacked once: the folder with `files` and `hostile`."""
    packed = session.carry / "corpus" / "corpus.tar.xz"
    folder = session.work / "corpus"
    if not packed.is_file():
        return folder if folder.is_dir() else None
    stamp = folder / "unpacked"
    if not stamp.exists() or stamp.read_text() != str(packed.stat().st_size):
        with tarfile.open(packed, "r:xz") as archive:
            archive.extractall(folder, filter="data")
        stamp.write_text(str(packed.stat().st_size))
    return folder


def key(codec: str) -> str:
    return "".join(c for c in codec.lower() if c.isalnum())


def records(output: str) -> list[dict]:
    found = []
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def judge(records_of: dict[str, list[dict]]) -> dict:
    """Counts, differences and shares of lists of records by the name of their folder."""
    found: dict = {"ok": True, "differ": [], "blocks": {}}
    for name, lines in records_of.items():
        differ = [r for r in lines if not r.get("same")]
        found[name] = {"files": len(lines), "same": len(lines) - len(differ)}
        found["differ"] += [f"{r.get('file')}: cpu {r.get('cpu')}; cuda {r.get('cuda')}"[:300] for r in differ]
        found["ok"] &= bool(lines) and not differ
        if name != "files":
            continue
        for record in lines:
            blocks, host = int(record.get("blocks") or 0), int(record.get("host_blocks") or 0)
            entry = found["blocks"].setdefault(record.get("codec") or "?", {"device": 0, "host": 0})
            entry["device"] += blocks - host
            entry["host"] += host
    kernel = [entry for codec, entry in found["blocks"].items() if key(codec) in WITH_KERNEL]
    device, host = sum(e["device"] for e in kernel), sum(e["host"] for e in kernel)
    found["share"] = round(device / (device + host), 5) if device + host else 0.0
    if found["share"] < SHARE:
        found["ok"] = False
        found["why"] = f"{found['share']:.2%} of the blocks of codecs with a kernel on the device, {SHARE:.0%} expected"
    return found


def run(session: Session) -> dict:
    program, folder = session.program("device_check"), unpack(session)
    if program is None or folder is None:
        return {"ok": False, "why": "the bundle has no device_check or no corpus"}
    lines: dict[str, list[dict]] = {}
    codes = {}
    for name in ("files", "hostile"):
        ended = session.run([program, folder / name], 240, keep=20_000)
        lines[name] = records(ended.output)
        codes[name] = ended.code
        if not ended.well:
            session.say(f"device_check {name}: {'out of time' if ended.code is None else ended.code}\n{ended.tail(5)}")
    (session.out / "corpus.jsonl").write_text("\n".join(json.dumps(r) for name in lines for r in lines[name]) + "\n")
    found = judge(lines)
    # 1 says that files differ, which the records say better; anything else is a crash or a hang.
    if any(code not in (0, 1) for code in codes.values()):
        found |= {"ok": False, "why": f"device_check ended with {codes}"}
    for line in found["differ"][:25]:
        session.say(f"differs: {line}")
    counts = sorted(found["blocks"].items())
    shares = ", ".join(f"{codec} {b['device']}/{b['device'] + b['host']}" for codec, b in counts)
    session.say(f"corpus: {found['files']}, hostile {found['hostile']}, share {found['share']:.2%}")
    session.say(f"blocks on the device: {shares}")
    return found
