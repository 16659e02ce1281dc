//! Windows of files that are warped onto a grid: the memory they are decoded into, with their masks.

use super::request::Asked;
use super::resolve::{Group, Laid, MaskPlace, Role, Slot};
use super::sheet::{Masks, Sheet, Then, alike};
use crate::error::Result;
use crate::grid::{Avoid, name_of};
use crate::window::Window;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{Fill, MaskWindow, OutputSpec, WarpBlend, WarpMap, WarpRect, WarpSampling, WarpWindow};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// How the windows of a read are warped onto a grid.
pub(crate) struct Laying {
    /// Columns and rows of each chip.
    pub(crate) size: (u32, u32),
    /// Number of chips: the windows of a batch, or one.
    pub(crate) count: u32,
    pub(crate) sampling: WarpSampling,
    /// The type of the result; `None` is that of the first file.
    pub(crate) data_type: Option<DataType>,
    /// The nodata value of the sources, if set by the caller.
    pub(crate) nodata: Option<NoData>,
    /// The value of pixels that no window fills. `None` is NaN in masked reads, else 0, which values may have, too.
    pub(crate) fill: Option<NoData>,
    pub(crate) avoid: Avoid,
    /// One per request.
    pub(crate) windows: Vec<Lay>,
}

/// How one window of a file is warped onto a grid.
pub(crate) struct Lay {
    /// Number of its chip.
    pub(crate) chip: usize,
    /// Number of its file.
    pub(crate) file: usize,
    /// Number of files of the chip below it.
    pub(crate) depth: usize,
    /// The pixels of the source's level that are read.
    pub(crate) under: Window,
    /// Width and height of a source pixel in pixels of the result.
    pub(crate) scale: (f64, f64),
    /// The pixels of the result to compute.
    pub(crate) patches: Vec<Patch>,
}

/// Pixels of the result that a window fills.
pub(crate) struct Patch {
    pub(crate) map: Arc<WarpMap>,
    /// The pixels of the map.
    pub(crate) target: Window,
    /// Position of their first pixel in the result.
    pub(crate) at: (u32, u32),
    /// Whether pixels keep their value if the window has none for them.
    pub(crate) keep: bool,
}

impl Lay {
    /// Returns a patch of the window for the engine, by the window's place in its sheet.
    fn window(
        &self,
        patch: &Patch,
        kind: &Kind,
        (place, bands): (u32, u32),
        (fill, avoid): (Fill, Option<Fill>),
    ) -> WarpWindow {
        let rect = |Window { column, row, width, height }: Window| WarpRect::new(column, row, width, height);
        WarpWindow {
            map: Arc::clone(&patch.map),
            target: rect(patch.target),
            first_band: u32::try_from(self.chip).unwrap_or(u32::MAX).saturating_mul(bands),
            row: patch.at.1,
            column: patch.at.0,
            source_band: place.saturating_mul(bands),
            mask: place,
            bands,
            sheet: rect(self.under),
            scale: self.scale,
            nodata: kind.nodata,
            avoid,
            fill,
            blend: if patch.keep { WarpBlend::Keep } else { WarpBlend::Fill },
        }
    }
}

/// Types that a window is decoded into.
#[derive(Debug, Clone, Copy)]
struct Kind {
    data_type: DataType,
    nodata: Option<Fill>,
    mask: Option<DataType>,
    /// Whether the mask applies to only some bands: then it is applied before the window is warped.
    is_in_part: bool,
}

/// The memory that windows are decoded into, and their masks.
type Sheets = (Vec<Sheet>, Vec<Masks>, Vec<MaskPlace>);

impl Laying {
    /// Fails for types that the method does not support.
    pub(super) fn check_types(&self, asked: &Asked<'_>, from: Option<DataType>, to: DataType) -> Result<()> {
        match from.filter(|from| !self.sampling.takes(*from, to)) {
            None => Ok(()),
            Some(from) => Err(asked.refuse(format!(
                "`{}` of {from} samples into {to} is not available: complex samples are put onto a grid by `nearest`, as they are",
                name_of(self.sampling)
            ))),
        }
    }

    /// Returns the value of pixels that no window fills.
    pub(super) fn fill(&self, asked: &Asked<'_>, data_type: DataType) -> Result<Fill> {
        let masked = || asked.meaning.is_masked().then_some(NoData::Float(f64::NAN));
        let Some(value) = self.fill.or_else(masked) else { return Ok(Fill::default()) };
        value.to_sample(data_type).map(Fill).ok_or_else(|| {
            asked.refuse(format!(
                "pixels that no source fills would be {}, which {data_type} does not have; give another `fill`",
                value.as_f64()
            ))
        })
    }

    /// Returns the memory that windows are decoded into: sheets of one type, with masks of one type or without.
    pub(super) fn lay(
        &self,
        asked: &Asked<'_>,
        (groups, slots, canvases): (&[Group<'_>], &[Slot], &[(usize, Laid<'_>)]),
        (common, result): (DataType, &OutputSpec),
        bands: u32,
    ) -> Result<Sheets> {
        let fill = self.fill(asked, result.data_type)?;
        let kinds = self.kinds(asked, (groups, slots, canvases), common);
        let avoid = match self.avoid {
            Avoid::Fill => self.fill.map(|_| fill),
            Avoid::Only(value) => value.and_then(|value| value.to_sample(result.data_type)).map(Fill),
        };
        // Overlapping files are warped one after the other.
        let mut classes: BTreeMap<(usize, String, Option<String>, bool), Vec<usize>> = BTreeMap::new();
        for (at, kind) in kinds.iter().enumerate() {
            let depth = self.windows.get(at).map_or(at, |lay| lay.depth);
            let mask = kind.mask.map(|mask| mask.to_string());
            let key = (depth, kind.data_type.to_string(), mask, kind.is_in_part);
            classes.entry(key).or_default().push(at);
        }
        let (mut sheets, mut masks) = (Vec::new(), Vec::new());
        let mut masked = vec![None; kinds.len()];
        let refuse = |error: strile_engine::OutputError| asked.refuse(error.to_string());
        for members in classes.into_values() {
            let Some(kind) = members.first().and_then(|&at| kinds.get(at)) else { continue };
            let of =
                |at: &usize| self.windows.get(*at).map_or((0, 0), |lay| (lay.under.width, lay.under.height));
            let sizes: Vec<_> = members.iter().map(of).collect();
            for ((columns, rows), own) in alike(&sizes) {
                let windows: Vec<usize> = own.iter().filter_map(|&at| members.get(at).copied()).collect();
                let count = u32::try_from(windows.len()).unwrap_or(u32::MAX);
                let spec = OutputSpec::band_first(kind.data_type, count.saturating_mul(bands), rows, columns);
                if let Some(mask) = kind.mask {
                    for (&window, place) in windows.iter().zip(0u32..) {
                        let at = u32::try_from(masks.len()).unwrap_or(u32::MAX);
                        if let Some(masked) = masked.get_mut(window) {
                            *masked = Some((at, place));
                        }
                    }
                    let spec = OutputSpec::band_first(mask, count, rows, columns).map_err(refuse)?;
                    let mut made = Masks { sheet: sheets.len(), of: kind.data_type, spec, jobs: Vec::new() };
                    if kind.is_in_part {
                        in_part(&mut made, &windows, canvases, bands);
                    }
                    masks.push(made);
                }
                let of_window = |(&at, place): (&usize, u32)| {
                    let (lay, kind) = self.windows.get(at).zip(kinds.get(at))?;
                    let patches = lay.patches.iter();
                    Some(patches.map(move |patch| lay.window(patch, kind, (place, bands), (fill, avoid))))
                };
                let then = Then::Warp(windows.iter().zip(0u32..).filter_map(of_window).flatten().collect());
                sheets.push(Sheet { spec: spec.map_err(refuse)?, windows, then });
            }
        }
        Ok((sheets, masks, masked))
    }

    /// Returns the types that each window is decoded into.
    fn kinds(
        &self,
        asked: &Asked<'_>,
        (groups, slots, canvases): (&[Group<'_>], &[Slot], &[(usize, Laid<'_>)]),
        common: DataType,
    ) -> Vec<Kind> {
        let mut kinds = vec![
            Kind { data_type: common, nodata: None, mask: None, is_in_part: false };
            asked.requests.len()
        ];
        let nan = NoData::Float(f64::NAN).to_sample(common).map(Fill);
        for group in groups {
            let stored = group.facts.layout.data_type;
            let nodata = self.nodata.or(group.dataset.metadata().nodata);
            let nodata = nodata.and_then(|nodata| nodata.to_sample(stored)).map(Fill);
            for slot in group.members.iter().filter_map(|&at| slots.get(at)) {
                let Some(kind) = kinds.get_mut(slot.window) else { continue };
                match group.role {
                    Role::Pixels if asked.meaning.is_masked() => {
                        (kind.data_type, kind.nodata) = (common, nan)
                    }
                    Role::Pixels => (kind.data_type, kind.nodata) = (stored, nodata),
                    Role::Mask(_) => kind.mask = Some(stored),
                    Role::Tile | Role::MaskTile => {}
                }
            }
        }
        for (window, Laid { canvas, .. }) in canvases {
            let given = self.nodata.and_then(|nodata| nodata.to_sample(canvas.data_type)).map(Fill);
            if let Some(kind) = kinds.get_mut(*window) {
                (kind.data_type, kind.nodata) = match asked.meaning.is_masked() {
                    true => (common, nan),
                    false => (canvas.data_type, given.or(canvas.nodata())),
                };
                kind.mask = canvas.mask.as_ref().map(|mask| mask.canvas.data_type);
                kind.is_in_part = canvas.is_masked_in_part();
            }
        }
        kinds
    }
}

/// Adds the masks of mosaic windows that apply to only some of their bands.
fn in_part(masks: &mut Masks, windows: &[usize], canvases: &[(usize, Laid<'_>)], bands: u32) {
    for (&window, place) in windows.iter().zip(0u32..) {
        let laid = canvases.iter().find(|(at, _)| *at == window);
        let own = laid.and_then(|(_, laid)| laid.canvas.mask.as_ref()).map(|mask| mask.windows());
        let first = place.saturating_mul(bands);
        let own = own.unwrap_or_default().into_iter();
        let own = own.map(|own| MaskWindow { first_band: first.saturating_add(own.first_band), ..own });
        masks.add(&own.collect::<Vec<_>>());
    }
}
