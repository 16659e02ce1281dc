"""Peers that are programs in CUDA C++, built by nvcc against the unpacked libraries."""
import json
import os
import shutil
from pathlib import Path

import peers
from session import Ended, Session


def build(session: Session, name: str, nvcomp: str, library: str) -> Path | None:
    """`name`.cu built with `library` of the folder `nvcomp`; None where nvcc or the library are not here."""
    built = session.work / name
    if built.exists():
        return built
    folder = session.work / "peers" / nvcomp / "nvidia" / library
    libraries = next((folder / lib for lib in ("lib64", "lib") if (folder / lib).is_dir()), None)
    if libraries is None or shutil.which("nvcc") is None:
        session.say(f"{name}: {'nvcc' if libraries else folder.name} is not here")
        return None
    source = Path(__file__).with_name(f"{name}.cu")
    link = f"-l{library.removeprefix('lib')}"
    options = ["-O3", "-std=c++17", "-arch=sm_90", f"-I{folder}/include", f"-L{libraries}"]
    ended = session.run(["nvcc", *options, source, "-o", built, link], 120)
    if not ended.well:
        session.say(f"nvcc {name}: {ended.tail()}")
    return built if ended.well else None


def build_all(session: Session) -> dict[str, Path | None]:
    return {
        "nvcomp": build(session, "nvcomp_bench", "six", "libnvcomp"),
        "nvtiff": build(session, "nvtiff_bench", "five", "nvtiff"),
    }


def build_pictures(session: Session) -> Path | None:
    """pictures_bench.cu with nvJPEG2000 and nvJPEG; None where nvcc or one of them is not here."""
    built, folder = session.work / "pictures_bench", session.work / "peers/pictures/nvidia"
    libraries = {"nvjpeg2k": folder / "nvjpeg2k", "nvjpeg": folder / "cu13"}
    if built.exists():
        return built
    if shutil.which("nvcc") is None or not all(library.is_dir() for library in libraries.values()):
        session.say("pictures_bench: nvcc, nvJPEG2000 or nvJPEG is not here")
        return None
    options = ["-O3", "-std=c++17", "-arch=sm_90", *(f"-I{library}/include" for library in libraries.values())]
    files = [next(library.glob(f"lib/lib{name}.so.*")) for name, library in libraries.items()]
    link = [word for file in files for word in (f"-L{file.parent}", f"-l:{file.name}")]
    ended = session.run(["nvcc", *options, Path(__file__).with_name("pictures_bench.cu"), "-o", built, *link], 120)
    if not ended.well:
        session.say(f"nvcc pictures_bench: {ended.tail()}")
    return built if ended.well else None


def records(ended: Ended) -> list[dict]:
    """The JSON lines of a program."""
    found = []
    for line in ended.output.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def nvcomp(session: Session, program: Path, row: dict) -> dict:
    """nvCOMP's kernel on the tiles of one file: `gb_s`, or `error`."""
    words = [program, row["path"], row["codec"], row["tile_bytes"]]
    ended = session.run(words, 30, peers.environment(session, "six"))
    answers = records(ended)
    return answers[-1] if answers else {"error": ended.tail(1)}


def nvtiff(session: Session, program: Path, rows: list[dict], repeat: int, compare: bool) -> dict[str, dict]:
    """nvTIFF's reads of some files, by path."""
    pixels = ["--pixels", *(str(Path(row["path"]).parent / f"{row['name']}.npy") for row in rows)] if compare else []
    environment = peers.environment(session, "five")
    lib = session.work / "peers/five/nvidia/nvtiff/lib"
    environment["LD_LIBRARY_PATH"] = os.pathsep.join([str(lib), environment["LD_LIBRARY_PATH"]])
    ended = session.run([program, repeat, *(row["path"] for row in rows), *pixels], 60, environment)
    return {answer["file"]: answer for answer in records(ended) if "file" in answer}
