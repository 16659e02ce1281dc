//! Loaded modules and launches.
//!
//! A loaded copy of a module runs one launch at a time, because its shared memory and its threads are global in it. So
//! that tests on several threads do not wait for each other, each module may be loaded as several copies.
#![expect(unsafe_code, reason = "calls into the compiled kernels")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::compile;

type KernelFn = unsafe extern "C" fn(u32, *mut u32, *mut u32) -> *const c_char;
type LaunchFn = unsafe extern "C" fn(*const Launch, *const c_void) -> *const c_char;

/// How far a launch may go before it is called endless.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Times a thread of one block goes on after it waited.
    pub steps: u64,
    /// Seconds of processor time of the whole launch.
    pub seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 200_000_000, seconds: 120 }
    }
}

/// Twin of `Launch` in `launch.cpp`.
#[repr(C)]
struct Launch {
    seed: u64,
    steps: u64,
    kernel: u32,
    grid: (u32, u32),
    threads: u32,
    seconds: u32,
    reserved: u32,
}

/// The way in to compiled kernels.
#[derive(Debug)]
pub struct Emulator;

/// One `.cu` file, compiled.
#[derive(Debug)]
pub struct Module {
    name: String,
    path: PathBuf,
    kernels: Vec<Kernel>,
    free: Mutex<Vec<Loaded>>,
}

#[derive(Debug)]
struct Kernel {
    name: String,
    threads: u32,
    args_size: usize,
}

#[derive(Debug)]
struct Loaded {
    launch: LaunchFn,
    kernel: KernelFn,
    _library: Library,
}

impl Emulator {
    /// The kernels of `NAME.cu` in a folder of `crates/cuda/kernels`, compiled at the first call in this process; the error
    /// names the file and holds what the compiler said.
    pub fn module(name: &str) -> Result<&'static Module, String> {
        let source =
            compile::modules()?.into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        Self::module_at(&source.ok_or_else(|| format!("no folder of crates/cuda/kernels has {name}.cu"))?)
    }

    /// The kernels of any `.cu` file.
    pub fn module_at(source: &Path) -> Result<&'static Module, String> {
        type Slot = Arc<OnceLock<Result<&'static Module, String>>>;
        static MODULES: OnceLock<Mutex<HashMap<PathBuf, Slot>>> = OnceLock::new();
        let slot = {
            let modules = MODULES.get_or_init(Mutex::default);
            let mut modules = modules.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(modules.entry(source.to_owned()).or_default())
        };
        // Modules stay loaded: their code must not go away under a launch.
        slot.get_or_init(|| Module::load(source).map(|module| &*Box::leak(Box::new(module)))).clone()
    }

    /// The seeds every kernel test runs under. Where ThreadSanitizer watches one order of threads is as good as another.
    pub fn seeds() -> std::ops::Range<u64> {
        if compile::watched_for_races() { 0..2 } else { 0..16 }
    }
}

impl Module {
    fn load(source: &Path) -> Result<Self, String> {
        let path = compile::module(source)?;
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let copy = Loaded::load(&path)?;
        let mut kernels = Vec::new();
        for i in 0.. {
            let (mut threads, mut args_size) = (0, 0);
            // SAFETY: the function writes the two numbers and gives null or a name that lives as long as the library.
            let found = unsafe { (copy.kernel)(i, &mut threads, &mut args_size) };
            if found.is_null() {
                break;
            }
            // SAFETY: as above; the name is a string literal of the kernel's source.
            let found = unsafe { CStr::from_ptr(found) }.to_string_lossy().into_owned();
            kernels.push(Kernel { name: found, threads, args_size: args_size as usize });
        }
        Ok(Self { name, path, kernels, free: Mutex::new(vec![copy]) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|k| k.name.as_str())
    }

    /// The number of threads in `KERNEL(name, THREADS, …)`, if it has that kernel.
    pub fn threads(&self, kernel: &str) -> Option<u32> {
        self.kernels.iter().find(|k| k.name == kernel).map(|k| k.threads)
    }

    /// Runs `kernel` on a grid of (x, y) blocks of `threads` threads to its end. `args` is the twin of the kernel's struct
    /// and holds addresses of memory of this process.
    ///
    /// The memory behind those addresses is read and written: it must be alive, large enough, and not in use by anyone
    /// else until this returns. After an error its content means nothing.
    pub fn launch<T: Copy>(
        &self,
        kernel: &str,
        grid: (u32, u32),
        threads: u32,
        args: &T,
        seed: u64,
    ) -> Result<(), String> {
        self.launch_within(Limits::default(), kernel, grid, threads, args, seed)
    }

    /// As [`launch`](Self::launch), with limits of the caller's.
    pub fn launch_within<T: Copy>(
        &self,
        limits: Limits,
        kernel: &str,
        grid: (u32, u32),
        threads: u32,
        args: &T,
        seed: u64,
    ) -> Result<(), String> {
        let Limits { steps, seconds } = limits;
        let launch = Launch { seed, steps, kernel: 0, grid, threads, seconds, reserved: 0 };
        // SAFETY: `args` is as long as it says.
        let bytes =
            unsafe { std::slice::from_raw_parts(std::ptr::from_ref(args).cast::<u8>(), size_of::<T>()) };
        self.launch_bytes(kernel, launch, bytes)
    }

    fn launch_bytes(&self, kernel: &str, mut launch: Launch, args: &[u8]) -> Result<(), String> {
        let Some((index, found)) = (0u32..).zip(&self.kernels).find(|(_, k)| k.name == kernel) else {
            let known: Vec<&str> = self.kernels().collect();
            return Err(format!("{} has no kernel {kernel}, only {}", self.name, known.join(", ")));
        };
        if found.args_size != args.len() {
            let (name, want, got) = (&self.name, found.args_size, args.len());
            return Err(format!("{name}: {kernel} takes {want} bytes of arguments, not {got}"));
        }
        launch.kernel = index;
        // Kernels may expect their arguments as aligned as their struct is; 16 is the most any of them asks for.
        let mut aligned = vec![0u128; args.len().div_ceil(16)];
        // SAFETY: the copy is at least as long, and of another allocation.
        unsafe {
            std::ptr::copy_nonoverlapping(args.as_ptr(), aligned.as_mut_ptr().cast::<u8>(), args.len())
        };
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let copy = free.map_or_else(|| Loaded::load_again(&self.path), Ok)?;
        // SAFETY: nobody else has this copy; the arguments have the size the kernel says. What the addresses in them
        // point to is the caller's care, as documented.
        let said = unsafe { (copy.launch)(&raw const launch, aligned.as_ptr().cast()) };
        let result = if said.is_null() {
            Ok(())
        } else {
            // SAFETY: a string in the copy's own memory, valid until its next launch.
            Err(unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned())
        };
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        result
    }
}

impl Loaded {
    fn load(path: &Path) -> Result<Self, String> {
        let wrong = |e: libloading::Error| format!("{}: {e}", path.display());
        // SAFETY: the library is ours; loading it only enters its kernels into a list.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(wrong)?;
        // SAFETY: the types are those of `launch.cpp`.
        let (kernel, launch) = unsafe {
            let kernel = *library.get::<KernelFn>(b"strile_kernel\0").map_err(wrong)?;
            let launch = *library.get::<LaunchFn>(b"strile_launch\0").map_err(wrong)?;
            (kernel, launch)
        };
        Ok(Self { launch, kernel, _library: library })
    }

    /// Another copy with memory of its own: the loader tells libraries apart by file.
    fn load_again(path: &Path) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let copy = std::env::temp_dir().join(format!("strile-emulate-{}-{number}.so", std::process::id()));
        std::fs::copy(path, &copy).map_err(|e| format!("{}: {e}", copy.display()))?;
        let loaded = Self::load(&copy);
        let _ = std::fs::remove_file(&copy);
        loaded
    }
}
