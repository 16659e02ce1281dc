//! Input pixels of jobs: shared read-only memory with a shape, on the host or on a device.

use crate::{DeviceBytes, EngineError, HostMemory, Location, OutputError, OutputSpec};
use std::sync::Arc;

/// Host or device memory with pixels that a job encodes, reduces, resamples or warps. Clones share the memory.
#[derive(Debug, Clone)]
pub struct SharedPixels {
    spec: OutputSpec,
    memory: Memory,
    /// Offset of the first sample in the memory.
    offset: usize,
}

#[derive(Debug, Clone)]
enum Memory {
    Host(Arc<dyn HostMemory>),
    Device(DeviceBytes),
}

impl SharedPixels {
    /// Returns pixels in `bytes`, which must hold at least what `spec` spans.
    pub fn new(spec: OutputSpec, bytes: Arc<Vec<u8>>) -> Result<Self, OutputError> {
        Self::in_memory(spec, bytes)
    }

    /// Returns pixels in host memory of another kind, which must hold at least what `spec` spans.
    pub fn in_memory(spec: OutputSpec, memory: Arc<dyn HostMemory>) -> Result<Self, OutputError> {
        let have = memory.bytes().len() as u64;
        Self::checked(spec, Memory::Host(memory), have)
    }

    /// Returns pixels in the memory of a device, which must hold at least what `spec` spans and must not be written to
    /// while any clone lives.
    pub fn on_device(spec: OutputSpec, memory: DeviceBytes) -> Result<Self, OutputError> {
        let have = memory.len();
        Self::checked(spec, Memory::Device(memory), have)
    }

    fn checked(spec: OutputSpec, memory: Memory, have: u64) -> Result<Self, OutputError> {
        let need = spec.len()? as u64;
        if need > have {
            return Err(OutputError::TooSmall { need, have });
        }
        Ok(Self { spec, memory, offset: 0 })
    }

    /// Returns the shape.
    pub fn spec(&self) -> &OutputSpec {
        &self.spec
    }

    /// Returns the location of the memory.
    pub fn location(&self) -> Location {
        match &self.memory {
            Memory::Host(_) => Location::Host,
            Memory::Device(bytes) => Location::Cuda(bytes.device()),
        }
    }

    /// Checks that the memory is on the host or in `here`, where an engine can access it.
    pub fn check_reached(&self, here: Location) -> Result<(), EngineError> {
        let location = self.location();
        if location == Location::Host || location == here {
            return Ok(());
        }
        let expected = match here {
            Location::Host => "pixels on the host".to_owned(),
            Location::Cuda(_) => format!("pixels on the host or in {here}"),
        };
        Err(EngineError::Mismatch { what: "pixels", found: format!("pixels in {location}"), expected })
    }

    /// Returns the bytes from the first sample on if they are on the host; sample (band, row, column) begins at the sum
    /// of its strides. Empty for pixels on a device.
    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Host(memory) => memory.bytes().get(self.offset..).unwrap_or_default(),
            Memory::Device(_) => &[],
        }
    }

    /// Returns the device address of the first sample, if the pixels are on a device.
    pub fn address(&self) -> Option<u64> {
        match &self.memory {
            Memory::Host(_) => None,
            Memory::Device(bytes) => bytes.address().checked_add(self.offset as u64),
        }
    }

    /// Returns a rectangle of the pixels with all bands, in the same memory; `None` if it leaves them.
    pub fn part(&self, (x, y): (u32, u32), (columns, rows): (u32, u32)) -> Option<Self> {
        let fits = |from: u32, n: u32, all: u32| from.checked_add(n).is_some_and(|end| end <= all);
        let mut part = self.clone();
        if !fits(x, columns, self.spec.columns) || !fits(y, rows, self.spec.rows) {
            return None;
        }
        (part.spec.columns, part.spec.rows) = (columns, rows);
        let strides = self.spec.strides;
        part.offset += x as usize * strides.column + y as usize * strides.row;
        Some(part)
    }

    /// Returns one band, in the same memory; `None` if there is no such band.
    pub fn band(&self, band: u32) -> Option<Self> {
        let mut one = self.clone();
        one.spec.bands = (band < self.spec.bands).then_some(1)?;
        one.offset += band as usize * self.spec.strides.band;
        Some(one)
    }

    /// Returns the bytes of samples `columns` (half-open) of a row, a sample every `spec().strides.column` bytes;
    /// `None` if they leave the pixels, or if the pixels are not on the host.
    pub fn row(&self, band: u32, row: u32, columns: (u32, u32)) -> Option<&[u8]> {
        let OutputSpec { data_type, bands, rows, columns: across, strides } = &self.spec;
        if band >= *bands || row >= *rows || columns.0 >= columns.1 || columns.1 > *across {
            return None;
        }
        let start =
            band as usize * strides.band + row as usize * strides.row + columns.0 as usize * strides.column;
        let len = (columns.1 - columns.0 - 1) as usize * strides.column + data_type.size();
        self.bytes().get(start..start.checked_add(len)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;

    fn pixels() -> SharedPixels {
        let spec = OutputSpec::band_last(DataType::U8, 2, 2, 3).unwrap();
        assert!(SharedPixels::new(spec.clone(), Arc::new(vec![0; 11])).is_err());
        SharedPixels::new(spec, Arc::new((0..12).collect())).unwrap()
    }

    #[test]
    fn rows_are_found_by_strides_and_never_outside() {
        let pixels = pixels();
        assert_eq!(pixels.row(1, 1, (1, 3)), Some(&[9, 10, 11][..]));
        assert_eq!(pixels.row(0, 2, (0, 1)), None);
        assert_eq!(pixels.row(0, 0, (2, 4)), None);
        assert_eq!(pixels.row(2, 0, (0, 1)), None);
    }

    #[test]
    fn parts_and_bands_lie_in_the_same_memory() {
        let part = pixels().part((1, 1), (2, 1)).unwrap();
        assert_eq!(part.row(0, 0, (0, 2)), Some(&[8, 9, 10][..]));
        assert_eq!(part.row(0, 1, (0, 1)), None);
        let band = part.band(1).unwrap();
        assert_eq!((band.spec().bands, band.row(0, 0, (0, 2))), (1, Some(&[9, 10, 11][..])));
        assert!(pixels().part((2, 0), (2, 1)).is_none() && pixels().band(2).is_none());
        assert!(pixels().part((u32::MAX, 0), (2, 1)).is_none());
    }
}
