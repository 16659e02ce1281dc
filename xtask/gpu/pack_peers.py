"""Packs the peers for a machine with a GPU and no registry: `python3 pack_peers.py [WORK [CARRY]]`.

Downloads the wheels below into WORK/wheels (WORK is target/peers, CARRY is carry, of the repository), leaves out what
no measurement needs, strips symbols, and writes CARRY/peers-1 to peers-4, each one archive of at most 36 MiB, to be
taken along in four calls. Versions are fixed and archives hold no times, so that the same wheels and the same `strip`
give the same bytes. `unpack_peers.sh` beside this file is the other half. Needs pip and, for smaller archives,
binutils' strip.
"""
import lzma
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

MIB = 1 << 20
LIMIT = 36 * MIB

# Which archive, which folder on the other side (nvCOMP 5 and 6 have the same names), which wheels.
PARTS = [
    ("peers-1", "base", [
        "rasterio==1.5.2", "affine==3.0.1", "attrs==26.1.0", "certifi==2026.10.18",
        "click==8.5.1", "cligj==0.7.2", "click-plugins==1.1.1.2", "pyparsing==3.3.3", "imagecodecs==2026.10.10",
    ]),
    ("peers-1", "pictures", ["nvidia-nvjpeg2k-cu13==0.11.0.51", "nvidia-nvjpeg==13.2.3.58"]),
    ("peers-2", "five", ["nvidia-libnvcomp-cu13==5.3.0.16", "nvidia-nvtiff-cu13==0.8.0.82"]),
    ("peers-2", "base", [
        "xarray-spatial==0.10.20", "urllib3==2.8.0", "zstandard==0.25.0", "deflate==0.9.0",
        "kvikio-cu13==26.10.0", "libkvikio-cu13==26.10.0", "rapids-logger==0.3.0",
    ]),
    # No peers: what the tests of the Python package need, in two archives for their size.
    ("peers-2", "tools", [
        "distributed==2026.8.0", "msgpack==1.2.4", "sortedcontainers==2.4.0", "tblib==3.2.2", "tornado==6.6.1", "zict==3.0.0",
        "psutil==7.2.2", "jinja2==3.1.6", "markupsafe==3.0.4",
    ]),
    ("peers-3", "six", ["nvidia-libnvcomp-cu13==6.0.0.12"]),
    ("peers-3", "tools", [
        "pytest==9.2.0", "iniconfig==2.3.1", "pluggy==1.7.0", "packaging==26.3", "pygments==2.21.0", "dask==2026.8.0",
        "cloudpickle==3.1.2", "fsspec==2026.9.0", "partd==1.4.2", "locket==1.0.0", "toolz==1.2.0", "pyyaml==6.0.3",
    ]),
    # The peers of remote reads; rasterio is in the first.
    ("peers-4", "base", [
        "async-geotiff==0.5.1", "async-tiff==0.7.2", "obstore==0.12.1", "pyproj==3.7.2", "defusedxml==0.7.1",
        "typing-extensions==4.16.0",
    ]),
]

# What reading and writing TIFFs never touches. Folders by name anywhere, files by the end of their name.
LEFT_OUT_FOLDERS = {
    "tests", "test", "bin", "cmake", "benchmarks", "zarr", "datasets", "examples", "native", "gdal_data", "rio",
    "__pycache__",
}
LEFT_OUT_ENDS = (
    ".pyx", ".pxd", ".pyi", ".a", ".hpp", "_cpu.so.5", "_cpu.so.6", "_cffi.cpython-312-x86_64-linux-gnu.so",
)


# Of imagecodecs: OpenJPEG, OpenJPH and what importing them needs.
IMAGECODECS = ("__init__", "_imagecodecs", "imagecodecs", "_shared", "_jpeg2k", "_htj2k", "libopenjp", "liblcms2", "libgomp")
# What the peers' programs are compiled with.
HEADERS = ("libnvcomp", "nvtiff", "nvjpeg2k", "nvjpeg.h")


def wanted(path: Path) -> bool:
    parts = path.parts
    if parts[0] in ("imagecodecs", "imagecodecs.libs"):
        return path.name.startswith(IMAGECODECS) and "licenses" not in parts
    if "include" in parts:
        return any(name in parts for name in HEADERS)
    if any(folder in parts for folder in LEFT_OUT_FOLDERS):
        return False
    return not path.name.endswith(LEFT_OUT_ENDS)


def download(names: list[str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    wheels = []
    for name in names:
        stem = name.split("==")[0].replace("-", "_")
        found = sorted(folder.glob(f"{stem}-*.whl"))
        if not found:
            subprocess.run([
                sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                "--python-version", "3.12", "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64",
                "--only-binary=:all:", "--no-deps", "--dest", str(folder), name,
            ], check=True)
            found = sorted(folder.glob(f"{stem}-*.whl"))
        wheels.append(found[-1])
    return wheels


def unpack(wheels: list[Path], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if not name.endswith("/") and wanted(Path(name)):
                    archive.extract(name, target)


def strip(target: Path) -> None:
    tool = shutil.which("strip")
    if tool is None:
        return
    for path in target.rglob("*.so*"):
        # Libraries repaired by wheel tools have sections moved about: what strip refuses stays as it is.
        if not path.is_symlink() and "libnvcomp" not in path.parts:
            subprocess.run([tool, "--strip-unneeded", str(path)], stderr=subprocess.DEVNULL, check=False)


def without_times(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or ".so" in entry.name else 0o644
    return entry


def main() -> int:
    if len(sys.argv) > 3 or any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    root = Path(__file__).resolve().parents[2]
    given = [Path(word) for word in sys.argv[1:]]
    work, carry = (given + [root / "target/peers", root / "carry"][len(given):])
    unpacked = work / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    for part, target, names in PARTS:
        wheels = download(names, work / "wheels" / (target if target != "base" else part))
        unpack(wheels, unpacked / part / target)
        strip(unpacked / part / target)
    failed = False
    for part in sorted({part for part, _, _ in PARTS}):
        folder = carry / part
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        packed = folder / "peers.tar.xz"
        with lzma.open(packed, "wb", preset=6) as out, tarfile.open(fileobj=out, mode="w|") as archive:
            for target in sorted((unpacked / part).iterdir()):
                archive.add(target, arcname=target.name, filter=without_times)
        size = packed.stat().st_size
        failed |= size > LIMIT
        print(f"{part}: {size / MIB:.1f} MiB" + (f", more than {LIMIT // MIB}" if size > LIMIT else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
