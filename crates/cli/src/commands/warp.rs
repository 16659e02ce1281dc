//! `strile warp`: opens the files, chooses the grid, calls `strile` once, and reports what was written.

use super::convert::{Target, sink, told};
use crate::args::WarpArgs;
use crate::failure::{Failure, Outcome, with_flags};
use crate::geo::cutline;
use crate::input::Session;
use crate::output::print;
use crate::progress::Bar;
use std::time::Instant;
use strile::convert::Tiling;
use strile::crs::TransformOptions;
use strile::file::AsInput as _;
use strile::grid::{Grid, GridChoice, Placement, Placing, Polygon, Top, WarpFile, WarpOptions, WarpWriter};
use strile::io::redacted;
use strile::tiff::geo::Bounds;
use strile::write::BlockChoice;
use strile::{Context, Input, ReadOptions, WriteOptions};

pub fn run(args: &WarpArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut context = session.context(&args.engine);
    let Some((to, from)) = args.files.split_last().filter(|(_, from)| !from.is_empty()) else {
        return Err(Failure::Request("expected IN… and OUT".into(), None));
    };
    let (write, tiling) = write_options(args, session, &mut context)?;
    let paths = args.files.iter().chain(&args.like).chain(args.dem()).map(|file| file.as_path());
    let open = args.remote.open_all(paths, &session.cancel)?;
    let mut files = Vec::with_capacity(from.len());
    for path in from {
        files.push(session.open_input(path, &args.mosaic, open.clone(), &mut context)?);
    }
    let dem = match args.dem() {
        None => None,
        Some(path) => Some(session.open_input(path, &args.mosaic, open.clone(), &mut context)?),
    };
    let placing = args.placing(args.elevation(dem).map_err(|problem| request(format!("-to: {problem}")))?);
    let polygon = cutline(&args.cutline.polygon)?;
    let mut grid = match &args.like {
        Some(_) if tiling.is_some() => {
            return Err(request("TILING_SCHEME chooses the grid; leave out --like"));
        }
        Some(like) => {
            session.open_input(like, &args.mosaic, open.clone(), &mut context)?.as_input().grid()?
        }
        None => grid(args, &files, (tiling, write.blocks), &placing, &context)?,
    };
    if let Some(polygon) = polygon.as_ref().filter(|_| args.cutline.crop_to_cutline) {
        if tiling.is_some() {
            return Err(request("TILING_SCHEME chooses the grid; leave out -crop_to_cutline"));
        }
        let cropped = grid.cropped_to(polygon, args.datum_shift);
        grid = cropped.map_err(|problem| request(format!("-crop_to_cutline: {problem}")))?;
    }
    let read = read_options(args, grid, placing, polygon);
    let bar = Bar::new(0, session.quiet || args.explain);
    context.progress = bar.clone().map(|bar| bar as _);
    let start = Instant::now();
    let target =
        Target { output: to, explain: args.explain, overwrite: args.write.overwrite, command: "warp" };
    let sink = sink(&target, &open.remote, session)?;
    let warp = WarpWriter::plan(&files, sink, &read, (&write, tiling), &context)?;
    if args.explain {
        return print(with_flags(warp.explain().trim_end()).as_str()).map(|()| Outcome::Clean);
    }
    if let Some(bar) = &bar {
        bar.expect(warp.blocks());
    }
    let spec = warp.raster().cloned();
    let operations = operations(warp.files());
    let report = warp.run(&context)?;
    drop((context, bar));
    for operation in operations {
        session.note(&operation);
    }
    Ok(told(to, &report, (spec.as_ref(), start), session, ""))
}

/// Describes the operations between the datums of the files and OUT, one line each. Empty if they have one datum and no
/// heights.
fn operations(files: &[WarpFile]) -> Vec<String> {
    let (mut lines, mut known) = (Vec::new(), Vec::new());
    for WarpFile { name, operation, .. } in files {
        let is_told =
            !operation.steps.is_empty() || operation.accuracy.is_none() || operation.heights_unchanged;
        if is_told && !known.contains(&operation) {
            known.push(operation);
            lines.push(format!("datum: {}: {operation}", redacted(name)));
        }
    }
    lines
}

fn request(problem: impl Into<String>) -> Failure {
    Failure::Request(problem.into(), None)
}

/// Returns the requested grid. Unspecified settings are chosen for the files.
fn grid(
    args: &WarpArgs,
    files: &[Input],
    (tiling, blocks): (Option<Tiling>, BlockChoice),
    placing: &Placing,
    context: &Context,
) -> Result<Grid, Failure> {
    let mut rasters = Vec::with_capacity(files.len());
    for file in files {
        let mut georeference = file.metadata().georeference.clone();
        if let Some(crs) = &args.s_srs {
            georeference.crs = Some(crs.clone());
            georeference.gcp_crs = Some(crs.clone());
        }
        let (width, height) = file.as_input().size();
        let raster = Placement::of(&georeference, width, height, placing, context);
        rasters.push(raster.map_err(|problem| request(format!("{}: {problem}", file.name())))?);
    }
    let two = |numbers: &[f64]| <[f64; 2]>::try_from(numbers).ok().map(|[a, b]| (a, b));
    let choice = GridChoice::new()
        .crs(args.t_srs.clone())
        .bounds(
            args.te
                .as_deref()
                .and_then(|numbers| <[f64; 4]>::try_from(numbers).ok())
                .map(|[min_x, min_y, max_x, max_y]| Bounds { min_x, min_y, max_x, max_y }),
        )
        .bounds_crs(args.te_srs.clone())
        .resolution(args.tr.as_deref().and_then(two))
        .size(args.ts.as_deref().and_then(|sides| <[u32; 2]>::try_from(sides).ok()).map(|[a, b]| (a, b)))
        .target_aligned(args.tap);
    let transform = TransformOptions::default().datum_shift(args.datum_shift);
    if let Some(scheme) = tiling {
        let places = [args.t_srs.is_some(), args.te.is_some(), args.tr.is_some(), args.ts.is_some()];
        if places.contains(&true) {
            return Err(request("TILING_SCHEME chooses the grid; leave out -t_srs, -te, -tr and -ts"));
        }
        let tile = Tiling::block(blocks).map_err(request)?;
        let made = scheme.grid(&rasters, tile, &transform);
        return made.map_err(|problem| request(problem.to_string()));
    }
    choice.grid(&rasters, &transform).map_err(|problem| request(problem.to_string()))
}

fn read_options(args: &WarpArgs, grid: Grid, placing: Placing, polygon: Option<Polygon>) -> ReadOptions {
    let warp = WarpOptions::new()
        .resampling(args.resampling)
        .tolerance(args.et)
        .level(args.ovr.0)
        .datum_shift(args.datum_shift)
        .source_crs(args.s_srs.clone())
        .placing(placing)
        .nodata(args.srcnodata.and_then(|nodata| nodata.0))
        .fill(args.dstnodata.and_then(|nodata| nodata.0))
        .data_type(args.ot)
        .polygon(polygon)
        .top(if args.first_on_top { Top::First } else { Top::Last });
    let read = ReadOptions::new().on_fault(args.on_fault.on_fault()).decode_on(args.decode.decode_on);
    let mut read = read.onto(grid, warp);
    read.place.bands = (!args.band.is_empty()).then(|| args.band.clone());
    read.execution.max_pixels = args.engine.max_pixels;
    read
}

/// Returns the options for writing OUT.
fn write_options(
    args: &WarpArgs,
    session: &Session,
    context: &mut Context,
) -> Result<(WriteOptions, Option<Tiling>), Failure> {
    for (option, given) in [("-srcnodata", args.srcnodata), ("-dstnodata", args.dstnodata)] {
        if given.is_some_and(|nodata| nodata.0.is_none()) {
            return Err(request(format!("`{option} none` is not available; give a value")));
        }
    }
    let (options, warnings) = args.write.options(args.engine.threads, context).map_err(request)?;
    for warning in &warnings {
        session.note(&format!("warning: {warning}"));
    }
    if options.alpha.is_some() || options.photometric.is_some() || options.nodata.is_some() {
        return Err(request(
            "ALPHA, PHOTOMETRIC and NODATA are not available in strile warp; use strile convert after",
        ));
    }
    if options.warp_resampling.is_some() {
        return Err(request(
            "`-r` says how pixels are computed; leave out WARP_RESAMPLING and RESAMPLING, and give OVERVIEW_RESAMPLING",
        ));
    }
    Ok((options.write, options.tiling))
}
