//! Small levels of files without overviews: made by one pass over the file, kept in memory as a file of their own.

use crate::answer::Refusal;
use crate::opened::Opened;
use crate::work::Work;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use strile::convert::{Conversion, ConvertOptions, ConvertSize, Method, Side};
use strile::engine::Progress;
use strile::io::{MemorySink, MemorySource};
use strile::write::{BlockChoice, Overviews};
use strile::{Compression, Context, Dataset, Input, OpenOptions, ReadOptions, Resampling, WriteOptions};
use tokio::sync::watch;

/// What is kept of a pass, and its memory in the budget.
pub(crate) struct Kept {
    pub(crate) input: Input,
    _counted: Box<dyn Send + Sync>,
}

type Outcome = Option<Result<Arc<Kept>, Refusal>>;

/// A pass that was not begun, is under way, or is done.
pub(crate) struct Reduced {
    begun: AtomicBool,
    count: Arc<Count>,
    outcome: watch::Sender<Outcome>,
}

#[derive(Default)]
struct Count {
    done: AtomicU64,
    all: AtomicU64,
}

impl Progress for Count {
    fn advance(&self, blocks: u64) {
        self.done.fetch_add(blocks, Ordering::Relaxed);
    }
}

impl Default for Reduced {
    fn default() -> Self {
        Self { begun: AtomicBool::new(false), count: Arc::default(), outcome: watch::Sender::new(None) }
    }
}

impl Reduced {
    /// The part of the pass that is done, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub(crate) fn done(&self) -> f64 {
        if matches!(*self.outcome.borrow(), Some(Ok(_))) {
            return 1.0;
        }
        let all = self.count.all.load(Ordering::Relaxed);
        match all {
            0 => 0.0,
            all => (self.count.done.load(Ordering::Relaxed) as f64 / all as f64).clamp(0.0, 0.99),
        }
    }

    /// Whether a pass is under way.
    pub(crate) fn is_under_way(&self) -> bool {
        self.begun.load(Ordering::Relaxed) && self.outcome.borrow().is_none()
    }
}

/// Waits for the levels in memory; the first caller begins the pass. `None` if the file needs none.
pub(crate) async fn ready(opened: &Arc<Opened>, work: &Arc<Work>) -> Result<Option<Arc<Kept>>, Refusal> {
    if opened.first_reduced().is_none() {
        return Ok(None);
    }
    let reduced = &opened.reduced;
    if !reduced.begun.swap(true, Ordering::AcqRel) {
        reduced.outcome.send_replace(None);
        let (opened, work) = (Arc::clone(opened), Arc::clone(work));
        tokio::spawn(async move {
            let file = Arc::clone(&opened);
            let made = work.pass(move |context| make(&file, context)).await;
            let failed = made.is_err();
            opened.reduced.outcome.send_replace(Some(made));
            if failed {
                // The next request tries again: memory may be there then.
                opened.reduced.begun.store(false, Ordering::Release);
            }
        });
    }
    let mut outcome = reduced.outcome.subscribe();
    let outcome = outcome.wait_for(Option::is_some).await;
    match outcome.as_deref() {
        Ok(Some(Ok(kept))) => Ok(Some(Arc::clone(kept))),
        Ok(Some(Err(refusal))) => Err(refusal.clone()),
        Ok(None) | Err(_) => Err(Refusal::busy("the reduced levels are not ready; try again")),
    }
}

fn make(opened: &Opened, context: &Context) -> Result<Arc<Kept>, Refusal> {
    let first = opened.first_reduced().ok_or_else(|| Refusal::bad("the file needs no reduced level"))?;
    let levels =
        opened.levels.iter().filter(|level| matches!(level.place, crate::opened::Place::Reduced(_))).count();
    let pixels = u64::from(first.width) * u64::from(first.height);
    // All levels, uncompressed, with a mask: 4/3 of the first.
    let bytes = pixels * (u64::from(opened.bands) * opened.data_type.size() as u64 + 1) / 3 * 4 + (1 << 20);
    let counted = context.take_kept(bytes, "the reduced levels of a file").map_err(strile::Error::from)?;
    let nearest = opened.is_categorical();
    let write = WriteOptions {
        compression: Compression::None,
        blocks: BlockChoice::Tiles { width: 256, height: 256 },
        overviews: Overviews::Count(u32::try_from(levels.saturating_sub(1)).unwrap_or(0)),
        resampling: nearest.then_some(Resampling::Nearest),
        ..WriteOptions::default()
    };
    let options = ConvertOptions {
        read: ReadOptions::new().decode_on(opened.decode_on),
        write,
        size: Some(ConvertSize::Sides(Side::Pixels(first.width), Side::Pixels(first.height))),
        resampling: if nearest { Method::Nearest } else { Method::Average },
        ..ConvertOptions::default()
    };
    let sink = MemorySink::new();
    let file = sink.handle();
    let count = Arc::clone(&opened.reduced.count);
    let planned = Conversion::plan(&opened.input, Box::new(sink), &options, context);
    let planned = planned.map_err(|error| opened.blame(error))?;
    count.done.store(0, Ordering::Relaxed);
    count.all.store(planned.blocks().max(1), Ordering::Relaxed);
    let context = Context { progress: Some(count), ..context.clone() };
    planned.run(&context).map_err(|error| opened.blame(error))?;
    let bytes = file.take().map(|file| file.bytes).unwrap_or_default();
    let source = Arc::new(MemorySource::new(opened.name.clone(), bytes));
    let dataset = Dataset::from_source(source, &OpenOptions::default())?;
    let input = Input::Tiff(Box::new(dataset));
    check(&input, opened)?;
    Ok(Arc::new(Kept { input, _counted: Box::new(counted) }))
}

/// The levels must be those that were announced.
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
