//! The threads that wait for the network: one small pool per process, started by the first request.

use std::io;
use strile_engine::PerProcess;
use tokio::runtime::{Builder, Handle, Runtime};

/// They copy and decrypt; waiting is free.
const THREADS: usize = 4;

/// Returns the runtime for requests. A forked child has its own.
pub(crate) fn handle() -> io::Result<&'static Handle> {
    static RUNTIME: PerProcess<Option<Runtime>> = PerProcess::new();
    let made = RUNTIME.get(|| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("strile-remote").enable_all().build().ok()
    });
    let runtime = made.as_ref().ok_or_else(|| io::Error::other("cannot start threads for remote reads"))?;
    Ok(runtime.handle())
}
