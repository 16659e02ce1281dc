//! PNGs: pictures, and stored values.

use super::Request;
use crate::failure::Failure;
use crate::input::Session;
use crate::output::Sink;
use std::io::Write as _;
use strile::engine::LocatedFault;
use strile::number::to_big_endian;
use strile::picture::Drawing;
use strile::read::PieceLimits;
use strile::{DataType, Input, Layer, Pixels, ReadOptions, Window};

/// Header settings of a PNG.
struct Form {
    colour: png::ColorType,
    depth: png::BitDepth,
}

/// Writes a picture: bands stretched, palettes in their colours, missing pixels transparent.
pub fn draw(mut request: Request<'_>, sink: Sink, session: &Session) -> Result<Vec<LocatedFault>, Failure> {
    let size = (request.pieces.columns, request.pieces.rows);
    let planned = Drawing::plan(request.dataset, &request.options, size, request.pieces.data_type);
    let mut picture = planned.map_err(with_flags)?;
    let count = request.dataset.metadata().bands.len();
    if request.options.place.bands.is_none() && picture.bands.len() < count {
        let drawn: Vec<String> = picture.bands.iter().map(ToString::to_string).collect();
        session.note(&format!("note: drawn: band {} of {count}; `--band` chooses others", drawn.join(", ")));
    }
    request.options.place.bands = Some(picture.bands.clone());
    request.pieces = request.dataset.pieces(&request.options, &PieceLimits::default(), &request.context)?;
    if picture.needs_sight() {
        // A first pass over all pieces. The second pass reports faults.
        let mut masks = Masks::new(&request, &picture);
        request.dataset.read_pieces(&request.pieces, &request.context, |pixels| {
            let mask = masks.next(&pixels)?;
            picture.see(&pixels, mask.as_deref()).map_err(Failure::from)
        })?;
        picture.decide();
        session.note(&stretch_note(&picture));
    }
    let colour = if picture.channels() == 4 { png::ColorType::Rgba } else { png::ColorType::GrayscaleAlpha };
    let mut masks = Masks::new(&request, &picture);
    request.write_png(sink, &Form { colour, depth: png::BitDepth::Eight }, |pixels| {
        let mask = masks.next(&pixels)?;
        Ok(picture.draw(&pixels, mask.as_deref())?)
    })
}

/// Writes stored values of 8 or 16 bits.
pub fn keep(request: &Request<'_>, sink: Sink) -> Result<Vec<LocatedFault>, Failure> {
    let depth = match request.pieces.data_type {
        DataType::U8 => png::BitDepth::Eight,
        DataType::U16 => png::BitDepth::Sixteen,
        other => {
            let sentence = format!("a PNG holds 8 and 16-bit unsigned values, and these are {other}");
            let hint = Some("drop `--raw-values` for a picture, or choose `--format npy`");
            return Err(Failure::Request(sentence, hint));
        }
    };
    let is_mask = request.options.place.layer == Layer::Mask;
    let alpha = if is_mask { None } else { request.dataset.alpha_band(&request.options.place)? };
    let bands = request.pieces.bands;
    let last = match &request.options.place.bands {
        Some(bands) => bands.last().copied(),
        None => u16::try_from(bands).ok(),
    };
    let has_alpha = alpha.is_some() && last == alpha;
    let colour = match (bands, has_alpha) {
        (1, _) => png::ColorType::Grayscale,
        (2, true) => png::ColorType::GrayscaleAlpha,
        (3, false) => png::ColorType::Rgb,
        (4, true) => png::ColorType::Rgba,
        (n, _) => {
            let sentence = format!(
                "a PNG has 1 or 3 bands, and then alpha if the file says so; {n} bands are asked for"
            );
            return Err(Failure::Request(sentence, Some("choose bands with `--band`")));
        }
    };
    request.write_png(sink, &Form { colour, depth }, |pixels| {
        let data_type = pixels.data_type;
        let mut bytes = pixels.into_bytes()?;
        to_big_endian(&mut bytes, data_type);
        Ok(bytes)
    })
}

impl Request<'_> {
    fn write_png(
        &self,
        mut sink: Sink,
        form: &Form,
        mut bytes: impl FnMut(Pixels) -> Result<Vec<u8>, Failure>,
    ) -> Result<Vec<LocatedFault>, Failure> {
        let failed = sink.failed();
        let wrong = |error: png::EncodingError| failed(error.into());
        let mut encoder = png::Encoder::new(&mut sink, self.pieces.columns, self.pieces.rows);
        encoder.set_color(form.colour);
        encoder.set_depth(form.depth);
        let mut file = encoder.write_header().map_err(wrong)?;
        let mut stream = file.stream_writer().map_err(wrong)?;
        let faults = self.dataset.read_pieces(&self.pieces, &self.context, |pixels| {
            stream.write_all(&bytes(pixels)?).map_err(&failed)
        })?;
        stream.finish().and_then(|()| file.finish()).map_err(wrong)?;
        sink.finish()?;
        Ok(faults)
    }
}

/// Masks of consecutive pieces.
struct Masks<'a> {
    dataset: &'a Input,
    options: Option<ReadOptions>,
    context: strile::Context,
    corner: (u32, u32),
    row: u32,
    rows: u32,
}

impl<'a> Masks<'a> {
    fn new(request: &Request<'a>, picture: &Drawing) -> Self {
        let mut options = request.options.clone().layer(Layer::Mask).masked(false).unpack(false);
        options.place.bands = None;
        Self {
            dataset: request.dataset,
            options: picture.needs_mask.then_some(options),
            context: strile::Context { progress: None, ..request.context.clone() },
            corner: request.options.place.window.map_or((0, 0), |window| (window.column, window.row)),
            row: 0,
            rows: request.pieces.rows,
        }
    }

    /// Returns the mask of the next piece.
    fn next(&mut self, pixels: &Pixels) -> Result<Option<Vec<u8>>, Failure> {
        let Some(options) = &self.options else { return Ok(None) };
        let (x, y) = self.corner;
        let window = match pixels.rows == self.rows {
            // The whole image in one piece, which may be turned.
            true => options.place.window,
            false => Some(Window::new(x, y + self.row, pixels.columns, pixels.rows)),
        };
        self.row += pixels.rows;
        let mask = self.dataset.read(&options.clone().window(window), &self.context)?;
        Ok(Some(mask.into_bytes()?))
    }
}

fn stretch_note(picture: &Drawing) -> String {
    let of = |stretch: &Option<strile::picture::Stretch>| match stretch {
        Some(stretch) => {
            let step = (stretch.high - stretch.low) / 1000.0;
            format!("{} to {}", rounded(stretch.low, step), rounded(stretch.high, step))
        }
        None => "0 to 255".to_owned(),
    };
    let all: Vec<String> = picture.stretches().iter().map(of).collect();
    format!("note: black to white: {}; `--raw-values` writes stored values", all.join(", "))
}

/// Returns a number with the decimals that show a difference of `step`.
fn rounded(value: f64, step: f64) -> String {
    if !(step > 0.0 && step.is_finite()) || step >= 1e12 {
        return format!("{value}");
    }
    if step >= 1.0 {
        return format!("{value:.0}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 17")]
    let decimals = (-step.log10()).ceil().clamp(0.0, 17.0) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Adds the flag that selects bands to an error.
fn with_flags(error: strile::Error) -> Failure {
    match &error {
        strile::Error::Request { problem, .. } if problem.contains("`bands`") => {
            Failure::Request(error.to_string(), Some("`--band` chooses bands"))
        }
        strile::Error::Request { problem, .. } if problem.contains("cannot be drawn") => {
            Failure::Request(error.to_string(), Some("`--format npy` keeps them"))
        }
        _ => error.into(),
    }
}
