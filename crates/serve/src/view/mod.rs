//! The viewer: a page and its API, below a secret part of the path.
//!
//! Paths are relative to `/TOKEN/`, so that the page works behind proxies. `api/sources` lists files; `api/N/…` refers
//! to the file of that number, and `api/N@web/…` to that file on a web map.

mod basemap;
mod info;
mod numbers;
mod page;
mod profile;
mod statistics;
mod structure;
mod tile;
mod web;

pub(crate) use basemap::Basemap;

use crate::answer::{Answer, Refusal, json_answer, set};
use crate::counts::Counts;
use crate::host::Hosts;
use crate::net::Handler;
use crate::opened::{Level, Opened, Place};
use crate::reduced::{Made, ready, soon};
use crate::request::{Asked, parsed};
use crate::sources::{Listed, Pool};
use crate::work::Work;
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use strile::Input;

/// Returns the output of `strile info` for a file.
pub type Describe = Arc<dyn Fn(&Input) -> String + Send + Sync>;

/// Maximum time for opening files for the list.
const LIST_TIME: Duration = Duration::from_secs(2);

/// Returns the content security policy of the page: only files of this server, and pictures of the basemap if
/// requested.
fn policy(basemap: Option<&Basemap>) -> String {
    let pictures = basemap.map_or(String::new(), |basemap| format!(" {}", basemap.origin()));
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:{pictures}; connect-src 'self'; \
         worker-src 'self'; base-uri 'none'; form-action 'none'"
    )
}

/// The viewer of a list of files.
pub(crate) struct View {
    pub(crate) token: String,
    pub(crate) hosts: Hosts,
    pub(crate) files: Vec<Listed>,
    pub(crate) pool: Pool,
    pub(crate) work: Arc<Work>,
    pub(crate) counts: Counts,
    pub(crate) describe: Option<Describe>,
    pub(crate) basemap: Option<Basemap>,
    /// Set when the page is closed.
    pub(crate) closed: Arc<AtomicBool>,
}

impl Handler for View {
    async fn answer(self: Arc<Self>, parts: Parts) -> Answer {
        let (begun, _in_flight) = (Instant::now(), self.counts.begin());
        let answer = self.route(&parts).await;
        let mut answer = answer.unwrap_or_else(|refusal| refusal.answer());
        set(&mut answer, "content-security-policy", &policy(self.basemap.as_ref()));
        set(&mut answer, "x-content-type-options", "nosniff");
        set(&mut answer, "referrer-policy", "no-referrer");
        if !answer.headers().contains_key("cross-origin-resource-policy") {
            set(&mut answer, "cross-origin-resource-policy", "same-origin");
        }
        if !answer.headers().contains_key("cache-control") {
            set(&mut answer, "cache-control", "no-store");
        }
        self.counts.note(answer.status(), answer.body().len(), begun.elapsed());
        answer
    }
}

impl View {
    async fn route(self: &Arc<Self>, parts: &Parts) -> Result<Answer, Refusal> {
        self.hosts.check(&parts.headers)?;
        let asked = Asked::of(parts)?;
        let path = asked.parts();
        let Some((token, path)) = path.split_first() else { return Err(nothing()) };
        if !same(token.as_bytes(), self.token.as_bytes()) {
            return Err(nothing());
        }
        if parts.method == Method::POST {
            return match path {
                ["api", "close"] => Ok(self.close()),
                _ => Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "expected GET")),
            };
        }
        if parts.method != Method::GET && parts.method != Method::HEAD {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "expected GET"));
        }
        match path {
            [] => Ok(page::moved(&self.token)),
            ["api", "sources"] => self.sources().await,
            ["api", "stats"] => Ok(self.stats()),
            ["api", "close"] => Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "expected POST")),
            ["api", number, rest @ ..] => self.of_file(number, rest, asked.clone()).await,
            [file] => page::file(file).ok_or_else(nothing),
            _ => Err(nothing()),
        }
    }

    async fn of_file(self: &Arc<Self>, number: &str, rest: &[&str], asked: Asked) -> Result<Answer, Refusal> {
        let (number, is_web) = match number.strip_suffix("@web") {
            Some(number) => (number, true),
            None => (number, false),
        };
        let number: usize = parsed("id", number)?;
        let none = || Refusal::not_found(format!("there is no file {number}; `api/sources` lists them"));
        let file = self.files.get(number).cloned().ok_or_else(none)?;
        let opened = self.open(file).await?;
        if is_web && let Some(answer) = self.on_web_map(&opened, rest, &asked).await? {
            return Ok(answer);
        }
        match rest {
            ["info"] => {
                let describe = self.describe.clone();
                self.work.run(move |_| info::info(&opened, describe.as_ref())).await
            }
            ["progress"] => Ok(progress(&opened)),
            ["tile", level, column, row] => {
                let level: usize = parsed("level", level)?;
                let (column, row) = (parsed("column", column)?, parsed("row", row)?);
                let (level, made) = self.level(&opened, level).await?;
                let view = Arc::clone(self);
                let read = move |context: &strile::Context| {
                    let answer = tile::tile(&opened, level, (column, row), &asked, made.as_ref(), context)?;
                    view.counts.tiles.fetch_add(1, Ordering::Relaxed);
                    Ok(answer)
                };
                self.work.run(read).await
            }
            ["value"] => {
                let number: usize = asked.number("level")?.unwrap_or(0);
                let level = opened.level(number)?;
                // A value never comes from a draft.
                let made = match level.place {
                    Place::Reduced(_) => ready(&opened, &self.work).await?,
                    Place::Stored(_) | Place::OnDemand => None,
                };
                let place = (asked.finite("x")?, asked.finite("y")?);
                let read = move |context: &strile::Context| {
                    numbers::value(&opened, (number, level), place, made.as_ref(), context)
                };
                self.work.run(read).await
            }
            ["statistics"] => {
                let (number, level, made) = self.small(&opened, statistics::SIDE).await?;
                let read = move |context: &strile::Context| {
                    statistics::statistics(&opened, (number, level), &asked, made.as_ref(), context)
                };
                self.work.run(read).await
            }
            ["profile"] => {
                let line = profile::Line::of(&asked, &opened)?;
                let number = line.level(&opened);
                let (level, made) = self.level(&opened, number).await?;
                let read = move |context: &strile::Context| {
                    profile::profile(&opened, (number, level), &line, made.as_ref(), context)
                };
                self.work.run(read).await
            }
            ["structure", level] => {
                let level: usize = parsed("level", level)?;
                self.work.run(move |context| structure::structure(&opened, level, &asked, context)).await
            }
            _ => Err(nothing()),
        }
    }

    /// Answers about a file on a web map; `None` for requests that are the same there.
    async fn on_web_map(
        self: &Arc<Self>,
        opened: &Arc<Opened>,
        rest: &[&str],
        asked: &Asked,
    ) -> Result<Option<Answer>, Refusal> {
        let (opened, asked, view) = (Arc::clone(opened), asked.clone(), Arc::clone(self));
        let answer = match rest {
            ["info"] => {
                let info = move |_: &strile::Context| {
                    let basemap = view.basemap.as_ref().map(Basemap::template);
                    web::info(&opened, view.describe.as_ref(), basemap)
                };
                self.work.run(info).await?
            }
            ["tile", level, column, row] => {
                let place = (parsed("level", level)?, parsed("column", column)?, parsed("row", row)?);
                let (kept, file) = (web::source(&opened, place.0)?, Arc::clone(&opened));
                let made = match kept {
                    Place::Reduced(_) => ready(&opened, &self.work).await?,
                    Place::Stored(_) | Place::OnDemand => None,
                };
                let read = move |context: &strile::Context| {
                    let answer = web::tile(&file, place, &asked, made.as_ref(), context)?;
                    view.counts.tiles.fetch_add(1, Ordering::Relaxed);
                    Ok(answer)
                };
                self.work.run(read).await?
            }
            ["value"] => {
                let place = web::pixel_of(&opened, (asked.finite("x")?, asked.finite("y")?))?;
                let read = move |context: &strile::Context| {
                    let level = opened.level(0)?;
                    numbers::value(&opened, (0, level), place, None, context)
                };
                self.work.run(read).await?
            }
            ["profile"] | ["structure", ..] => {
                return Err(Refusal::unable("lines and blocks are those of the file's own grid"));
            }
            _ => return Ok(None),
        };
        Ok(Some(answer))
    }

    /// Opens a file on a blocking thread, unless it is open.
    async fn open(self: &Arc<Self>, file: Listed) -> Result<Arc<Opened>, Refusal> {
        if let Some(opened) = self.pool.at_hand(&file) {
            return Ok(opened);
        }
        let view = Arc::clone(self);
        self.work.run(move |context| view.pool.open(&file, &context.cancel)).await
    }

    /// Returns a level, and its pixels or a draft of them if the file lacks it.
    async fn level(&self, opened: &Arc<Opened>, number: usize) -> Result<(Level, Option<Made>), Refusal> {
        let level = opened.level(number)?;
        let made = match level.place {
            Place::Reduced(_) => soon(opened, &self.work).await?,
            Place::Stored(_) | Place::OnDemand => None,
        };
        Ok((level, made))
    }

    /// Returns the largest level with at most `side` pixels on each side, with its number.
    async fn small(&self, opened: &Arc<Opened>, side: u32) -> Result<(usize, Level, Option<Made>), Refusal> {
        let is_small = |level: &Level| level.width.max(level.height) <= side;
        let last = opened.levels.len().saturating_sub(1);
        let number = opened.levels.iter().position(is_small).unwrap_or(last);
        let (level, made) = self.level(opened, number).await?;
        Ok((number, level, made))
    }

    /// Answers with all files; `ok` is null for those that were not opened yet.
    async fn sources(self: &Arc<Self>) -> Result<Answer, Refusal> {
        let view = Arc::clone(self);
        let list = move |context: &strile::Context| {
            let begun = Instant::now();
            let one = |(id, file): (usize, &Listed)| {
                let late = begun.elapsed() > LIST_TIME && view.pool.at_hand(file).is_none();
                match late {
                    true => json!({"id": id, "name": file.name, "ok": null}),
                    false => match view.pool.open(file, &context.cancel) {
                        Ok(_) => json!({"id": id, "name": file.name, "ok": true}),
                        Err(refusal) => {
                            json!({"id": id, "name": file.name, "ok": false, "error": refusal.error})
                        }
                    },
                }
            };
            Ok(json_answer(&view.files.iter().enumerate().map(one).collect::<Value>()))
        };
        self.work.run(list).await
    }

    fn stats(&self) -> Answer {
        let get = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let cached = strile::cache::stats();
        json_answer(&json!({
            "requests": get(&self.counts.requests),
            "tiles": get(&self.counts.tiles),
            "bytes_read": get(&self.counts.bytes_read),
            "bytes_sent": get(&self.counts.bytes_sent),
            "cache": {"bytes": cached.bytes, "hits": cached.hits, "misses": cached.misses},
        }))
    }

    fn close(&self) -> Answer {
        self.closed.store(true, Ordering::Relaxed);
        json_answer(&json!({"closed": true}))
    }
}

fn progress(opened: &Opened) -> Answer {
    let level = opened.levels.iter().position(|level| level.place == Place::Reduced(0));
    let (done, under_way) = match level {
        Some(_) => (opened.reduced.done(), opened.reduced.is_under_way()),
        None => (1.0, false),
    };
    let draft = opened.reduced.draft();
    json_answer(&json!({"level": level, "done": done, "under_way": under_way, "draft": draft}))
}

fn nothing() -> Refusal {
    Refusal::not_found("there is nothing at this address")
}

/// Compares in constant time.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
