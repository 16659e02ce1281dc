//! Work on blocking threads: a bounded number at once, within the memory budget, stopped when the client disconnects.

use crate::answer::Refusal;
use http::StatusCode;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use strile::engine::Budget;
use strile::{Cancel, Context};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Maximum time that a request waits for others to end.
const QUEUE_TIME: Duration = Duration::from_secs(30);

/// Threads, budget and queues for work.
pub(crate) struct Work {
    permits: Arc<Semaphore>,
    /// Reduced levels are made one after the other, and so are their drafts.
    passes: Arc<Semaphore>,
    drafts: Arc<Semaphore>,
    budget: Arc<Budget>,
    stop: Cancel,
    threads: NonZeroUsize,
}

/// Stops work whose result is no longer needed.
struct Stop(Cancel);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Work {
    pub(crate) fn new(at_once: usize, budget: Arc<Budget>, stop: Cancel, threads: NonZeroUsize) -> Self {
        let permits = Arc::new(Semaphore::new(at_once.max(1)));
        let one = || Arc::new(Semaphore::new(1));
        Self { permits, passes: one(), drafts: one(), budget, stop, threads }
    }

    /// Returns the context of a call that runs on one thread.
    pub(crate) fn context(&self) -> Context {
        Context {
            cancel: self.stop.part(),
            budget: Arc::clone(&self.budget),
            threads: NonZeroUsize::MIN,
            ..Context::default()
        }
    }

    /// Does work for a request.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let waited = timeout(QUEUE_TIME, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = match waited {
            Ok(Ok(permit)) => permit,
            _ => return Err(Refusal::busy("too many requests are being answered; try again")),
        };
        let context = self.context();
        let _stop = Stop(context.cancel.clone());
        let done = spawn_blocking(move || {
            let done = work(&context);
            drop(permit);
            done
        });
        done.await.unwrap_or_else(|_| Err(failed()))
    }

    /// Does work that outlives its request, on all threads; one after the other.
    pub(crate) async fn pass<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.alone(&self.passes, work).await
    }

    /// Does the same before a pass, without waiting for passes.
    pub(crate) async fn draft<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.alone(&self.drafts, work).await
    }

    async fn alone<T: Send + 'static>(
        &self,
        turn: &Arc<Semaphore>,
        work: impl FnOnce(&Context) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let Ok(permit) = Arc::clone(turn).acquire_owned().await else { return Err(failed()) };
        let context = Context { threads: self.threads, ..self.context() };
        let done = spawn_blocking(move || {
            let done = work(&context);
            drop(permit);
            done
        });
        done.await.map_err(|_| failed())
    }
}

fn failed() -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed inside the server")
}
