//! A bar on standard error: only on a terminal, only when work takes more than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A progress bar on standard error. Dropping it removes it.
pub struct Bar {
    bar: ProgressBar,
    start: Instant,
}

impl Bar {
    /// Creates a bar for `blocks` blocks; `None` if none should be shown.
    pub fn new(blocks: u64, quiet: bool) -> Option<Arc<Self>> {
        if quiet || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(Some(blocks), ProgressDrawTarget::hidden());
        if let Ok(style) =
            ProgressStyle::with_template("{prefix}{bar:40} {percent:>3} %  {pos}/{len} blocks, {eta} left")
        {
            bar.set_style(style);
        }
        Some(Arc::new(Self { bar, start: Instant::now() }))
    }

    /// Adds blocks that will be done too.
    pub fn expect_more(&self, blocks: u64) {
        self.bar.inc_length(blocks);
    }

    /// Shows a text before the bar, such as the number of finished files.
    pub fn say(&self, text: String) {
        self.bar.set_prefix(text);
    }

    /// Hides the bar while a line is printed.
    pub fn around(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Sets the number of blocks, if it was not known before.
    pub fn expect(&self, blocks: u64) {
        self.bar.set_length(blocks);
    }
}

impl strile::engine::Progress for Bar {
    fn advance(&self, blocks: u64) {
        self.bar.inc(blocks);
        if self.bar.is_hidden() && self.start.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
