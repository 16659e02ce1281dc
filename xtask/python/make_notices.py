"""Writes THIRD_PARTY_NOTICES.md: every crate and C library inside the released binaries, with its licence text.

The list comes from `cargo metadata --offline`: normal dependencies of the command line and of the Python package, on all
platforms, without procedural macros. The texts come from the sources that cargo has fetched. Run `cargo fetch` first, and
run this again when Cargo.lock changes. Identical texts are printed once.

usage: make_notices.py [--check]
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "THIRD_PARTY_NOTICES.md"
PROGRAMS = ("strile-cli", "strile-python")
# C libraries that a crate compiles into itself: name, licence, file below the crate's folder.
BUNDLED = {
    "libdeflate-sys": ("libdeflate", "MIT", "libdeflate/COPYING"),
    "liblzma-sys": ("liblzma (XZ Utils)", "0BSD", "xz/COPYING.0BSD"),
    "libwebp-sys": ("libwebp", "BSD-3-Clause", "vendor/COPYING"),
    "zstd-sys": ("Zstandard", "BSD-3-Clause", "zstd/LICENSE"),
}
# Texts are taken in this order, the first that a crate has and its licence names.
PREFERRED = ("MIT", "0BSD", "ISC", "ZLIB", "BSD", "UNLICENSE", "APACHE", "")

HEAD = """\
# Third-party notices

strile is licensed under MIT or Apache-2.0. Its binaries (the command line and the Python wheels) contain the works
below. `xtask/python/make_notices.py` writes this file.

## EPSG Geodetic Parameter Dataset

The definitions of coordinate reference systems in `crates/crs/src/epsg.txt` and the names in `datum_names.txt` come
from the EPSG Dataset, which is owned by the International Association of Oil & Gas Producers (IOGP) and made available at
no charge. Its terms of use apply to anyone who receives this data: <https://epsg.org/terms-of-use.html>. The data is a
subset in another notation: definitions refer to each other by code, and remarks, scopes and areas of use are left out.
Parameter values are those that GDAL writes for each code. The data is provided as is, without warranty.

## Independent JPEG Group

strile's JPEG code is its own, but computes the same numbers as libjpeg: the inverse transform, upsampling, colour
conversion and table scaling follow libjpeg's published algorithms. This software is based in part on the work of the
Independent JPEG Group.

## NVIDIA libraries

nvCOMP, nvJPEG2000 and cuFile are neither contained nor linked. strile opens them at run time if they are installed
and the caller asks for them. Their own licences apply.
"""


def metadata():
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def contained(data):
    """Packages of other projects that the programs contain, sorted by name and version."""
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    waiting = [package["id"] for package in data["packages"] if package["name"] in PROGRAMS]
    seen = set()
    while waiting:
        current = waiting.pop()
        if current in seen or is_macro(packages[current]):
            continue
        seen.add(current)
        for dependency in nodes[current]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    others = [packages[key] for key in seen if packages[key]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def licence_text(package):
    """The text of one of the licences that the package offers, or None if it ships none."""
    folder = Path(package["manifest_path"]).parent
    words = ("LICEN", "COPYING", "UNLICENSE")
    files = sorted(path for path in folder.iterdir() if path.is_file() and any(w in path.name.upper() for w in words))
    for preferred in PREFERRED:
        for path in files:
            if preferred in path.name.upper():
                return normal(path.read_text(encoding="utf-8"))
    return None


def normal(text):
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def page():
    rows, texts = [], {}
    for package in contained(metadata()):
        name = f"{package['name']} {package['version']}"
        where = package["repository"] or package["homepage"] or "crates.io"
        rows.append((name, package["license"].replace("/", " OR "), where))
        if text := licence_text(package):
            texts.setdefault(text, []).append(name)
        if package["name"] in BUNDLED:
            library, licence, path = BUNDLED[package["name"]]
            rows.append((f"{library}, in {package['name']}", licence, where))
            text = normal((Path(package["manifest_path"]).parent / path).read_text(encoding="utf-8"))
            texts.setdefault(text, []).append(library)
    lines = [HEAD, "## Crates and C libraries", "", "| name | licence | source |", "|---|---|---|"]
    lines += [f"| {name} | {licence} | <{where}> |" if "://" in where else f"| {name} | {licence} | {where} |" for name, licence, where in rows]
    lines += ["", "## Licence texts", "", "Crates without a text here ship none; the expression in the table names their licence."]
    for text, names in texts.items():
        lines += ["", "### " + ", ".join(names), "", "```text", text.replace("```", "'''"), "```"]
    return "\n".join(lines) + "\n"


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            sys.exit(f"{TARGET.name} is out of date: run xtask/python/make_notices.py")
        return
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.name}: {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
