//! Copies tags of the input that describe the picture and that strile does not write itself.

use super::spec::has_grey_table;
use crate::compare::is_of_storage;
use crate::file::dataset::Dataset;
use crate::file::fields::ValueRoom;
use crate::options::Place;
use crate::source::read_ranges;
use strile_engine::Cancel;
use strile_tiff::{FieldType, FieldValue, Photometric, Tag, ValueData};

/// Baseline tags with one value per band, which are wrong for other bands.
const OF_BANDS: [Tag; 9] = [
    Tag::MinSampleValue,
    Tag::MaxSampleValue,
    Tag::TransferFunction,
    Tag::InkSet,
    Tag::InkNames,
    Tag::NumberOfInks,
    Tag::DotRange,
    Tag::SMinSampleValue,
    Tag::SMaxSampleValue,
];

/// Directories that a photograph's tags point to. They hold offsets of their own, so they cannot be copied as bytes.
const DIRECTORIES: [(Tag, &str); 2] = [(Tag::ExifIFD, "EXIF"), (Tag::GPSIFD, "GPS")];

/// Returns the tags to copy.
pub(crate) fn tags_of(input: &Dataset, place: &Place, warnings: &mut Vec<String>) -> Vec<(Tag, FieldValue)> {
    let Ok(target) = input.target(&Place { level: 0, window: None, reduce: 0, ..place.clone() }) else {
        return Vec::new();
    };
    let Some(directory) = target.file.tiff.directories.get(target.image.directory) else { return Vec::new() };
    let all = target.bands.iter().copied().eq(1..=target.image.samples);
    let goes = |tag: Tag| match tag {
        Tag::Orientation => true,
        tag => !is_of_storage(tag) && (all || !OF_BANDS.contains(&tag)),
    };
    let colour = &target.image.colour;
    let has_table = colour.photometric == Photometric::Palette || has_grey_table(&target.image);
    if colour.colour_map.is_some() && !has_table {
        warnings.push(format!("the colour table of {} samples is left out", colour.photometric.name()));
    }
    for (tag, name) in DIRECTORIES {
        if directory.entries().iter().any(|entry| entry.tag == tag) {
            warnings.push(format!("the {name} tags of the camera are left out"));
        }
    }
    let mut out = Vec::new();
    // Values beyond the limit are skipped, with a warning.
    let mut room = ValueRoom::new(target.file.tiff.file_len);
    for entry in directory.entries().iter().filter(|entry| goes(entry.tag)) {
        // Offsets mean nothing in another file.
        if matches!(entry.field_type, FieldType::Ifd | FieldType::Ifd8) {
            continue;
        }
        let bytes = match &entry.data {
            ValueData::Here(bytes) => Some(bytes.clone()),
            ValueData::There(range) if room.takes(range) => {
                let read =
                    read_ranges(target.file.source.as_ref(), std::slice::from_ref(range), &Cancel::default());
                read.ok().and_then(|mut bytes| bytes.pop())
            }
            ValueData::There(_) => None,
        };
        match bytes {
            Some(bytes) => {
                let byte_order = directory.byte_order;
                out.push((entry.tag, FieldValue::Raw { field_type: entry.field_type, byte_order, bytes }));
            }
            None => warnings.push(format!("{} is too large, or cannot be read, and left out", entry.tag)),
        }
    }
    out
}
