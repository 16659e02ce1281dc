//! The mask of what is read onto a grid: 255 where a pixel of the result has a value, else 0.
//!
//! Pixels are read with a fill value of 0, which no value becomes (`WarpWindow::avoid`): a pixel whose bands are all 0 is
//! missing. So the mask has the pixels of a read with the same method, and no type has to be read as floats.

use super::deliver::deliver;
use super::mask::{MaskSource, from_zeros};
use super::onto::{Holes, OntoRead};
use super::reading::Done;
use super::run::WindowFault;
use crate::device::Choice;
use crate::error::{Error, Result};
use crate::grid::Onto;
use crate::input::InputRef;
use crate::options::{Interleave, Layer, Meaning, ReadOptions};
use crate::pixels::Pixels;
use crate::raster::Raster;
use std::sync::Arc;
use strile_engine::{Engine, Fill, Location, Output, Report};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// The read of pixels that a mask on a grid is made of.
pub(super) fn pixels_of(inputs: &[InputRef<'_>], options: &ReadOptions, onto: &Onto) -> Result<ReadOptions> {
    let mut by_value = onto.warp.nodata.is_some();
    for input in inputs {
        by_value |= input.mask_source()? == MaskSource::NoData;
    }
    // Nodata is a matter of each band; what else is missing, is in all of them.
    let bands = if by_value { None } else { Some(vec![1]) };
    let mut onto = onto.clone();
    onto.warp.fill = Some(NoData::Float(0.0));
    onto.warp.data_type = None;
    let mut options = options.clone().layer(Layer::Pixels).interleave(Interleave::BandFirst);
    options.place.bands = bands;
    options.place.onto = Some(Arc::new(onto));
    options.meaning = Meaning { masked: false, unpack: false, look_for: None, ..options.meaning };
    Ok(options)
}

impl OntoRead<'_> {
    /// Reads the mask into new memory where it is wanted.
    pub(super) fn mask(&self, to: Location) -> Result<Pixels> {
        let (raster, report, faults, holes) = self.made_mask()?;
        let pixels = match to {
            Location::Host => Pixels::of_raster(raster, report, faults),
            Location::Cuda(index) => {
                let engine = self.holder(index)?;
                let spec = raster.spec().map_err(|error| self.refuse(error.to_string()))?;
                let output = engine.output(spec, self.context)?;
                deliver(raster, engine.as_ref(), &output, self.context)?;
                let done = Done { output, report, faults, engine };
                Pixels::of_done(done, None, (Interleave::BandFirst, Fill::default()))?
            }
        };
        let (transform, crs) = self.place();
        Ok(Pixels { holes, levels: self.levels(), ..pixels.placed(transform, crs) })
    }

    /// Reads the mask into an output, which must have its type and shape.
    pub(super) fn mask_into(&self, output: &Output) -> Result<(Report, Vec<WindowFault>)> {
        let (raster, report, faults, _) = self.made_mask()?;
        let have = output.spec();
        let want = raster.spec().map_err(|error| self.refuse(error.to_string()))?;
        self.check_shape(have, &want)?;
        let engine: Arc<dyn Engine> = match output.location() {
            Location::Host => Choice::cpu("a copy in memory").engine,
            Location::Cuda(index) => self.holder(index)?,
        };
        deliver(raster, engine.as_ref(), output, self.context)?;
        Ok((report, faults))
    }

    fn made_mask(&self) -> Result<(Raster, Report, Vec<WindowFault>, Holes)> {
        let is_complex = |data_type: DataType| matches!(data_type, DataType::C64 | DataType::C128);
        let complex = self.stored().find(|(_, data_type)| data_type.is_some_and(is_complex));
        if let Some((name, Some(data_type))) = complex {
            let problem = format!("masks of {data_type} samples are not put onto a grid; read the pixels");
            return Err(Error::Request { file: name.to_owned(), problem });
        }
        let (done, _, holes) = self.read(Location::Host)?;
        let raster = Raster::from_output(done.output, Interleave::BandFirst, Fill::default())?;
        let mask = from_zeros(&raster, self.context)?;
        Ok((mask, done.report, done.faults, holes))
    }
}
