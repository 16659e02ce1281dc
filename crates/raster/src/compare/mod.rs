//! How two files differ: shape, pixels, masks, overviews, georeference, metadata, tags, and on request how they
//! are stored.
//!
//! Values are compared, not bytes: every NaN equals every NaN, -0 equals 0, and YCbCr is compared as the RGB it
//! is read as. Pixels are compared piece by piece in bounded memory. Stored statistics are not compared, as
//! they follow from pixels.

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

/// What is compared, and how closely.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompareOptions {
    /// How far two samples may be apart and count as equal.
    pub tolerance: f64,
    /// Compare also compression, blocks, interleaving, predictor and byte order.
    pub structure: bool,
    /// The most samples of a level, as in `ReadOptions::max_pixels`.
    pub max_pixels: Option<u64>,
    /// Who decodes.
    pub decode_on: Processor,
}

impl CompareOptions {
    /// Returns the options that compare samples exactly.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how far two samples may be apart and count as equal.
        tolerance: f64,
        /// Sets whether the way pixels are stored is compared, too.
        structure: bool,
        /// Sets who decodes.
        decode_on: Processor,
    }

    limits! {
        /// Limits the samples of a level.
        max_pixels: u64,
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What differs, a stable name for programs: `size`, `pixels`, `crs`, …
    pub category: &'static str,
    /// Where: a level of a page, a band, an item, a tag; empty where it is the file.
    pub place: String,
    /// What the first file has, and what the second.
    pub message: String,
    /// Figures, where pixels or masks differ.
    pub samples: Option<SampleDifference>,
}

/// How the samples of a level differ.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleDifference {
    /// Samples that differ.
    pub count: u64,
    /// Samples compared.
    pub compared: u64,
    /// Band of the first that differs, from 1; first by band, then row, then column.
    pub band: u32,
    /// Its row.
    pub row: u32,
    /// Its column.
    pub column: u32,
    /// Its value in the first file.
    pub a: String,
    /// Its value in the second file.
    pub b: String,
    /// The largest distance of two samples; infinite where a NaN stands against a number.
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

/// Differences in the order they were found.
#[derive(Debug, Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn add(&mut self, category: &'static str, place: impl Into<String>, message: impl Into<String>) {
        self.0.push(Difference { category, place: place.into(), message: message.into(), samples: None });
    }

    /// Adds a difference where two values are not equal, told by `words`.
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

/// Texts of files can be long; their beginning shows what they are.
const LONGEST_SHOWN: usize = 80;

fn against(a: &str, b: &str) -> String {
    let shown = |text: &str| {
        let cut: String = text.chars().take(LONGEST_SHOWN).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    };
    format!("{} in the first file, {} in the second", shown(a), shown(b))
}

/// For `Differences::unequal`: the value in backticks, or that there is none.
fn text_or_none(text: &Option<String>) -> String {
    text.as_ref().map_or_else(|| "nothing".into(), |text| format!("`{}`", text.escape_debug()))
}

impl Dataset {
    /// How `other` differs from this file; nothing where they are equal.
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

/// Two files while they are compared.
struct Comparison<'a> {
    a: &'a Dataset,
    b: &'a Dataset,
    options: &'a CompareOptions,
    context: &'a Context,
}

/// A level of a page, for messages.
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
        // Every block is read once.
        Execution { decode_on, max_pixels, cache: Cache::Off, ..Execution::default() }
    }
}

/// The first page needs no name.
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
