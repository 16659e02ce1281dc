//! Kernels: images built in, loaded at their first use and once per device.
//!
//! `cargo xtask kernels` compiles `kernels/*.cu` and writes the table. A cubin runs on devices of its major capability
//! and its minor or a later one; where there is none the driver compiles the PTX, which takes longer at its first use.

#![expect(unsafe_code, reason = "calls of the driver")]

#[path = "../built/table.rs"]
mod table;

use crate::device::Context;
use crate::driver::{Driver, DriverError, Handle};
use cudarc::driver::sys::{CUfunc_st, CUfunction, CUfunction_attribute as Attribute, CUmod_st, CUmodule};
use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::sync::{Arc, Mutex, PoisonError};

/// One compiled file of kernels.
#[derive(Debug)]
pub(crate) struct Image {
    /// The `.cu` file without its ending.
    pub(crate) module: &'static str,
    /// The compute capability of a cubin; `None` for PTX.
    pub(crate) capability: Option<(u32, u32)>,
    /// The file.
    pub(crate) bytes: &'static [u8],
}

/// Names of all modules built in.
pub fn modules() -> Vec<&'static str> {
    let mut names: Vec<&str> = table::IMAGES.iter().map(|image| image.module).collect();
    names.dedup();
    names
}

/// The best image of a module for a device: the cubin nearest to it, else PTX.
fn choose<'a>(images: &'a [Image], module: &str, device: (u32, u32)) -> Option<&'a Image> {
    let runs =
        |image: &&Image| image.capability.is_none_or(|(major, minor)| major == device.0 && minor <= device.1);
    images.iter().filter(|image| image.module == module).filter(runs).max_by_key(|image| image.capability)
}

/// A cubin out of the folder that `STRILE_KERNELS` names, taken before what is built in: those with line tables, which
/// sanitizers and profilers read (`xtask/python/build_kernels.py lines`).
fn for_developers(module: &str, (major, minor): (u32, u32)) -> Option<Vec<u8>> {
    let folder = std::env::var_os("STRILE_KERNELS")?;
    std::fs::read(std::path::Path::new(&folder).join(format!("{module}.sm{major}{minor}.cubin"))).ok()
}

/// The modules of a device, as far as they are loaded.
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
                let new = match for_developers(module, self.capability) {
                    Some(bytes) => Module::load(&self.context, &bytes)?,
                    None => {
                        let image = choose(table::IMAGES, module, self.capability);
                        Module::load(&self.context, image.ok_or(DriverError::NoImage { module })?.bytes)?
                    }
                };
                let new = Arc::new(new);
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
    /// Loads an image; the context is bound.
    fn load(context: &Arc<Context>, image: &[u8]) -> Result<Self, DriverError> {
        // Aligned as allocations are, and PTX is text that ends with 0.
        let mut bytes = Vec::with_capacity(image.len().saturating_add(1));
        bytes.extend_from_slice(image);
        bytes.push(0);
        let mut handle: CUmodule = std::ptr::null_mut();
        // SAFETY: both live through the call, and the driver keeps a copy of the image.
        unsafe { context.driver().cuModuleLoadData(&raw mut handle, bytes.as_ptr().cast()) }?;
        Ok(Self { handle: Handle(handle), functions: Mutex::default(), context: Arc::clone(context) })
    }

    /// An entry point; the context is bound.
    fn function(self: &Arc<Self>, entry: &'static str) -> Result<Function, DriverError> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match functions.get(entry) {
            Some(handle) => *handle,
            None => {
                // A name with a 0 in it names nothing, as the empty one.
                let name = CString::new(entry).unwrap_or_default();
                let mut handle: CUfunction = std::ptr::null_mut();
                let driver = self.context.driver();
                // SAFETY: both live through the call, and the module is loaded.
                unsafe { driver.cuModuleGetFunction(&raw mut handle, self.handle.0, name.as_ptr()) }?;
                prefer_shared_memory(driver, handle)?;
                functions.insert(entry, Handle(handle));
                Handle(handle)
            }
        };
        Ok(Function { handle, module: Arc::clone(self) })
    }
}

/// Kernels with much shared memory want as many blocks on a multiprocessor as fit: all of its memory as shared memory
/// rather than as cache.
fn prefer_shared_memory(driver: &Driver, function: CUfunction) -> Result<(), DriverError> {
    const MUCH: c_int = 8 << 10;
    const ALL: c_int = 100;
    let mut shared: c_int = 0;
    let size = Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    // SAFETY: `shared` lives through the call, and the function's module is loaded.
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

/// What a kernel was compiled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionFacts {
    /// The most threads of a CUDA block it can be launched with.
    pub threads: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Registers of a thread.
    pub registers: u32,
}

impl Function {
    pub(crate) fn handle(&self) -> CUfunction {
        self.handle.0
    }

    /// What it was compiled to.
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
        // SAFETY: `value` lives through the call, and the function's module is loaded.
        unsafe { self.module.context.driver().cuFuncGetAttribute(&raw mut value, attribute, self.handle.0) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(module: &'static str, capability: Option<(u32, u32)>) -> Image {
        Image { module, capability, bytes: b"" }
    }

    #[test]
    fn the_nearest_cubin_is_chosen_and_ptx_where_there_is_none() {
        let images = [
            image("lzw", None),
            image("lzw", Some((8, 0))),
            image("lzw", Some((8, 6))),
            image("lzw", Some((9, 0))),
            image("place", Some((9, 0))),
        ];
        let chosen = |module, device| choose(&images, module, device).map(|image| image.capability);
        assert_eq!(chosen("lzw", (8, 0)), Some(Some((8, 0))));
        assert_eq!(chosen("lzw", (8, 7)), Some(Some((8, 6))));
        assert_eq!(chosen("lzw", (9, 0)), Some(Some((9, 0))));
        assert_eq!(chosen("lzw", (7, 5)), Some(None));
        assert_eq!(chosen("lzw", (12, 0)), Some(None));
        assert_eq!(chosen("place", (9, 0)), Some(Some((9, 0))));
        assert_eq!(chosen("place", (8, 0)), None);
        assert_eq!(chosen("zstd", (9, 0)), None);
    }

    #[test]
    fn every_module_built_in_has_ptx() {
        for module in modules() {
            assert_eq!(
                choose(table::IMAGES, module, (7, 0)).map(|image| image.capability),
                Some(None),
                "{module}"
            );
        }
    }
}
