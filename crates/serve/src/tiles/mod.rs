//! The tile server: tiles as pictures or samples, TileJSON, WMTS, with titiler's parameters.
//!
//! ```text
//! style      parameters, checked            expression  band maths          ramps  colour ramps
//! matrix     the file's own tiles
//! render     samples -> picture             encode      PNG, JPEG, WebP, NPY, GeoTIFF
//! documents  info, TileJSON, WMTS           figures     points and statistics
//! ```

mod documents;
pub(crate) mod encode;
mod expression;
mod figures;
mod matrix;
mod ramps;
mod render;
mod style;

use crate::answer::{Answer, Counted, Refusal, bytes_answer, json_answer, set, text_answer};
use crate::counts::Counts;
use crate::host::Hosts;
use crate::mercator;
use crate::net::Handler;
use crate::opened::{Opened, Place};
use crate::reading::{Of, Samples};
use crate::reduced::{Made, ready};
use crate::request::{Asked, parsed};
use crate::sources::{Allowed, Listed, Pool};
use crate::work::Work;
use documents::Matrix;
use encode::Format;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use matrix::Part;
use render::Drawn;
use serde_json::json;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;
use strile::grid::Grid;
use strile::io::RemoteOptions;
use strile::vrt::VrtOptions;
use strile::{Context, Input, Processor};
use style::{PARAMETERS, Style};

/// Maximum side of a preview, and the default one.
const MOST_PREVIEW: u32 = 4096;
const USUAL_PREVIEW: u32 = 1024;
/// Texts above this size are compressed if the client supports it.
const WORTH_GZIP: usize = 1024;
/// Maximum working memory of one answer in bytes.
const MOST_BYTES: usize = 1 << 30;
/// Maximum file names in the list at `/`.
const MOST_NAMES: usize = 1000;

/// The tile server for the given sources.
pub(crate) struct Tiles {
    allowed: Arc<Allowed>,
    /// Options for listing buckets.
    remote: RemoteOptions,
    pool: Arc<Pool>,
    work: Arc<Work>,
    counts: Arc<Counts>,
    hosts: Hosts,
    cors: Option<String>,
    max_age: u32,
}

/// Requested area of a file.
enum Wanted {
    /// A part of its own pixels.
    Part(Part),
    /// A tile of a web map.
    Web(Box<Grid>),
}

impl Handler for Tiles {
    async fn answer(self: Arc<Self>, parts: Parts) -> Answer {
        let begun = Instant::now();
        let _in_flight = self.counts.begin();
        let answer = self.route(&parts).await;
        let mut answer = match answer {
            Ok(answer) => compressed(answer, &parts.headers),
            Err(mut refusal) => {
                refusal.error = self.allowed.hide(&refusal.error);
                refusal.answer()
            }
        };
        set(&mut answer, "x-content-type-options", "nosniff");
        set(&mut answer, "content-security-policy", "default-src 'none'");
        if let Some(origin) = &self.cors {
            set(&mut answer, "access-control-allow-origin", origin);
        }
        if !answer.headers().contains_key("cache-control") {
            set(&mut answer, "cache-control", "no-cache");
        }
        self.counts.note(answer.status(), answer.body().len(), begun.elapsed());
        answer
    }
}

impl Tiles {
    pub(crate) fn new(
        allowed: Allowed,
        (open, decode_on): (VrtOptions, Processor),
        work: Arc<Work>,
        hosts: Hosts,
        (cors, max_age): (Option<String>, u32),
    ) -> Self {
        let counts = Counts::default();
        let remote = open.open.remote.clone();
        let pool = Arc::new(Pool::new(open, decode_on, Arc::clone(&counts.bytes_read)));
        let (allowed, counts) = (Arc::new(allowed), Arc::new(counts));
        Self { allowed, remote, pool, work, counts, hosts, cors, max_age }
    }

    async fn route(&self, parts: &Parts) -> Result<Answer, Refusal> {
        self.hosts.check(&parts.headers)?;
        if parts.method == Method::OPTIONS {
            let mut answer = text_answer("text/plain; charset=utf-8", "");
            *answer.status_mut() = StatusCode::NO_CONTENT;
            set(&mut answer, "allow", "GET, HEAD, OPTIONS");
            return Ok(answer);
        }
        if parts.method != Method::GET && parts.method != Method::HEAD {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "expected GET"));
        }
        let asked = Asked::of(parts)?;
        let path = asked.parts();
        match path.as_slice() {
            [""] => self.index().await,
            ["health"] => Ok(json_answer(&json!({"status": "ok"}))),
            ["metrics"] => Ok(text_answer("text/plain; version=0.0.4", self.counts.prometheus())),
            ["info"] => {
                asked.only(&["url"])?;
                let opened = self.open(&asked).await?;
                self.work.run(move |_| Ok(json_answer(&documents::info(&opened)))).await
            }
            ["tiles", z, x, y] => self.tile((None, z, x, y), &asked, &parts.headers).await,
            ["tiles", set, z, x, y] => self.tile((Some(set), z, x, y), &asked, &parts.headers).await,
            ["preview"] => self.preview("png", &asked, &parts.headers).await,
            [preview] if preview.starts_with("preview.") => {
                self.preview(preview.trim_start_matches("preview."), &asked, &parts.headers).await
            }
            ["tilejson.json"] => self.document(None, &asked, &parts.headers, false).await,
            [set, "tilejson.json"] => self.document(Some(set), &asked, &parts.headers, false).await,
            ["WMTSCapabilities.xml"] => self.document(None, &asked, &parts.headers, true).await,
            [set, "WMTSCapabilities.xml"] => self.document(Some(set), &asked, &parts.headers, true).await,
            ["point", place] => {
                asked.only(&["url", "bidx"])?;
                let opened = self.open(&asked).await?;
                let place = figures::place(place)?;
                self.work.run(move |context| figures::point(&opened, place, &asked, context)).await
            }
            ["statistics"] => {
                asked.only(&["url", "bidx"])?;
                let opened = self.open(&asked).await?;
                let (level, made) = self.small(&opened).await?;
                let read = move |context: &Context| {
                    figures::statistics(&opened, level, &asked, made.as_ref(), context)
                };
                self.work.run(read).await
            }
            _ => Err(Refusal::not_found("there is nothing at this address; `/` lists the addresses")),
        }
    }

    /// Opens the file of a request.
    async fn open(&self, asked: &Asked) -> Result<Arc<Opened>, Refusal> {
        let (allowed, pool) = (Arc::clone(&self.allowed), Arc::clone(&self.pool));
        let name = asked.get("url")?.map(str::to_owned);
        self.work
            .run(move |context| {
                let file: Listed = allowed.find(name.as_deref())?;
                pool.open(&file, &context.cancel)
            })
            .await
    }

    async fn index(&self) -> Result<Answer, Refusal> {
        let (allowed, remote) = (Arc::clone(&self.allowed), self.remote.clone());
        let list = move |context: &Context| {
            let (files, problems) = allowed.list(&remote, &context.cancel);
            let names: Vec<String> = files.into_iter().take(MOST_NAMES).map(|file| file.name).collect();
            Ok(json_answer(&json!({
                "files": names,
                "problems": problems,
                "addresses": [
                    "/tiles/{z}/{x}/{y}.{png,jpg,webp,npy,tif}", "/tiles/{Native,WebMercatorQuad}/{z}/{x}/{y}.{format}",
                    "/tilejson.json", "/WMTSCapabilities.xml", "/info", "/point/{longitude},{latitude}", "/preview.{format}",
                    "/statistics", "/health", "/metrics",
                ],
                "parameters": PARAMETERS,
                "ramps": ramps::names().collect::<Vec<_>>(),
            })))
        };
        self.work.run(list).await
    }

    async fn tile(
        &self,
        (set_name, zoom, column, row): (Option<&str>, &str, &str, &str),
        asked: &Asked,
        headers: &HeaderMap,
    ) -> Result<Answer, Refusal> {
        asked.only(&PARAMETERS)?;
        let (row, format) = row.rsplit_once('.').unwrap_or((row, "png"));
        let format = Format::parse(format)?;
        let place = (parsed("z", zoom)?, parsed("x", column)?, parsed("y", row)?);
        let side = style::side(asked)?;
        let opened = self.open(asked).await?;
        let wanted = match Matrix::of(set_name, &opened)? {
            Matrix::Native => Wanted::Part(matrix::tile(&opened, side, place)?),
            Matrix::WebMercator => Wanted::Web(Box::new(mercator::grid(place, side)?)),
        };
        let answer = self.drawn(opened, wanted, format, asked, headers).await?;
        self.counts.tiles.fetch_add(1, Ordering::Relaxed);
        Ok(answer)
    }

    async fn preview(&self, format: &str, asked: &Asked, headers: &HeaderMap) -> Result<Answer, Refusal> {
        let known: Vec<&str> = PARAMETERS.iter().copied().chain(["max_size"]).collect();
        asked.only(&known)?;
        let format = Format::parse(format)?;
        let most: u32 = asked.number("max_size")?.unwrap_or(USUAL_PREVIEW);
        if !(1..=MOST_PREVIEW).contains(&most) {
            return Err(Refusal::bad(format!("expected a `max_size` of 1 to {MOST_PREVIEW}")));
        }
        let opened = self.open(asked).await?;
        let wanted = Wanted::Part(matrix::preview(&opened, most));
        self.drawn(opened, wanted, format, asked, headers).await
    }

    async fn document(
        &self,
        name: Option<&str>,
        asked: &Asked,
        headers: &HeaderMap,
        is_wmts: bool,
    ) -> Result<Answer, Refusal> {
        let known: Vec<&str> = PARAMETERS.iter().copied().chain(["tile_format"]).collect();
        asked.only(&known)?;
        let opened = self.open(asked).await?;
        let set = Matrix::of(name, &opened)?;
        let (asked, base) = (asked.clone(), base(headers)?);
        self.work
            .run(move |_| match is_wmts {
                true => Ok(text_answer("application/xml", documents::wmts(&opened, set, &asked, &base)?)),
                false => Ok(json_answer(&documents::tile_json(&opened, set, &asked, &base)?)),
            })
            .await
    }

    /// Returns the levels in memory of a file, if pixels at that scale come from there.
    async fn kept(&self, opened: &Arc<Opened>, scale: f64) -> Result<Option<Made>, Refusal> {
        let level = opened.level(opened.level_for(scale))?;
        match level.place {
            Place::Reduced(_) => ready(opened, &self.work).await,
            Place::Stored(_) | Place::OnDemand => Ok(None),
        }
    }

    /// Returns the largest level that is small enough for statistics.
    async fn small(&self, opened: &Arc<Opened>) -> Result<(crate::opened::Level, Option<Made>), Refusal> {
        let is_small = |level: &crate::opened::Level| level.width.max(level.height) <= USUAL_PREVIEW;
        let last = opened.levels.len().saturating_sub(1);
        let level = opened.level(opened.levels.iter().position(is_small).unwrap_or(last))?;
        let made = match level.place {
            Place::Reduced(_) => ready(opened, &self.work).await?,
            Place::Stored(_) | Place::OnDemand => None,
        };
        Ok((level, made))
    }

    /// Reads, draws and encodes.
    async fn drawn(
        &self,
        opened: Arc<Opened>,
        wanted: Wanted,
        format: Format,
        asked: &Asked,
        headers: &HeaderMap,
    ) -> Result<Answer, Refusal> {
        let style = Style::of(asked, &opened, format)?;
        let tag = entity_tag(&opened, asked);
        if let Some(tag) = tag.as_deref().filter(|tag| is_held(headers, tag)) {
            return Ok(self.dated(unchanged(), Some(tag)));
        }
        let scale = match &wanted {
            Wanted::Part(part) => part.scale(),
            Wanted::Web(grid) => {
                let own = mercator::pixel(&opened);
                own.map_or(1.0, |own| grid.transform().a / own)
            }
        };
        let kept = self.kept(&opened, scale).await?;
        let needs_ranges = !format.is_data()
            && style.ranges.is_empty()
            && opened.data_type != strile::DataType::U8
            && opened.palette.is_none();
        if needs_ranges {
            self.find_ranges(&opened, &style.bands).await?;
        }
        let draw = move |context: &Context| {
            let kept = kept.as_ref().and_then(Made::levels);
            let bytes = file_of(&opened, kept, &wanted, format, &style, context);
            let bytes = bytes.map_err(|refusal| opened.blame(refusal))?;
            bytes_answer(format.content_type(), bytes, context)
        };
        let answer = self.work.run(draw).await?;
        Ok(self.dated(answer, tag.as_deref()))
    }

    /// Determines the ranges for stretching bands: from the 2nd to the 98th percentile of a small level.
    async fn find_ranges(&self, opened: &Arc<Opened>, bands: &[u16]) -> Result<(), Refusal> {
        let missing: Vec<u16> = {
            let known = opened.ranges.lock().unwrap_or_else(PoisonError::into_inner);
            bands.iter().copied().filter(|band| !known.contains_key(band)).collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        let (level, made) = self.small(opened).await?;
        let opened = Arc::clone(opened);
        let find = move |context: &Context| {
            for band in missing {
                let range = figures::range(&opened, level, band, made.as_ref(), context)?;
                opened.ranges.lock().unwrap_or_else(PoisonError::into_inner).insert(band, range);
            }
            Ok(())
        };
        self.work.run(find).await
    }

    /// Adds the caching headers.
    fn dated(&self, mut answer: Answer, tag: Option<&str>) -> Answer {
        set(&mut answer, "cache-control", &format!("public, max-age={}", self.max_age));
        if let Some(tag) = tag {
            set(&mut answer, "etag", tag);
        }
        answer
    }
}

/// Returns the bytes of a tile.
fn file_of(
    opened: &Opened,
    kept: Option<&Input>,
    wanted: &Wanted,
    format: Format,
    style: &Style,
    context: &Context,
) -> Result<Vec<u8>, Refusal> {
    let (columns, rows) = match wanted {
        Wanted::Part(part) => part.size,
        Wanted::Web(grid) => (grid.width(), grid.height()),
    };
    let _counted = room(columns, rows, opened, style, context)?;
    let (samples, place) = match wanted {
        Wanted::Part(part) => {
            let own = &opened.input.metadata().georeference;
            let place = own.transform.map(|full| (part.transform(full), own.crs.clone()));
            (read(opened, kept, part, style, context)?, place)
        }
        Wanted::Web(grid) => {
            let place = (grid.transform(), Some(grid.crs().clone()));
            (
                mercator::read(opened, kept, grid.as_ref().clone(), (&style.bands, style.sampling), context)?,
                Some(place),
            )
        }
    };
    let samples = style.applied(samples);
    match format {
        Format::Npy => Ok(encode::npy(&samples)),
        Format::Tiff => {
            let nodata = opened.nodata(1).filter(|_| style.expression.is_none());
            encode::tiff(&samples, place, nodata, context)
        }
        Format::Png | Format::Jpeg | Format::Webp => {
            let results = style.results();
            let ranges: Vec<(f64, f64)> = match style.ranges.as_slice() {
                [] => known_ranges(opened, style),
                [one] => vec![*one; results],
                all => all.to_vec(),
            };
            let first = ranges.first().copied().unwrap_or((0.0, 255.0));
            let palette = opened.palette.as_deref();
            let by_palette = palette
                .filter(|_| style.bands == [1] && style.ranges.is_empty() && style.expression.is_none());
            let drawn = match (&style.ramp, by_palette) {
                (Some(ramp), _) => Drawn::Ramp(first, ramp),
                (None, Some(palette)) => Drawn::Palette(palette),
                (None, None) => Drawn::Stretched(&ranges),
            };
            let inverted = opened.is_inverted() && style.expression.is_none();
            encode::picture(render::draw(&samples, &drawn, inverted), format)
        }
    }
}

/// Reserves the memory of the samples, of derived values, and of the picture.
fn room(
    columns: u32,
    rows: u32,
    opened: &Opened,
    style: &Style,
    context: &Context,
) -> Result<Counted, Refusal> {
    let (bands, results) = (style.bands.len(), style.results());
    let computed = if style.expression.is_some() { 8 * bands + 4 * results } else { 0 };
    let pixel = bands * opened.data_type.size().max(8) + computed + 3 * results + 8;
    let bytes = (columns as usize).saturating_mul(rows as usize).saturating_mul(pixel);
    if bytes > MOST_BYTES {
        return Err(Refusal::bad("the answer would be too large; ask for fewer bands or pixels"));
    }
    Counted::take(context, bytes)
}

/// Returns the ranges of bands without `rescale`.
fn known_ranges(opened: &Opened, style: &Style) -> Vec<(f64, f64)> {
    let known = opened.ranges.lock().unwrap_or_else(PoisonError::into_inner);
    style.bands.iter().map(|band| known.get(band).copied().unwrap_or((0.0, 255.0))).collect()
}

/// Reads a part of the file's own pixels.
fn read(
    opened: &Opened,
    kept: Option<&Input>,
    part: &Part,
    style: &Style,
    context: &Context,
) -> Result<Samples, Refusal> {
    let level = opened.level(opened.level_for(part.scale()))?;
    let of = match (level.place, kept) {
        (Place::Reduced(number), Some(kept)) => Of::in_memory(kept, number, (level.width, level.height)),
        (Place::Stored(number), _) => opened.of(number, (level.width, level.height)),
        (Place::Reduced(_) | Place::OnDemand, _) => {
            let (number, level) = opened.smallest_stored();
            opened.of(number, (level.width, level.height))
        }
    };
    let across = f64::from(of.size.0) / f64::from(opened.width);
    let down = f64::from(of.size.1) / f64::from(opened.height);
    let [left, top, width, height] = part.area;
    let area = [left * across, top * down, width * across, height * down];
    opened.resampled(&of, area, part.size, (&style.bands, style.sampling), context)
}

/// Returns a tag for this answer: the state of the file and the address. `None` for a mosaic, which does not know the
/// state of its sources.
fn entity_tag(opened: &Opened, asked: &Asked) -> Option<String> {
    let version = opened.input.tiff()?.version()?;
    if version.mark.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (version.len, &version.mark, &asked.path, &asked.parameters, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    Some(format!("\"{:016x}\"", hasher.finish()))
}

/// Returns whether a client has this answer.
fn is_held(headers: &HeaderMap, tag: &str) -> bool {
    let held = headers.get(http::header::IF_NONE_MATCH).and_then(|held| held.to_str().ok()).unwrap_or("");
    held.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
}

fn unchanged() -> Answer {
    let mut answer = text_answer("text/plain; charset=utf-8", "");
    *answer.status_mut() = StatusCode::NOT_MODIFIED;
    answer
}

/// Returns the address of this server, as sent by the client.
fn base(headers: &HeaderMap) -> Result<String, Refusal> {
    let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    match !host.is_empty() && host.bytes().all(is_plain) {
        true => Ok(format!("http://{host}")),
        false => Err(Refusal::bad("expected a Host header with the name of the server")),
    }
}

/// Compresses text for clients that support it.
fn compressed(answer: Answer, headers: &HeaderMap) -> Answer {
    let can = headers.get(http::header::ACCEPT_ENCODING).and_then(|can| can.to_str().ok()).unwrap_or("");
    let accepts = can
        .split(',')
        .map(str::trim)
        .any(|one| one == "gzip" || one.starts_with("gzip;") && !one.ends_with("q=0"));
    let kind =
        answer.headers().get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let is_text = kind.starts_with("application/json")
        || kind.starts_with("application/xml")
        || kind.starts_with("text/");
    if !accepts || !is_text || answer.body().len() < WORTH_GZIP {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let whole = encoder.write_all(body.bytes()).and_then(|()| encoder.finish());
    match whole {
        Ok(bytes) => {
            head.headers.insert(http::header::CONTENT_ENCODING, http::HeaderValue::from_static("gzip"));
            head.headers.insert(http::header::VARY, http::HeaderValue::from_static("accept-encoding"));
            Answer::from_parts(head, crate::answer::Body::small(bytes))
        }
        Err(_) => Answer::from_parts(head, body),
    }
}
