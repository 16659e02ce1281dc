//! Batches read ahead: their order, errors in their place, no more than asked for, and an end in the middle.

use crate::made::{bytes_of, spec};
use crate::sources::open;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use strile::batch::{BatchWindow, Batches};
use strile::{BatchOptions, Context, Dataset, Location, Processor, read_batch};
use testkit::Codec;

fn depth(depth: usize) -> NonZeroUsize {
    NonZeroUsize::new(depth).unwrap()
}

fn file() -> Arc<Dataset> {
    Arc::new(open(&bytes_of(&spec(Codec::Deflate), 3)))
}

fn options() -> BatchOptions {
    BatchOptions::new().decode_on(Processor::Cpu)
}

/// Window `at` of the file; every fifth asks for a file that is not there.
fn window(at: usize) -> BatchWindow {
    BatchWindow::of_pixels(usize::from(at % 5 == 4), at as i64, 2 * at as i64, (16, 8))
}

#[test]
fn batches_come_in_order_and_errors_in_their_place() {
    let (file, context) = (file(), Context::default());
    for ahead in [1, 3, 100] {
        let files = vec![Arc::clone(&file)];
        let requests = (0..23).map(move |at| Ok((files.clone(), vec![window(at)])));
        let batches: Vec<_> =
            Batches::new(Location::Host, requests, options(), depth(ahead), &context).unwrap().collect();
        assert_eq!(batches.len(), 23);
        for (at, batch) in batches.into_iter().enumerate() {
            let alone = read_batch(&[Arc::clone(&file)], &[window(at)], &options(), &context);
            match (batch, alone) {
                (Ok(batch), Ok(alone)) => {
                    assert!(
                        batch.into_host(&context).unwrap().into_bytes().unwrap()
                            == alone.into_host(&context).unwrap().into_bytes().unwrap()
                    );
                }
                (batch, alone) => {
                    assert_eq!(batch.err().unwrap().to_string(), alone.err().unwrap().to_string());
                    assert_eq!(at % 5, 4);
                }
            }
        }
    }
}

/// Counts what was asked for.
fn counted(file: &Arc<Dataset>, asked: &Arc<AtomicUsize>) -> impl Iterator<Item = Request> + Send + 'static {
    let (file, asked) = (Arc::clone(file), Arc::clone(asked));
    std::iter::repeat_with(move || {
        asked.fetch_add(1, Ordering::SeqCst);
        Ok((vec![Arc::clone(&file)], vec![window(0)]))
    })
}

type Request = strile::Result<(Vec<Arc<Dataset>>, Vec<BatchWindow>)>;

#[test]
fn no_more_than_asked_for_is_read_ahead_and_dropping_ends_it() {
    let (file, context) = (file(), Context::default());
    for ahead in [1, 4] {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut batches =
            Batches::new(Location::Host, counted(&file, &asked), options(), depth(ahead), &context).unwrap();
        for taken in 1..6 {
            batches.next().unwrap().unwrap();
            // Waits until as many as may be are there, and a little for one too many.
            while asked.load(Ordering::SeqCst) < taken + ahead {
                std::thread::yield_now();
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert_eq!(asked.load(Ordering::SeqCst), taken + ahead);
        }
        drop(batches);
        assert_eq!(Arc::strong_count(&asked), 1, "the thread is gone, and what it had");
    }
}

#[test]
fn a_stop_ends_it_and_a_panic_is_told() {
    let (file, context) = (file(), Context::default());
    let asked = Arc::new(AtomicUsize::new(0));
    let mut batches =
        Batches::new(Location::Host, counted(&file, &asked), options(), depth(2), &context).unwrap();
    batches.next().unwrap().unwrap();
    context.cancel.cancel();
    // Those that were read already, and at most one that was stopped.
    assert!(batches.count() <= 4);
    type Request = strile::Result<(Vec<Arc<Dataset>>, Vec<BatchWindow>)>;
    let requests = (0..3).map(|at| -> Request {
        if at < 2 { Err(strile::Error::Cancelled) } else { panic!("at {at}") }
    });
    let batches = Batches::new(Location::Host, requests, options(), depth(1), &Context::default()).unwrap();
    let told: Vec<String> = batches.map(|batch| batch.err().unwrap().to_string()).collect();
    assert_eq!(told.len(), 3);
    assert!(told[2].contains("stopped before"), "{told:?}");
}

/// What a child of a fork is told: it has the batches, and not the thread that reads them.
#[cfg(unix)]
#[test]
#[expect(unsafe_code, reason = "a fork")]
fn a_forked_child_is_told_and_does_not_wait() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn alarm(seconds: u32) -> u32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let (file, asked) = (file(), Arc::new(AtomicUsize::new(0)));
    let mut batches =
        Batches::new(Location::Host, counted(&file, &asked), options(), depth(2), &Context::default())
            .unwrap();
    batches.next().unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    // SAFETY: the child takes no lock that another thread may have had, and ends by `_exit`.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: ends the child where it waits for ever.
        unsafe { alarm(60) };
        let errors: Vec<String> = batches.by_ref().map(|batch| batch.err().unwrap().to_string()).collect();
        drop(batches);
        std::fs::write(&told, errors.join("; ")).unwrap();
        // SAFETY: ends the child.
        unsafe { _exit(0) }
    }
    let mut status = -1;
    // SAFETY: `status` lives through the call.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "ended by itself");
    assert_eq!(
        std::fs::read_to_string(told).unwrap(),
        "batches: are read ahead by the process that this one was forked from: make new ones in this process"
    );
    // The parent goes on as before.
    batches.next().unwrap().unwrap();
}
