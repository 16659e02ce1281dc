//! No driver, an old one, no device, an old one, a fork: one sentence each. The driver is opened once a process, so each
//! case is a process of its own, which runs `asks_for_a_device` and prints what it was told.

use crate::standin;
use std::path::{Path, PathBuf};
use std::process::Command;
use strile_cuda::device::Device;
use strile_emulate::StandIn;

const INDEX: &str = "STRILE_TEST_DEVICE";
const FORK: &str = "STRILE_TEST_FORK";

/// The process of a case; nothing to do otherwise.
#[test]
fn asks_for_a_device() {
    let Ok(index) = std::env::var(INDEX) else { return };
    let answer = match Device::open(index.parse().unwrap()) {
        Ok(device) if std::env::var_os(FORK).is_some() => forked(&device),
        Ok(device) => format!("{:?}", device.facts()),
        Err(reason) => reason.to_string(),
    };
    println!("told: {answer}");
}

/// What a child that was forked is told by each of three calls.
#[expect(unsafe_code, reason = "a fork")]
fn forked(device: &std::sync::Arc<Device>) -> String {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let stream = device.stream().unwrap();
    let buffer = device.pool().alloc(&stream, 1000).unwrap();
    let path = std::env::temp_dir().join(format!("strile-fork-{}", std::process::id()));
    // SAFETY: the child calls nothing that another thread may have locked, and ends by `_exit`.
    let pid = unsafe { fork() };
    if pid == 0 {
        let told = [
            Device::open(0).map(drop).unwrap_err().to_string(),
            device.stream().map(drop).unwrap_err().to_string(),
            buffer.fill(&stream, 0, 1, 0).unwrap_err().to_string(),
            device.ring().take(&strile_engine::Cancel::default()).map(drop).unwrap_err().to_string(),
        ];
        drop(buffer);
        std::fs::write(&path, told.join("\n")).unwrap();
        // SAFETY: ends the child.
        unsafe { _exit(0) }
    }
    let mut status = 0;
    // SAFETY: `status` lives through the call.
    assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
    let told = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut told: Vec<&str> = told.lines().collect();
    assert_eq!(told.len(), 4);
    told.dedup();
    // The parent goes on as before.
    buffer.fill(&stream, 0, 1, 0).unwrap();
    stream.synchronize().unwrap();
    told.join("; ")
}

/// What a process is told that has this folder's libraries and these knobs of the stand-in.
fn told(libraries: &Path, knobs: &str, index: u32, fork: bool) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["absent::asks_for_a_device", "--exact", "--nocapture"]);
    command.env("LD_LIBRARY_PATH", libraries).env("STRILE_STANDIN", knobs).env(INDEX, index.to_string());
    if fork {
        command.env(FORK, "1");
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find_map(|line| line.split_once("told: "));
    line.unwrap_or_else(|| panic!("nothing told: {text}{errors}")).1.to_owned()
}

fn told_by_standin(knobs: &str, index: u32) -> String {
    told(&StandIn::build().unwrap(), knobs, index, false)
}

/// A folder of our own that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("strile-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn no_driver() {
    if Path::new("/proc/driver/nvidia/version").exists() {
        eprintln!("skipped: this machine has a driver");
        return;
    }
    let folder = Folder::new("no-driver");
    assert_eq!(
        told(&folder.0, "", 0, false),
        "no NVIDIA driver: `libcuda.so.1` was not found; install the driver, or add its folder to LD_LIBRARY_PATH"
    );
}

#[test]
fn a_driver_too_old_and_one_that_fails() {
    if standin().is_none() {
        return;
    }
    assert_eq!(
        told_by_standin("driver=11080", 0),
        "the NVIDIA driver is too old: it supports CUDA 11.8, 12.0 is needed; install driver 525 or newer"
    );
    assert_eq!(
        told_by_standin("fail=cuInit:1:801", 0),
        "the NVIDIA driver does not work here: `cuInit`: CUDA_ERROR_NOT_SUPPORTED (801); see whether `nvidia-smi` works"
    );
    assert_eq!(
        told_by_standin("fail=cuDevicePrimaryCtxRetain:1:2", 0),
        "the NVIDIA driver does not work here: `cuDevicePrimaryCtxRetain`: CUDA_ERROR_OUT_OF_MEMORY (2); see whether `nvidia-smi` works"
    );
    // A number no binding knows.
    assert_eq!(
        told_by_standin("fail=cuMemPoolCreate:1:987654", 0),
        "the NVIDIA driver does not work here: `cuMemPoolCreate`: an unknown error (987654); see whether `nvidia-smi` works"
    );
}

#[test]
fn a_driver_without_a_symbol() {
    if standin().is_none() {
        return;
    }
    let folder = Folder::new("half-a-driver");
    let source = folder.0.join("half.cpp");
    let text = "extern \"C\" int cuDriverGetVersion(int* version) { *version = 12040; return 0; }\n\
                extern \"C\" int cuInit(unsigned) { return 0; }\n";
    std::fs::write(&source, text).unwrap();
    let library = folder.0.join("libcuda.so.1");
    let done =
        Command::new("g++").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(done.success());
    assert_eq!(
        told(&folder.0, "", 0, false),
        "the NVIDIA driver does not work here: `cuDeviceGetCount`: the driver library lacks it; see whether `nvidia-smi` works"
    );
}

#[test]
fn no_device_and_one_too_old() {
    if standin().is_none() {
        return;
    }
    assert_eq!(
        told_by_standin("devices=0", 0),
        "an NVIDIA driver and no GPU: none is there, or CUDA_VISIBLE_DEVICES hides it"
    );
    assert_eq!(told_by_standin("devices=2", 2), "no GPU 2: this process sees 2, counted from 0");
    assert_eq!(
        told_by_standin("devices=2", u32::MAX),
        "no GPU 4294967295: this process sees 2, counted from 0"
    );
    assert_eq!(
        told_by_standin("major=6 minor=1", 0),
        "the GPU `Stand-in 0` is too old: its compute capability is 6.1, 7.0 is needed (Volta or newer)"
    );
    assert_eq!(
        told_by_standin("devices=2 major=8 minor=6 multiprocessors=7 total=1000000000 driver=12020", 1),
        "DeviceFacts { index: 1, name: \"Stand-in 1\", capability: (8, 6), multiprocessors: 7, memory: 1000000000, \
         uuid: \"GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1\", driver: 12020 }"
    );
}

#[test]
fn after_a_fork() {
    if standin().is_none() {
        return;
    }
    assert_eq!(
        told(&StandIn::build().unwrap(), "", 0, true),
        "this process was forked after CUDA was used, which CUDA does not support; start workers by spawn instead"
    );
}
