//! The properties of the VRT and its bands: those that all files have in common. Files that contradict each other in
//! the meaning of values (scale, offset, unit, colours, names of values) are an error; other differences, and
//! properties that a VRT cannot hold, cause warnings.

use super::IndexOptions;
use super::place::Grid;
use super::tile::Tile;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use strile_tiff::gdal::{BandMetadata, MetadataItem, NoData};
use strile_tiff::geo::{AreaOrPoint, Crs};

/// Properties of one band.
#[derive(Default)]
pub(super) struct BandSaid {
    pub(super) metadata: BandMetadata,
    pub(super) nodata: Option<NoData>,
    pub(super) categories: Vec<String>,
    pub(super) colour_table: Vec<[u16; 4]>,
    pub(super) bits: Option<u32>,
    /// Whether pixels that the mask or alpha of a file marks invalid are transparent.
    pub(super) by_mask: bool,
    /// The files to place, by index, each with its band.
    pub(super) sources: Vec<(usize, u16)>,
}

/// Properties of the VRT.
#[derive(Default)]
pub(super) struct Said {
    pub(super) crs: Option<Crs>,
    pub(super) items: Vec<MetadataItem>,
    pub(super) bands: Vec<BandSaid>,
    /// Files whose masks form the mask of the VRT.
    pub(super) masks: Vec<usize>,
}

/// Maximum number of files or other names in a message.
const SHOWN: usize = 5;

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn said_by(
    tiles: &[Tile],
    grid: &Grid,
    options: &IndexOptions,
    warnings: &mut Vec<String>,
) -> Result<Said> {
    let used: Vec<usize> =
        (0..tiles.len()).filter(|&at| matches!(grid.places.get(at), Some(Some(_)))).collect();
    let of = |at: &usize| tiles.get(*at);
    let chosen: Vec<&Tile> = used.iter().filter_map(of).collect();
    let Some(first) = chosen.first() else { return Ok(Said::default()) };
    // Statistics and camera models apply to all pixels of one file.
    let is_whole = chosen.len() == 1 && options.extent.is_none() && options.resolution.is_none();
    let mut said = Said { crs: first.metadata.georeference.crs.clone(), ..Said::default() };
    let skipped: Vec<&str> = (0..tiles.len())
        .filter(|at| !used.contains(at))
        .filter_map(|at| tiles.get(at))
        .map(|t| t.name.as_str())
        .collect();
    if !skipped.is_empty() {
        warnings.push(format!("left out, because they lie outside of the extent: {}", listed(&skipped)));
    }
    said.items = items_of(&chosen, is_whole, warnings);
    match options.separate {
        true => {
            for (at, tile) in used.iter().zip(&chosen) {
                for band in 1..=tile.bands {
                    said.bands.push(separate_band(tile, *at, band, is_whole));
                }
            }
            let meaning: Vec<&str> =
                chosen.iter().filter(|t| t.is_masked()).map(|t| t.name.as_str()).collect();
            if !meaning.is_empty() {
                warnings
                    .push(format!("masks and alpha do not apply to separate bands: {}", listed(&meaning)));
            }
        }
        false => {
            for band in 1..=first.bands {
                let mut one = common_band(&chosen, band, is_whole, warnings)?;
                one.by_mask = true;
                one.sources = used.iter().map(|&at| (at, band)).collect();
                said.bands.push(one);
            }
            if chosen.iter().any(|tile| tile.has_mask) {
                said.masks.clone_from(&used);
            }
        }
    }
    nodata_of(&chosen, options, warnings);
    let lost: BTreeSet<&str> = chosen.iter().flat_map(|tile| tile.lost.iter().map(String::as_str)).collect();
    if !lost.is_empty() {
        let lost: Vec<&str> = lost.into_iter().collect();
        warnings.push(format!("left out, because a VRT cannot hold it: {}", listed(&lost)));
    }
    let has_statistics = |tile: &&&Tile| {
        tile.metadata
            .bands
            .iter()
            .any(|band| band.statistics.is_some() || band.items.iter().any(is_statistic))
    };
    if !is_whole && chosen.iter().any(|tile| has_statistics(&tile)) {
        warnings.push("statistics of the files are left out: they are not those of the VRT".into());
    }
    let geo = |tile: &&Tile| !tile.metadata.georeference.gcps.is_empty();
    if chosen.iter().any(geo) {
        warnings.push("ground control points of the files are left out".into());
    }
    if !is_whole && chosen.iter().any(|tile| tile.metadata.georeference.rpc.is_some()) {
        warnings.push("camera models (RPC) of the files are left out: they are not those of the VRT".into());
    }
    Ok(said)
}

fn is_statistic((name, _): &(String, String)) -> bool {
    name.starts_with("STATISTICS_")
}

/// Returns the items of the dataset that all files have in common.
fn items_of(tiles: &[&Tile], is_whole: bool, warnings: &mut Vec<String>) -> Vec<MetadataItem> {
    let Some((first, others)) = tiles.split_first() else { return Vec::new() };
    let place = |item: &MetadataItem| match item.domain.as_str() {
        "" => item.name.clone(),
        domain => format!("{domain}:{}", item.name),
    };
    let is_own = |item: &MetadataItem| item.domain == "RPC" || item.name == "AREA_OR_POINT";
    let mut kept: Vec<MetadataItem> = first.metadata.items.iter().filter(|i| !is_own(i)).cloned().collect();
    let mut lost = BTreeSet::new();
    for other in others {
        let theirs = || other.metadata.items.iter().filter(|i| !is_own(i));
        let same = |a: &MetadataItem, b: &MetadataItem| {
            (&a.domain, &a.name, &a.value) == (&b.domain, &b.name, &b.value)
        };
        lost.extend(theirs().filter(|item| !kept.iter().any(|own| same(own, item))).map(place));
        kept.retain(|own| {
            let is_same = theirs().any(|item| same(own, item));
            if !is_same {
                lost.insert(place(own));
            }
            is_same
        });
    }
    if !lost.is_empty() {
        let lost: Vec<String> = lost.into_iter().collect();
        warnings.push(format!("metadata that differs between files is left out: {}", listed(&lost)));
    }
    let item = |name: &str, value: &str| MetadataItem {
        name: name.into(),
        domain: String::new(),
        sample: None,
        role: None,
        value: value.into(),
    };
    let kind = |tile: &Tile| tile.metadata.georeference.area_or_point;
    if let Some(kind) = kind(first) {
        kept.push(item("AREA_OR_POINT", kind.as_str()));
    }
    let point = |tile: &Tile| kind(tile) == Some(AreaOrPoint::Point);
    if let Some(other) = others.iter().find(|tile| point(tile) != point(first)) {
        warnings.push(format!("AREA_OR_POINT differs in {}; that of {} is kept", other.name, first.name));
    }
    if let (true, Some(rpc)) = (is_whole, &first.metadata.georeference.rpc) {
        kept.extend(rpc.to_items());
    }
    kept
}

fn own_band(tile: &Tile, band: u16, is_whole: bool) -> BandSaid {
    let at = usize::from(band.saturating_sub(1));
    let mut metadata = tile.metadata.bands.get(at).cloned().unwrap_or_default();
    metadata.domain_items.retain(|(domain, ..)| domain != "IMAGE_STRUCTURE");
    if !is_whole {
        metadata.statistics = None;
        metadata.items.retain(|item| !is_statistic(item));
    }
    metadata.colour = tile.colours.get(at).cloned().flatten();
    let has_table = metadata.sidecar.iter().any(|element| element.name == "ColorTable");
    let categories = if band == 1 { tile.metadata.categories.clone() } else { Vec::new() };
    // A table beside the file replaces its own.
    let colour_table = if band == 1 && !has_table { tile.colour_table.clone() } else { Vec::new() };
    BandSaid {
        metadata,
        nodata: tile.nodata,
        categories,
        colour_table,
        bits: tile.bits,
        by_mask: false,
        sources: Vec::new(),
    }
}

fn separate_band(tile: &Tile, at: usize, band: u16, is_whole: bool) -> BandSaid {
    let mut said = own_band(tile, band, is_whole);
    // The bands of several files do not form a picture.
    if said.colour_table.is_empty() && said.metadata.sidecar.is_empty() {
        said.metadata.colour = None;
    }
    said.sources = vec![(at, band)];
    said
}

/// Returns the properties of a band that all files have in common.
fn common_band(tiles: &[&Tile], band: u16, is_whole: bool, warnings: &mut Vec<String>) -> Result<BandSaid> {
    let Some((first, others)) = tiles.split_first() else { return Ok(BandSaid::default()) };
    let mut said = own_band(first, band, is_whole);
    let mut lost = BTreeSet::new();
    for other in others {
        let theirs = own_band(other, band, is_whole);
        let (a, b) = (&said.metadata, &theirs.metadata);
        let contradicts = |what: &str, here: String, there: String| {
            let problem =
                format!("expected the {what} {here} for band {band} as in {}, got {there}", first.name);
            Err(Error::Request { file: other.name.clone(), problem })
        };
        let scaling = |m: &BandMetadata| (m.scale.unwrap_or(1.0), m.offset.unwrap_or(0.0));
        if scaling(a) != scaling(b) {
            return contradicts("scale and offset", format!("{:?}", scaling(a)), format!("{:?}", scaling(b)));
        }
        let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
        if a.unit.is_some() && b.unit.is_some() && a.unit != b.unit {
            return contradicts("unit", told(&a.unit), told(&b.unit));
        }
        let colour =
            |m: &BandMetadata| m.colour.clone().filter(|colour| !colour.eq_ignore_ascii_case("undefined"));
        if colour(a) != colour(b) {
            return contradicts("colour", told(&a.colour), told(&b.colour));
        }
        if said.colour_table != theirs.colour_table {
            let count = |table: &[[u16; 4]]| format!("of {} entries", table.len());
            return contradicts(
                "colour table",
                count(&said.colour_table),
                format!("another {}", count(&theirs.colour_table)),
            );
        }
        if said.categories != theirs.categories {
            if !said.categories.is_empty() && !theirs.categories.is_empty() {
                return contradicts("category names", listed(&said.categories), listed(&theirs.categories));
            }
            warnings.push(format!("only some files name the categories of band {band}; the names are kept"));
            if said.categories.is_empty() {
                said.categories.clone_from(&theirs.categories);
            }
        }
        if said.metadata.sidecar != theirs.metadata.sidecar {
            if !said.metadata.sidecar.is_empty() && !theirs.metadata.sidecar.is_empty() {
                return contradicts("attribute and colour tables", "beside it".into(), "others".into());
            }
            warnings.push(format!(
                "only some files have attribute or colour tables of band {band}; they are kept"
            ));
            if said.metadata.sidecar.is_empty() {
                said.metadata.sidecar.clone_from(&theirs.metadata.sidecar);
            }
        }
        let (mut unit, mut name) = (said.metadata.unit.clone(), said.metadata.description.clone());
        for (what, own, other_own) in
            [("unit", &mut unit, &theirs.metadata.unit), ("name", &mut name, &theirs.metadata.description)]
        {
            if own != other_own {
                let kept = own.clone().or_else(|| other_own.clone());
                warnings.push(format!(
                    "band {band} has the {what} {} in {} and {} in {}; the VRT says {}",
                    told(own),
                    first.name,
                    told(other_own),
                    other.name,
                    told(&kept)
                ));
                *own = kept;
            }
        }
        (said.metadata.unit, said.metadata.description) = (unit, name);
        if said.bits != theirs.bits {
            said.bits = None;
        }
        keep_common(&mut said.metadata.items, &theirs.metadata.items, |item| item.0.clone(), &mut lost);
        let domain = |item: &(String, String, String)| format!("{}:{}", item.0, item.1);
        keep_common(&mut said.metadata.domain_items, &theirs.metadata.domain_items, domain, &mut lost);
        said.nodata = said.nodata.or(theirs.nodata);
    }
    if !lost.is_empty() {
        let lost: Vec<String> = lost.into_iter().collect();
        warnings.push(format!(
            "metadata of band {band} that differs between files is left out: {}",
            listed(&lost)
        ));
    }
    // A name that differs in many files is reported once.
    warnings.dedup();
    Ok(said)
}

fn keep_common<T: PartialEq>(
    own: &mut Vec<T>,
    theirs: &[T],
    name: impl Fn(&T) -> String,
    lost: &mut BTreeSet<String>,
) {
    lost.extend(theirs.iter().filter(|item| !own.contains(item)).map(&name));
    own.retain(|item| {
        let is_same = theirs.contains(item);
        if !is_same {
            lost.insert(name(item));
        }
        is_same
    });
}

/// Warns if files without nodata, or with another value, may hold the value of the VRT as data.
fn nodata_of(tiles: &[&Tile], options: &IndexOptions, warnings: &mut Vec<String>) {
    if options.separate || options.nodata.is_some() {
        return;
    }
    let Some(kept) = tiles.iter().find_map(|tile| tile.nodata) else { return };
    let same = |tile: &&&Tile| tile.nodata.map(NoData::to_text) == Some(kept.to_text());
    let others: Vec<&str> = tiles.iter().filter(|tile| !same(tile)).map(|tile| tile.name.as_str()).collect();
    if !others.is_empty() {
        warnings.push(format!(
            "the VRT has the nodata value {}; valid pixels of that value read as missing in files that have another one or \
             none: {}",
            kept.to_text(),
            listed(&others)
        ));
    }
}
