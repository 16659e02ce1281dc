//! Pixels to be encoded or reduced: memory with a shape, shared and never written.

use crate::{OutputError, OutputSpec};
use std::sync::Arc;

/// Pixels that jobs read. Clones share the memory.
#[derive(Debug, Clone)]
pub struct Pixels {
    spec: OutputSpec,
    bytes: Arc<Vec<u8>>,
}

impl Pixels {
    /// Pixels in `bytes`, which hold at least what `spec` spans.
    pub fn new(spec: OutputSpec, bytes: Arc<Vec<u8>>) -> Result<Self, OutputError> {
        let need = spec.len()?;
        if need > bytes.len() {
            return Err(OutputError::TooSmall { need: need as u64, have: bytes.len() as u64 });
        }
        Ok(Self { spec, bytes })
    }

    /// The shape.
    pub fn spec(&self) -> &OutputSpec {
        &self.spec
    }

    /// The bytes; sample (band, row, column) begins at the sum of its strides.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes from sample (`band`, `row`, `column`) to the end of the `width`-th sample of that row, a
    /// sample every `spec().strides.column` bytes; `None` where that leaves the pixels.
    pub fn row(&self, band: u32, row: u32, columns: (u32, u32)) -> Option<&[u8]> {
        let OutputSpec { data_type, bands, rows, columns: across, strides } = &self.spec;
        if band >= *bands || row >= *rows || columns.0 >= columns.1 || columns.1 > *across {
            return None;
        }
        let start =
            band as usize * strides.band + row as usize * strides.row + columns.0 as usize * strides.column;
        let len = (columns.1 - columns.0 - 1) as usize * strides.column + data_type.size();
        self.bytes.get(start..start.checked_add(len)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;

    #[test]
    fn rows_are_found_by_strides_and_never_outside() {
        let spec = OutputSpec::band_last(DataType::U8, 2, 2, 3).unwrap();
        assert!(Pixels::new(spec.clone(), Arc::new(vec![0; 11])).is_err());
        let pixels = Pixels::new(spec, Arc::new((0..12).collect())).unwrap();
        assert_eq!(pixels.row(1, 1, (1, 3)), Some(&[9, 10, 11][..]));
        assert_eq!(pixels.row(0, 2, (0, 1)), None);
        assert_eq!(pixels.row(0, 0, (2, 4)), None);
        assert_eq!(pixels.row(2, 0, (0, 1)), None);
    }
}
