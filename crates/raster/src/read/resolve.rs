//! Resolves requests to images in their files, and checks the combined result before a block is located.

use super::area::Frame;
use super::canvas::Canvas;
use super::facts::Facts;
use super::found::{Found, Sources};
use super::limits::Size;
use super::request::{Asked, Of, Request};
use super::sheet::{Masks, Sheet, Then, alike, places_of};
use super::steps::job_of;
use super::unpack::{Missing, Unpacking};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::options::{FloatType, Interleave, Layer, Meaning};
use crate::source::Source;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{
    Change, Convert, DeviceBytes, Fill, MaskWindow, OutputSpec, ResampleWindow, Sampling, Sought,
};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Windows of one level of one file, with the same bands.
pub(super) struct Group<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) facts: Facts<'a>,
    /// Index of its source in the job.
    pub(super) source: u32,
    pub(super) level: usize,
    /// Where its pixels go, as indices into `Resolved::slots`.
    pub(super) members: Vec<usize>,
    /// `None` if samples are placed unchanged.
    pub(super) convert: Option<Convert>,
    pub(super) role: Role,
}

/// The use of a group's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A window.
    Pixels,
    /// A part of a mosaic's window.
    Tile,
    /// A part of the mask of a mosaic's window.
    MaskTile,
    /// A mask of missing pixels, for all bands of a window except this one, counted from 0.
    Mask(Option<u32>),
}

/// A window, or the part of it that a file fills.
pub(super) struct Slot {
    /// Number of the window.
    pub(super) window: usize,
    /// The requested pixels of the file, and those of them that lie inside its image.
    pub(super) frame: Frame,
    pub(super) inside: Option<Window>,
    /// Position of the frame in the window: column and row, and band, from 0.
    pub(super) at: (u32, u32),
    pub(super) band: u32,
}

/// Types and values of a file or a mosaic.
struct Kind<'b> {
    name: &'b str,
    stored: DataType,
    unpacking: Option<Unpacking>,
    bands: usize,
}

/// The masks of a window, and its band there; `None` for a window without a mask.
pub(super) type MaskPlace = Option<(u32, u32)>;

/// The state of a read before blocks are located.
pub(super) struct Resolved<'a> {
    pub(super) groups: Vec<Group<'a>>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    /// Windows, bands, rows, columns.
    pub(super) shape: [u32; 4],
    /// The result: bands of all windows, one window after the other.
    pub(super) result: OutputSpec,
    /// The memory that windows are decoded into.
    pub(super) sheets: Vec<Sheet>,
    /// The memory that their masks are decoded into.
    pub(super) masks: Vec<Masks>,
    /// Per window: its masks, and its band there.
    pub(super) masked: Vec<MaskPlace>,
    /// Destinations of the pixels of files: windows, and tiles of mosaics.
    pub(super) slots: Vec<Slot>,
    /// Per window: its frame, and the part of it that lies inside the image.
    pub(super) frames: Vec<(Frame, Option<Window>)>,
    /// Windows of mosaics, by their number.
    pub(super) canvases: Vec<(usize, Laid<'a>)>,
    /// Sources that are already in the memory of the device.
    pub(super) held: Vec<Held>,
}

/// Pixels that were blended in the memory of the device that decodes.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// The source that their tasks name.
    pub(super) source: u32,
    /// Size in bytes.
    pub(super) len: u64,
    /// The bytes; a plan has none.
    pub(super) bytes: Option<DeviceBytes>,
}

/// A window of a mosaic in the job.
pub(super) struct Laid<'a> {
    pub(super) canvas: &'a Canvas,
    /// One for all bands, or one per band.
    pub(super) converts: Vec<Option<Convert>>,
    /// The source of blended pixels.
    pub(super) blended: Option<u32>,
    /// The source of blended pixels of its mask.
    pub(super) blended_mask: Option<u32>,
}

impl Laid<'_> {
    /// Returns how samples of a band, from 0, are converted.
    pub(super) fn convert(&self, band: u32) -> Option<Convert> {
        self.converts.get(band as usize).or(self.converts.first()).copied().flatten()
    }
}

impl<'a> Asked<'a> {
    /// Finds every window in its file, and checks that all of them form one result.
    pub(super) fn resolve(&self) -> Result<Resolved<'a>> {
        let mut found = Found::default();
        let mut frames = Vec::with_capacity(self.requests.len());
        let mut rows_columns = None;
        for (index, request) in self.requests.iter().enumerate() {
            let fail = self.at(index);
            let (frame, image) = match request.of {
                Of::Mosaic(canvas) => {
                    found.add_mosaic(self, index, canvas).map_err(&fail)?;
                    (canvas.frame, canvas.image)
                }
                Of::File(dataset) => {
                    let slot = found.slots.len();
                    let group = found.group(self, request, dataset).map_err(&fail)?;
                    group.members.push(slot);
                    let frame = match &request.area {
                        None => Frame::exactly(group.facts.window),
                        Some(area) => Frame::of(area, dataset, &request.place).map_err(&fail)?,
                    };
                    let image = (group.facts.image.width, group.facts.image.height);
                    let frame = self.batch.map_or(frame, |batch| batch.read(frame, image));
                    // Nothing is read of a file that does not lie under the grid.
                    let nowhere = self.laying.is_some_and(|laying| laying.windows.is_empty());
                    let inside = frame.inside(image).filter(|_| !nowhere);
                    found.slots.push(Slot { window: index, frame, inside, at: (0, 0), band: 0 });
                    (frame, image)
                }
            };
            frames.push((frame, frame.inside(image)));
            if self.batch.is_some_and(|batch| batch.size.is_some()) || self.laying.is_some() {
                continue;
            }
            let (rows, columns) = *rows_columns.get_or_insert((frame.height, frame.width));
            if (frame.height, frame.width) != (rows, columns) {
                let problem = format!(
                    "a batch has windows of one size: expected {columns} × {rows} pixels as in window 0, got \
                     {} × {}; set `size` to resample all windows to one size",
                    frame.width, frame.height
                );
                let file = request.name().to_owned();
                return Err(fail(Error::Request { file, problem }));
            }
        }
        let Found { mut groups, mut sources, slots, mut canvases, held, .. } = found;
        let size = self.batch.and_then(|batch| batch.size);
        let wanted = size.or(self.laying.map(|laying| laying.size));
        let wanted = wanted.map(|(columns, rows)| (rows, columns)).or(rows_columns);
        let kinds = kinds(&groups, &slots, &canvases);
        let (Some(first), Some((rows, columns))) = (kinds.first(), wanted) else {
            return Err(self.refuse("no window is asked for".into()));
        };
        let bands = first.bands;
        let data_type = self.data_type(&kinds)?;
        self.check_alike(&kinds)?;
        self.check_sizes(&groups, &slots, data_type)?;
        let too_many = || self.refuse(format!("{bands} bands of that many windows are more than 2^32"));
        let count = match self.laying {
            Some(laying) => Some(laying.count),
            None => u32::try_from(self.requests.len()).ok(),
        };
        let bands = u32::try_from(bands).ok();
        let (count, bands) = count.zip(bands).ok_or_else(too_many)?;
        let all = count.checked_mul(bands).ok_or_else(too_many)?;
        let given = self.laying.and_then(|laying| laying.data_type);
        let mut result = self.spec(given.unwrap_or(data_type), all, (columns, rows))?;
        for group in groups.iter_mut().filter(|group| group.role != Role::MaskTile) {
            let (stored, unpacking) = (group.facts.layout.data_type, group.facts.unpacking);
            let convert = self.convert(stored, unpacking, data_type);
            group.convert = convert.map_err(|problem| group.dataset.refuse(problem))?;
        }
        for (_, laid) in &mut canvases {
            let Canvas { name, data_type: stored, unpackings, .. } = laid.canvas;
            let count = u32::try_from(unpackings.len()).unwrap_or(u32::MAX).max(1);
            let converts = (0..count).map(|at| self.convert(*stored, laid.canvas.unpacking(at), data_type));
            let converts = converts.collect::<std::result::Result<_, _>>();
            laid.converts = converts.map_err(|problem| Error::Request { file: name.clone(), problem })?;
        }
        let shape = [count, bands, rows, columns];
        if let Some(laying) = self.laying {
            self.add_masks(&mut groups, &slots, &mut sources)?;
            let laid = laying.lay(self, (&groups, &slots, &canvases), (data_type, &result), bands)?;
            let (sheets, masks, masked) = laid;
            let sources = sources.list;
            return Ok(Resolved {
                groups,
                sources,
                shape,
                result,
                sheets,
                masks,
                masked,
                slots,
                frames,
                canvases,
                held,
            });
        }
        let sheets = match size {
            Some(size) => {
                let patches = self.patches((&groups, &slots, &canvases), &frames, size, data_type)?;
                self.sheets(&patches, (data_type, bands))?
            }
            None => {
                let windows = (0..frames.len()).collect();
                let missing = self.missing(&groups, data_type);
                let nowhere = Sought::new(data_type, &Fill::default());
                let job = job_of(self.steps, missing.first().copied().unwrap_or(nowhere));
                let then = match job.change {
                    _ if job.is_nothing() => Then::Nothing,
                    Change::Differs(_) if missing.len() > 1 => Then::AnyDiffers(missing),
                    _ => Then::Finish(job),
                };
                let spec = result.clone();
                let (data_type, bands) = job.change.gives(spec.data_type, spec.bands);
                result = self.spec(data_type, bands, job.turn.size((columns, rows)))?;
                vec![Sheet { windows, spec, then }]
            }
        };
        self.add_masks(&mut groups, &slots, &mut sources)?;
        let (masks, masked) = self.masks((&groups, &slots, &canvases), &sheets, (data_type, bands))?;
        let sources = sources.list;
        Ok(Resolved { groups, sources, shape, result, sheets, masks, masked, slots, frames, canvases, held })
    }

    /// Returns the samples that a mask by nodata treats as missing: one for all bands, or one per band.
    fn missing(&self, groups: &[Group<'_>], data_type: DataType) -> Vec<Sought> {
        match self.requests.first().and_then(Request::canvas) {
            Some(canvas) => canvas.missing.clone(),
            None => {
                let fill = groups.first().map(|group| group.facts.layout.extras.fill).unwrap_or_default();
                let change = Change::differs(data_type, &fill);
                change.sought(data_type).into_iter().map(|(sought, _)| sought).collect()
            }
        }
    }

    fn spec(&self, data_type: DataType, bands: u32, (columns, rows): (u32, u32)) -> Result<OutputSpec> {
        let make = match self.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        make(data_type, bands, rows, columns).map_err(|error| self.refuse(error.to_string()))
    }

    /// Returns the memory that resampled windows are decoded into.
    fn sheets(&self, patches: &[ResampleWindow], (data_type, bands): (DataType, u32)) -> Result<Vec<Sheet>> {
        let sizes: Vec<_> = patches.iter().map(|patch| patch.size).collect();
        let sheet = |(size, windows): (_, Vec<usize>)| {
            // At most those of all windows, which fit.
            let bands = u32::try_from(windows.len()).unwrap_or(u32::MAX).saturating_mul(bands);
            let spec = self.spec(data_type, bands, size)?;
            let patches = windows.iter().filter_map(|&at| patches.get(at).copied()).collect();
            Ok(Sheet { windows, spec, then: Then::Resample(patches) })
        };
        alike(&sizes).into_iter().map(sheet).collect()
    }

    /// Returns how windows are resampled to that size.
    fn patches(
        &self,
        (groups, slots, canvases): (&[Group<'_>], &[Slot], &[(usize, Laid<'_>)]),
        frames: &[(Frame, Option<Window>)],
        (width, height): (u32, u32),
        data_type: DataType,
    ) -> Result<Vec<ResampleWindow>> {
        let sampling = self.batch.map_or(Sampling::Nearest, |batch| batch.sampling);
        if width == 0 || height == 0 {
            return Err(self.refuse(format!("windows of {width} × {height} pixels have none")));
        }
        if sampling != Sampling::Nearest && !Convert::takes(data_type) {
            return Err(self.refuse(format!("samples of {data_type} are resampled by nearest alone")));
        }
        let nothing = ResampleWindow { exact: [0.0; 4], size: (0, 0), nodata: None, fill: Fill::default() };
        let mut patches = vec![nothing; frames.len()];
        let mut set = |window: usize, nodata: Option<Fill>, fill: Fill| {
            let Some(((frame, _), patch)) = frames.get(window).zip(patches.get_mut(window)) else { return };
            let ([left, top, wide, high], x, y) = (frame.exact, frame.x, frame.y);
            #[expect(clippy::cast_precision_loss, reason = "a pixel of an image")]
            let exact = [left - x as f64, top - y as f64, wide, high];
            *patch = ResampleWindow { exact, size: (frame.width, frame.height), nodata, fill };
        };
        // Nodata after the conversion: a half float may differ from the stored number.
        let converted = |sample: Fill, stored: DataType, convert: Option<Convert>| match convert {
            Some(convert) => convert.sample(stored, &sample, data_type),
            None => Some(sample),
        };
        for group in groups.iter().filter(|group| group.role == Role::Pixels) {
            let stored = group.facts.layout.data_type;
            let fill = self.edge((stored, group.facts.layout.extras.fill), group.convert, data_type)?;
            let nodata = group.dataset.metadata().nodata.filter(|_| !self.meaning.is_masked());
            let nodata = nodata.and_then(|nodata| nodata.to_sample(stored)).map(Fill);
            let nodata = nodata.and_then(|sample| converted(sample, stored, group.convert));
            group
                .members
                .iter()
                .filter_map(|&at| slots.get(at))
                .for_each(|slot| set(slot.window, nodata, fill));
        }
        for (window, laid) in canvases {
            let (canvas, convert) = (laid.canvas, laid.convert(0));
            let stored = canvas.data_type;
            let fill = canvas.fills.first().copied().unwrap_or_default();
            let fill = self.edge((stored, fill), convert, data_type)?;
            let nodata = canvas.nodata().filter(|_| !self.meaning.is_masked());
            set(*window, nodata.and_then(|sample| converted(sample, stored, convert)), fill);
        }
        Ok(patches)
    }

    /// Adds groups for the masks of the groups that have some.
    fn add_masks(&self, groups: &mut Vec<Group<'a>>, slots: &[Slot], sources: &mut Sources) -> Result<()> {
        let mut masks = Vec::new();
        for Group { dataset, facts, level, members, .. } in
            groups.iter().filter(|group| group.role == Role::Pixels)
        {
            let first = members.first().and_then(|&at| self.requests.get(slots.get(at)?.window));
            let Some(Request { place, .. }) = first else { continue };
            let missing = match self.laying {
                None => facts.unpacking.map(|unpacking| unpacking.missing),
                Some(_) => dataset.missing(&facts.image, place)?,
            };
            let (layer, band) = match missing {
                Some(Missing::Image) => (Layer::Mask, 1),
                Some(Missing::Alpha(band)) => (Layer::Pixels, band),
                Some(Missing::Value(_) | Missing::None) | None => continue,
            };
            let spared = match layer {
                Layer::Mask => None,
                Layer::Pixels => facts.bands.iter().position(|&own| own == band),
            };
            let role = Role::Mask(spared.and_then(|at| u32::try_from(at).ok()));
            let place = place.of_layer(layer).bands([band]);
            let facts = dataset.facts(&place, &Meaning::default(), self.execution)?;
            // Blocks of a mask have the addresses of their image's, so they need a separate source.
            let source = sources.add(facts.source);
            let members = members.clone();
            masks.push(Group { dataset, facts, source, level: *level, members, convert: None, role });
        }
        groups.extend(masks);
        Ok(())
    }

    /// Returns the memory that masks are decoded into: one output per sheet and type of mask.
    fn masks(
        &self,
        (groups, slots, canvases): (&[Group<'_>], &[Slot], &[(usize, Laid<'_>)]),
        sheets: &[Sheet],
        (data_type, bands): (DataType, u32),
    ) -> Result<(Vec<Masks>, Vec<MaskPlace>)> {
        let mut masks: Vec<Masks> = Vec::new();
        let mut masked = vec![None; self.requests.len()];
        let places = places_of(sheets);
        // The window of each mask, the type of its samples, and the bands that it applies to, counted in the window.
        let mut all: Vec<(usize, DataType, Vec<MaskWindow>)> = Vec::new();
        for Group { facts, members, role, .. } in groups {
            let Role::Mask(spared) = *role else { continue };
            let windows = members.iter().filter_map(|&at| slots.get(at)).map(|slot| slot.window);
            let own = MaskWindow { first_band: 0, bands, spared };
            all.extend(windows.map(|window| (window, facts.layout.data_type, vec![own])));
        }
        for (window, Laid { canvas, .. }) in canvases {
            let Some(mask) = &canvas.mask else { continue };
            all.push((*window, mask.canvas.data_type, mask.windows()));
        }
        for (window, stored, own) in all {
            let Some(&(sheet, place)) = places.get(window) else { continue };
            let Some(of) = sheets.get(sheet as usize) else { continue };
            let in_sheet = |at: u32| place.saturating_mul(bands).saturating_add(at);
            let at = masks
                .iter()
                .position(|known| (known.sheet, known.spec.data_type) == (sheet as usize, stored));
            let at = at.unwrap_or(masks.len());
            if at == masks.len() {
                let spec = OutputSpec { data_type: stored, ..of.spec.clone() };
                masks.push(Masks { sheet: sheet as usize, of: data_type, spec, jobs: Vec::new() });
            }
            let Some(known) = masks.get_mut(at) else { continue };
            let in_sheet = |own: MaskWindow| MaskWindow {
                first_band: in_sheet(own.first_band),
                bands: own.bands,
                spared: own.spared.map(in_sheet),
            };
            let band = known.add(&own.into_iter().map(in_sheet).collect::<Vec<_>>());
            if let (Some(masked), Ok(at)) = (masked.get_mut(window), u32::try_from(at)) {
                *masked = Some((at, band));
            }
        }
        for Masks { spec, jobs, .. } in &mut masks {
            let bands = jobs.first().and_then(|job| u32::try_from(job.windows.len()).ok()).unwrap_or(0);
            let made = OutputSpec::band_first(spec.data_type, bands, spec.rows, spec.columns);
            *spec = made.map_err(|error| self.refuse(error.to_string()))?;
        }
        Ok((masks, masked))
    }

    /// Returns whether all samples become floats, whatever the files.
    fn floats(&self) -> bool {
        self.batch.is_some_and(|batch| batch.floats) || (self.laying.is_some() && self.meaning.is_masked())
    }

    /// Returns the type of the result.
    fn data_type(&self, kinds: &[Kind<'_>]) -> Result<DataType> {
        if self.floats() {
            let fits = |kind: &Kind<'_>| match kind.stored {
                DataType::F32 => true,
                other => other.size() <= 2,
            };
            return Ok(match self.meaning.float_type {
                Some(FloatType::Float16) => DataType::F16,
                Some(FloatType::Float32) => DataType::F32,
                Some(FloatType::Float64) => DataType::F64,
                None if kinds.iter().all(fits) => DataType::F32,
                None => DataType::F64,
            });
        }
        let given = |kind: &Kind<'_>| kind.unpacking.map_or(kind.stored, |unpacking| unpacking.data_type);
        let Some(first) = kinds.first() else { return Ok(DataType::U8) };
        match kinds.iter().find(|kind| given(kind) != given(first)) {
            // Each file is warped in its stored type.
            _ if self.laying.is_some() => Ok(given(first)),
            None => Ok(given(first)),
            Some(other) => Err(self.refuse(format!(
                "{} stores {} and {} stores {}: ask for a float type, or read them in batches of their own",
                first.name, first.stored, other.name, other.stored
            ))),
        }
    }

    fn check_alike(&self, kinds: &[Kind<'_>]) -> Result<()> {
        let Some(first) = kinds.first() else { return Ok(()) };
        match kinds.iter().find(|kind| kind.bands != first.bands) {
            None => Ok(()),
            Some(other) => Err(self.refuse(format!(
                "{} bands of {} and {} of {}: ask for as many of each",
                first.bands, first.name, other.bands, other.name
            ))),
        }
    }

    /// Fails for windows and tiles that are too large, each as if it were read separately.
    fn check_sizes(&self, groups: &[Group<'_>], slots: &[Slot], data_type: DataType) -> Result<()> {
        for Group { dataset, facts, members, .. } in groups {
            let bands = u32::try_from(facts.bands.len()).unwrap_or(u32::MAX);
            for Slot { window, frame, .. } in members.iter().filter_map(|&at| slots.get(at)) {
                let size = Size::new((bands, frame.height, frame.width), data_type.size());
                dataset.check_result(size, self.execution).map_err(self.at(*window))?;
            }
        }
        Ok(())
    }

    /// Returns how samples are converted; `None` if they are unchanged.
    fn convert(
        &self,
        stored: DataType,
        unpacking: Option<Unpacking>,
        data_type: DataType,
    ) -> std::result::Result<Option<Convert>, String> {
        let in_place = unpacking.is_some_and(|unpacking| unpacking.in_place);
        let unpacking = unpacking.map(|unpacking| unpacking.convert);
        if in_place && self.replaces() {
            return Ok(None);
        }
        if in_place && !Convert::takes(stored) {
            return Err(format!(
                "samples of {stored} are not masked in batches and on grids, read them as they are"
            ));
        }
        if !self.floats() {
            return Ok(unpacking);
        }
        if !Convert::takes(stored) {
            return Err(format!("cannot convert {stored} samples to {data_type}; read them unconverted"));
        }
        let as_they_are = Convert::masking(None);
        let convert = unpacking.unwrap_or(as_they_are);
        Ok(Some(convert).filter(|convert| stored != data_type || *convert != as_they_are))
    }

    /// Returns the value of pixels outside their image, where blocks without pixels have `fill`, of the stored type.
    pub(super) fn edge(
        &self,
        (stored, fill): (DataType, Fill),
        convert: Option<Convert>,
        data_type: DataType,
    ) -> Result<Fill> {
        let sample = |value: NoData| {
            let problem =
                || self.refuse(format!("the fill value {} is not one of {data_type}", value.as_f64()));
            value.to_sample(data_type).map(Fill).ok_or_else(problem)
        };
        match self.batch.and_then(|batch| batch.fill) {
            Some(value) => sample(value),
            None if self.meaning.is_masked() => sample(NoData::Float(f64::NAN)),
            None => Ok(filled((stored, fill), convert, data_type)),
        }
    }
}

/// Returns the value of blocks without pixels in the result.
pub(super) fn filled(
    (stored, fill): (DataType, Fill),
    convert: Option<Convert>,
    data_type: DataType,
) -> Fill {
    let converted = convert.map(|convert| convert.sample(stored, &fill, data_type));
    converted.map_or(fill, Option::unwrap_or_default)
}

/// Returns the types and values of files and mosaics, in the order of their first windows. Tiles have those of their
/// mosaic.
fn kinds<'b>(groups: &'b [Group<'_>], slots: &[Slot], canvases: &'b [(usize, Laid<'_>)]) -> Vec<Kind<'b>> {
    let of_file = groups.iter().filter(|group| group.role == Role::Pixels).map(|group| {
        let window = group.members.first().and_then(|&at| slots.get(at)).map_or(0, |slot| slot.window);
        let kind = Kind {
            name: group.dataset.name(),
            stored: group.facts.layout.data_type,
            unpacking: group.facts.unpacking,
            bands: group.facts.bands.len(),
        };
        (window, kind)
    });
    let of_mosaic = canvases.iter().map(|(window, Laid { canvas, .. })| {
        let kind = Kind {
            name: &canvas.name,
            stored: canvas.data_type,
            unpacking: canvas.unpacking(0),
            bands: canvas.bands.len(),
        };
        (*window, kind)
    });
    let mut all: Vec<_> = of_file.chain(of_mosaic).collect();
    all.sort_by_key(|(window, _)| *window);
    all.into_iter().map(|(_, kind)| kind).collect()
}
