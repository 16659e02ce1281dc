//! The bindings against NVIDIA's own headers, where they are found: in the folders that `STRILE_NVIDIA_HEADERS` names (with
//! colons between, as that of the wheel nvidia-nvjpeg2k), or with a CUDA toolkit. The headers are not ours to carry.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use strile_cuda::vendor::nvjpeg2000;

/// What the headers take of the toolkit's, for machines without it.
const CUDA_RUNTIME_API: &str = "#pragma once\ntypedef struct CUstream_st* cudaStream_t;\n";
const LIBRARY_TYPES: &str =
    "#pragma once\ntypedef enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;\n";

/// Bytes of each argument of a function.
const SIZES: &str = "template <class R, class... A> constexpr bool has(R (*)(A...), unsigned long n, const unsigned long* \
                     sizes) {\n  const unsigned long found[] = {sizeof(A)...};\n  if (sizeof...(A) != n || sizeof(R) != 4) \
                     return false;\n  for (unsigned long i = 0; i < n; i++) {\n    if (found[i] != sizes[i]) return \
                     false;\n  }\n  return true;\n}\n";

fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("STRILE_NVIDIA_HEADERS").unwrap_or_default();
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&named).filter(|p| !p.as_os_str().is_empty()).collect();
    folders.push("/usr/local/cuda/include".into());
    folders
}

/// Compiles what a header must say, in every folder that has it; how many there were.
fn check(header: &str, values: &[(&str, usize)], signatures: &[(&str, &[usize])]) -> usize {
    let mut text = format!("#include <cstddef>\n#include \"{header}\"\n{SIZES}");
    for (expression, value) in values {
        writeln!(text, "static_assert((unsigned long)({expression}) == {value}, \"{expression}\");").unwrap();
    }
    for (i, (name, sizes)) in signatures.iter().enumerate() {
        let list: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        writeln!(text, "constexpr unsigned long sizes{i}[] = {{{}}};", list.join(", ")).unwrap();
        writeln!(text, "static_assert(has(&{name}, {}, sizes{i}), \"{name}\");", sizes.len()).unwrap();
    }
    let folder = std::env::temp_dir().join(format!("strile-headers-{}-{header}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("cuda_runtime_api.h", CUDA_RUNTIME_API);
    write("library_types.h", LIBRARY_TYPES);
    write("check.cpp", &text);
    let found: Vec<PathBuf> = folders().into_iter().filter(|folder| folder.join(header).is_file()).collect();
    let compiled: Vec<(PathBuf, String)> =
        found.iter().map(|include| (include.clone(), compile(&folder, include))).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    for (include, said) in compiled {
        assert!(said.is_empty(), "{}: {said}", include.display());
    }
    found.len()
}

/// What the compiler says where it refuses.
fn compile(folder: &Path, include: &Path) -> String {
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-fsyntax-only"]).arg(folder.join("check.cpp")).arg("-I").arg(include);
    let output = command.arg("-I").arg(folder).output().unwrap();
    if output.status.success() { String::new() } else { String::from_utf8_lossy(&output.stderr).into_owned() }
}

#[test]
fn the_bindings_are_what_the_headers_say() {
    if check("nvjpeg2k.h", nvjpeg2000::HEADER, nvjpeg2000::SIGNATURES) == 0 {
        eprintln!("skipped: no nvjpeg2k.h here; name its folder in STRILE_NVIDIA_HEADERS");
    }
}

/// A check that says yes to everything would be none.
#[test]
fn a_header_that_says_otherwise_is_found_out() {
    let folder = std::env::temp_dir().join(format!("strile-other-headers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let header = "enum { FORMAT = 3 };\nextern \"C\" int call(int, void*);\n";
    std::fs::write(folder.join("other.h"), header).unwrap();
    let said = |line: &str| {
        let text = format!("#include \"other.h\"\n{SIZES}{line}");
        std::fs::write(folder.join("check.cpp"), text).unwrap();
        compile(&folder, &folder)
    };
    assert_eq!(said("static_assert(FORMAT == 3);"), "");
    assert_ne!(said("static_assert(FORMAT == 5);"), "");
    let sizes = "constexpr unsigned long sizes[] = {4, 8};\nstatic_assert(has(&call, 2, sizes));";
    assert_eq!(said(sizes), "");
    assert_ne!(said(&sizes.replace("4, 8", "8, 8")), "");
    std::fs::remove_dir_all(&folder).unwrap();
}
