//! Compares two files: shape, pixels, masks, overviews, georeferencing, metadata, tags, and optionally how they are
//! stored.
//!
//! Values are compared, not bytes: NaN equals NaN, -0 equals 0, and YCbCr is compared as the RGB it is read as. Pixels
//! are compared piece by piece in bounded memory. Stored statistics are not compared, because they follow from pixels.

mod facts;
mod pixels;
mod samples;
mod storage;
mod tags;

pub(crate) use tags::is_of_storage;

use crate::cache::Cache;
use crate::error::Result;
use crate::file::dataset::Dataset;
use crate::file::pages::{Level, Page};
use crate::options::{Execution, Layer, Place, Processor, limits, setters};
use strile_engine::Context;

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompareOptions {
    /// Largest difference of two samples that count as equal.
    pub tolerance: f64,
    /// Whether to compare compression, blocks, interleaving, predictor and byte order, too.
    pub structure: bool,
    /// Largest number of samples of a level, as in `ReadOptions::max_pixels`.
    pub max_pixels: Option<u64>,
    /// The processor that decodes.
    pub decode_on: Processor,
}

impl CompareOptions {
    /// Returns the options that compare samples exactly.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the largest difference of two samples that count as equal.
        tolerance: f64,
        /// Sets whether to compare how pixels are stored, too.
        structure: bool,
        /// Sets the processor that decodes.
        decode_on: Processor,
    }

    limits! {
        /// Limits the number of samples of a level.
        max_pixels: u64,
    }
}

/// A difference between two files.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Category: a stable name for programs, such as `size`, `pixels`, `crs`, …
    pub category: &'static str,
    /// Place: a level of a page, a band, an item, a tag. Empty for the whole file.
    pub place: String,
    /// The values in the first and the second file.
    pub message: String,
    /// Statistics, if pixels or masks differ.
    pub samples: Option<SampleDifference>,
}

/// Differences between the samples of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleDifference {
    /// Number of samples that differ.
    pub count: u64,
    /// Number of samples compared.
    pub compared: u64,
    /// Band of the first difference, from 1. The order is by band, then row, then column.
    pub band: u32,
    /// Its row.
    pub row: u32,
    /// Its column.
    pub column: u32,
    /// Its value in the first file.
    pub a: String,
    /// Its value in the second file.
    pub b: String,
    /// The largest difference of two samples; infinite between NaN and a number.
    pub largest: f64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "{}: {}", self.category, self.message),
            place => write!(f, "{}: {place}: {}", self.category, self.message),
        }
    }
}

/// Differences in the order of detection.
#[derive(Debug, Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn add(&mut self, category: &'static str, place: impl Into<String>, message: impl Into<String>) {
        self.0.push(Difference { category, place: place.into(), message: message.into(), samples: None });
    }

    /// Adds a difference if two values are not equal, described by `words`.
    fn unequal<T: PartialEq>(
        &mut self,
        (category, place): (&'static str, &str),
        (a, b): (T, T),
        words: impl Fn(&T) -> String,
    ) {
        if a != b {
            self.add(category, place, against(&words(&a), &words(&b)));
        }
    }
}

/// Texts of files can be long, so only their beginning is shown.
const LONGEST_SHOWN: usize = 80;

fn against(a: &str, b: &str) -> String {
    let shown = |text: &str| {
        let cut: String = text.chars().take(LONGEST_SHOWN).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    };
    format!("{} in the first file, {} in the second", shown(a), shown(b))
}

/// Formats a value for `Differences::unequal`: in backticks, or as "nothing".
fn text_or_none(text: &Option<String>) -> String {
    text.as_ref().map_or_else(|| "nothing".into(), |text| format!("`{}`", text.escape_debug()))
}

impl Dataset {
    /// Returns how `other` differs from this file; empty if they are equal.
    pub fn compare(
        &self,
        other: &Dataset,
        options: &CompareOptions,
        context: &Context,
    ) -> Result<Vec<Difference>> {
        let mut found = Differences::default();
        let (pages_a, pages_b) = (self.pages(), other.pages());
        found.unequal(("pages", ""), (pages_a.len(), pages_b.len()), |n| format!("{n} pages"));
        let comparison = Comparison { a: self, b: other, options, context };
        for (index, (a, b)) in pages_a.iter().zip(pages_b).enumerate() {
            comparison.page(index, (a, b), &mut found)?;
        }
        facts::compare(self.metadata(), other.metadata(), options.structure, &mut found);
        for (index, (a, b)) in pages_a.iter().zip(pages_b).enumerate() {
            if let (Some(a), Some(b)) = (a.full(), b.full()) {
                tags::compare((self, a), (other, b), &page_name(index), &mut found)?;
            }
        }
        if options.structure {
            storage::compare(self, other, &mut found);
        }
        Ok(found.0)
    }
}

/// Two files that are compared.
struct Comparison<'a> {
    a: &'a Dataset,
    b: &'a Dataset,
    options: &'a CompareOptions,
    context: &'a Context,
}

/// Returns the name of a level of a page, for messages.
fn name_of(place: &Place) -> String {
    let page = page_name(place.page);
    let level = match place.level {
        0 => String::new(),
        level => format!("level {level}"),
    };
    [page, level].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

impl CompareOptions {
    fn execution(&self) -> Execution {
        let Self { decode_on, max_pixels, .. } = *self;
        // Every block is read only once.
        Execution { decode_on, max_pixels, cache: Cache::Off, ..Execution::default() }
    }
}

/// Returns the name of a page; empty for the first one.
fn page_name(page: usize) -> String {
    if page == 0 { String::new() } else { format!("page {page}") }
}

impl Comparison<'_> {
    fn page(&self, page: usize, (a, b): (&Page, &Page), found: &mut Differences) -> Result<()> {
        for (level, pair) in a.levels.iter().zip(&b.levels).enumerate() {
            self.level(&Place::new().page(page).level(level), pair, found)?;
        }
        let counts = (a.levels.len(), b.levels.len());
        found.unequal(("overviews", &page_name(page)), counts, |n| {
            format!("{} overviews", n.saturating_sub(1))
        });
        Ok(())
    }

    fn level(&self, place: &Place, (a, b): (&Level, &Level), found: &mut Differences) -> Result<()> {
        let name = name_of(place);
        let before = found.0.len();
        let size = |level: &Level| (level.image.width, level.image.height);
        found.unequal(("size", &name), (size(a), size(b)), |(w, h)| format!("{w} × {h} pixels"));
        let bands = |level: &Level| level.image.samples;
        found.unequal(("bands", &name), (bands(a), bands(b)), |n| format!("{n} bands"));
        let data_type = |level: &Level| level.image.sample.data_type();
        found.unequal(("type", &name), (data_type(a), data_type(b)), |t| match t {
            Some(t) => t.name().to_owned(),
            None => "an unreadable type".into(),
        });
        let same_size = size(a) == size(b);
        if found.0.len() == before {
            self.pixels(place, Layer::Pixels, (&a.image, &b.image), found)?;
        }
        let masks = (a.mask.as_ref(), b.mask.as_ref());
        found.unequal(("mask", &name), (masks.0.is_some(), masks.1.is_some()), |has| {
            if *has { "a mask".into() } else { "none".into() }
        });
        if let (true, (Some((_, a)), Some((_, b)))) = (same_size, masks) {
            self.pixels(place, Layer::Mask, (a, b), found)?;
        }
        Ok(())
    }
}
