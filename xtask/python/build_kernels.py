"""Compiles crates/cuda/kernels to PTX and cubins, or says what of crates/cuda/built is stale.

usage: build_kernels.py hashes            compare sources and files with the manifest, without a compiler
       build_kernels.py build             compile stale PTX and write it
       build_kernels.py release           the same, and pack cubins of it
       build_kernels.py check             compile into a temporary folder and compare byte for byte
       build_kernels.py lines FOLDER      compile with line tables, for one architecture, for STRILE_KERNELS

Every NAME.cu in kernels, in the folder of its codec or step, is a module: NVRTC makes PTX for the oldest device, ptxas
makes a cubin of it for each newer architecture. Cubins are packed for releases: one archive per architecture, a Zstandard frame per module. The table of what is
built in lists a cubin only while it is made of the present PTX, so a kernel that changed since is compiled by the
driver. Sources are given to NVRTC by name and text, so no path gets into what it writes. A module that does not
compile is named and left out, and the others are built. Run from the repository's root by `cargo xtask kernels`, in
an environment that holds requirements-kernels.txt; `hashes` needs nothing but Python.
"""

import contextlib
import ctypes
import hashlib
import io
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KERNELS = Path("crates/cuda/kernels")
BUILT = Path("crates/cuda/built")
REQUIREMENTS = Path("xtask/python/requirements-kernels.txt")
NVRTC_OPTIONS = ["--gpu-architecture=compute_70", "--std=c++17", "-default-device"]
PTXAS_OPTIONS = ["-O3", "--verbose"]
# A cubin runs on later devices of its major number, and the driver compiles the PTX for all others: sm_70, of which
# ptxas warns that it will go, has no cubin, and those of sm_86 and sm_89 differ too little from that of sm_80.
ARCHITECTURES = [75, 80, 90, 100, 120]
# The architecture whose registers and shared memory the manifest tells.
TOLD = 90

HEADER = "# Written by `cargo xtask kernels`; `cargo xtask kernels --check` compares it with the sources.\n"


class Failed(Exception):
    """A module that does not compile: what the compiler said."""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sources_of(module):
    """Paths within the kernels of the files a module is made of, and their bytes: its .cu first, then what it includes."""
    found = {}
    todo = [path.relative_to(KERNELS).as_posix() for path in KERNELS.rglob(f"{module}.cu")]
    while todo:
        name = todo.pop(0)
        if name in found:
            continue
        path = KERNELS / name
        if not path.is_file():
            continue  # the emulator's, which NVRTC never sees; it complains of any other
        found[name] = path.read_bytes()
        todo += re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', found[name].decode(), re.MULTILINE)
    return found


def modules():
    return sorted(path.stem for path in KERNELS.rglob("*.cu"))


class Nvrtc:
    """The run-time compiler as a library."""

    def __init__(self):
        folder = Path(sysconfig.get_path("purelib")) / "nvidia/cuda_nvrtc/lib"
        # The first needs the second and does not look for it beside itself.
        ctypes.CDLL(str(folder / "libnvrtc-builtins.so.12.0"), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, code):
        if code != 0:
            raise Failed(f"NVRTC: {self.library.nvrtcGetErrorString(code).decode()}")

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.check(getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.library, f"nvrtcGet{what}")(program, buffer))
        return buffer.value

    def ptx(self, sources, more=()):
        """PTX of a module, and the compiler's warnings."""
        (name, source), *headers = sources.items()

        def strings(items):
            return (ctypes.c_char_p * len(items))(*items)

        program = ctypes.c_void_p()
        texts = strings([text for _, text in headers])
        names = strings([header.encode() for header, _ in headers])
        self.check(
            self.library.nvrtcCreateProgram(
                ctypes.byref(program), source, name.encode(), len(headers), texts, names
            )
        )
        try:
            options = strings([option.encode() for option in [*NVRTC_OPTIONS, *more]])
            code = self.library.nvrtcCompileProgram(program, len(options), options)
            log = self.text(program, "ProgramLog").decode().strip()
            if code != 0:
                raise Failed(log)
            return self.text(program, "PTX"), log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def assemble(ptx, architecture, target, more=()):
    """Makes one cubin; what ptxas says of every entry point."""
    program = Path(sysconfig.get_path("purelib")) / "nvidia/cuda_nvcc/bin/ptxas"
    # A file without executable bits is what some installers make of it.
    program.chmod(program.stat().st_mode | 0o111)
    command = [program, *PTXAS_OPTIONS, *more, f"--gpu-name=sm_{architecture}", "--output-file", target.name, ptx.name]
    done = subprocess.run(command, cwd=target.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"ptxas for sm_{architecture}: {done.stderr.strip() or done.returncode}")
    return done.stderr


def entries_of(said):
    """Registers, shared memory, stack and spills of each entry point, from ptxas's words."""
    entries = []
    for part in said.split("Compiling entry function '")[1:]:

        def number(pattern, part=part):
            match = re.search(pattern, part)
            return int(match.group(1)) if match else 0

        entries.append(
            {
                "name": part.split("'", 1)[0],
                "registers": number(r"Used (\d+) registers"),
                "shared": number(r"(\d+) bytes smem"),
                "stack": number(r"(\d+) bytes stack frame"),
                "spill_stores": number(r"(\d+) bytes spill stores"),
                "spill_loads": number(r"(\d+) bytes spill loads"),
            }
        )
    return sorted(entries, key=lambda entry: entry["name"])


def compile_module(nvrtc, module, folder):
    """Writes the PTX of one module; its part of the manifest."""
    sources = sources_of(module)
    text, warnings = nvrtc.ptx(sources)
    for line in warnings.splitlines():
        print(f"{module}: {line}")
    ptx = folder / f"{module}.ptx"
    ptx.write_bytes(text)
    cubin = folder / f"{module}.cubin"
    entries = entries_of(assemble(ptx, TOLD, cubin))
    cubin.unlink()
    for entry in entries:
        spills = entry["spill_stores"] + entry["spill_loads"]
        print(
            f"{module}: {entry['name']}: {entry['registers']} registers, {entry['shared']} bytes shared"
            + (f", {spills} bytes spilled" if spills else "")
        )
    return {"name": module, "sources": hashes_of(sources), "ptx": described(text), f"sm{TOLD}": entries}


def described(data):
    return {"size": len(data), "sha256": sha256(data)}


def hashes_of(sources):
    return {name: sha256(data) for name, data in sorted(sources.items())}


def compiler():
    """Versions and options, as the manifest has them."""
    versions = re.findall(r"^nvidia-cuda-(\w+)-cu12==(\S+)$", REQUIREMENTS.read_text(), re.MULTILINE)
    return {**dict(versions), "nvrtc_options": NVRTC_OPTIONS, "ptxas_options": PTXAS_OPTIONS}


def toml(table):
    """Lines of a flat table."""

    def value(item):
        if isinstance(item, list):
            return f"[{', '.join(map(value, item))}]"
        return str(item) if isinstance(item, int) else f'"{item}"'

    return [f"{key if key.isidentifier() else value(key)} = {value(item)}" for key, item in table.items()]


def manifest(built, archives):
    """What was made of what, as TOML."""
    lines = [HEADER, "[compiler]", *toml(compiler())]
    for module in built:
        lines += ["", "[[module]]", *toml({"name": module["name"]}), "", "[module.sources]"]
        lines += toml(module["sources"])
        lines += ["", "[module.ptx]", *toml(module["ptx"])]
        for row in module[f"sm{TOLD}"]:
            lines += ["", f"[[module.sm{TOLD}]]", *toml(row)]
    for archive in archives:
        lines += ["", "[[archive]]", *toml({key: archive[key] for key in ("architecture", "size", "sha256")})]
        for cubin in archive["cubin"]:
            lines += ["", "[[archive.cubin]]", *toml(cubin)]
    return "\n".join(lines) + "\n"


def archive_name(architecture):
    return f"sm{architecture}.cubins"


def fitting(archive, built):
    """The cubins of an archive that are made of the present PTX."""
    present = {module["name"]: module["ptx"]["sha256"] for module in built}
    return [cubin for cubin in archive["cubin"] if present.get(cubin["module"]) == cubin["ptx"]]


def table(built, archives):
    """The Rust table of what is built in."""
    lines = [
        "//! The kernels built in, written by `cargo xtask kernels`.",
        "",
        "use crate::module::{Archive, Cubin, Ptx};",
        "",
        "/// Every module.",
        "#[rustfmt::skip]",
        "pub(crate) const PTX: &[Ptx] = &[",
    ]
    for module in built:
        name = module["name"]
        lines.append(f'    Ptx {{ module: "{name}", text: include_bytes!("{name}.ptx") }},')
    lines += ["];", "", "/// Machine code of modules that have not changed since the archives were made."]
    lines += ["#[rustfmt::skip]", "pub(crate) const ARCHIVES: &[Archive] = &["]
    for archive in archives:
        major, minor = divmod(archive["architecture"], 10)
        name = archive_name(archive["architecture"])
        lines.append(
            f'    Archive {{ capability: ({major}, {minor}), bytes: include_bytes!("{name}"), cubins: &['
        )
        for cubin in fitting(archive, built):
            lines.append(
                f'        Cubin {{ module: "{cubin["module"]}", from: {cubin["from"]}, to: {cubin["to"]}, '
                f"size: {cubin['size']} }},"
            )
        lines.append("    ] },")
    return "\n".join([*lines, "];"]) + "\n"


def pack(built, ptx_folder, folder):
    """Makes the archives of all modules; their part of the manifest."""
    import zstandard  # in requirements-kernels.txt

    compressor = zstandard.ZstdCompressor(level=19, write_checksum=True, write_content_size=True)
    names = [module["name"] for module in built]

    def machine_code(name, architecture):
        cubin = folder / f"{name}.sm{architecture}.cubin"
        assemble(ptx_folder / f"{name}.ptx", architecture, cubin)
        data = cubin.read_bytes()
        cubin.unlink()
        return data

    archives = []
    for architecture in ARCHITECTURES:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            made = list(threads.map(machine_code, names, [architecture] * len(names)))
        packed, cubins = b"", []
        for module, data in zip(built, made, strict=True):
            frame = compressor.compress(data)
            where = {"from": len(packed), "to": len(packed) + len(frame)}
            cubins.append({"module": module["name"], "ptx": module["ptx"]["sha256"], **where, **described(data)})
            packed += frame
        (folder / archive_name(architecture)).write_bytes(packed)
        archives.append({"architecture": architecture, **described(packed), "cubin": cubins})
        print(f"{archive_name(architecture)}: {sum(map(len, made)):,} bytes in {len(packed):,}")
    return archives


def committed():
    """The manifest as it lies there: compiler, modules by name, and archives."""
    path = BUILT / "manifest.toml"
    told = tomllib.loads(path.read_text()) if path.is_file() else {}
    return told.get("compiler"), {module["name"]: module for module in told.get("module", [])}, told.get("archive", [])


def complaints_of(module):
    """Why what is built of a module is not what its sources say."""
    name, told = module["name"], module["sources"]
    if name not in modules():
        return [f"{name} is built and has no source"]
    now = hashes_of(sources_of(name))
    changed = sorted(source for source in {*now, *told} if now.get(source) != told.get(source))
    found = [f"{name} was built of another {', '.join(changed)}"] if changed else []
    return found + changed_file(f"{name}.ptx", module["ptx"]["sha256"])


def changed_file(name, told):
    """What is wrong with a file that was built."""
    file = BUILT / name
    if not file.is_file():
        return [f"{name} is not there"]
    return [] if sha256(file.read_bytes()) == told else [f"{name} is not what was built"]


def stale():
    """What does not fit the manifest, found by hashes alone."""
    built_by, told, archives = committed()
    if built_by != compiler():
        return [f"built by {built_by}, {compiler()} expected"]
    found = [f"{name}.cu is not built" for name in modules() if name not in told]
    for module in told.values():
        found += complaints_of(module)
    for archive in archives:
        found += changed_file(archive_name(archive["architecture"]), archive["sha256"])
    missing = set(ARCHITECTURES) - {archive["architecture"] for archive in archives}
    found += [f"{archive_name(architecture)} is not built" for architecture in sorted(missing)]
    named = {f"{name}.ptx" for name in told} | {archive_name(archive["architecture"]) for archive in archives}
    here = {file.name for file in BUILT.iterdir()} - {"manifest.toml", "table.rs"}
    found += [f"{name} is in no module and no archive" for name in sorted(here - named)]
    if (BUILT / "table.rs").read_text() != table(told.values(), archives):
        found.append("table.rs does not list what is built")
    tell_of_archives(told.values(), archives)
    return found


def tell_of_archives(built, archives):
    """Says for which modules the driver has to compile PTX, until `release` packs their machine code."""
    for archive in archives:
        fit = {cubin["module"] for cubin in fitting(archive, built)}
        if left := [module["name"] for module in built if module["name"] not in fit]:
            name = archive_name(archive["architecture"])
            print(f"{name} has no machine code of the present {', '.join(left)}: `cargo xtask kernels --release`")


def compile_alone(module, folder):
    """One module, in a process of its own: what the compiler makes depends on what the same process compiled before.

    Returns its part of the manifest, and what is to be printed: processes run beside each other.
    """
    with contextlib.redirect_stdout(io.StringIO()) as said:
        made = compile_module(Nvrtc(), module, folder)
    return made, said.getvalue()


def build(folder, keep):
    """Compiles all modules that are not in `keep` into a folder; the modules, and what did not compile."""
    built, failed = [], []
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as alone:
        started = {name: alone.apply_async(compile_alone, (name, folder)) for name in modules() if name not in keep}
        for name in modules():
            if name in keep:
                built.append(keep[name])
                continue
            try:
                made, said = started[name].get()
                print(said, end="")
                built.append(made)
            except Failed as error:
                failed.append(f"{name}.cu does not compile")
                print(f"error: {name}.cu does not compile:\n{error}", file=sys.stderr)
                for file in folder.glob(f"{name}.*"):
                    file.unlink()
    return built, failed


def renew(folder, release):
    """Compiles what is stale and puts it in its place, the table after the files it names."""
    built_by, told, archives = committed()
    same = built_by == compiler()
    keep = {name: module for name, module in told.items() if same and not complaints_of(module)}
    built, failed = build(folder, keep)
    for name in keep:
        shutil.copyfile(BUILT / f"{name}.ptx", folder / f"{name}.ptx")
    if release or not archives:
        archives = pack(built, folder, folder)
    (folder / "manifest.toml").write_text(manifest(built, archives))
    (folder / "table.rs").write_text(table(built, archives))
    BUILT.mkdir(exist_ok=True)
    for file in sorted(folder.iterdir(), key=lambda file: file.name == "table.rs"):
        shutil.copyfile(file, BUILT / file.name)
    named = {f"{module['name']}.ptx" for module in built}
    named |= {archive_name(archive["architecture"]) for archive in archives} | {"manifest.toml", "table.rs"}
    for file in BUILT.iterdir():
        if file.name not in named:
            file.unlink()
    sizes = [file.stat().st_size for file in BUILT.iterdir()]
    print(f"{len(sizes)} files, {sum(sizes):,} bytes")
    tell_of_archives(built, archives)
    return failed


def compare(folder):
    """Compiles everything again; what comes out otherwise than committed."""
    _, told, archives = committed()
    built, found = build(folder, {})
    for module in built:
        if module != told.get(module["name"]):
            found.append(f"{module['name']}.ptx comes out otherwise")
    for archive in archives:
        architecture = archive["architecture"]
        packed = (BUILT / archive_name(architecture)).read_bytes()
        cubins = fitting(archive, built)

        def differs(cubin, architecture=architecture, packed=packed):
            made = folder / f"{cubin['module']}.sm{architecture}.cubin"
            assemble(folder / f"{cubin['module']}.ptx", architecture, made)
            data = made.read_bytes()
            made.unlink()
            return described(data) != {key: cubin[key] for key in ("size", "sha256")} or unpacked(packed, cubin) != data

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            for cubin, other in zip(cubins, threads.map(differs, cubins), strict=True):
                if other:
                    found.append(f"{cubin['module']} in {archive_name(architecture)} comes out otherwise")
    return found


def unpacked(packed, cubin):
    import zstandard

    return zstandard.ZstdDecompressor().decompress(packed[cubin["from"] : cubin["to"]], cubin["size"])


def with_lines(folder):
    """Cubins of the told architecture with line tables: what a sanitizer or a profiler says then names lines."""
    folder.mkdir(parents=True, exist_ok=True)
    nvrtc = Nvrtc()
    for module in modules():
        text, _ = nvrtc.ptx(sources_of(module), ["--generate-line-info"])
        ptx = folder / f"{module}.ptx"
        ptx.write_bytes(text)
        assemble(ptx, TOLD, folder / f"{module}.sm{TOLD}.cubin", ["--generate-line-info"])
        ptx.unlink()
    return []


def main(chore, *rest):
    if chore == "lines" and len(rest) == 1:
        return 1 if with_lines(Path(rest[0])) else 0
    if rest:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chore == "hashes":
            complaints = stale()
        elif chore in ("build", "release"):
            complaints = renew(folder, chore == "release")
        elif chore == "check":
            complaints = compare(folder)
        else:
            sys.exit(__doc__)
    for complaint in complaints:
        print(f"error: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [""])))
