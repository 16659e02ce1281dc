//! Pixels as arrays of the `ndarray` crate (feature `ndarray`).

use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::pixels::{Pixels, Sample};
use ndarray::{Array, ArrayView, Axis, CowArray, Dimension, Ix3, Ix4, ShapeError};
use std::borrow::Cow;
use strile_engine::EngineError;
use strile_engine::memory::try_with_capacity;

impl Pixels {
    /// Returns the samples as an array (band, row, column), also if pixels are interleaved: the strides of the array
    /// follow the memory. The samples are borrowed like those of [`samples`](Self::samples).
    ///
    /// ```
    /// # use testkit::{ImageSpec, Pattern, Pixels};
    /// # use strile::io::MemorySource;
    /// # use strile::{Context, Dataset, OpenOptions, ReadOptions, tiff};
    /// # let sample = tiff::SampleType { format: tiff::SampleFormat::Float, bits: 32 };
    /// # let pixels = Pixels::generate(Pattern::Dem, sample, [2, 6, 8], 1);
    /// # let bytes = ImageSpec::new(sample).build(&pixels, tiff::ByteOrder::Little, false).bytes;
    /// # let source = std::sync::Arc::new(MemorySource::new("dem.tif", bytes));
    /// # let dataset = Dataset::from_source(source, &OpenOptions::default())?;
    /// let pixels = dataset.read(&ReadOptions::new(), &Context::default())?;
    /// let heights = pixels.as_ndarray::<f32>()?;
    /// assert_eq!(heights.shape(), [2, 6, 8]);
    /// let highest = heights.iter().copied().fold(f32::MIN, f32::max);
    /// # assert!(highest > f32::MIN);
    /// # Ok::<(), strile::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the samples have another type or are in GPU memory, or if the pixels are a batch, which
    /// [`as_ndarray4`](Self::as_ndarray4) returns.
    pub fn as_ndarray<T: Sample>(&self) -> Result<CowArray<'_, T, Ix3>> {
        if let Some(windows) = self.windows {
            return Err(Error::Request {
                file: format!("batch of {windows} windows"),
                problem: "expected one window, got a batch; use the arrays of four dimensions".to_owned(),
            });
        }
        let [_, bands, rows, columns] = self.shape().map(|side| side as usize);
        match self.interleave {
            Interleave::BandFirst => shaped(self.samples()?, (bands, rows, columns)),
            Interleave::BandLast => {
                Ok(shaped(self.samples()?, (rows, columns, bands))?.permuted_axes([2, 0, 1]))
            }
        }
    }

    /// Returns the samples as an array (window, band, row, column); a read that is not a batch has one window. The samples
    /// are borrowed like those of [`samples`](Self::samples).
    ///
    /// # Errors
    /// If the samples have another type or are in GPU memory.
    pub fn as_ndarray4<T: Sample>(&self) -> Result<CowArray<'_, T, Ix4>> {
        if self.windows.is_none() {
            return Ok(self.as_ndarray()?.insert_axis(Axis(0)));
        }
        let [windows, bands, rows, columns] = self.shape().map(|side| side as usize);
        shaped(self.samples()?, (windows, bands, rows, columns))
    }

    /// Returns a copy of the samples as an array (band, row, column), in the order of the memory.
    ///
    /// # Errors
    /// Those of [`as_ndarray`](Self::as_ndarray), and if there is no memory for the copy.
    pub fn into_ndarray<T: Sample>(self) -> Result<Array<T, Ix3>> {
        owned(self.as_ndarray()?)
    }

    /// Returns a copy of the samples as an array (window, band, row, column).
    ///
    /// # Errors
    /// Those of [`as_ndarray4`](Self::as_ndarray4), and if there is no memory for the copy.
    pub fn into_ndarray4<T: Sample>(self) -> Result<Array<T, Ix4>> {
        owned(self.as_ndarray4()?)
    }
}

fn mismatch(_: ShapeError) -> Error {
    Error::Engine(EngineError::Abandoned)
}

fn shaped<'a, T: Sample, D: Dimension>(
    samples: Cow<'a, [T]>,
    shape: impl Into<ndarray::StrideShape<D>>,
) -> Result<CowArray<'a, T, D>> {
    Ok(match samples {
        Cow::Borrowed(samples) => ArrayView::from_shape(shape, samples).map_err(mismatch)?.into(),
        Cow::Owned(samples) => Array::from_shape_vec(shape, samples).map_err(mismatch)?.into(),
    })
}

/// Returns a copy with the same strides.
fn owned<T: Sample, D: Dimension>(array: CowArray<'_, T, D>) -> Result<Array<T, D>> {
    if array.is_owned() {
        return Ok(array.into_owned());
    }
    let memory = array.as_slice_memory_order().ok_or(Error::Engine(EngineError::Abandoned))?;
    let mut samples: Vec<T> = try_with_capacity(memory.len(), "an array of the pixels")?;
    samples.extend_from_slice(memory);
    // Strides of contiguous memory are not negative.
    let strides = array.strides().iter().map(|stride| stride.unsigned_abs());
    let mut of_copy = D::zeros(array.ndim());
    of_copy.slice_mut().iter_mut().zip(strides).for_each(|(to, stride)| *to = stride);
    let shape = ndarray::ShapeBuilder::strides(array.raw_dim(), of_copy);
    Array::from_shape_vec(shape, samples).map_err(mismatch)
}
