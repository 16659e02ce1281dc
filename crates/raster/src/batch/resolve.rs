//! Windows found in their files: what all of them make together, checked before a block is located.

use super::options::BatchOptions;
use super::sheet::{Sheet, alike};
use super::window::{BatchWindow, Frame, of_window};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::limits::Size;
use crate::options::{FloatType, ReadOptions};
use crate::plan::Facts;
use crate::source::Source;
use crate::window::Window;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{Convert, Fill, OutputSpec, ResampleWindow, Sampling};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Windows of one level of one file, with the same bands.
pub(super) struct Group<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) facts: Facts<'a>,
    /// Index of its source in the job.
    pub(super) source: u32,
    pub(super) overview: Option<usize>,
    /// Its windows, by their number in the batch.
    pub(super) members: Vec<usize>,
    /// `None`: samples are placed as they are.
    pub(super) convert: Option<Convert>,
}

/// What is known of a batch before blocks are located.
pub(super) struct Resolved<'a> {
    pub(super) groups: Vec<Group<'a>>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    /// Of the result.
    pub(super) shape: [u32; 4],
    pub(super) result: OutputSpec,
    /// What windows are decoded into.
    pub(super) sheets: Vec<Sheet>,
    /// Of each window its frame, and what of that is inside the image.
    pub(super) frames: Vec<(Frame, Option<Window>)>,
}

/// What a batch is made of.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) files: &'a [&'a Dataset],
    pub(super) windows: &'a [BatchWindow],
    pub(super) options: &'a BatchOptions,
}

impl<'a> Asked<'a> {
    /// The batch, for messages.
    pub(super) fn name(&self) -> String {
        format!("batch of {} windows", self.windows.len())
    }

    /// A problem of the batch as a whole.
    pub(super) fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name(), problem }
    }

    /// Finds every window in its file, and checks that all of them make one tensor.
    pub(super) fn resolve(&self) -> Result<Resolved<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut sources = Sources::default();
        let mut known = BTreeMap::new();
        let mut frames = Vec::with_capacity(self.windows.len());
        let mut rows_columns = None;
        for (index, window) in self.windows.iter().enumerate() {
            let fail = of_window(index, window);
            let key = (window.file, window.page, window.overview, &window.bands);
            let at = match known.get(&key) {
                Some(&at) => at,
                None => {
                    groups.push(self.group(window, &mut sources).map_err(&fail)?);
                    known.insert(key, groups.len() - 1);
                    groups.len() - 1
                }
            };
            let Some(group) = groups.get_mut(at) else { continue };
            group.members.push(index);
            let level =
                ReadOptions { page: window.page, overview: window.overview, ..ReadOptions::default() };
            let frame = Frame::of(&window.area, group.dataset, &level).map_err(&fail)?;
            let size = (group.facts.image.width, group.facts.image.height);
            if self.options.size.is_some() {
                let margin = if self.options.sampling == Sampling::Bilinear { 1.0 } else { 0.0 };
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
        let wanted = self.options.size.map(|(columns, rows)| (rows, columns)).or(rows_columns);
        let (Some(first), Some((rows, columns))) = (groups.first(), wanted) else {
            return Err(self.refuse("no window is asked for".into()));
        };
        let bands = first.facts.bands.len();
        let data_type = self.data_type(&groups)?;
        self.check_alike(&groups, bands)?;
        self.check_sizes(&groups, &frames, data_type)?;
        let too_many = || self.refuse(format!("{bands} bands of that many windows are more than 2^32"));
        let count = u32::try_from(self.windows.len()).ok();
        let bands = u32::try_from(bands).ok();
        let (count, bands) = count.zip(bands).ok_or_else(too_many)?;
        let all = count.checked_mul(bands).ok_or_else(too_many)?;
        let result = self.spec(data_type, all, (columns, rows))?;
        if self.options.converts() {
            for group in &mut groups {
                group.convert = self.convert(group, data_type)?;
            }
        }
        let sheets = match self.options.size {
            Some(size) => {
                let patches = self.patches(&groups, &frames, size, data_type)?;
                self.sheets(&patches, (data_type, bands))?
            }
            None => {
                let windows = (0..frames.len()).collect();
                vec![Sheet { windows, spec: result.clone(), patches: None }]
            }
        };
        let (shape, sources) = ([count, bands, rows, columns], sources.list);
        Ok(Resolved { groups, sources, shape, result, sheets, frames })
    }

    fn spec(&self, data_type: DataType, bands: u32, (columns, rows): (u32, u32)) -> Result<OutputSpec> {
        let spec = OutputSpec::band_first(data_type, bands, rows, columns);
        spec.map_err(|error| self.refuse(error.to_string()))
    }

    /// What windows of so many bands that are resampled are decoded into.
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
        if width == 0 || height == 0 {
            return Err(self.refuse(format!("windows of {width} × {height} pixels have none")));
        }
        if self.options.sampling != Sampling::Nearest && !Convert::takes(data_type) {
            return Err(self.refuse(format!("samples of {data_type} are resampled by nearest alone")));
        }
        let nothing = ResampleWindow { exact: [0.0; 4], size: (0, 0), nodata: None, fill: Fill::default() };
        let mut patches = vec![nothing; frames.len()];
        for group in groups {
            let fill = self.edge(group, data_type)?;
            let masked = self.options.masked || self.options.unpack;
            let nodata = group.dataset.metadata().nodata.filter(|_| !masked);
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

    fn group(&self, window: &BatchWindow, sources: &mut Sources) -> Result<Group<'a>> {
        let there = self.files.len();
        let dataset = self.files.get(window.file).ok_or_else(|| {
            self.refuse(format!("there is no file {}, the batch has {there} (from 0)", window.file))
        })?;
        let BatchOptions { masked, unpack, float_type, max_pixels, max_block_bytes, .. } = *self.options;
        let options = ReadOptions {
            page: window.page,
            overview: window.overview,
            bands: window.bands.clone(),
            masked,
            unpack,
            float_type,
            max_pixels,
            max_block_bytes,
            ..ReadOptions::default()
        };
        let facts = dataset.facts(&options)?;
        // Blocks are named by level, row and column: pages are told apart by their source.
        let key = (window.file, std::ptr::from_ref(dataset.target(&options)?.file).addr(), window.page);
        let source = sources.index(key, &dataset.target(&options)?.file.source);
        let overview = window.overview;
        Ok(Group { dataset, facts, source, overview, members: Vec::new(), convert: None })
    }

    /// The type of the result.
    fn data_type(&self, groups: &[Group<'_>]) -> Result<DataType> {
        let stored = |group: &Group<'_>| group.facts.layout.data_type;
        if self.options.converts() {
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
        let Some(first) = groups.first() else { return Ok(DataType::U8) };
        match groups.iter().find(|group| stored(group) != stored(first)) {
            None => Ok(stored(first)),
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
        let options = ReadOptions { max_pixels: self.options.max_pixels, ..ReadOptions::default() };
        for Group { dataset, facts, members, .. } in groups {
            let bands = u32::try_from(facts.bands.len()).unwrap_or(u32::MAX);
            for &at in members {
                let (Some((frame, _)), Some(window)) = (frames.get(at), self.windows.get(at)) else {
                    continue;
                };
                let size = Size::new((bands, frame.height, frame.width), data_type.size());
                dataset.check_result(size, &options).map_err(of_window(at, window))?;
            }
        }
        Ok(())
    }

    /// What is made of the samples of a group; `None` where that changes nothing.
    fn convert(&self, group: &Group<'_>, data_type: DataType) -> Result<Option<Convert>> {
        let stored = group.facts.layout.data_type;
        if !Convert::takes(stored) {
            let problem = format!("samples of {stored} do not become {data_type}, read them as they are");
            return Err(group.dataset.refuse(problem));
        }
        let as_they_are = Convert::masking(None);
        let convert = group.facts.unpacking.map_or(as_they_are, |unpacking| unpacking.convert);
        Ok(Some(convert).filter(|convert| stored != data_type || *convert != as_they_are))
    }

    /// What pixels of a group outside its image become.
    pub(super) fn edge(&self, group: &Group<'_>, data_type: DataType) -> Result<Fill> {
        let sample = |value: NoData| {
            let problem =
                || self.refuse(format!("the fill value {} is not one of {data_type}", value.as_f64()));
            value.to_sample(data_type).map(Fill).ok_or_else(problem)
        };
        match self.options.fill {
            Some(value) => sample(value),
            None if self.options.masked || self.options.unpack => sample(NoData::Float(f64::NAN)),
            None => {
                let (stored, fill) = (group.facts.layout.data_type, group.facts.layout.extras.fill);
                let converted = group.convert.map(|convert| convert.sample(stored, &fill, data_type));
                Ok(converted.map_or(fill, Option::unwrap_or_default))
            }
        }
    }
}

/// Files by what tells them apart, in the order in which they were met.
#[derive(Default)]
struct Sources {
    known: BTreeMap<(usize, usize, usize), u32>,
    list: Vec<Arc<dyn Source>>,
}

impl Sources {
    fn index(&mut self, key: (usize, usize, usize), source: &Arc<dyn Source>) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let at = *self.known.entry(key).or_insert(next);
        if at == next {
            self.list.push(Arc::clone(source));
        }
        at
    }
}
