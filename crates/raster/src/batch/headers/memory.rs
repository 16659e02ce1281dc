//! Memory of a kept header: every text, list and table of an opened file.
//!
//! Structs with public fields are destructured field by field, so that a new field does not compile here. A source
//! counts as a fixed number of bytes plus the first bytes that a remote one keeps; a source that is not a file counts
//! its other memory (a connection, all its bytes) itself.

use super::{Entry, ToldBy};
use crate::file::dataset::Dataset;
use crate::file::metadata::Metadata;
use crate::file::open::OpenFile;
use crate::file::pages::{Level, Page};
use crate::source::Version;
use std::path::PathBuf;
use std::sync::Arc;
use strile_tiff::gdal::{BandMetadata, Element, MetadataItem, NoData, Statistics};
use strile_tiff::geo::{AreaOrPoint, Crs, Gcp, GeoKeys, GeoTransform, Georeference, KeyValue};
use strile_tiff::geo::{Rpc, Unit, VerticalCrs};
use strile_tiff::{BlockArray, BlockTable, Colour, Directory, ExtraSample, Image, Tiff, ValueData, Warning};

/// Approximate overhead of an allocation: rounding, and the allocator's own data.
const EACH: usize = 16;
/// A file of a pool, with its entry there, without its name and its path.
const SOURCE: usize = 512;

/// Returns the memory of a kept header, with its entries in the lists of `Kept`, which hold the path twice.
pub(super) fn of_entry(path: &PathBuf, dataset: &Arc<Dataset>, told_by: &ToldBy) -> u64 {
    // Hash tables are at least 7/16 full, nodes of trees 5/11.
    let places = 3 * (size_of::<(PathBuf, Entry)>() + size_of::<(u64, PathBuf)>());
    let told_by = match told_by {
        ToldBy::Files(versions) => versions.held(),
        ToldBy::Source(version) => version.held(),
    };
    [places, 2 * path.held(), told_by, dataset.held()].into_iter().fold(0, usize::saturating_add) as u64
}

/// Returns the memory of an opened file.
pub(crate) fn of_dataset(dataset: &Dataset) -> u64 {
    size_of::<Dataset>().saturating_add(dataset.held()) as u64
}

/// Returns the memory that a value has allocated. Its owner counts its own size.
trait Held {
    fn held(&self) -> usize;
}

/// Returns the memory of an allocation of `bytes` bytes.
fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes.saturating_add(EACH) }
}

fn sum<const N: usize>(parts: [usize; N]) -> usize {
    parts.into_iter().fold(0, usize::saturating_add)
}

/// Types without allocations.
macro_rules! flat {
    ($($name:ty),+ $(,)?) => {
        $(impl Held for $name {
            fn held(&self) -> usize {
                0
            }
        })+
    };
}

flat!(u8, u16, u64, f64, [u16; 3], ExtraSample, NoData, GeoTransform, Rpc, AreaOrPoint, Statistics);

impl Held for String {
    fn held(&self) -> usize {
        allocated(self.capacity())
    }
}

impl Held for PathBuf {
    fn held(&self) -> usize {
        allocated(self.capacity())
    }
}

impl<T: Held> Held for Option<T> {
    fn held(&self) -> usize {
        self.as_ref().map_or(0, Held::held)
    }
}

impl<T: Held> Held for [T] {
    fn held(&self) -> usize {
        self.iter().map(Held::held).fold(0, usize::saturating_add)
    }
}

impl<T: Held> Held for Vec<T> {
    fn held(&self) -> usize {
        let own = allocated(self.capacity().saturating_mul(size_of::<T>()));
        own.saturating_add(self.as_slice().held())
    }
}

impl<T: Held> Held for Arc<T> {
    fn held(&self) -> usize {
        let counts = 2 * size_of::<usize>();
        allocated(size_of::<T>() + counts).saturating_add(T::held(self))
    }
}

impl<A: Held, B: Held> Held for (A, B) {
    fn held(&self) -> usize {
        sum([self.0.held(), self.1.held()])
    }
}

impl<A: Held, B: Held, C: Held> Held for (A, B, C) {
    fn held(&self) -> usize {
        sum([self.0.held(), self.1.held(), self.2.held()])
    }
}

impl Held for Version {
    fn held(&self) -> usize {
        let Self { len: _, mark } = self;
        mark.held()
    }
}

impl Held for Dataset {
    fn held(&self) -> usize {
        let files: Vec<&OpenFile> = (0..).map_while(|index| self.file(index)).collect();
        let files = files.iter().map(|file| sum([2 * size_of::<OpenFile>(), file.held()]));
        let files = files.fold(0, usize::saturating_add);
        let pages = 2 * size_of_val(self.pages());
        sum([files, pages, self.pages().held(), self.metadata().held(), warnings(self.warnings())])
    }
}

impl Held for OpenFile {
    fn held(&self) -> usize {
        let Self { source, tiff } = self;
        let at_hand = allocated(usize::try_from(source.at_hand()).unwrap_or(usize::MAX));
        sum([SOURCE, 2 * allocated(source.name().len()), source.version().held(), at_hand, tiff.held()])
    }
}

impl Held for Tiff {
    fn held(&self) -> usize {
        let Self { header: _, file_len: _, directories, warnings: told } = self;
        sum([directories.held(), warnings(told)])
    }
}

impl Held for Directory {
    fn held(&self) -> usize {
        let value = |data: &ValueData| match data {
            ValueData::Here(bytes) => bytes.held(),
            ValueData::There(_) => 0,
        };
        let values = self.entries().iter().map(|entry| value(&entry.data)).fold(0, usize::saturating_add);
        // A list that grew takes at most twice what it needs.
        sum([allocated(2 * size_of_val(self.entries())), values])
    }
}

/// Returns the memory of warnings in the list that collects them, with the counts per code.
fn warnings(list: &[Warning]) -> usize {
    const CODE: usize = 64;
    sum([2 * size_of_val(list), list.len().saturating_mul(CODE), list.held()])
}

impl Held for Warning {
    fn held(&self) -> usize {
        let Self { code: _, place, message } = self;
        sum([place.held(), message.held()])
    }
}

impl Held for Page {
    fn held(&self) -> usize {
        let Self { levels } = self;
        levels.held()
    }
}

impl Held for Level {
    fn held(&self) -> usize {
        let Self { file: _, image, mask } = self;
        sum([image.held(), mask.as_ref().map_or(0, |(_, mask)| mask.held())])
    }
}

impl Held for Image {
    fn held(&self) -> usize {
        let Self {
            directory: _,
            subfile: _,
            width: _,
            height: _,
            samples: _,
            sample: _,
            mixed_bits,
            planar: _,
            grid: _,
            table: BlockTable { offsets, sizes },
            compression: _,
            predictor: _,
            reverse_bits: _,
            byte_order: _,
            orientation: _,
            colour,
        } = self;
        sum([mixed_bits.held(), offsets.held(), sizes.held(), colour.held()])
    }
}

impl Held for BlockArray {
    fn held(&self) -> usize {
        match self {
            Self::Here(values) => values.held(),
            Self::There(_) => 0,
        }
    }
}

impl Held for Colour {
    fn held(&self) -> usize {
        let Self {
            photometric: _,
            extra_samples,
            colour_map,
            ycbcr: _,
            jpeg_tables,
            lerc: _,
            fax_options: _,
        } = self;
        sum([extra_samples.held(), colour_map.held(), jpeg_tables.held()])
    }
}

impl Held for Metadata {
    fn held(&self) -> usize {
        let Self { georeference, nodata, bands, items, categories } = self;
        sum([georeference.held(), nodata.held(), bands.held(), items.held(), categories.held()])
    }
}

impl Held for MetadataItem {
    fn held(&self) -> usize {
        let Self { name, domain, sample: _, role, value } = self;
        sum([name.held(), domain.held(), role.held(), value.held()])
    }
}

impl Held for BandMetadata {
    fn held(&self) -> usize {
        let Self { scale, offset, unit, description, colour, statistics, items, domain_items, sidecar } =
            self;
        let texts = sum([unit.held(), description.held(), colour.held()]);
        let numbers = sum([scale.held(), offset.held(), statistics.held()]);
        sum([texts, numbers, items.held(), domain_items.held(), sidecar.held()])
    }
}

impl Held for Element {
    fn held(&self) -> usize {
        let Self { name, attributes, text, children } = self;
        sum([name.held(), attributes.held(), text.held(), children.held()])
    }
}

impl Held for Georeference {
    fn held(&self) -> usize {
        let Self { transform, crs, gcps, gcp_crs, height_unit, rpc, area_or_point, keys } = self;
        let numbers = sum([transform.held(), rpc.held(), area_or_point.held()]);
        sum([numbers, crs.held(), gcps.held(), gcp_crs.held(), height_unit.held(), keys.held()])
    }
}

impl Held for Crs {
    fn held(&self) -> usize {
        let Self { epsg: _, horizontal_epsg: _, wkt, name, kind: _, unit, vertical } = self;
        sum([wkt.held(), name.held(), unit.held(), vertical.held()])
    }
}

impl Held for VerticalCrs {
    fn held(&self) -> usize {
        let Self { epsg: _, name, unit } = self;
        sum([name.held(), unit.held()])
    }
}

impl Held for Unit {
    fn held(&self) -> usize {
        let Self { name, size: _ } = self;
        name.held()
    }
}

impl Held for Gcp {
    fn held(&self) -> usize {
        let Self { column: _, row: _, x: _, y: _, z: _, id } = self;
        id.held()
    }
}

impl Held for GeoKeys {
    fn held(&self) -> usize {
        let Self { revision: _, values } = self;
        // A node of the tree has room for 11 entries, and all but the first are at least 5/11 full.
        let each = size_of::<(u16, KeyValue)>() + size_of::<usize>();
        let nodes = if values.is_empty() { 0 } else { (values.len() * 11 / 5 + 11).saturating_mul(each) };
        values.values().map(Held::held).fold(nodes, usize::saturating_add)
    }
}

impl Held for KeyValue {
    fn held(&self) -> usize {
        match self {
            Self::Short(_) => 0,
            Self::Shorts(values) => values.held(),
            Self::Doubles(values) => values.held(),
            Self::Text(text) => text.held(),
        }
    }
}
