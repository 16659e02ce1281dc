//! Kernels: built-in images, loaded once per device at their first use.
//!
//! `cargo xtask kernels` compiles `kernels/*/*.cu` and writes the table. Cubins are packed, an archive per
//! architecture. A cubin runs on devices of its major capability and the same or a later minor one; without one the
//! driver compiles the PTX, which takes longer at its first use.

#![expect(unsafe_code, reason = "calls of the driver")]

#[path = "../built/table.rs"]
mod table;

use crate::device::Context;
use crate::driver::{Driver, DriverError, Handle};
use cudarc::driver::sys::{CUfunc_st, CUfunction, CUfunction_attribute as Attribute, CUmod_st, CUmodule};
use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::sync::{Arc, Mutex, PoisonError};

/// A module as PTX, which the driver compiles.
#[derive(Debug)]
pub(crate) struct Ptx {
    /// Name of the `.cu` file without its extension.
    pub(crate) module: &'static str,
    pub(crate) text: &'static [u8],
}

/// Machine code of many modules for one architecture: Zstandard frames, one after the other.
#[derive(Debug)]
pub(crate) struct Archive {
    /// Compute capability of the code.
    pub(crate) capability: (u32, u32),
    pub(crate) bytes: &'static [u8],
    /// Cubins made from the current PTX.
    pub(crate) cubins: &'static [Cubin],
}

/// Position of a module's machine code in its archive.
#[derive(Debug)]
pub(crate) struct Cubin {
    pub(crate) module: &'static str,
    /// First byte of its frame.
    pub(crate) from: usize,
    /// The byte after the last one.
    pub(crate) to: usize,
    /// Bytes of the cubin.
    pub(crate) size: usize,
}

/// Returns the names of all built-in modules.
pub fn modules() -> Vec<&'static str> {
    table::PTX.iter().map(|ptx| ptx.module).collect()
}

/// Returns the machine code of a module that suits a device best.
fn choose<'a>(archives: &'a [Archive], module: &str, device: (u32, u32)) -> Option<(&'a Archive, &'a Cubin)> {
    let runs = |archive: &&Archive| archive.capability.0 == device.0 && archive.capability.1 <= device.1;
    let held = |archive: &'a Archive| {
        archive.cubins.iter().find(|cubin| cubin.module == module).map(|cubin| (archive, cubin))
    };
    archives.iter().filter(runs).filter_map(held).max_by_key(|(archive, _)| archive.capability)
}

impl Cubin {
    /// Returns the unpacked machine code.
    fn unpack(&self, archive: &Archive) -> Option<Vec<u8>> {
        let frame = archive.bytes.get(self.from..self.to)?;
        zstd::bulk::decompress(frame, self.size).ok().filter(|code| code.len() == self.size)
    }
}

/// Returns a module's image for a device: its machine code, else its PTX, which ends with 0.
fn image(module: &'static str, device: (u32, u32)) -> Result<Vec<u8>, DriverError> {
    if let Some(code) = for_developers(module, device) {
        return Ok(code);
    }
    if let Some((archive, cubin)) = choose(table::ARCHIVES, module, device) {
        return cubin.unpack(archive).ok_or(DriverError::NoImage { module });
    }
    let ptx = table::PTX.iter().find(|ptx| ptx.module == module).ok_or(DriverError::NoImage { module })?;
    Ok([ptx.text, &[0]].concat())
}

/// Returns a cubin from the folder in `STRILE_KERNELS`, which takes precedence over built-in ones: cubins with line
/// tables, for sanitizers and profilers (`xtask/python/build_kernels.py lines`).
fn for_developers(module: &str, (major, minor): (u32, u32)) -> Option<Vec<u8>> {
    let folder = std::env::var_os("STRILE_KERNELS")?;
    std::fs::read(std::path::Path::new(&folder).join(format!("{module}.sm{major}{minor}.cubin"))).ok()
}

/// The loaded modules of a device.
#[derive(Debug)]
pub(crate) struct Modules {
    capability: (u32, u32),
    loaded: Mutex<HashMap<&'static str, Arc<Module>>>,
    context: Arc<Context>,
}

impl Modules {
    pub(crate) fn new(context: &Arc<Context>, capability: (u32, u32)) -> Self {
        Self { capability, loaded: Mutex::default(), context: Arc::clone(context) }
    }

    pub(crate) fn function(
        &self,
        module: &'static str,
        entry: &'static str,
    ) -> Result<Function, DriverError> {
        let _bound = self.context.bind()?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match loaded.get(module) {
            Some(module) => Arc::clone(module),
            None => {
                let new = Arc::new(Module::load(&self.context, &image(module, self.capability)?)?);
                loaded.insert(module, Arc::clone(&new));
                new
            }
        };
        drop(loaded);
        module.function(entry)
    }
}

#[derive(Debug)]
struct Module {
    handle: Handle<CUmod_st>,
    functions: Mutex<HashMap<&'static str, Handle<CUfunc_st>>>,
    context: Arc<Context>,
}

impl Module {
    /// Loads an image; the context must be bound.
    fn load(context: &Arc<Context>, image: &[u8]) -> Result<Self, DriverError> {
        let mut handle: CUmodule = std::ptr::null_mut();
        // SAFETY: both outlive the call, and the driver copies the image.
        unsafe { context.driver().cuModuleLoadData(&raw mut handle, image.as_ptr().cast()) }?;
        Ok(Self { handle: Handle(handle), functions: Mutex::default(), context: Arc::clone(context) })
    }

    /// Returns an entry point; the context must be bound.
    fn function(self: &Arc<Self>, entry: &'static str) -> Result<Function, DriverError> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match functions.get(entry) {
            Some(handle) => *handle,
            None => {
                // A name with a 0 in it does not exist, like the empty name.
                let name = CString::new(entry).unwrap_or_default();
                let mut handle: CUfunction = std::ptr::null_mut();
                let driver = self.context.driver();
                // SAFETY: both outlive the call, and the module is loaded.
                unsafe { driver.cuModuleGetFunction(&raw mut handle, self.handle.0, name.as_ptr()) }?;
                prefer_shared_memory(driver, handle)?;
                functions.insert(entry, Handle(handle));
                Handle(handle)
            }
        };
        Ok(Function { handle, module: Arc::clone(self) })
    }
}

/// Lets kernels with much shared memory use all of a multiprocessor's memory as shared memory rather than as cache, so
/// that as many CUDA blocks as possible fit.
fn prefer_shared_memory(driver: &Driver, function: CUfunction) -> Result<(), DriverError> {
    const MUCH: c_int = 8 << 10;
    const ALL: c_int = 100;
    let mut shared: c_int = 0;
    let size = Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    // SAFETY: `shared` outlives the call, and the function's module is loaded.
    unsafe { driver.cuFuncGetAttribute(&raw mut shared, size, function) }?;
    if shared < MUCH {
        return Ok(());
    }
    let carveout = Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    // SAFETY: as above; the value is a number.
    unsafe { driver.cuFuncSetAttribute(function, carveout, ALL) }
}

impl Drop for Module {
    fn drop(&mut self) {
        let Ok(_bound) = self.context.bind() else { return };
        // SAFETY: every function has held the module.
        let _ = unsafe { self.context.driver().cuModuleUnload(self.handle.0) };
    }
}

/// An entry point of a loaded module.
#[derive(Debug, Clone)]
pub struct Function {
    handle: Handle<CUfunc_st>,
    module: Arc<Module>,
}

/// Properties of a compiled kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Maximum threads per CUDA block.
    pub threads: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Registers per thread.
    pub registers: u32,
}

impl Function {
    pub(crate) fn handle(&self) -> CUfunction {
        self.handle.0
    }

    /// Returns the properties of the compiled kernel.
    pub fn facts(&self) -> Result<FunctionFacts, DriverError> {
        let _bound = self.module.context.bind()?;
        Ok(FunctionFacts {
            threads: self.attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            shared: self.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            registers: self.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        })
    }

    fn attribute(&self, attribute: Attribute) -> Result<u32, DriverError> {
        let mut value: c_int = 0;
        // SAFETY: `value` outlives the call, and the function's module is loaded.
        unsafe { self.module.context.driver().cuFuncGetAttribute(&raw mut value, attribute, self.handle.0) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn archive(capability: (u32, u32), cubins: &'static [Cubin]) -> Archive {
        Archive { capability, bytes: b"", cubins }
    }

    const LZW: Cubin = Cubin { module: "lzw", from: 0, to: 0, size: 0 };
    const PLACE: Cubin = Cubin { module: "place", from: 0, to: 0, size: 0 };

    #[test]
    fn the_nearest_machine_code_is_chosen() {
        let archives = [archive((8, 0), &[LZW]), archive((8, 6), &[LZW]), archive((9, 0), &[LZW, PLACE])];
        let chosen =
            |module, device| choose(&archives, module, device).map(|(archive, _)| archive.capability);
        assert_eq!(chosen("lzw", (8, 0)), Some((8, 0)));
        assert_eq!(chosen("lzw", (8, 7)), Some((8, 6)));
        assert_eq!(chosen("lzw", (9, 0)), Some((9, 0)));
        assert_eq!(chosen("lzw", (7, 5)), None);
        assert_eq!(chosen("lzw", (12, 0)), None);
        assert_eq!(chosen("place", (9, 0)), Some((9, 0)));
        assert_eq!(chosen("place", (8, 0)), None);
        assert_eq!(chosen("zstd", (9, 0)), None);
    }

    #[test]
    fn all_machine_code_can_be_unpacked() {
        // Turing, Ampere and Ada, Hopper, and the two kinds of Blackwell.
        let capabilities: Vec<_> = table::ARCHIVES.iter().map(|archive| archive.capability).collect();
        assert_eq!(capabilities, [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)]);
        for archive in table::ARCHIVES {
            for cubin in archive.cubins {
                let code = cubin.unpack(archive).unwrap();
                assert!(code.starts_with(b"\x7fELF"), "{}", cubin.module);
            }
        }
    }

    #[test]
    fn without_machine_code_a_device_gets_ptx() {
        for module in modules() {
            let ptx = image(module, (7, 0)).unwrap();
            assert!(ptx.starts_with(b"//") && ptx.ends_with(&[0]), "{module}");
        }
        assert!(matches!(image("none", (7, 0)), Err(DriverError::NoImage { module: "none" })));
    }
}
