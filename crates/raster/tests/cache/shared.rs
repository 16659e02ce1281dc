//! Many threads at once, and children of forks.

use crate::{Named, alone, read, tiled, window};
use std::sync::Arc;
use strile::cache;
use strile::cache::Cache;
use testkit::Codec;

#[test]
fn threads_share_it() {
    let _alone = alone();
    let file = Named::new(&tiled(Codec::Lzw, 1024), true);
    let expected =
        Arc::new(read(&file.open(), &window(0, 0, 1024, 1024).cache(Cache::Off)).into_bytes().unwrap());
    // Room for a part of the blocks: they are displaced all the time.
    cache::set_limit(400_000);
    std::thread::scope(|scope| {
        for seed in 0..8u32 {
            let (dataset, expected) = (file.open(), Arc::clone(&expected));
            scope.spawn(move || {
                let mut state = seed.wrapping_mul(2_654_435_761) | 1;
                for at in 0..200 {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let (column, row) = ((state >> 8) % 960, (state >> 20) % 960);
                    let cache = if at % 3 == 0 { Cache::Auto } else { Cache::Decoded };
                    let found =
                        read(&dataset, &window(column, row, 64, 64).cache(cache)).into_bytes().unwrap();
                    for (line, found) in found.chunks_exact(128).enumerate() {
                        let start = ((row as usize + line) * 1024 + column as usize) * 2;
                        assert_eq!(found, &expected[start..start + 128]);
                    }
                    if at % 50 == 0 {
                        cache::clear();
                    }
                }
            });
        }
    });
    let stats = cache::stats();
    assert!(stats.bytes <= 400_000 && stats.hits > 100, "{stats:?}");
}

/// Readers of the same blocks at the same time: one fetches and decodes them, the others wait for it.
#[test]
fn a_block_is_fetched_and_decoded_once() {
    let _alone = alone();
    for (is_local, cache) in [(false, Cache::Encoded), (false, Cache::Decoded), (true, Cache::Decoded)] {
        let file = Named::new(&tiled(Codec::Deflate, 1024), is_local);
        let options = window(100, 100, 700, 700).cache(cache);
        let expected =
            read(&file.open(), &window(100, 100, 700, 700).cache(Cache::Off)).into_bytes().unwrap();
        let datasets: Vec<_> = (0..8).map(|_| file.open()).collect();
        file.taken();
        read(&file.open(), &window(100, 100, 700, 700).cache(Cache::Off));
        let once = file.taken();
        let before = cache::stats();
        let start = std::sync::Barrier::new(datasets.len());
        std::thread::scope(|scope| {
            for dataset in &datasets {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(read(dataset, &options).into_bytes().unwrap(), expected);
                });
            }
        });
        // The table of blocks, and no more, is read by each.
        let (taken, after) = (file.taken(), cache::stats());
        assert!(taken < once * 3 / 2, "{taken} bytes of {once}, {cache:?}");
        assert_eq!(after.misses - before.misses, (after.hits - before.hits) / 7, "{cache:?}");
    }
}

/// A child of a fork has a cache of its own, with the limit that was set, though its parent's is locked for ever in it.
#[cfg(unix)]
#[test]
#[expect(unsafe_code, reason = "a fork")]
fn a_forked_child_begins_anew() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn alarm(seconds: u32) -> u32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let _alone = alone();
    let dataset = Named::new(&tiled(Codec::Deflate, 256), true).open();
    let options = window(10, 10, 100, 100).cache(Cache::Decoded);
    let expected = read(&dataset, &options).into_bytes().unwrap();
    cache::set_limit(1 << 20);
    assert_eq!(cache::stats().blocks, 4);
    // Others use the cache while the process forks.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                cache::stats();
            }
        });
        for _ in 0..10 {
            // SAFETY: the child takes no lock that another thread may have had, and ends by `_exit`.
            let child = unsafe { fork() };
            if child == 0 {
                // SAFETY: ends the child where it waits for ever.
                unsafe { alarm(60) };
                let before = cache::stats();
                let is_new = before.blocks == 0 && before.limit == 1 << 20;
                let is_same = (0..3).all(|_| read(&dataset, &options).into_bytes().unwrap() == expected);
                let is_kept = cache::stats().blocks == 4 && cache::stats().hits == 8;
                // SAFETY: ends the child.
                unsafe { _exit(i32::from(!(is_new && is_same && is_kept))) }
            }
            let mut status = -1;
            // SAFETY: `status` lives through the call.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "ended by itself, with the right pixels");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(cache::stats().blocks, 4);
}
