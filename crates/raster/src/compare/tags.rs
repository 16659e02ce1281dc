//! Compares colours, orientation, and the tags that are not covered elsewhere, by value.

use super::{Differences, against};
use crate::convert::colours_as_read;
use crate::error::Result;
use crate::file::dataset::Dataset;
use crate::file::open::io_error;
use crate::file::pages::Level;
use crate::source::read_ranges;
use std::collections::BTreeSet;
use strile_engine::Cancel;
use strile_tiff::{Directory, Entry, ExtraSample, Image, Tag, ValueData};

/// Bytes of a large value compared at once.
const CHUNK: u64 = 1 << 20;

/// Compares the full images of a page.
pub(super) fn compare(
    (a, a_level): (&Dataset, &Level),
    (b, b_level): (&Dataset, &Level),
    place: &str,
    found: &mut Differences,
) -> Result<()> {
    colours(&a_level.image, &b_level.image, place, found);
    let turned = (a_level.image.orientation, b_level.image.orientation);
    found.unequal(("orientation", place), turned, |code| format!("orientation {code}"));
    let (Some(a), Some(b)) = (Tagged::of(a, a_level), Tagged::of(b, b_level)) else { return Ok(()) };
    let own = |tagged: &Tagged<'_>| -> BTreeSet<Tag> {
        let tags = tagged.directory.entries().iter().map(|entry| entry.tag);
        tags.filter(|tag| !is_of_storage(*tag)).collect()
    };
    for tag in own(&a).union(&own(&b)) {
        let here = match place {
            "" => tag.to_string(),
            place => format!("{place}, {tag}"),
        };
        match (a.directory.get(*tag), b.directory.get(*tag)) {
            (Some(in_a), Some(in_b)) => {
                if !same_value((&a, in_a), (&b, in_b))? {
                    found.add("tag", here, against(&a.words(in_a), &b.words(in_b)));
                }
            }
            (Some(_), None) => found.add("tag", here, "only in the first file"),
            (None, Some(_)) => found.add("tag", here, "only in the second file"),
            (None, None) => {}
        }
    }
    Ok(())
}

fn colours(a: &Image, b: &Image, place: &str, found: &mut Differences) {
    found.unequal(("colour", place), (colours_as_read(a), colours_as_read(b)), |p| p.name());
    let extra = |image: &Image| -> Vec<ExtraSample> { image.colour.extra_samples.clone() };
    found.unequal(("extra-samples", place), (extra(a), extra(b)), |extra| format!("{extra:?}"));
    let (a, b) = (&a.colour.colour_map, &b.colour.colour_map);
    match (a, b) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            if let Some((index, (a, b))) = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b) {
                let message = format!("entry {index}: {}", against(&format!("{a:?}"), &format!("{b:?}")));
                found.add("colour-table", place, message);
            }
        }
        _ => {
            let len = |table: &Option<Vec<[u16; 3]>>| table.as_ref().map_or(0, Vec::len);
            found.unequal(("colour-table", place), (len(a), len(b)), |n| format!("{n} colours"));
        }
    }
}

/// Returns whether a tag describes how pixels are stored, points elsewhere, or is compared as a fact.
pub(crate) fn is_of_storage(tag: Tag) -> bool {
    tag.is_of_layout()
        || matches!(
            tag,
            Tag::Orientation
                | Tag::FreeOffsets
                | Tag::FreeByteCounts
                | Tag::JPEGProc
                | Tag::JPEGInterchangeFormat
                | Tag::JPEGInterchangeFormatLength
                | Tag::JPEGRestartInterval
                | Tag::JPEGLosslessPredictors
                | Tag::JPEGPointTransforms
                | Tag::JPEGQTables
                | Tag::JPEGDCTables
                | Tag::JPEGACTables
                | Tag::YCbCrCoefficients
                | Tag::YCbCrPositioning
                | Tag::ReferenceBlackWhite
                | Tag::StripRowCounts
                | Tag::ImageDepth
                | Tag::TileDepth
                | Tag::ModelPixelScaleTag
                | Tag::ModelTiepointTag
                | Tag::ModelTransformationTag
                | Tag::ExifIFD
                | Tag::GeoKeyDirectoryTag
                | Tag::GeoDoubleParamsTag
                | Tag::GeoAsciiParamsTag
                | Tag::GPSIFD
                | Tag::InteroperabilityIFD
                | Tag::GlobalParametersIFD
                | Tag::GDAL_METADATA
                | Tag::GDAL_NODATA
                | Tag::RPCCoefficientTag
        )
}

/// A directory and its file.
struct Tagged<'a> {
    dataset: &'a Dataset,
    file: usize,
    directory: &'a Directory,
}

impl<'a> Tagged<'a> {
    fn of(dataset: &'a Dataset, level: &Level) -> Option<Self> {
        let directory = dataset.file(level.file)?.tiff.directories.get(level.image.directory)?;
        Some(Self { dataset, file: level.file, directory })
    }

    /// Returns bytes `at` to `end` of a value, in the byte order of little-endian machines.
    fn bytes(&self, entry: &Entry, at: u64, end: u64) -> Result<Vec<u8>> {
        let mut bytes = match &entry.data {
            ValueData::Here(bytes) => {
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                bytes.get(index(at)..index(end)).unwrap_or_default().to_vec()
            }
            ValueData::There(range) => {
                let Some(file) = self.dataset.file(self.file) else { return Ok(Vec::new()) };
                let part = range.start.saturating_add(at)..range.start.saturating_add(end).min(range.end);
                let read = read_ranges(file.source.as_ref(), std::slice::from_ref(&part), &Cancel::default());
                let read = read.map_err(|error| io_error(file.source.as_ref(), error))?;
                read.into_iter().next().unwrap_or_default()
            }
        };
        let unit = usize::try_from(entry.field_type.swap_unit()).unwrap_or(1);
        if self.directory.byte_order == strile_tiff::ByteOrder::Big && unit > 1 {
            bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
        Ok(bytes)
    }

    fn words(&self, entry: &Entry) -> String {
        let text =
            self.directory.text(entry.tag).filter(|_| entry.field_type == strile_tiff::FieldType::Ascii);
        let numbers = self.directory.floats(entry.tag).ok().flatten().filter(|numbers| numbers.len() <= 4);
        match (text, numbers) {
            (Some(text), _) => format!("`{}`", text.escape_debug()),
            (None, Some(numbers)) => format!("{numbers:?}"),
            (None, None) => format!("{} values of type {}", entry.count, entry.field_type.name()),
        }
    }
}

/// Returns whether two values are equal. Numbers of different types are compared as numbers.
fn same_value((a, in_a): (&Tagged<'_>, &Entry), (b, in_b): (&Tagged<'_>, &Entry)) -> Result<bool> {
    if in_a.count != in_b.count {
        return Ok(false);
    }
    if in_a.field_type != in_b.field_type {
        let numbers = |tagged: &Tagged<'_>, tag: Tag| tagged.directory.floats(tag).ok().flatten();
        let (a, b) = (numbers(a, in_a.tag), numbers(b, in_b.tag));
        return Ok(a.is_some() && a == b);
    }
    // Both are inside their files, so the product is a valid length.
    let len = in_a.count.saturating_mul(in_a.field_type.size());
    let mut at = 0;
    while at < len {
        let end = at.saturating_add(CHUNK).min(len);
        if a.bytes(in_a, at, end)? != b.bytes(in_b, at, end)? {
            return Ok(false);
        }
        at = end;
    }
    Ok(true)
}
