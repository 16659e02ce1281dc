//! Pixels as samples of a Rust type.

use crate::error::{Error, Result};
use crate::raster::Raster;
use bytemuck::{AnyBitPattern, pod_read_unaligned, try_cast_slice};
use std::borrow::Cow;
use strile_tiff::DataType;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that samples can have. Complex samples are pairs: real part, imaginary part.
pub trait Sample: sealed::Sealed + AnyBitPattern + bytemuck::NoUninit {
    /// The type of the samples.
    const DATA_TYPE: DataType;
}

macro_rules! samples {
    ($($rust:ty = $name:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $rust {}
            impl Sample for $rust {
                const DATA_TYPE: DataType = DataType::$name;
            }
        )*
    };
}

samples! {
    u8 = U8, i8 = I8, u16 = U16, i16 = I16, u32 = U32, i32 = I32, u64 = U64, i64 = I64,
    f32 = F32, f64 = F64, [f32; 2] = C64, [f64; 2] = C128,
}

impl Raster {
    /// Returns the samples, in the order of [`Raster::interleave`]; an error where they are of another type. Half floats have
    /// no Rust type: [`Raster::pixels`] holds their bytes.
    ///
    /// The samples are borrowed where the pixels are aligned for the type, which is nearly always, and copied otherwise.
    ///
    /// ```
    /// # use testkit::{ImageSpec, Pattern, Pixels};
    /// # use strile::io::MemorySource;
    /// # use strile::{Context, Dataset, OpenOptions, ReadOptions, tiff};
    /// # let sample = tiff::SampleType { format: tiff::SampleFormat::Float, bits: 32 };
    /// # let pixels = Pixels::generate(Pattern::Dem, sample, [1, 6, 8], 1);
    /// # let bytes = ImageSpec::new(sample).build(&pixels, tiff::ByteOrder::Little, false).bytes;
    /// # let source = std::sync::Arc::new(MemorySource::new("dem.tif", bytes));
    /// # let dataset = Dataset::from_source(source, &OpenOptions::default())?;
    /// let raster = dataset.read(&ReadOptions::new(), &Context::default())?;
    /// let heights = raster.samples::<f32>()?;
    /// assert_eq!(heights.len(), 6 * 8);
    /// assert!(raster.samples::<u16>().is_err());
    /// # Ok::<(), strile::Error>(())
    /// ```
    pub fn samples<T: Sample>(&self) -> Result<Cow<'_, [T]>> {
        if T::DATA_TYPE != self.data_type {
            return Err(Error::SampleType { expected: T::DATA_TYPE, found: self.data_type });
        }
        Ok(samples_of(&self.pixels))
    }
}

fn samples_of<T: Sample>(bytes: &[u8]) -> Cow<'_, [T]> {
    match try_cast_slice(bytes) {
        Ok(samples) => Cow::Borrowed(samples),
        Err(_) => Cow::Owned(bytes.chunks_exact(size_of::<T>()).map(pod_read_unaligned).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Interleave;
    use strile_engine::Fill;

    fn raster(data_type: DataType, pixels: Vec<u8>) -> Raster {
        let columns = u32::try_from(pixels.len() / data_type.size()).unwrap();
        let interleave = Interleave::BandFirst;
        let (fill, faults) = (Fill::default(), Vec::new());
        Raster { data_type, bands: 1, rows: 1, columns, interleave, pixels, fill, faults }
    }

    #[test]
    fn samples_have_the_type_of_the_raster() {
        let bytes: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(raster(DataType::F64, bytes.clone()).samples::<f64>().unwrap().as_ref(), [1.5, -2.0]);
        assert_eq!(
            raster(DataType::C128, bytes.clone()).samples::<[f64; 2]>().unwrap().as_ref(),
            [[1.5, -2.0]]
        );
        let refused = raster(DataType::U8, bytes).samples::<i8>().unwrap_err();
        assert_eq!(refused.to_string(), "expected samples of type int8, the raster holds uint8");
        assert_eq!(refused.kind(), crate::ErrorKind::InvalidRequest);
    }

    #[test]
    fn bytes_at_any_address_are_readable() {
        let whole: Vec<u8> = std::iter::once(0).chain((7u32..40).flat_map(u32::to_ne_bytes)).collect();
        let expected: Vec<u32> = (7..40).collect();
        assert_eq!(samples_of::<u32>(&whole[1..]).as_ref(), expected);
        assert!(matches!(samples_of::<u32>(&whole[1..]), Cow::Owned(_)));
    }
}
