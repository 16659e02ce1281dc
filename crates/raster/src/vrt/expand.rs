//! Expands a request for pixels of a mosaic to an ordered list of items: rectangles of files, empty rectangles, and
//! layers.
//!
//! A source that is copied one to one is a rectangle of its file. Any other source is a layer, which `compose` blends.
//! A mosaic that is copied one to one into another is replaced by its own list.

use super::call::Call;
use super::opened::{Opened, nodata_of};
use super::parse::{Band, Source};
use super::place::{Extent, Part, Placed, Rectangles, copied_from};
use super::pool::{AHEAD, InUse};
use super::{Vrt, index::Index};
use crate::error::{Error, Result};
use crate::read::alike;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::number::{Number, reader, sample_of};
use strile_engine::{Blend, BlendValues, BlendWay, Engine, EngineError, Fill, Lease, Support};
use strile_tiff::DataType;

/// Number of layers that a plan names.
const NAMED: usize = 3;

/// A band from 1, or the mask of all bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Band(u16),
    Mask,
}

/// A window of a mosaic as requests for windows of its sources.
pub(super) struct Expanded {
    pub(super) data_type: DataType,
    /// Columns and rows.
    pub(super) size: (u32, u32),
    pub(super) bands: u32,
    pub(super) groups: Vec<Group>,
    _leases: Vec<Lease>,
}

/// Bands whose sources are the same except for the band.
pub(super) struct Group {
    /// The first of them, from 0.
    pub(super) first: u32,
    /// Per band: the value of pixels without a source.
    pub(super) fills: Vec<Fill>,
    pub(super) items: Vec<Item>,
}

/// An item that is placed or blended.
pub(super) struct Item {
    pub(super) at: Window,
    /// The first band that it is placed on, from 0, and the number of bands.
    pub(super) bands: (u32, u32),
    /// The file of the outermost mosaic that it comes from.
    pub(super) file: u32,
    pub(super) what: What,
}

pub(super) enum What {
    /// Pixels of a file from this column and row on.
    File {
        source: Arc<InUse>,
        bands: Arc<[u16]>,
        from: (u32, u32),
    },
    /// A single value: a nested mosaic where it has no source, or a missing source.
    Nothing(Fill),
    Layer(Box<Layer>),
}

/// The sample type of a band of the mosaic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Onto {
    pub(super) data_type: DataType,
    /// The largest value that its bits allow.
    largest: Option<i32>,
}

impl Onto {
    /// Returns how samples of a source are blended.
    pub(super) fn blend(&self, opened: &Opened, source: &Source) -> Blend {
        let (values, nodata) = (source.complex.clone(), nodata_of(opened, source));
        Blend { values, nodata, largest: self.largest }
    }
}

impl From<&Band> for Onto {
    fn from(band: &Band) -> Self {
        Self { data_type: band.data_type, largest: band.largest }
    }
}

/// A source that is not copied one to one.
pub(super) struct Layer {
    /// The mosaics that it is in, from outside to inside, without the outermost.
    pub(super) chain: Vec<Arc<InUse>>,
    pub(super) source: Arc<InUse>,
    /// Per band: the target, and the source.
    pub(super) pairs: Vec<(Onto, Source)>,
    pub(super) placed: (Placed, Placed),
    /// First column and row of the request of its mosaic.
    pub(super) corner: (u32, u32),
    /// The first band that it is blended onto.
    pub(super) band: u32,
}

/// A band with the sources that a request touches.
struct Touched<'a> {
    band: &'a Band,
    sources: Vec<&'a Source>,
}

impl Expanded {
    /// Returns the number of layers.
    pub(super) fn layers(&self) -> usize {
        let items = self.groups.iter().flat_map(|group| &group.items);
        items.filter(|item| matches!(item.what, What::Layer(_))).count()
    }

    /// Returns why an engine does not blend one of the layers; `None` if it blends all.
    pub(super) fn refused_by(&self, engine: &dyn Engine) -> Option<String> {
        let items = self.groups.iter().flat_map(|group| &group.items);
        let layers =
            items.filter_map(|item| if let What::Layer(layer) = &item.what { Some(layer) } else { None });
        layers.into_iter().find_map(|layer| layer.refused_by(engine))
    }

    /// Describes the first layers: each source, and why it is blended.
    pub(super) fn named_layers(&self) -> Vec<String> {
        let items = self.groups.iter().flat_map(|group| &group.items);
        let layers =
            items.filter_map(|item| if let What::Layer(layer) = &item.what { Some(layer) } else { None });
        layers.take(NAMED).map(|layer| layer.explained()).collect()
    }

    /// Returns the items that replace a nested mosaic.
    fn inlined(self, mosaic: &Arc<InUse>, at: Window, band: u32) -> (Vec<Item>, Vec<Lease>) {
        let mut items = Vec::new();
        for group in self.groups {
            let first = band + group.first;
            items.extend(alike(&group.fills).map(|(start, count, fill)| Item {
                at,
                bands: (first + start, count),
                file: 0,
                what: What::Nothing(fill),
            }));
            items.extend(group.items.into_iter().map(|item| {
                let what = match item.what {
                    What::Layer(mut layer) => {
                        layer.chain.insert(0, Arc::clone(mosaic));
                        layer.corner = (layer.corner.0 + at.column, layer.corner.1 + at.row);
                        layer.band += band;
                        What::Layer(layer)
                    }
                    other => other,
                };
                let at = Window { column: item.at.column + at.column, row: item.at.row + at.row, ..item.at };
                Item { at, bands: (item.bands.0 + band, item.bands.1), what, ..item }
            }));
        }
        (items, self._leases)
    }
}

impl Group {
    /// Replaces layers by copies if they are transparent only by nodata, and lie on nothing but the same nodata. Most
    /// mosaics of files with nodata consist of such layers.
    fn copy_layers(&mut self, call: &Call<'_>) -> Result<()> {
        for at in 0..self.items.len() {
            let Some((below, [item, ..])) = self.items.split_at_mut_checked(at) else { break };
            let What::Layer(layer) = &item.what else { continue };
            let Some(what) = layer.copied(&self.fills, item.bands.0.saturating_sub(self.first)) else {
                continue;
            };
            call.count(at as u64)?;
            let is_same = |other: &Item| match &other.what {
                What::Nothing(fill) => self.fills.iter().all(|below| below == fill),
                What::File { .. } | What::Layer(_) => false,
            };
            if below.iter().all(|other| other.at.intersection(&item.at).is_none() || is_same(other)) {
                item.what = what;
            }
        }
        Ok(())
    }
}

impl Layer {
    /// Returns why an engine does not blend it, or a source of the mosaic that it is.
    fn refused_by(&self, engine: &dyn Engine) -> Option<String> {
        let opened = self.source.opened.as_ref();
        let refused = |blend: &Blend| match engine.blends(blend) {
            Support::Yes => None,
            Support::No(reason) => Some(reason),
        };
        let own = self.pairs.iter().find_map(|(onto, source)| refused(&onto.blend(opened, source)));
        let nested = || {
            let Opened::Mosaic(vrt) = opened else { return None };
            let bands = vrt.bands.iter().chain(vrt.mask.iter().map(|(band, _)| band));
            let values = bands.flat_map(|band| &band.sources).filter_map(|source| source.complex.as_ref());
            let blend = |values| Blend { values: Some(Arc::clone(values)), ..Blend::default() };
            values.filter(|values| values.is_changed()).find_map(|values| refused(&blend(values)))
        };
        own.or_else(nested)
    }

    /// Describes its source, and why it is blended.
    fn explained(&self) -> String {
        let opened = self.source.opened.as_ref();
        let name = match opened {
            Opened::File(leaf) => leaf.dataset.name(),
            Opened::Warped(warped) => warped.leaf().map_or("", |leaf| leaf.dataset.name()),
            Opened::Mosaic(vrt) => vrt.name(),
        };
        let any =
            |is: &dyn Fn(&Onto, &Source) -> bool| self.pairs.iter().any(|(onto, source)| is(onto, source));
        let complex =
            |is: fn(&BlendValues) -> bool| any(&|_, source| source.complex.as_deref().is_some_and(is));
        let reasons = [
            (copied_from(&self.placed.0, &self.placed.1).is_none(), "resampled"),
            (complex(BlendValues::is_changed), "values scaled or looked up"),
            (complex(BlendValues::is_power), "by a power"),
            (any(&|_, source| nodata_of(opened, source).is_some()), "transparent by nodata"),
            (complex(|complex| complex.uses_mask), "transparent by its mask"),
            (any(&|_, source| source.is_mask), "its mask as pixels"),
            (any(&|onto, _| opened.data_type().ok() != Some(onto.data_type)), "converted to another type"),
            (matches!(opened, Opened::Warped(_)), "warped"),
            (matches!(opened, Opened::Mosaic(_)), "a mosaic"),
        ];
        let reasons: Vec<&str> = reasons.into_iter().filter(|(is, _)| *is).map(|(_, words)| words).collect();
        match reasons.is_empty() {
            true => name.to_owned(),
            false => format!("{name} ({})", reasons.join(", ")),
        }
    }

    /// Returns the equivalent copy for these values below its bands; `None` if there is none.
    fn copied(&self, fills: &[Fill], first: u32) -> Option<What> {
        let from = copied_from(&self.placed.0, &self.placed.1)?;
        let opened = self.source.opened.as_ref();
        let Opened::File(_) = opened else { return None };
        let data_type = opened.data_type().ok()?;
        let mut pairs = self.pairs.iter().zip(fills.iter().skip(first as usize));
        let all = pairs.all(|((onto, source), fill)| {
            !source.is_mask && is_copy_upon(&fill.0, data_type, &onto.blend(opened, source), onto)
        });
        let bands = self.pairs.iter().map(|(_, source)| source.band).collect();
        all.then(|| What::File { source: Arc::clone(&self.source), bands, from })
    }
}

impl Vrt {
    pub(super) fn band(&self, which: Which) -> Option<(&Band, &Index)> {
        match which {
            Which::Band(band) => {
                let at = usize::from(band).checked_sub(1)?;
                Some((self.bands.get(at)?, self.indexes.get(at)?))
            }
            Which::Mask => self.mask.as_ref().map(|(band, index)| (band, index)),
        }
    }

    /// Returns the items of some bands of a request. Sources that cannot be opened are skipped if that is allowed.
    pub(super) fn expand(&self, which: &[Which], request: (Part, Part), call: &Call<'_>) -> Result<Expanded> {
        let (columns, rows) = (request.0.count, request.1.count);
        let absent = || Error::Engine(EngineError::Abandoned);
        let found = which.iter().map(|&which| self.band(which).ok_or_else(absent));
        let found: Vec<(&Band, &Index)> = found.collect::<Result<_>>()?;
        let data_type = found.first().map_or(DataType::U8, |(band, _)| band.data_type);
        let touched: Vec<Touched<'_>> = found
            .iter()
            .map(|&(band, index)| {
                let indices = index.touched(&band.sources, request);
                Touched {
                    band,
                    sources: indices.iter().filter_map(|&i| band.sources.get(i as usize)).collect(),
                }
            })
            .collect();
        let listed: usize = touched.iter().map(|touched| touched.sources.len()).sum();
        let listed = (listed * size_of::<(&Source, u32)>()) as u64;
        let _listed = call.take(listed, "the list of sources")?;
        let mut expanded = Expanded {
            data_type,
            size: (columns, rows),
            bands: u32::try_from(which.len()).unwrap_or(u32::MAX),
            groups: Vec::new(),
            _leases: Vec::new(),
        };
        let each = if are_parallel(&touched) { touched.len().max(1) } else { 1 };
        for (at, touched) in (0u32..).step_by(each).zip(touched.chunks(each)) {
            let group = self.group(touched, at, (request, call), &mut expanded._leases)?;
            expanded.groups.push(group);
        }
        Ok(expanded)
    }

    /// Returns the items of parallel bands.
    fn group(
        &self,
        touched: &[Touched<'_>],
        first: u32,
        (request, call): ((Part, Part), &Call<'_>),
        leases: &mut Vec<Lease>,
    ) -> Result<Group> {
        let fills = touched.iter().map(|touched| Fill(touched.band.fill)).collect();
        let mut items = Vec::new();
        if self.options.empty_holes && call.is_outermost() {
            let set_aside = call.set_aside();
            for (at, Touched { band, sources }) in (first..).zip(touched) {
                let lost = sources.iter().filter(|source| set_aside.contains_key(&source.file));
                items.extend(lost.filter_map(|source| hole(band, source, request, at)));
            }
        }
        let count = touched.first().map_or(0, |first| first.sources.len());
        for at in 0..count {
            if call.context().cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if at % AHEAD == 0 {
                let next = touched.iter().flat_map(|touched| touched.sources.iter().skip(at).take(AHEAD));
                let set_aside = call.set_aside().clone();
                let next = next.map(|source| source.file).filter(|file| !set_aside.contains_key(file));
                self.open_ahead(next, call)?;
            }
            let pairs = touched.iter().filter_map(|t| Some((t.band, *t.sources.get(at)?)));
            let pairs: Vec<_> = pairs.collect();
            let Some(file) = pairs.first().map(|(_, source)| source.file) else { continue };
            if call.is_outermost() && call.set_aside().contains_key(&file) {
                call.advance(1);
                continue;
            }
            match self.item(&pairs, first, (request, call), leases) {
                Ok(found) if found.is_empty() => call.advance(1),
                Ok(found) => items.extend(found.into_iter().map(|item| Item { file, ..item })),
                Err(error) => self.go_without(file, error, call)?,
            }
        }
        leases.push(call.take((items.len() * size_of::<Item>()) as u64, "the list of sources")?);
        let mut group = Group { first, fills, items };
        group.copy_layers(call)?;
        Ok(group)
    }

    /// Skips a failed source, if the failure is its own and should only cause a warning.
    pub(crate) fn go_without(&self, file: u32, error: Error, call: &Call<'_>) -> Result<()> {
        let told = match &error {
            Error::Window { error, .. } => error.as_ref(),
            error => error,
        };
        let is_damage = match told {
            Error::File { file, .. } => *file != self.name,
            other => matches!(other, Error::Io { .. } | Error::Blocks { .. }),
        };
        if !is_damage || self.raises() || !call.is_outermost() {
            return Err(error);
        }
        call.hole(file, &self.file_name(file), &error.to_string());
        Ok(())
    }

    /// Returns the items of one source, or of a nested mosaic.
    fn item(
        &self,
        pairs: &[(&Band, &Source)],
        first: u32,
        (request, call): ((Part, Part), &Call<'_>),
        leases: &mut Vec<Lease>,
    ) -> Result<Vec<Item>> {
        let Some((_, source)) = pairs.first() else { return Ok(Vec::new()) };
        call.count_source()?;
        let Some(in_use) = self.source(source.file, call)? else { return Ok(Vec::new()) };
        let in_use = match &self.warp {
            Some(warp) => Arc::new(in_use.warped(warp, call)?),
            None => in_use,
        };
        let opened = in_use.opened.as_ref();
        let Some(placed) = Rectangles::place(source.rectangles.as_ref(), opened.size(), request) else {
            return Ok(Vec::new());
        };
        let bands = opened.bands();
        if let Some((_, source)) = pairs.iter().find(|(_, source)| source.band > bands) {
            return Err(self.invalid(format!(
                "band {} of source `{}`, which has {bands}",
                source.band,
                self.file_name(source.file)
            )));
        }
        let (across, down) = placed;
        let (width, height) = (across.part.count, down.part.count);
        let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        call.count(u64::from(width).saturating_mul(height.into()).saturating_mul(count.into()))?;
        let at = Window { column: across.out, row: down.out, width, height };
        let numbers = || pairs.iter().map(|(_, source)| source.band);
        let what = match (copied_from(&across, &down), opened) {
            (Some(from), Opened::File(leaf)) if are_copied(pairs, opened)? => {
                let window = Window { column: from.0, row: from.1, width, height };
                call.count_decoded(leaf.dataset.name(), leaf.decoded(&window, pairs.len()))?;
                What::File { source: in_use, bands: numbers().collect(), from }
            }
            (Some(_), Opened::Mosaic(vrt)) if are_copied(pairs, opened)? => {
                let which: Vec<Which> = numbers().map(Which::Band).collect();
                let nested = vrt.expand(&which, (across.part, down.part), &call.inside(vrt))?;
                let (items, more) = nested.inlined(&in_use, at, first);
                leases.extend(more);
                return Ok(items);
            }
            _ => {
                let pairs = pairs.iter().map(|(band, source)| (Onto::from(*band), (*source).clone()));
                let (pairs, corner) = (pairs.collect(), (0, 0));
                let (chain, source) = (Vec::new(), in_use);
                What::Layer(Box::new(Layer { chain, source, pairs, placed, corner, band: first }))
            }
        };
        Ok(vec![Item { at, bands: (first, count), file: 0, what }])
    }
}

/// Returns whether samples of all bands are copied unchanged, if pixels are copied one to one.
fn are_copied(pairs: &[(&Band, &Source)], opened: &Opened) -> Result<bool> {
    let data_type = opened.data_type()?;
    Ok(pairs.iter().all(|(band, source)| {
        let onto = Onto::from(*band);
        let way = onto.blend(opened, source).way(data_type, onto.data_type);
        !source.is_mask && way == BlendWay::Copy
    }))
}

/// Returns whether samples are unchanged except for nodata, and `below` is the same nodata: if nothing else lies below,
/// all of them can be copied.
fn is_copy_upon(below: &[u8], data_type: DataType, blend: &Blend, onto: &Onto) -> bool {
    if data_type != onto.data_type {
        return false;
    }
    let is_only_nodata = blend.values.as_ref().is_some_and(|values| values.is_only_nodata());
    match blend.way(data_type, onto.data_type) {
        BlendWay::Copy => true,
        BlendWay::Unless(sample) => {
            let len = data_type.size();
            below.get(..len).is_some_and(|below| Some(below) == sample.0.get(..len))
        }
        // Reals are compared approximately, so nearly equal ones would be changed. NaN is always NaN.
        BlendWay::Change(change) => {
            let is_nan = |number: Number| number.as_f64().is_nan();
            matches!(data_type, DataType::F32 | DataType::F64)
                && is_only_nodata
                && change.nodata.is_some_and(is_nan)
                && below.get(..data_type.size()).is_some_and(|below| is_nan(reader(data_type)(below).0))
        }
        BlendWay::Convert { .. } => false,
    }
}

/// Returns the pixels of a missing source: NaN, or 0 if samples cannot be NaN.
fn hole(band: &Band, source: &Source, request: (Part, Part), number: u32) -> Option<Item> {
    use DataType as D;
    let nothing = match band.data_type {
        D::F16 | D::F32 | D::F64 | D::C64 | D::C128 => sample_of(Number::Double(f64::NAN), band.data_type),
        _ => [0; 16],
    };
    let part = |extent: Option<Extent>, part: Part| match extent {
        None => (0, part.count),
        Some(extent) => {
            let (start, end) = (extent.target.floor(), (extent.target + extent.target_size).ceil());
            let at = |v: f64| whole((v - part.start).clamp(0.0, f64::from(part.count)));
            (at(start), at(end).saturating_sub(at(start)))
        }
    };
    let (x, width) = part(source.rectangles.map(|r| r.across), request.0);
    let (y, height) = part(source.rectangles.map(|r| r.down), request.1);
    let at = Window { column: x, row: y, width, height };
    let is_there = width > 0 && height > 0;
    is_there.then_some(Item { at, bands: (number, 1), file: source.file, what: What::Nothing(Fill(nothing)) })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number of pixels of a request"
)]
fn whole(v: f64) -> u32 {
    v as u32
}

/// Returns whether the bands' sources are the same except for the band and its processing.
fn are_parallel(touched: &[Touched<'_>]) -> bool {
    let Some((first, others)) = touched.split_first() else { return true };
    let same =
        |a: &Source, b: &Source| a.file == b.file && a.rectangles == b.rectangles && !a.is_mask && !b.is_mask;
    others.iter().all(|other| {
        other.sources.len() == first.sources.len()
            && other.sources.iter().zip(&first.sources).all(|(a, b)| same(a, b))
    })
}
