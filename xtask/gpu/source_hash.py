"""The hash of what a GPU check vouches for; the twin of `xtask/src/gpu_verified.rs`, which CI runs.

SHA-256 over every file below the roots, in the order of their paths: the path (with `/`), a zero byte, the length as
decimal digits, a zero byte, the bytes. Hidden names, build folders and Python's caches are left out.
"""
import hashlib
import sys
from pathlib import Path

ROOTS = ("crates/cuda", "crates/codestream", "crates/engine", "crates/raster/src/read")


def left_out(name: str) -> bool:
    return name.startswith((".", "target")) or name == "__pycache__"


def files(root: Path) -> list[str]:
    found = []
    for below in ROOTS:
        for path in (root / below).rglob("*"):
            relative = path.relative_to(root)
            if path.is_file() and not any(left_out(part) for part in relative.parts):
                found.append(relative.as_posix())
    return sorted(found, key=lambda path: path.encode())


def source_hash(root: Path) -> str:
    digest = hashlib.sha256()
    for path in files(root):
        content = (root / path).read_bytes()
        digest.update(path.encode() + b"\0" + str(len(content)).encode() + b"\0" + content)
    return digest.hexdigest()


if __name__ == "__main__":
    print(source_hash(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
