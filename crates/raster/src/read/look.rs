//! Searches the pixels of a read for values: while they are decoded, or in the result if samples change later.

use super::request::{Asked, Of, Request};
use super::sheet::{Masks, Sheet};
use super::unpack::Missing;
use crate::error::Result;
use crate::options::LookFor;
use crate::raster::Raster;
use strile_engine::{
    Change, Context, Convert, Engine, EngineError, Fill, FindJob, FindPart, Output, OutputError, OutputSpec,
    ReplaceJob, Sought,
};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// The values that the bands of a read are searched for, after conversion.
enum Wanted {
    /// The same value in all bands; `None` is a value that no sample has.
    Alike(Option<Sought>),
    /// One value per band, of all windows.
    Each(Vec<Option<Sought>>),
}

impl Asked<'_> {
    /// Returns the value that each of `bands` bands of each window is searched for, in samples of a type; `None` if
    /// there is no search.
    fn wanted(&self, data_type: DataType, bands: u32) -> Option<Wanted> {
        let sought =
            |value: NoData| value.to_sample(data_type).map(|sample| Sought::new(data_type, &Fill(sample)));
        Some(match self.meaning.look_for? {
            _ if self.meaning.is_masked() && Convert::gives(data_type) && !self.keeps_nodata() => {
                Wanted::Alike(Some(Sought::nan(data_type)))
            }
            LookFor::Value(value) => Wanted::Alike(sought(value)),
            LookFor::Nodata => {
                let of_band = |request: &Request<'_>, band: u32| match request.of {
                    Of::File(dataset) => dataset.metadata().nodata,
                    Of::Mosaic(canvas) => canvas.nodatas.get(band as usize).copied().flatten(),
                };
                let of_window = |request| (0..bands).map(move |band| of_band(request, band).and_then(sought));
                let all: Vec<_> = self.requests.iter().flat_map(of_window).collect();
                let first = all.first().copied().flatten();
                match all.iter().all(|sought| *sought == first) {
                    true => Wanted::Alike(first),
                    false => Wanted::Each(all),
                }
            }
        })
    }

    /// Returns the value that a sheet is searched for while it is decoded, after conversion and before the last step.
    /// `None` if its windows are resampled, or if bands are searched for different values.
    pub(super) fn sought(&self, sheet: &Sheet, bands: u32) -> Option<Sought> {
        match self.wanted(sheet.spec.data_type, bands).filter(|_| !sheet.then.is_resampled())? {
            Wanted::Alike(sought) => sought,
            Wanted::Each(_) => None,
        }
    }

    /// Returns whether the result is searched after it was decoded.
    pub(super) fn is_searched_after(&self, sheets: &[Sheet], masks: &[Masks], bands: u32) -> bool {
        let Some(sheet) = sheets.first() else { return false };
        match self.wanted(sheet.spec.data_type, bands) {
            None => false,
            Some(Wanted::Each(_)) => true,
            Some(Wanted::Alike(_)) => !masks.is_empty() || sheet.then.is_resampled(),
        }
    }

    /// Returns the search of pixels that have `bands` bands per window.
    pub(super) fn find_job(&self, spec: &OutputSpec, bands: u32) -> FindJob {
        match self.wanted(spec.data_type, bands) {
            Some(Wanted::Alike(Some(sought))) => FindJob::all(spec.bands, sought),
            None | Some(Wanted::Alike(None)) => FindJob::default(),
            Some(Wanted::Each(all)) => {
                let part = |(first_band, sought): (u32, Option<Sought>)| {
                    Some(FindPart { first_band, bands: 1, sought: sought? })
                };
                FindJob { parts: (0u32..).zip(all).filter_map(part).collect() }
            }
        }
    }

    /// Returns whether nodata samples may be replaced after all samples were placed: those of one window of one file,
    /// not resampled.
    pub(super) fn replaces(&self) -> bool {
        self.batch.is_none() && self.laying.is_none()
    }

    /// Returns whether nodata is kept until it is replaced, so that it can be found.
    fn keeps_nodata(&self) -> bool {
        self.replacing().is_some_and(|(data_type, _)| Convert::takes(data_type))
    }

    /// Returns the stored type of samples whose nodata is replaced, and nodata.
    fn replacing(&self) -> Option<(DataType, NoData)> {
        let [Request { of: Of::File(dataset), place, .. }] = self.requests else { return None };
        let target =
            if self.meaning.masked && self.replaces() { dataset.target(place).ok()? } else { return None };
        let unpacking = dataset.unpacking(&target.image, &target.bands, place, self.meaning).ok()??;
        match unpacking.missing {
            Missing::Value(value) if unpacking.in_place => Some((unpacking.data_type, value)),
            _ => None,
        }
    }

    /// Returns whether the requested value is the nodata that is replaced: if it was not found, nothing is replaced.
    pub(super) fn looks_for_replaced(&self) -> bool {
        let sample = |data_type: DataType, value: NoData| value.to_sample(data_type);
        match (self.meaning.look_for, self.replacing()) {
            (Some(LookFor::Nodata), Some(_)) => true,
            (Some(LookFor::Value(wanted)), Some((data_type, value))) => {
                sample(data_type, wanted) == sample(data_type, value)
            }
            (_, None) | (None, _) => false,
        }
    }

    /// Returns the job that replaces nodata in the pixels of a read; `None` if there is none. NaN is unchanged.
    pub(super) fn replace_job(&self, bands: u32) -> Option<ReplaceJob> {
        let (data_type, value) = self.replacing()?;
        let sample = value.to_sample(data_type).filter(|_| !value.as_f64().is_nan())?;
        let (sought, _) = Change::differs(data_type, &Fill(sample)).sought(data_type)?;
        let missing = NoData::Float(f64::NAN).to_sample(data_type).map(Fill)?;
        let parts = vec![FindPart { first_band: 0, bands, sought }];
        Some(ReplaceJob { parts, value: missing })
    }

    /// Searches pixels that are already in host memory. Returns them, and whether they contain the value, if one is
    /// requested.
    pub(crate) fn look_in(
        &self,
        mut raster: Raster,
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<(Raster, Option<bool>)> {
        if self.meaning.look_for.is_none() {
            return Ok((raster, None));
        }
        let refuse = |error: OutputError| self.refuse(error.to_string());
        let job = self.find_job(&raster.spec().map_err(refuse)?, raster.bands);
        let pixels = std::mem::take(&mut raster.pixels);
        let output = Output::from_vec(raster.spec().map_err(refuse)?, pixels).map_err(refuse)?;
        let found = engine.find(&job, &output, context)?;
        raster.pixels = output.into_vec().ok_or(EngineError::Abandoned)?;
        Ok((raster, Some(found)))
    }
}
