//! A driver for machines without one: a `libcuda.so.1` (and `libcufile.so.0`) that keeps "device" memory on the host and
//! runs the emulated kernels.
//!
//! Streams are queues: what is queued is done only when someone waits, in an order that the seed chooses and the events
//! allow, so a missing wait or a missing dependency shows as wrong bytes. Fresh memory is garbage, freed memory cannot be
//! touched, and misuse is an error that sticks, as a lost context does.
#![expect(unsafe_code, reason = "calls into the stand-in library")]

use std::ffi::{CStr, CString, c_char};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::compile;
use crate::module::Emulator;

/// The stand-in, loaded into this process: from now on whoever asks for `libcuda.so.1` gets it.
#[derive(Debug)]
pub struct StandIn {
    folder: PathBuf,
    set: unsafe extern "C" fn(*const c_char),
    take_log: unsafe extern "C" fn() -> *mut c_char,
    free: unsafe extern "C" fn(*mut c_char),
    reset: unsafe extern "C" fn(),
    allocated: unsafe extern "C" fn() -> u64,
    alone: Mutex<()>,
    _library: Library,
}

/// One call of a driver function, or a misuse that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function, as the driver exports it; `!` for a misuse.
    pub name: String,
    /// Bytes asked for, copied or set, where the call has such a number.
    pub size: Option<u64>,
    /// The stream, where the call has one.
    pub stream: Option<u64>,
    /// What it gave back: 0 is success.
    pub result: i32,
    /// Everything the log says after the name: `key=value`, or the words of a misuse.
    pub facts: String,
}

impl Call {
    fn parse(line: &str) -> Self {
        let (name, facts) = line.split_once(' ').unwrap_or((line, ""));
        let mut call =
            Self { name: name.to_owned(), size: None, stream: None, result: 0, facts: facts.to_owned() };
        call.size = call.fact("size").and_then(|v| v.parse().ok());
        call.stream = call.fact("stream").and_then(|v| v.parse().ok());
        call.result = call.fact("result").and_then(|v| v.parse().ok()).unwrap_or(0);
        call
    }

    /// The value of `key=value` among the facts: `kernel`, `grid`, `threads`, `address`, `event`, `pinned`, `flags`.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.facts.split(' ').find_map(|fact| fact.strip_prefix(key)?.strip_prefix('='))
    }
}

/// While it lives no other test that asks for the same has the stand-in; it begins and ends with a reset.
#[derive(Debug)]
pub struct Alone {
    standin: &'static StandIn,
    _guard: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Alone {
    type Target = StandIn;

    fn deref(&self) -> &StandIn {
        self.standin
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.standin.reset();
    }
}

impl StandIn {
    /// Builds it (kernels that do not compile are left out, with a note) and loads it, once a process. To be called
    /// before anything asks for the driver.
    pub fn load() -> Result<&'static Self, String> {
        static LOADED: OnceLock<Result<StandIn, String>> = OnceLock::new();
        LOADED.get_or_init(|| Self::open(&Self::build()?)).as_ref().map_err(Clone::clone)
    }

    /// A folder with `libcuda.so.1`, `libcufile.so.0` and the kernels, for `LD_LIBRARY_PATH` of another process. That
    /// process takes its knobs from `STRILE_STANDIN` (as [`set`](Self::set)) and appends its log to `STRILE_STANDIN_LOG`.
    pub fn build() -> Result<PathBuf, String> {
        let driver = compile::standin()?;
        let cufile = compile::standin_cufile()?;
        let mut files = vec![(driver, "libcuda.so.1".to_owned()), (cufile, "libcufile.so.0".to_owned())];
        let mut list = String::new();
        let sources = compile::modules()?;
        // Compiled two at a time, then taken one after the other.
        let (mine, other) = sources.split_at(sources.len() / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| other.iter().for_each(|source| drop(Emulator::module_at(source))));
            mine.iter().for_each(|source| drop(Emulator::module_at(source)));
        });
        for source in sources {
            let module = match Emulator::module_at(&source) {
                Ok(module) => module,
                Err(error) => {
                    eprintln!("the stand-in has no kernels of {}: {error}", source.display());
                    continue;
                }
            };
            let name = format!("{}.so", source.file_stem().unwrap_or_default().to_string_lossy());
            for kernel in module.kernels() {
                let _ = writeln!(list, "{kernel} {name}");
            }
            files.push((module.path().to_owned(), name));
        }
        let mut hash = DefaultHasher::new();
        (&files, &list).hash(&mut hash);
        let folder = compile::cache()?.join(format!("standin-{:016x}", hash.finish()));
        if folder.is_dir() {
            return Ok(folder);
        }
        let partial = folder.with_extension(format!("{}.partial", std::process::id()));
        let wrong = |e: std::io::Error| format!("{}: {e}", partial.display());
        std::fs::create_dir_all(&partial).map_err(wrong)?;
        // Copies, because a loaded module is one file and one memory: tests of kernels have theirs.
        for (from, name) in &files {
            std::fs::copy(from, partial.join(name)).map_err(wrong)?;
        }
        std::fs::write(partial.join("kernels.txt"), list).map_err(wrong)?;
        if std::fs::rename(&partial, &folder).is_err() {
            // Another process was faster.
            std::fs::remove_dir_all(&partial).map_err(wrong)?;
        }
        Ok(folder)
    }

    fn open(folder: &Path) -> Result<Self, String> {
        let wrong = |e: libloading::Error| e.to_string();
        let path = folder.join("libcuda.so.1");
        // SAFETY: the library is ours; loading it runs nothing.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }.map_err(wrong)?;
        // SAFETY: as above. It stays loaded as the driver does.
        let cufile = unsafe { Library::open(Some(folder.join("libcufile.so.0")), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(cufile.map_err(wrong)?);
        // SAFETY: the types are those of `standin_control.cpp`.
        unsafe {
            Ok(Self {
                folder: folder.to_owned(),
                set: *library.get(b"strile_standin_set\0").map_err(wrong)?,
                take_log: *library.get(b"strile_standin_take_log\0").map_err(wrong)?,
                free: *library.get(b"strile_standin_free\0").map_err(wrong)?,
                reset: *library.get(b"strile_standin_reset\0").map_err(wrong)?,
                allocated: *library.get(b"strile_standin_allocated\0").map_err(wrong)?,
                alone: Mutex::new(()),
                _library: library,
            })
        }
    }

    /// The stand-in for one test at a time, with knobs and log as at the beginning.
    pub fn alone(&'static self) -> Alone {
        let guard = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.reset();
        Alone { standin: self, _guard: guard }
    }

    /// The folder it was loaded from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Turns knobs, `key=value` with spaces between: `devices`, `driver` (12040), `major`, `minor`, `multiprocessors`,
    /// `total` and `free` (bytes; allocations beyond `free` fail), `seed` (order of work; even: only what is waited
    /// for), `short` (the most bytes a cuFile read gives), and `fail=cuMemAllocFromPoolAsync:3:2`: the third call from
    /// now on of that name gives 2 and does nothing. `stick=` in place of `fail=` makes every later call that needs the
    /// context give the same code, as a driver does after a kernel faulted.
    pub fn set(&self, knobs: &str) {
        let Ok(text) = CString::new(knobs) else { return };
        // SAFETY: the text lives through the call.
        unsafe { (self.set)(text.as_ptr()) }
    }

    /// The calls and misuses since this was asked last, or since the last reset.
    pub fn calls(&self) -> Vec<Call> {
        // SAFETY: the text is the library's until it is given back below, and ends with 0.
        let text = unsafe {
            let text = (self.take_log)();
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.free)(text);
            copy
        };
        text.lines().map(Call::parse).collect()
    }

    /// Knobs, planted failures, errors and the log are as at the beginning; memory and streams stay.
    pub fn reset(&self) {
        // SAFETY: no arguments.
        unsafe { (self.reset)() }
    }

    /// Bytes of device memory that nobody has freed, once all that is queued is done.
    pub fn allocated(&self) -> u64 {
        // SAFETY: no arguments.
        unsafe { (self.allocated)() }
    }
}
