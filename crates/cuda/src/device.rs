//! Devices: enumeration, and one shared [`Device`] per index and process.
//!
//! A device uses its primary context, the one that every CUDA library of the process uses, and is closed with its last
//! user. It owns the resources that jobs share: the memory pool, the budget, the pinned ring and the loaded kernels.

#![expect(unsafe_code, reason = "calls of the driver")]

mod context;

pub use context::{Bound, Context};

use crate::driver::{Driver, DriverError, Unavailable};
use crate::memory::{Budget, Pool, Ring};
use crate::module::{Function, Modules};
use crate::stream::Stream;
use cudarc::driver::sys::{CUdevice, CUdevice_attribute as Attribute, CUuuid};
use std::ffi::{c_char, c_int};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Oldest compute capability that the kernels are compiled for.
pub const OLDEST_CAPABILITY: (u32, u32) = (7, 0);

/// Properties of a device that is not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Index among the devices that `CUDA_VISIBLE_DEVICES` lets this process see, from 0.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory: u64,
    /// UUID in the format of `nvidia-smi -L`.
    pub uuid: String,
    /// The CUDA version of the driver: 1000 × major + 10 × minor.
    pub driver: u32,
}

impl DeviceFacts {
    fn of(driver: &Driver, index: u32) -> Result<(Self, CUdevice), Unavailable> {
        let count = driver.device_count()?;
        let ordinal = c_int::try_from(index).ok().filter(|_| index < count);
        let ordinal = ordinal.ok_or(Unavailable::NoSuchDevice { index, count })?;
        let mut device: CUdevice = 0;
        // SAFETY: `device` outlives the call.
        unsafe { driver.cuDeviceGet(&raw mut device, ordinal) }?;
        let facts = Self {
            index,
            name: name(driver, device)?,
            capability: (
                attribute(driver, device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(driver, device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(driver, device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory: memory(driver, device)?,
            uuid: uuid(driver, device)?,
            driver: driver.version(),
        };
        Ok((facts, device))
    }

    /// Checks whether the kernels run on it; the error says why not.
    pub fn usable(&self) -> Result<(), Unavailable> {
        if self.capability >= OLDEST_CAPABILITY {
            return Ok(());
        }
        Err(Unavailable::DeviceTooOld { name: self.name.clone(), capability: self.capability })
    }
}

/// Returns all devices that this process sees, including those that are too old; none is an error. Opens none of them.
pub fn devices() -> Result<Vec<DeviceFacts>, Unavailable> {
    let driver = Driver::get()?;
    (0..driver.device_count()?).map(|index| DeviceFacts::of(driver, index).map(|(facts, _)| facts)).collect()
}

/// Maximum device memory that this process keeps between reads: getting memory back from the driver takes longer than
/// decoding into it.
const KEPT: u64 = 4 << 30;

/// An open device.
#[derive(Debug)]
pub struct Device {
    facts: DeviceFacts,
    pool: Arc<Pool>,
    budget: Arc<Budget>,
    /// Maximum bytes that the pool keeps.
    kept: u64,
    ring: Ring,
    modules: Modules,
    /// Last field: everything above lies in it.
    context: Arc<Context>,
}

/// Returns the limit in bytes for this process, given free and total memory and the number of processes in
/// `STRILE_GPU_SHARE`.
fn limit_of((free, total): (u64, u64), told: Option<&str>) -> Result<u64, Unavailable> {
    let processes = match told.map(str::trim).filter(|text| !text.is_empty()) {
        None => 1,
        Some(text) => match text.parse() {
            Ok(count) if count > 0 => count,
            _ => return Err(Unavailable::Share { found: text.to_owned() }),
        },
    };
    Ok(free.min(total / processes) / 10 * 9)
}

impl Device {
    /// Returns the device of that index, shared by all its users.
    pub fn open(index: u32) -> Result<Arc<Self>, Unavailable> {
        static OPEN: Mutex<Vec<Weak<Device>>> = Mutex::new(Vec::new());
        // First, so that a forked process does not wait for a lock that no thread of it holds.
        let driver = Driver::get()?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(|device| device.facts.index == index)
        {
            return Ok(device);
        }
        let device = Arc::new(Self::new(driver, index)?);
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&device));
        Ok(device)
    }

    fn new(driver: &'static Driver, index: u32) -> Result<Self, Unavailable> {
        let (facts, device) = DeviceFacts::of(driver, index)?;
        facts.usable()?;
        let context = Arc::new(Context::retain(driver, device)?);
        let pool = Pool::new(&context)?;
        let (free, total) = context.memory()?;
        let told = std::env::var_os("STRILE_GPU_SHARE").map(|text| text.to_string_lossy().into_owned());
        let limit = limit_of((free, total), told.as_deref())?;
        let kept = (free / 32).min(KEPT);
        pool.keep(kept)?;
        Ok(Self {
            pool: Arc::new(pool),
            budget: Arc::new(Budget::new(limit)),
            kept,
            ring: Ring::new(&context),
            modules: Modules::new(&context, facts.capability),
            facts,
            context,
        })
    }

    /// Returns its properties.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Returns its context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Makes its context current on this thread until the binding is dropped.
    pub fn bind(&self) -> Result<Bound<'_>, DriverError> {
        self.context.bind()
    }

    /// Returns a new stream, which does not wait for the default stream.
    pub fn stream(&self) -> Result<Stream, DriverError> {
        Stream::new(&self.context)
    }

    /// Returns the pool of device memory.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Returns the budget of the pool; 90 % of the memory that was free when the device was opened, or of this
    /// process's part of the card if `STRILE_GPU_SHARE` says how many processes share it.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Sets a new memory limit; memory that the pool keeps above it is returned to the driver.
    pub fn set_memory_limit(&self, bytes: u64) -> Result<(), DriverError> {
        self.budget.set_limit(bytes);
        let kept = bytes.min(self.kept);
        self.pool.keep(kept)?;
        self.pool.trim(usize::try_from(kept).unwrap_or(usize::MAX))
    }

    /// Returns the pinned slabs for encoded bytes on their way to the device.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Returns a kernel, loaded at its first use.
    pub fn function(&self, module: &'static str, entry: &'static str) -> Result<Function, DriverError> {
        self.modules.function(module, entry)
    }
}

fn name(driver: &Driver, device: CUdevice) -> Result<String, DriverError> {
    const LEN: u8 = 255;
    let mut bytes = [0u8; LEN as usize];
    // SAFETY: the driver writes at most this many bytes.
    unsafe { driver.cuDeviceGetName(bytes.as_mut_ptr().cast::<c_char>(), c_int::from(LEN), device) }?;
    let written = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(written).into_owned())
}

fn attribute(driver: &Driver, device: CUdevice, attribute: Attribute) -> Result<u32, DriverError> {
    let mut value: c_int = 0;
    // SAFETY: `value` outlives the call.
    unsafe { driver.cuDeviceGetAttribute(&raw mut value, attribute, device) }?;
    // Negative values do not occur; a capability of 0 is too old, and 0 multiprocessors make launches of 1 block.
    Ok(u32::try_from(value).unwrap_or(0))
}

fn memory(driver: &Driver, device: CUdevice) -> Result<u64, DriverError> {
    let mut bytes = 0usize;
    // SAFETY: `bytes` outlives the call.
    unsafe { driver.cuDeviceTotalMem_v2(&raw mut bytes, device) }?;
    Ok(bytes as u64)
}

fn uuid(driver: &Driver, device: CUdevice) -> Result<String, DriverError> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: `uuid` outlives the call.
    unsafe { driver.cuDeviceGetUuid_v2(&raw mut uuid, device) }?;
    let mut text = String::from("GPU");
    for (at, byte) in uuid.bytes.into_iter().enumerate() {
        let hyphen = if matches!(at, 0 | 4 | 6 | 8 | 10) { "-" } else { "" };
        let [byte] = byte.to_ne_bytes();
        // Writing to a string does not fail.
        let _ = write!(text, "{hyphen}{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_take_their_part_and_never_more_than_is_free() {
        let limit = |free, told| limit_of((free, 1000), told).map_err(|error| error.to_string());
        assert_eq!([limit(800, None), limit(800, Some(" "))], [Ok(720), Ok(720)]);
        assert_eq!([limit(800, Some("4")), limit(100, Some(" 2 "))], [Ok(225), Ok(90)]);
        for wrong in ["0", "many", "-1", "1.5"] {
            let told = format!(
                "STRILE_GPU_SHARE is `{wrong}`: expected the number of processes sharing the card, 1 or more"
            );
            assert_eq!(limit(800, Some(wrong)), Err(told));
        }
    }
}
