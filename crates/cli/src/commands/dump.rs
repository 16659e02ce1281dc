//! `strile dump`: one request, read piece by piece, written in one of four formats.

mod formats;

use crate::args::{DumpArgs, Explain, Format};
use crate::failure::{Failure, Outcome, tell};
use crate::geo::geo_of;
use crate::input::Session;
use crate::json::print_json;
use crate::output::{Sink, plan_json, print};
use crate::progress::Bar;
use formats::{Csv, Image, Plain};
use std::path::Path;
use strile::{Dataset, Input, Interleave, LocatedFault, PieceLimits, Pieces, Raster, ReadOptions};

/// What a format does with the pieces.
trait Writer {
    fn piece(&mut self, raster: Raster, sink: &mut Sink) -> std::io::Result<()>;
    fn end(self, sink: &mut Sink) -> std::io::Result<()>;
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
        let faults = self.dataset.read_pieces(&self.pieces, &self.context, |raster| {
            writer.piece(raster, &mut sink).map_err(&failed)
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
    let mut context = session.context(&args.engine);
    let dataset = session.open_input(&args.file, &args.part.mosaic, &mut context)?;
    let warnings = dataset.warnings();
    session.warn_of(dataset.name(), &warnings);
    let mut options = args.read_options(match format {
        Format::Raw | Format::Npy => Interleave::BandFirst,
        Format::Png | Format::Csv => Interleave::BandLast,
    });
    if let Some(bbox) = args.part.bbox {
        options.window = Some(dataset.window_of_box(&options, bbox.0)?);
    }
    match args.explain {
        Some(Explain::Text) => {
            return print(&planned(&dataset)?.plan(&options, &context)?.to_string()).map(|()| Outcome::Clean);
        }
        Some(Explain::Json) => {
            return print_json(&plan_json(&planned(&dataset)?.plan(&options, &context)?))
                .map(|()| Outcome::Clean);
        }
        None => {}
    }
    let pieces = dataset.pieces(&options, &PieceLimits::default(), &context)?;
    context.progress = Bar::new(pieces.blocks, session.quiet).map(|bar| bar as _);
    let request = Request { dataset: &dataset, options, pieces, context };
    let sink = Sink::open(args.output.as_deref(), format != Format::Csv)?.watch(&session.cancel);
    let faults = write(format, &request, sink, session)?;
    session.warn_of(dataset.name(), dataset.warnings().get(warnings.len()..).unwrap_or_default());
    for fault in &faults {
        tell(&format!("fault: {}: {fault}", dataset.name()));
    }
    Ok(if faults.is_empty() { Outcome::Clean } else { Outcome::Found })
}

fn write(
    format: Format,
    request: &Request<'_>,
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
        Format::Png => {
            let nodata = request.dataset.metadata().nodata;
            let nodata = nodata.filter(|_| !request.options.masked && !request.options.unpack);
            let mut image = Image::new(&request.pieces, nodata)?;
            if image.needs_range() {
                // A first pass over all pieces; what is faulty is told by the second.
                request.dataset.read_pieces(&request.pieces, &request.context, |raster| {
                    image.see(&raster);
                    Ok::<(), Failure>(())
                })?;
                session.note(&image.range_note());
            }
            request.write_png(sink, image)
        }
    }
}

impl Request<'_> {
    fn write_png(&self, mut sink: Sink, image: Image) -> Result<Vec<LocatedFault>, Failure> {
        let failed = sink.failed();
        let wrong = |error: png::EncodingError| failed(error.into());
        let mut file = image.begin(&mut sink).map_err(&failed)?;
        let mut stream = file.stream_writer().map_err(wrong)?;
        let faults = self.dataset.read_pieces(&self.pieces, &self.context, |raster| {
            std::io::Write::write_all(&mut stream, &image.encode(raster)).map_err(&failed)
        })?;
        stream.finish().and_then(|()| file.finish()).map_err(wrong)?;
        sink.finish()?;
        Ok(faults)
    }
}

/// What a plan can be made of.
fn planned(input: &Input) -> Result<&Dataset, Failure> {
    let hint = Some("explain one of its sources");
    input
        .tiff()
        .ok_or_else(|| Failure::Request(format!("{}: a VRT is read without a plan", input.name()), hint))
}

/// The format that a name ends in.
fn format_of(output: Option<&Path>) -> Result<Format, Failure> {
    let extension = output.and_then(Path::extension).map(|e| e.to_string_lossy().to_ascii_lowercase());
    Ok(match extension.as_deref() {
        Some("npy") => Format::Npy,
        Some("png") => Format::Png,
        Some("csv") => Format::Csv,
        None | Some("raw" | "bin" | "dat" | "bsq") => Format::Raw,
        // Bytes of another format than the name says, and possibly the name of the input itself.
        Some(other) => {
            let hint =
                Some("name OUT `….npy`, `….png`, `….csv` or `….raw`, or add `--format raw|npy|png|csv`");
            return Err(Failure::Request(format!("`dump` does not write `.{other}` files"), hint));
        }
    })
}
