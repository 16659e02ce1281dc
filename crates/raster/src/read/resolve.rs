//! Requests found in their files: what all of them make together, checked before a block is located.

use super::area::Frame;
use super::facts::Facts;
use super::limits::Size;
use super::request::{Asked, Request, Shape};
use super::sheet::{Masks, Sheet, alike, places_of};
use super::unpack::Missing;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::options::{FloatType, Interleave, Layer, ReadOptions};
use crate::source::Source;
use crate::window::Window;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{Convert, Fill, MaskJob, MaskWindow, OutputSpec, ResampleWindow, Sampling};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Windows of one level of one file, with the same bands.
pub(super) struct Group<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) facts: Facts<'a>,
    /// Index of its source in the job.
    pub(super) source: u32,
    pub(super) level: usize,
    /// Its requests, by their number.
    pub(super) members: Vec<usize>,
    /// `None`: samples are placed as they are.
    pub(super) convert: Option<Convert>,
    pub(super) role: Role,
}

/// What the samples of a group are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// They are the result.
    Pixels,
    /// They say which pixels are missing, in all bands of a window but this one, counted from 0.
    Mask(Option<u32>),
}

/// The masks of a window, and its band there; `None` for a window without.
pub(super) type MaskPlace = Option<(u32, u32)>;

/// What is known of a read before blocks are located.
pub(super) struct Resolved<'a> {
    pub(super) groups: Vec<Group<'a>>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    /// Windows, bands, rows, columns.
    pub(super) shape: [u32; 4],
    /// The result: bands of all windows, one window after the other.
    pub(super) result: OutputSpec,
    /// What windows are decoded into.
    pub(super) sheets: Vec<Sheet>,
    /// What their masks are decoded into.
    pub(super) masks: Vec<Masks>,
    /// For each window its masks, and its band there.
    pub(super) masked: Vec<MaskPlace>,
    /// For each window its frame, and the part of it that lies inside the image.
    pub(super) frames: Vec<(Frame, Option<Window>)>,
}

impl<'a> Asked<'a> {
    /// Finds every window in its file, and checks that all of them make one result.
    pub(super) fn resolve(&self) -> Result<Resolved<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut sources = Sources::default();
        let mut known = BTreeMap::new();
        let mut frames = Vec::with_capacity(self.requests.len());
        let mut rows_columns = None;
        for (index, request) in self.requests.iter().enumerate() {
            let fail = self.at(index);
            let file = std::ptr::from_ref(request.dataset).addr();
            let key = (file, request.page, request.level, request.bands);
            let at = match known.get(&key) {
                Some(&at) => at,
                None => {
                    groups.push(self.group(request, &mut sources).map_err(&fail)?);
                    known.insert(key, groups.len() - 1);
                    groups.len() - 1
                }
            };
            let Some(group) = groups.get_mut(at) else { continue };
            group.members.push(index);
            let frame = match &request.area {
                None => Frame::exactly(group.facts.window),
                Some(area) => Frame::of(area, group.dataset, &self.level_of(request)).map_err(&fail)?,
            };
            let size = (group.facts.image.width, group.facts.image.height);
            if let Some(Shape { size: Some(_), sampling, .. }) = self.batch {
                let margin = if *sampling == Sampling::Bilinear { 1.0 } else { 0.0 };
                let frame = frame.under(margin, size);
                frames.push((frame, frame.inside(size)));
                continue;
            }
            let (rows, columns) = *rows_columns.get_or_insert((frame.height, frame.width));
            if (frame.height, frame.width) != (rows, columns) {
                let problem = format!(
                    "{} × {} pixels, window 0 has {columns} × {rows}: all windows of a batch have one size, or \
                     are resampled to a `size`",
                    frame.width, frame.height
                );
                return Err(fail(group.dataset.refuse(problem)));
            }
            frames.push((frame, frame.inside(size)));
        }
        let size = self.batch.and_then(|batch| batch.size);
        let wanted = size.map(|(columns, rows)| (rows, columns)).or(rows_columns);
        let (Some(first), Some((rows, columns))) = (groups.first(), wanted) else {
            return Err(self.refuse("no window is asked for".into()));
        };
        let bands = first.facts.bands.len();
        let data_type = self.data_type(&groups)?;
        self.check_alike(&groups, bands)?;
        self.check_sizes(&groups, &frames, data_type)?;
        let too_many = || self.refuse(format!("{bands} bands of that many windows are more than 2^32"));
        let count = u32::try_from(self.requests.len()).ok();
        let bands = u32::try_from(bands).ok();
        let (count, bands) = count.zip(bands).ok_or_else(too_many)?;
        let all = count.checked_mul(bands).ok_or_else(too_many)?;
        let result = self.spec(data_type, all, (columns, rows))?;
        for group in &mut groups {
            group.convert = self.convert(group, data_type)?;
        }
        let sheets = match size {
            Some(size) => {
                let patches = self.patches(&groups, &frames, size, data_type)?;
                self.sheets(&patches, (data_type, bands))?
            }
            None => {
                let windows = (0..frames.len()).collect();
                vec![Sheet { windows, spec: result.clone(), patches: None }]
            }
        };
        self.add_masks(&mut groups, &mut sources)?;
        let (masks, masked) = self.masks(&groups, &sheets, (data_type, bands))?;
        let (shape, sources) = ([count, bands, rows, columns], sources.list);
        Ok(Resolved { groups, sources, shape, result, sheets, masks, masked, frames })
    }

    /// The level of a request, without its window.
    fn level_of(&self, request: &Request<'_>) -> ReadOptions {
        let Request { page, level, .. } = *request;
        ReadOptions { page, level, reduce: self.options.reduce, ..ReadOptions::default() }
    }

    fn spec(&self, data_type: DataType, bands: u32, (columns, rows): (u32, u32)) -> Result<OutputSpec> {
        let make = match self.options.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        make(data_type, bands, rows, columns).map_err(|error| self.refuse(error.to_string()))
    }

    /// What windows that are resampled are decoded into.
    fn sheets(&self, patches: &[ResampleWindow], (data_type, bands): (DataType, u32)) -> Result<Vec<Sheet>> {
        let sizes: Vec<_> = patches.iter().map(|patch| patch.size).collect();
        let sheet = |(size, windows): (_, Vec<usize>)| {
            // No more than those of all windows, which fit.
            let bands = u32::try_from(windows.len()).unwrap_or(u32::MAX).saturating_mul(bands);
            let spec = self.spec(data_type, bands, size)?;
            let patches = windows.iter().filter_map(|&at| patches.get(at).copied()).collect();
            Ok(Sheet { windows, spec, patches: Some(patches) })
        };
        alike(&sizes).into_iter().map(sheet).collect()
    }

    /// How windows become that size.
    fn patches(
        &self,
        groups: &[Group<'_>],
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
        for group in groups {
            let fill = self.edge(group, data_type)?;
            let nodata = group.dataset.metadata().nodata.filter(|_| !self.is_masked());
            // As it is after the conversion: a half may be another number than the one stored.
            let stored = group.facts.layout.data_type;
            let nodata = nodata.and_then(|nodata| nodata.to_sample(stored)).map(Fill);
            let nodata = nodata.and_then(|sample| match group.convert {
                Some(convert) => convert.sample(stored, &sample, data_type),
                None => Some(sample),
            });
            for &at in &group.members {
                let (Some((frame, _)), Some(patch)) = (frames.get(at), patches.get_mut(at)) else { continue };
                let ([left, top, wide, high], x, y) = (frame.exact, frame.x, frame.y);
                #[expect(clippy::cast_precision_loss, reason = "a pixel of an image")]
                let exact = [left - x as f64, top - y as f64, wide, high];
                *patch = ResampleWindow { exact, size: (frame.width, frame.height), nodata, fill };
            }
        }
        Ok(patches)
    }

    fn group(&self, request: &Request<'a>, sources: &mut Sources) -> Result<Group<'a>> {
        let Request { dataset, page, level, .. } = *request;
        let bands = request.bands.map(<[u16]>::to_vec);
        let facts = dataset.facts(&ReadOptions { page, level, bands, ..self.options.clone() })?;
        // Blocks are named by level, row and column: pages are told apart by their source.
        let source = sources.index(facts.source, page);
        let role = Role::Pixels;
        Ok(Group { dataset, facts, source, level, members: Vec::new(), convert: None, role })
    }

    /// Adds groups for the masks of the groups that have some.
    fn add_masks(&self, groups: &mut Vec<Group<'a>>, sources: &mut Sources) -> Result<()> {
        let mut masks = Vec::new();
        for Group { dataset, facts, level, members, .. } in groups.iter() {
            let (layer, band) = match facts.unpacking.map(|unpacking| unpacking.missing) {
                Some(Missing::Image) => (Layer::Mask, 1),
                Some(Missing::Alpha(band)) => (Layer::Pixels, band),
                Some(Missing::Value(_) | Missing::None) | None => continue,
            };
            let Some(request) = members.first().and_then(|&at| self.requests.get(at)) else { continue };
            let options = ReadOptions {
                page: request.page,
                level: *level,
                layer,
                bands: Some(vec![band]),
                masked: false,
                unpack: false,
                ..self.options.clone()
            };
            let spared = match layer {
                Layer::Mask => None,
                Layer::Pixels => facts.bands.iter().position(|&own| own == band),
            };
            let role = Role::Mask(spared.and_then(|at| u32::try_from(at).ok()));
            let facts = dataset.facts(&options)?;
            // Blocks of a mask have the addresses of their image's, so they need a source of their own.
            let source = sources.add(facts.source);
            let members = members.clone();
            masks.push(Group { dataset, facts, source, level: *level, members, convert: None, role });
        }
        groups.extend(masks);
        Ok(())
    }

    /// What masks are decoded into: one output per sheet and type of mask.
    fn masks(
        &self,
        groups: &[Group<'_>],
        sheets: &[Sheet],
        (data_type, bands): (DataType, u32),
    ) -> Result<(Vec<Masks>, Vec<MaskPlace>)> {
        let mut masks: Vec<Masks> = Vec::new();
        let mut masked = vec![None; self.requests.len()];
        let places = places_of(sheets);
        let value = NoData::Float(f64::NAN).to_sample(data_type).map(Fill).unwrap_or_default();
        for Group { facts, members, role, .. } in groups {
            let Role::Mask(spared) = *role else { continue };
            let stored = facts.layout.data_type;
            for &window in members {
                let Some(&(sheet, place)) = places.get(window) else { continue };
                let Some(of) = sheets.get(sheet as usize) else { continue };
                let first_band = place.saturating_mul(bands);
                let spared = spared.map(|at| first_band.saturating_add(at));
                let at = masks
                    .iter()
                    .position(|known| (known.sheet, known.spec.data_type) == (sheet as usize, stored));
                let at = at.unwrap_or(masks.len());
                if at == masks.len() {
                    let job = MaskJob { windows: Vec::new(), value };
                    masks.push(Masks {
                        sheet: sheet as usize,
                        spec: OutputSpec { data_type: stored, ..of.spec.clone() },
                        job,
                    });
                }
                let Some(known) = masks.get_mut(at) else { continue };
                let band = u32::try_from(known.job.windows.len()).unwrap_or(u32::MAX);
                known.job.windows.push(MaskWindow { first_band, bands, spared });
                if let (Some(masked), Ok(at)) = (masked.get_mut(window), u32::try_from(at)) {
                    *masked = Some((at, band));
                }
            }
        }
        for Masks { spec, job, .. } in &mut masks {
            let bands = u32::try_from(job.windows.len()).unwrap_or(u32::MAX);
            let made = OutputSpec::band_first(spec.data_type, bands, spec.rows, spec.columns);
            *spec = made.map_err(|error| self.refuse(error.to_string()))?;
        }
        Ok((masks, masked))
    }

    /// Whether all samples become floats, whatever files say.
    fn floats(&self) -> bool {
        self.batch.is_some_and(|batch| batch.floats)
    }

    /// The type of the result.
    fn data_type(&self, groups: &[Group<'_>]) -> Result<DataType> {
        let stored = |group: &Group<'_>| group.facts.layout.data_type;
        if self.floats() {
            let fits = |group: &Group<'_>| match stored(group) {
                DataType::F32 => true,
                other => other.size() <= 2,
            };
            return Ok(match self.options.float_type {
                Some(FloatType::Float16) => DataType::F16,
                Some(FloatType::Float32) => DataType::F32,
                Some(FloatType::Float64) => DataType::F64,
                None if groups.iter().all(fits) => DataType::F32,
                None => DataType::F64,
            });
        }
        let given = |group: &Group<'_>| match group.facts.unpacking {
            Some(unpacking) => unpacking.data_type,
            None => stored(group),
        };
        let Some(first) = groups.first() else { return Ok(DataType::U8) };
        match groups.iter().find(|group| given(group) != given(first)) {
            None => Ok(given(first)),
            Some(other) => Err(self.refuse(format!(
                "{} stores {} and {} stores {}: ask for a float type, or read them in batches of their own",
                first.dataset.name(),
                stored(first),
                other.dataset.name(),
                stored(other)
            ))),
        }
    }

    fn check_alike(&self, groups: &[Group<'_>], bands: usize) -> Result<()> {
        let Some(first) = groups.first() else { return Ok(()) };
        match groups.iter().find(|group| group.facts.bands.len() != bands) {
            None => Ok(()),
            Some(other) => Err(self.refuse(format!(
                "{bands} bands of {} and {} of {}: ask for as many of each",
                first.dataset.name(),
                other.facts.bands.len(),
                other.dataset.name()
            ))),
        }
    }

    /// Refuses windows that are too large, each as if it were read by itself.
    fn check_sizes(
        &self,
        groups: &[Group<'_>],
        frames: &[(Frame, Option<Window>)],
        data_type: DataType,
    ) -> Result<()> {
        for Group { dataset, facts, members, .. } in groups {
            let bands = u32::try_from(facts.bands.len()).unwrap_or(u32::MAX);
            for &at in members {
                let Some((frame, _)) = frames.get(at) else { continue };
                let size = Size::new((bands, frame.height, frame.width), data_type.size());
                dataset.check_result(size, self.options).map_err(self.at(at))?;
            }
        }
        Ok(())
    }

    /// How the samples of a group are converted; `None` if they stay as they are.
    fn convert(&self, group: &Group<'_>, data_type: DataType) -> Result<Option<Convert>> {
        let unpacking = group.facts.unpacking.map(|unpacking| unpacking.convert);
        if !self.floats() {
            return Ok(unpacking);
        }
        let stored = group.facts.layout.data_type;
        if !Convert::takes(stored) {
            let problem = format!("cannot convert {stored} samples to {data_type}; read them unconverted");
            return Err(group.dataset.refuse(problem));
        }
        let as_they_are = Convert::masking(None);
        let convert = unpacking.unwrap_or(as_they_are);
        Ok(Some(convert).filter(|convert| stored != data_type || *convert != as_they_are))
    }

    /// The value of pixels of a group outside its image.
    pub(super) fn edge(&self, group: &Group<'_>, data_type: DataType) -> Result<Fill> {
        let sample = |value: NoData| {
            let problem =
                || self.refuse(format!("the fill value {} is not one of {data_type}", value.as_f64()));
            value.to_sample(data_type).map(Fill).ok_or_else(problem)
        };
        match self.batch.and_then(|batch| batch.fill) {
            Some(value) => sample(value),
            None if self.is_masked() => sample(NoData::Float(f64::NAN)),
            None => {
                let (stored, fill) = (group.facts.layout.data_type, group.facts.layout.extras.fill);
                let converted = group.convert.map(|convert| convert.sample(stored, &fill, data_type));
                Ok(converted.map_or(fill, Option::unwrap_or_default))
            }
        }
    }
}

/// Files and pages, in the order in which they were met.
#[derive(Default)]
struct Sources {
    known: BTreeMap<(usize, usize), u32>,
    list: Vec<Arc<dyn Source>>,
}

impl Sources {
    fn index(&mut self, source: &Arc<dyn Source>, page: usize) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let key = (Arc::as_ptr(source).addr(), page);
        let at = *self.known.entry(key).or_insert(next);
        if at == next {
            self.add(source);
        }
        at
    }

    /// Adds a source that no other group shares.
    fn add(&mut self, source: &Arc<dyn Source>) -> u32 {
        self.list.push(Arc::clone(source));
        u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
    }
}
