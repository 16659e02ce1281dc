//! A mosaic read like a dataset: requests checked, windows, bands, masks, pieces.

use super::Vrt;
use super::call::{Shared, Work};
use super::number::{Number, reader};
use super::opened::is_nodata;
use super::place::Part;
use super::read::Which;
use crate::device::Choice;
use crate::error::{Error, Result};
use crate::footprint::window_of;
use crate::options::{Interleave, Layer, Processor, ReadOptions};
use crate::pieces::{PieceLimits, Pieces, Whole, read_each};
use crate::raster::Raster;
use crate::read::{MaskSource, Size, all_valid, deliver, from_alpha};
use crate::window::Window;
use strile_engine::memory::try_zeroed;
use strile_engine::{Context, EngineError, Lease, LocatedFault, Location, Output};
use strile_tiff::DataType;
use strile_tiff::geo::GeoTransform;

/// Where the first source does not say how high the rows of tiles are.
const PIECE_ROWS: u32 = 256;

/// Pixels, the sources that are missing in them and why, and the memory that they take.
type Counted = (Raster, Vec<(String, String)>, Lease);

impl Vrt {
    /// The window and the bands of a request, checked.
    pub(crate) fn target(&self, options: &ReadOptions) -> Result<(Window, Vec<u16>)> {
        if options.page > 0 {
            return Err(self.refuse(format!("there is no page {}, a VRT has 1 (from 0)", options.page)));
        }
        if options.level > 0 {
            let level = options.level;
            return Err(
                self.refuse(format!("there is no level {level}, the overviews of a VRT are not read"))
            );
        }
        if options.reduce > 0 {
            return Err(self.refuse("lower resolutions of a VRT's files are not read".into()));
        }
        if let Processor::Cuda(index) = options.decode_on {
            return Err(self.refuse(format!("cuda:{index} cannot decode a VRT, which is read by the CPU")));
        }
        if options.layer == Layer::Pixels && (options.masked || options.unpack) {
            let problem =
                "pixels of a VRT are neither masked nor unpacked; read its files, or its values as they are";
            return Err(self.refuse(problem.into()));
        }
        let window = options.window.unwrap_or(Window::full(self.width, self.height));
        if !window.is_inside(self.width, self.height) {
            return Err(self.refuse(format!(
                "window {window} is not inside the image of {} × {} pixels (a window is column,row,width,height)",
                self.width, self.height
            )));
        }
        let all = self.bands();
        let bands = options.bands.clone().unwrap_or_else(|| (1..=all).collect());
        if bands.is_empty() {
            return Err(self.refuse("no band is asked for".into()));
        }
        if let Some(band) = bands.iter().find(|&&band| band == 0 || band > all) {
            return Err(self.refuse(format!("there is no band {band}, the image has {all} (from 1)")));
        }
        Ok((window, bands))
    }

    /// Where the validity of pixels comes from.
    pub fn mask_source(&self) -> MaskSource {
        match (self.has_mask(), self.alpha()) {
            (true, _) => MaskSource::Image,
            (_, Some(band)) => MaskSource::Alpha(band),
            _ if self.bands.iter().any(|band| band.nodata.is_some()) => MaskSource::NoData,
            _ => MaskSource::AllValid,
        }
    }

    /// Reads pixels into new memory.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Raster> {
        self.read_telling(options, context).map(|(raster, _)| raster)
    }

    /// Reads pixels into new memory, and tells which sources it went on without, each with the problem.
    pub fn read_telling(
        &self,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<(Raster, Vec<(String, String)>)> {
        let (raster, holes, _lease) = self.read_counted(options, &self.work(), context)?;
        Ok((raster, holes))
    }

    /// A counter for a read, or for all reads that are parts of a longer one.
    pub(crate) fn work(&self) -> Work {
        Work::new(self.options.max_work)
    }

    /// Reads a part of something longer, whose parts share one counter of work.
    pub(crate) fn read_part(&self, options: &ReadOptions, work: &Work, context: &Context) -> Result<Raster> {
        self.read_counted(options, work, context).map(|(raster, ..)| raster)
    }

    fn read_counted(&self, options: &ReadOptions, work: &Work, context: &Context) -> Result<Counted> {
        let (window, bands) = self.target(options)?;
        let part = |start: u32, count: u32| Part { start: start.into(), size: count.into(), count };
        let request = (part(window.column, window.width), part(window.row, window.height));
        self.check_result(self.size_of(options, window, &bands), options)?;
        let shared = Shared::new(self, options, context, work);
        let (mut raster, mut lease) = {
            let call = shared.call();
            let of = |bands: &[u16]| bands.iter().map(|&band| Which::Band(band)).collect::<Vec<_>>();
            let size = u64::from(window.width) * u64::from(window.height);
            let mask = || context.take(size, "the mask");
            match options.layer {
                Layer::Pixels => self.planes(&of(&bands), request, &call)?,
                Layer::Mask => match self.mask_source() {
                    MaskSource::Image => self.planes(&[Which::Mask], request, &call)?,
                    MaskSource::Alpha(band) => {
                        let (alpha, _lease) = self.planes(&of(&[band]), request, &call)?;
                        let lease = mask()?;
                        (from_alpha(alpha), lease)
                    }
                    MaskSource::AllValid => {
                        let all = all_valid((window.width, window.height), context)?;
                        (all, mask()?)
                    }
                    MaskSource::NoData => {
                        let lease = mask()?;
                        let mut valid: Option<Raster> = None;
                        for band in 1..=self.bands() {
                            let (pixels, _lease) = self.planes(&of(&[band]), request, &call)?;
                            let _lease = mask()?;
                            let next = self.valid(band, &pixels);
                            match &mut valid {
                                None => valid = Some(next),
                                Some(all) => {
                                    all.pixels.iter_mut().zip(next.pixels).for_each(|(a, b)| *a |= b);
                                }
                            }
                        }
                        (valid.ok_or(Error::Engine(EngineError::Abandoned))?, lease)
                    }
                },
            }
        };
        if options.interleave == Interleave::BandLast {
            let copy = context.take(raster.pixels.len() as u64, "the interleaved image")?;
            raster = interleaved(raster)?;
            lease = copy;
        }
        let holes = shared.holes();
        raster.faults = shared.into_faults();
        Ok((raster, holes, lease))
    }

    /// The size of a result.
    fn size_of(&self, options: &ReadOptions, window: Window, bands: &[u16]) -> Size {
        let (bands, data_type) = match options.layer {
            Layer::Pixels => (u32::try_from(bands.len()).unwrap_or(u32::MAX), self.data_type()),
            Layer::Mask => (1, DataType::U8),
        };
        Size::new((bands, window.height, window.width), data_type.size())
    }

    /// Reads pixels into the caller's output in host memory, which must have the type and shape that the read gives.
    pub fn read_into(
        &self,
        output: &Output,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<Vec<LocatedFault>> {
        if output.location() != Location::Host {
            let problem = format!("the output is in {}, and a VRT is read by the CPU", output.location());
            return Err(Error::Device { file: self.name.clone(), problem });
        }
        let (mut raster, _, _lease) = self.read_counted(options, &self.work(), context)?;
        let (have, faults) = (output.spec(), std::mem::take(&mut raster.faults));
        let gives = (raster.data_type, raster.bands, raster.rows, raster.columns);
        if (have.data_type, have.bands, have.rows, have.columns) != gives {
            let (data_type, bands, rows, columns) = gives;
            return Err(self.refuse(format!(
                "the output is {} × {} × {} {}, the read gives {bands} × {rows} × {columns} {data_type}",
                have.bands, have.rows, have.columns, have.data_type
            )));
        }
        deliver(raster, Choice::cpu("a copy in memory").engine.as_ref(), output, context)?;
        Ok(faults)
    }

    /// Valid where a band is not its nodata.
    fn valid(&self, band: u16, raster: &Raster) -> Raster {
        let nodata = self.nodata(band).map(|nodata| Number::Double(nodata.as_f64()));
        let number = reader(raster.data_type);
        let samples = raster.pixels.chunks_exact(raster.data_type.size());
        let valid = |sample| nodata.is_none_or(|nodata| !is_nodata(number(sample).0, nodata));
        let pixels = samples.map(|sample| if valid(sample) { 255 } else { 0 }).collect();
        Raster { data_type: DataType::U8, pixels, fill: Default::default(), faults: Vec::new(), ..*raster }
    }

    /// The transform of a request's own pixels.
    pub fn transform(&self, options: &ReadOptions) -> Result<Option<GeoTransform>> {
        let (window, _) = self.target(options)?;
        let transform = self.metadata.georeference.transform;
        Ok(transform.map(|transform| transform.window(window.column.into(), window.row.into())))
    }

    /// The window that covers what of a box (west, south, east, north) is in the image.
    pub fn window_of_box(&self, sides: [f64; 4]) -> Result<Window> {
        window_of(self.metadata.georeference.transform, (self.width, self.height), sides)
            .map_err(|problem| self.refuse(problem))
    }

    /// Decides how a result is cut into pieces; touches no pixel.
    pub fn pieces(&self, options: &ReadOptions, limits: &PieceLimits, context: &Context) -> Result<Pieces> {
        let (window, bands) = self.target(options)?;
        self.check_result(self.size_of(options, window, &bands), options)?;
        let (data_type, bands) = match options.layer {
            Layer::Pixels => (self.data_type(), bands),
            Layer::Mask => (DataType::U8, vec![1]),
        };
        // Rows of tiles are usually as high as the first.
        let first = self.bands.first().and_then(|band| band.sources.first()?.rectangles);
        let height = first.map_or(0.0, |rectangles| rectangles.down.target_size);
        let tile = window.height.clamp(1, 4096);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 4096")]
        let block_height = if (1.0..=f64::from(tile)).contains(&height) { height as u32 } else { PIECE_ROWS };
        let sources = self.bands.first().map_or(0, |band| band.sources.len()) as u64;
        let whole = Whole { data_type, bands, window, block_height, blocks: sources };
        Ok(Pieces::of_rows(whole, options, limits, context))
    }

    /// Reads the pieces and gives them, in order, to `give`. Returns the faults of the sources.
    pub fn read_pieces<E: From<Error>>(
        &self,
        pieces: &Pieces,
        context: &Context,
        give: impl FnMut(Raster) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<LocatedFault>, E> {
        let work = self.work();
        read_each(pieces, |options| self.read_part(options, &work, context), give)
    }
}

/// Band by band to pixel by pixel.
fn interleaved(raster: Raster) -> Result<Raster> {
    let (size, bands) = (raster.data_type.size(), raster.bands as usize);
    if bands == 1 {
        return Ok(Raster { interleave: Interleave::BandLast, ..raster });
    }
    let mut pixels = try_zeroed(raster.pixels.len(), "the interleaved image")?;
    let plane = raster.pixels.len() / bands.max(1);
    for (band, samples) in raster.pixels.chunks_exact(plane.max(1)).enumerate() {
        let out = pixels.chunks_exact_mut(size * bands);
        for (pixel, sample) in out.zip(samples.chunks_exact(size)) {
            if let Some(slot) = pixel.get_mut(band * size..(band + 1) * size) {
                slot.copy_from_slice(sample);
            }
        }
    }
    Ok(Raster { interleave: Interleave::BandLast, pixels, ..raster })
}
