//! `strile dump`: reads one request piece by piece, and writes it in one of four formats.

mod formats;
mod picture;

use crate::args::{DumpArgs, Explain, Format};
use crate::failure::{Failure, Outcome, tell};
use crate::geo::{bbox_in_file, cutline, geo_of};
use crate::input::Session;
use crate::json::print_json;
use crate::output::{Sink, plan_json, print};
use crate::progress::Bar;
use formats::{Csv, Plain};
use std::path::Path;
use strile::engine::LocatedFault;
use strile::file::AsInput as _;
use strile::grid::Polygon;
use strile::read::{Interleave, PieceLimits, Pieces};
use strile::{DataType, Input, Layer, ReadOptions};

/// Writes pieces in a format.
trait Writer {
    fn piece(&mut self, piece: Piece, sink: &mut Sink) -> std::io::Result<()>;
    fn end(self, sink: &mut Sink) -> std::io::Result<()>;
}

/// Some rows of the result.
struct Piece {
    data_type: DataType,
    bands: usize,
    bytes: Vec<u8>,
}

/// A resolved request.
struct Request<'a> {
    dataset: &'a Input,
    options: ReadOptions,
    pieces: Pieces,
    context: strile::Context,
}

impl Request<'_> {
    fn write(&self, mut sink: Sink, mut writer: impl Writer) -> Result<Vec<LocatedFault>, Failure> {
        let failed = sink.failed();
        let faults = self.dataset.read_pieces(&self.pieces, &self.context, |pixels| {
            let (data_type, bands) = (pixels.data_type, pixels.bands as usize);
            let piece = Piece { data_type, bands, bytes: pixels.into_bytes()? };
            writer.piece(piece, &mut sink).map_err(&failed)
        })?;
        writer.end(&mut sink).map_err(&failed)?;
        sink.finish()?;
        Ok(faults)
    }
}

pub fn run(args: &DumpArgs, session: &Session) -> Result<Outcome, Failure> {
    let format = match args.format {
        Some(format) => format,
        None => format_of(args.output.as_deref())?,
    };
    if args.raw_values && format != Format::Png {
        let sentence = "`--raw-values` is for PNG; other formats hold stored values anyway".to_owned();
        return Err(Failure::Request(sentence, None));
    }
    let mut context = session.context(&args.engine);
    let open = args.remote.open_options([args.file.as_path()], &session.cancel)?;
    let dataset = session.open_input(&args.file, &args.part.mosaic, open, &mut context)?;
    let known = dataset.warnings().len();
    let mut options = args.read_options(match format {
        Format::Raw | Format::Npy => Interleave::BandFirst,
        Format::Png | Format::Csv => Interleave::BandLast,
    });
    if let Some(sides) = bbox_in_file(&args.part, dataset.metadata())? {
        options.place.window = Some(dataset.window_of_box(&options.place, sides)?);
    }
    if let Some(polygon) = cutline(&args.cutline.polygon)? {
        options = clipped(args, &dataset, options, polygon)?;
        if format == Format::Png && !args.raw_values && is_opaque(&dataset, &options) {
            let sentence =
                "pixels outside the cutline would be drawn in black: the file has no nodata value".to_owned();
            return Err(Failure::Request(sentence, Some("add `--masked` to draw them transparent")));
        }
    }
    match args.explain {
        Some(Explain::Text) => {
            return print(&dataset.plan(&options, &context)?.to_string()).map(|()| Outcome::Clean);
        }
        Some(Explain::Json) => {
            return print_json(&plan_json(&dataset.plan(&options, &context)?)).map(|()| Outcome::Clean);
        }
        None => {}
    }
    let pieces = dataset.pieces(&options, &PieceLimits::default(), &context)?;
    context.progress = Bar::new(pieces.blocks, session.quiet).map(|bar| bar as _);
    let request = Request { dataset: &dataset, options, pieces, context };
    let sink = Sink::open(args.output.as_deref(), format != Format::Csv)?.watch(&session.cancel);
    let faults = write((format, args.raw_values), request, sink, session)?;
    session.warn_of(dataset.name(), dataset.warnings().get(known..).unwrap_or_default());
    for fault in &faults {
        tell(&format!("fault: {}: {fault}", dataset.name()));
    }
    Ok(if faults.is_empty() { Outcome::Clean } else { Outcome::Found })
}

/// Returns the request clipped by a polygon.
fn clipped(
    args: &DumpArgs,
    dataset: &Input,
    mut options: ReadOptions,
    polygon: Polygon,
) -> Result<ReadOptions, Failure> {
    if args.cutline.crop_to_cutline {
        if options.place.window.is_some() {
            let sentence = "`-crop_to_cutline` cannot be combined with `--window` or `--bbox`".to_owned();
            return Err(Failure::Request(sentence, None));
        }
        options.place.window = Some(dataset.as_input().window_of_polygon(&options, &polygon)?);
    }
    Ok(dataset.as_input().clipped(&options, polygon)?)
}

/// Returns whether missing pixels are indistinguishable from others.
fn is_opaque(dataset: &Input, options: &ReadOptions) -> bool {
    dataset.metadata().nodata.is_none() && !options.meaning.masked && !options.meaning.unpack
}

fn write(
    (format, raw_values): (Format, bool),
    request: Request<'_>,
    sink: Sink,
    session: &Session,
) -> Result<Vec<LocatedFault>, Failure> {
    match format {
        Format::Raw => {
            let transform = request.dataset.transform(&request.options)?;
            let geo = geo_of(request.dataset.metadata(), transform, &request.options);
            request.write(sink, Plain::raw(&request.pieces, &geo))
        }
        Format::Npy => request.write(sink, Plain::npy(&request.pieces)),
        Format::Csv => {
            let transform = request.dataset.transform(&request.options)?;
            request.write(sink, Csv::new(&request.pieces, &request.options, transform))
        }
        Format::Png if raw_values || request.options.place.layer == Layer::Mask => {
            picture::keep(&request, sink)
        }
        Format::Png => picture::draw(request, sink, session),
    }
}

/// Returns the format for the extension of a name.
fn format_of(output: Option<&Path>) -> Result<Format, Failure> {
    let extension = output.and_then(Path::extension).map(|e| e.to_string_lossy().to_ascii_lowercase());
    Ok(match extension.as_deref() {
        Some("npy") => Format::Npy,
        Some("png") => Format::Png,
        Some("csv") => Format::Csv,
        None | Some("raw" | "bin" | "dat" | "bsq") => Format::Raw,
        // The bytes would not match the extension, and the name may be that of the input.
        Some(other) => {
            let hint =
                Some("name OUT `….npy`, `….png`, `….csv` or `….raw`, or add `--format raw|npy|png|csv`");
            return Err(Failure::Request(format!("`dump` does not write `.{other}` files"), hint));
        }
    })
}
