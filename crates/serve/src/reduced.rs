//! Small levels of files without overviews: made by one pass over the file, kept in memory as a separate file. A draft
//! of them is available sooner.

use crate::answer::Refusal;
use crate::draft::Draft;
use crate::opened::Opened;
use crate::work::Work;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use strile::convert::{Conversion, ConvertOptions, ConvertSize, Method, Side};
use strile::io::{MemorySink, MemorySource};
use strile::write::{BlockChoice, Overviews, Piece};
use strile::{Compression, Context, Dataset, Input, OpenOptions, ReadOptions, Resampling, WriteOptions};
use tokio::sync::watch;

/// The kept result of a pass, and its memory in the budget.
pub(crate) struct Kept {
    pub(crate) input: Input,
    _counted: Box<dyn Send + Sync>,
}

/// Pixels of levels that the file lacks.
#[derive(Clone)]
pub(crate) enum Made {
    Levels(Arc<Kept>),
    Draft(Arc<Draft>),
}

impl Made {
    /// Returns the levels as a file; `None` for a draft.
    pub(crate) fn levels(&self) -> Option<&Input> {
        match self {
            Self::Levels(kept) => Some(&kept.input),
            Self::Draft(_) => None,
        }
    }

    /// Returns the version of the draft; `None` for final levels.
    pub(crate) fn draft(&self) -> Option<u64> {
        match self {
            Self::Levels(_) => None,
            Self::Draft(draft) => Some(draft.version()),
        }
    }
}

/// Current results of a pass.
#[derive(Default)]
struct State {
    draft: Option<Arc<Draft>>,
    outcome: Option<Result<Arc<Kept>, Refusal>>,
}

/// A pass that has not begun, is in progress, or is done.
pub(crate) struct Reduced {
    begun: AtomicBool,
    count: Count,
    state: watch::Sender<State>,
}

/// Counts pixels of the first level that are done, out of a total.
#[derive(Default)]
struct Count {
    done: AtomicU64,
    all: AtomicU64,
}

impl Default for Reduced {
    fn default() -> Self {
        Self {
            begun: AtomicBool::new(false),
            count: Count::default(),
            state: watch::Sender::new(State::default()),
        }
    }
}

impl Reduced {
    /// Returns the completed part of the pass, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub(crate) fn done(&self) -> f64 {
        if matches!(self.state.borrow().outcome, Some(Ok(_))) {
            return 1.0;
        }
        let all = self.count.all.load(Ordering::Relaxed);
        match all {
            0 => 0.0,
            all => (self.count.done.load(Ordering::Relaxed) as f64 / all as f64).clamp(0.0, 0.99),
        }
    }

    /// Returns whether a pass is in progress.
    pub(crate) fn is_under_way(&self) -> bool {
        self.begun.load(Ordering::Relaxed) && self.state.borrow().outcome.is_none()
    }

    /// Returns the version of the draft while the pass is in progress.
    pub(crate) fn draft(&self) -> Option<u64> {
        let state = self.state.borrow();
        state.draft.as_ref().filter(|_| state.outcome.is_none()).map(|draft| draft.version())
    }
}

/// Waits for the levels in memory; the first caller begins the pass. `None` if the file needs none.
pub(crate) async fn ready(opened: &Arc<Opened>, work: &Arc<Work>) -> Result<Option<Made>, Refusal> {
    wait(opened, work, |state| state.outcome.is_some()).await
}

/// Waits for the levels in memory or for a draft of them, whichever comes first. `None` if the file needs none.
pub(crate) async fn soon(opened: &Arc<Opened>, work: &Arc<Work>) -> Result<Option<Made>, Refusal> {
    wait(opened, work, |state| state.outcome.is_some() || state.draft.is_some()).await
}

async fn wait(
    opened: &Arc<Opened>,
    work: &Arc<Work>,
    suffices: impl FnMut(&State) -> bool,
) -> Result<Option<Made>, Refusal> {
    if opened.first_reduced().is_none() {
        return Ok(None);
    }
    let reduced = &opened.reduced;
    if !reduced.begun.swap(true, Ordering::AcqRel) {
        reduced.state.send_replace(State::default());
        tokio::spawn(begin(Arc::clone(opened), Arc::clone(work)));
    }
    let mut state = reduced.state.subscribe();
    let state = state.wait_for(suffices).await;
    match state.as_deref() {
        Ok(State { outcome: Some(Ok(kept)), .. }) => Ok(Some(Made::Levels(Arc::clone(kept)))),
        Ok(State { outcome: Some(Err(refusal)), .. }) => Err(refusal.clone()),
        Ok(State { draft: Some(draft), .. }) => Ok(Some(Made::Draft(Arc::clone(draft)))),
        Ok(_) | Err(_) => Err(Refusal::busy("the reduced levels are not ready; try again")),
    }
}

/// Makes the draft, then the levels.
async fn begin(opened: Arc<Opened>, work: Arc<Work>) {
    let file = Arc::clone(&opened);
    let draft = work.draft(move |context| draft(&file, context)).await.ok().flatten();
    let file = Arc::clone(&opened);
    let made = work.pass(move |context| make(&file, draft.as_deref(), context)).await.and_then(|made| made);
    let failed = made.is_err();
    opened.reduced.state.send_replace(State { draft: None, outcome: Some(made) });
    if failed {
        // The next request tries again: memory may be available then.
        opened.reduced.begun.store(false, Ordering::Release);
    }
}

/// Draws the draft and shows it after each lattice. An unreadable file has none: the pass reports why.
fn draft(opened: &Opened, context: &Context) -> Option<Arc<Draft>> {
    let draft = Arc::new(Draft::of(opened, context).ok()??);
    let show = || {
        opened.reduced.state.send_modify(|state| state.draft = Some(Arc::clone(&draft)));
    };
    draft.draw(opened, context, show).ok()?;
    Some(draft)
}

fn make(opened: &Opened, draft: Option<&Draft>, context: &Context) -> Result<Arc<Kept>, Refusal> {
    let first = opened.first_reduced().ok_or_else(|| Refusal::bad("the file needs no reduced level"))?;
    let levels =
        opened.levels.iter().filter(|level| matches!(level.place, crate::opened::Place::Reduced(_))).count();
    let pixels = u64::from(first.width) * u64::from(first.height);
    // All levels, uncompressed, with a mask: 4/3 of the first.
    let bytes = pixels * (u64::from(opened.bands) * opened.data_type.size() as u64 + 1) / 3 * 4 + (1 << 20);
    let counted = context.take_kept(bytes, "the reduced levels of a file").map_err(strile::Error::from)?;
    let nearest = opened.is_categorical();
    let write = WriteOptions::new()
        .compression(Compression::None)
        .blocks(BlockChoice::Tiles { width: 256, height: 256 })
        .overviews(Overviews::Count(u32::try_from(levels.saturating_sub(1)).unwrap_or(0)))
        .resampling(nearest.then_some(Resampling::Nearest));
    let options = ConvertOptions::new()
        .read(ReadOptions::new().decode_on(opened.decode_on))
        .write(write)
        .size(ConvertSize::Sides(Side::Pixels(first.width), Side::Pixels(first.height)))
        .resampling(if nearest { Method::Nearest } else { Method::Average });
    let sink = MemorySink::new();
    let file = sink.handle();
    let count = &opened.reduced.count;
    let planned = Conversion::plan(&opened.input, Box::new(sink), &options, context);
    let planned = planned.map_err(|error| opened.blame(error))?;
    count.done.store(0, Ordering::Relaxed);
    count.all.store(pixels.max(1), Ordering::Relaxed);
    let mut show = |piece: &Piece<'_>| {
        let made = u64::from(piece.window.width) * u64::from(piece.window.height);
        count.done.fetch_add(made, Ordering::Relaxed);
        if let Some(draft) = draft {
            draft.take(opened, piece, (first.width, first.height));
        }
    };
    planned.run_watched(context, &mut show).map_err(|error| opened.blame(error))?;
    let bytes = file.take().map(|file| file.bytes).unwrap_or_default();
    let source = Arc::new(MemorySource::new(opened.name.clone(), bytes));
    let dataset = Dataset::from_source(source, &OpenOptions::default())?;
    let input = Input::Tiff(Box::new(dataset));
    check(&input, opened)?;
    Ok(Arc::new(Kept { input, _counted: Box::new(counted) }))
}

/// Checks that the levels are those that were announced.
fn check(input: &Input, opened: &Opened) -> Result<(), Refusal> {
    let made = input.tiff().and_then(|dataset| dataset.pages().first());
    for level in &opened.levels {
        let crate::opened::Place::Reduced(number) = level.place else { continue };
        let image = made.and_then(|page| page.levels.get(number)).map(|level| &level.image);
        if image.is_none_or(|image| (image.width, image.height) != (level.width, level.height)) {
            let problem = format!(
                "{}: the level of {} × {} pixels was not made",
                opened.name, level.width, level.height
            );
            return Err(Refusal::new(http::StatusCode::INTERNAL_SERVER_ERROR, problem));
        }
    }
    Ok(())
}
