//! An opened file: its pages, overviews, masks and georeference, and reading from it.

use crate::deliver::deliver;
use crate::device::{self, Choice};
use crate::error::{Error, Result};
use crate::locate::locate;
use crate::metadata::{Metadata, Sidecars};
use crate::open::{OpenFile, OpenOptions};
use crate::options::{Interleave, Layer, OnFault, ReadOptions};
use crate::pages::{Level, Page, add_external_masks, add_external_overviews, pages_of};
use crate::plan::{Facts, Fetch, ReadPlan, layout_of, plan_read};
use crate::raster::Raster;
use crate::source::{FileSource, Source};
use crate::window::Window;
use crate::{adjust, mask, mask::MaskSource, pipeline};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_engine::{Context, Fill, Output, OutputSpec, Report, Support};
use strile_tiff::{DataType, Image, Tiff, Warning};

/// See the module.
pub struct Dataset {
    files: Vec<OpenFile>,
    pages: Vec<Page>,
    metadata: Metadata,
    warnings: Vec<Warning>,
}

/// Offset, size, span and task of a block while a read is planned.
const PLAN_BYTES_PER_BLOCK: u64 = 160;

/// What a request resolves to.
pub(crate) struct Target<'a> {
    pub(crate) file: &'a OpenFile,
    pub(crate) image: &'a Image,
    pub(crate) window: Window,
    pub(crate) bands: Vec<u16>,
}

impl Dataset {
    /// Opens a file, and what lies beside it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file with options.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Arc::new(FileSource::open(path)?);
        let sidecars = if options.sidecars { Sidecars::beside(path) } else { Sidecars::default() };
        let mut dataset = Self::from_parts(source, &sidecars, options)?;
        if options.sidecars {
            dataset.add_sidecar(path, "ovr", options, add_external_overviews)?;
            dataset.add_sidecar(path, "msk", options, add_external_masks)?;
        }
        Ok(dataset)
    }

    /// Opens any source; nothing beside it is looked for.
    pub fn from_source(source: Arc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        Self::from_parts(source, &Sidecars::default(), options)
    }

    fn from_parts(source: Arc<dyn Source>, sidecars: &Sidecars, options: &OpenOptions) -> Result<Self> {
        let mut file = OpenFile::open(source, &options.limits)?;
        let mut warnings = std::mem::take(&mut file.tiff.warnings);
        let wrong = |error| Error::File { file: file.source.name().to_owned(), error };
        let pages = pages_of(&file, &options.limits, &mut warnings).map_err(wrong)?;
        let first = pages.first().and_then(Page::full).map(|level| Arc::clone(&level.image));
        let metadata = match (first, file.tiff.directories.first()) {
            (Some(image), Some(directory)) => {
                let data_type = image.sample.data_type();
                Metadata::new(directory, image.samples, data_type, sidecars, &mut warnings)
            }
            _ => Metadata::default(),
        };
        Ok(Self { files: vec![file], pages, metadata, warnings })
    }

    fn add_sidecar(
        &mut self,
        path: &Path,
        extension: &str,
        options: &OpenOptions,
        add: fn(&mut [Page], usize, Vec<Page>),
    ) -> Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        let beside = PathBuf::from(name);
        if !beside.is_file() {
            return Ok(());
        }
        // A sidecar that cannot be read takes nothing away from the file itself.
        let opened =
            FileSource::open(&beside).and_then(|source| OpenFile::open(Arc::new(source), &options.limits));
        let pages = opened.and_then(|file| {
            let wrong = |error| Error::File { file: file.source.name().to_owned(), error };
            let pages = pages_of(&file, &options.limits, &mut self.warnings).map_err(wrong)?;
            Ok((file, pages))
        });
        match pages {
            Ok((file, pages)) => {
                add(&mut self.pages, self.files.len(), pages);
                self.files.push(file);
            }
            Err(error) => {
                let place = beside.display().to_string();
                self.warnings.push(Warning::new("unusable-sidecar", place, format!("ignored: {error}")));
            }
        }
        Ok(())
    }

    /// The name of the file, for messages.
    pub fn name(&self) -> &str {
        self.files.first().map_or("", |file| file.source.name())
    }

    /// The structure of the file itself.
    pub fn tiff(&self) -> Option<&Tiff> {
        self.files.first().map(|file| &file.tiff)
    }

    /// Its pages, each with overviews and masks.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Georeference, nodata, scales, names of the first page.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What was tolerated.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The file itself for 0, then sidecars.
    pub(crate) fn file(&self, index: usize) -> Option<&OpenFile> {
        self.files.get(index)
    }

    /// Whether a sidecar of that extension was opened.
    pub(crate) fn has_sidecar(&self, extension: &str) -> bool {
        let is = |file: &OpenFile| Path::new(file.source.name()).extension().is_some_and(|e| e == extension);
        self.files.iter().skip(1).any(is)
    }

    pub(crate) fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name().to_owned(), problem }
    }

    fn level(&self, options: &ReadOptions) -> Result<&Level> {
        let page = self.pages.get(options.page).ok_or_else(|| {
            self.refuse(format!(
                "there is no page {}, the file has {} (from 0)",
                options.page,
                self.pages.len()
            ))
        })?;
        let index = options.overview.map_or(0, |k| k.saturating_add(1));
        page.levels.get(index).ok_or_else(|| {
            let (wanted, there) = (index - 1, page.levels.len() - 1);
            self.refuse(format!("there is no overview {wanted}, page {} has {there} (from 0)", options.page))
        })
    }

    pub(crate) fn target(&self, options: &ReadOptions) -> Result<Target<'_>> {
        let level = self.level(options)?;
        let (file, image) = match options.layer {
            Layer::Pixels => (level.file, &level.image),
            Layer::Mask => match &level.mask {
                Some((file, mask)) => (*file, mask),
                None => return Err(self.refuse("there is no mask".into())),
            },
        };
        let file = self.files.get(file).ok_or_else(|| self.refuse("a sidecar is gone".into()))?;
        let window = options.window.unwrap_or(Window::full(image.width, image.height));
        if !window.is_inside(image.width, image.height) {
            return Err(self.refuse(format!(
                "window {window} is not inside the image of {} × {} pixels (a window is column,row,width,height)",
                image.width, image.height
            )));
        }
        let bands = match &options.bands {
            None => (1..=image.samples).collect(),
            Some(bands) => bands.clone(),
        };
        if bands.is_empty() {
            return Err(self.refuse("no band is asked for".into()));
        }
        if let Some(band) = bands.iter().find(|&&band| band == 0 || band > image.samples) {
            return Err(
                self.refuse(format!("there is no band {band}, the image has {} (from 1)", image.samples))
            );
        }
        Ok(Target { file, image, window, bands })
    }

    /// What missing blocks and masked pixels become.
    fn fill(&self, image: &Image) -> Fill {
        let sample = self.metadata.nodata.zip(image.sample.data_type());
        sample.and_then(|(nodata, data_type)| nodata.to_sample(data_type)).map(Fill).unwrap_or_default()
    }

    /// Where the validity of a level's pixels comes from.
    pub fn mask_source(&self, options: &ReadOptions) -> Result<MaskSource> {
        let level = self.level(options)?;
        Ok(match level.mask {
            Some(_) => MaskSource::Image,
            None => MaskSource::of(&level.image, self.metadata.nodata.is_some()),
        })
    }

    /// Plans a read without touching a pixel; a mask that has no image is read from what it comes from.
    pub fn plan(&self, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        if options.layer == Layer::Mask
            && let Some(pixels) = self.mask_source(options)?.pixels(options)
        {
            return Ok(self.prepare(&pixels, context)?.1);
        }
        Ok(self.prepare(options, context)?.1)
    }

    fn derived_mask(&self, source: MaskSource, options: &ReadOptions, context: &Context) -> Result<Raster> {
        let Some(pixels) = source.pixels(options) else {
            let target = self.target(&ReadOptions { layer: Layer::Pixels, ..options.clone() })?;
            let turned = options.apply_orientation && target.image.orientation >= 5;
            let Window { width, height, .. } = target.window;
            let size = if turned { (height, width) } else { (width, height) };
            return mask::all_valid(size, context);
        };
        let raster = self.read(&pixels, context)?;
        Ok(match source {
            MaskSource::NoData => mask::from_nodata(&raster, raster.fill),
            _ => mask::from_alpha(raster),
        })
    }

    fn prepare(&self, options: &ReadOptions, context: &Context) -> Result<(Choice, ReadPlan)> {
        let Target { file, image, window, bands } = self.target(options)?;
        let unsupported = |reason: String| Error::Unsupported { file: self.name().to_owned(), reason };
        let choice = device::choose(options.device).map_err(|reason| self.refuse(reason))?;
        let fill = match options.layer {
            Layer::Pixels => self.fill(image),
            Layer::Mask => Fill::default(),
        };
        let layout =
            layout_of(image, fill).ok_or_else(|| unsupported(format!("{} samples", image.sample)))?;
        let too_large = || {
            let (w, h) = (layout.width, layout.height);
            unsupported(format!("blocks of {w} × {h} pixels are larger than memory can address"))
        };
        let decoded_len = layout.decoded_len(layout.height).ok_or_else(too_large)?;
        layout.samples_len(layout.height).ok_or_else(too_large)?;
        if let Support::No(reason) = choice.engine.support(&layout) {
            return Err(unsupported(reason));
        }
        let fetch = match file.source.local() {
            Some(_) if choice.engine.pulls() => Fetch::Pulled,
            _ => Fetch::Staged,
        };
        let engine = choice.engine.name().to_owned();
        let facts = Facts {
            file: file.source.name(),
            file_len: file.source.len(),
            image,
            layout: Arc::new(layout),
            engine: &engine,
            engine_reason: &choice.reason,
            fetch,
            window,
            bands,
        };
        let output = facts.output(options).map_err(|error| self.refuse(error.to_string()))?;
        // Refused here, before a large block table is fetched for pixels that memory cannot hold.
        let need = output.len().map_or(u64::MAX, |len| len as u64);
        drop(context.budget.take(need, "the decoded image")?);
        let runs = facts.runs();
        let blocks = runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.end - run.start));
        let _plan =
            context.budget.take(blocks.saturating_mul(PLAN_BYTES_PER_BLOCK), "the plan of the read")?;
        let spans = locate(file.source.as_ref(), image, decoded_len, &runs)?;
        let plan = plan_read(facts, output, &spans, options);
        Ok((choice, plan))
    }

    /// Reads pixels into new memory.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Raster> {
        if options.layer == Layer::Mask {
            let source = self.mask_source(options)?;
            if source != MaskSource::Image {
                return self.derived_mask(source, options, context);
            }
        }
        let (choice, plan) = self.prepare(options, context)?;
        let _lease = context.budget.take(plan.memory.output, "the decoded image")?;
        let (spec, fill) = (plan.output.clone(), plan.layout.extras.fill);
        let output = Output::new(spec.clone()).map_err(|error| self.refuse(error.to_string()))?;
        let report = self.run(&choice, plan, &output, options, context)?;
        let pixels = output.into_vec().ok_or(Error::Engine(strile_engine::EngineError::Abandoned))?;
        let OutputSpec { data_type, bands, rows, columns, .. } = spec;
        let interleave = options.interleave;
        let raster =
            Raster { data_type, bands, rows, columns, interleave, pixels, fill, faults: report.faults };
        let image = self.target(options)?.image;
        adjust::apply(raster, image, options, context)
    }

    /// Reads pixels into the caller's output, which must have the type and shape that the read gives.
    pub fn read_into(&self, output: &Output, options: &ReadOptions, context: &Context) -> Result<Report> {
        let derived = options.layer == Layer::Mask && self.mask_source(options)? != MaskSource::Image;
        if derived || adjust::changes(self.target(options)?.image, options) {
            // What is done to a whole result is done in memory of its own, and put into the output after.
            let raster =
                self.read(&ReadOptions { interleave: Interleave::BandFirst, ..options.clone() }, context)?;
            self.check_shape(output, raster.data_type, (raster.bands, raster.rows, raster.columns))?;
            let choice = device::choose(options.device).map_err(|reason| self.refuse(reason))?;
            return deliver(raster, choice.engine.as_ref(), output, context);
        }
        let (choice, plan) = self.prepare(options, context)?;
        let spec = &plan.output;
        self.check_shape(output, spec.data_type, (spec.bands, spec.rows, spec.columns))?;
        self.run(&choice, plan, output, options, context)
    }

    fn check_shape(&self, output: &Output, data_type: DataType, shape: (u32, u32, u32)) -> Result<()> {
        let have = output.spec();
        if (have.data_type, (have.bands, have.rows, have.columns)) == (data_type, shape) {
            return Ok(());
        }
        let (bands, rows, columns) = shape;
        Err(self.refuse(format!(
            "the output is {} × {} × {} {}, the read gives {bands} × {rows} × {columns} {data_type}",
            have.bands, have.rows, have.columns, have.data_type
        )))
    }

    fn run(
        &self,
        choice: &Choice,
        plan: ReadPlan,
        output: &Output,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<Report> {
        let source = &self.target(options)?.file.source;
        let report = pipeline::run(plan, source.as_ref(), choice.engine.as_ref(), output, context)?;
        match (options.on_fault, report.faults.first()) {
            (OnFault::Fail, Some(first)) => Err(Error::Blocks {
                file: source.name().to_owned(),
                first: first.clone(),
                count: report.faults.len(),
            }),
            _ => Ok(report),
        }
    }
}
