//! What the cache may hold, and that no read fails because of it.

use crate::{LIMIT, Named, alone, read, tiled, window};
use std::sync::Arc;
use strile::cache::Cache;
use strile::engine::Budget;
use strile::{Context, ReadOptions, cache};
use testkit::Codec;

#[test]
fn reads_of_many_blocks_leave_it_alone() {
    let _alone = alone();
    let file = Named::new(&tiled(Codec::Deflate, 1024), true);
    let dataset = file.open();
    let whole = ReadOptions::new().cache(Cache::Decoded);
    // 2 MiB of pixels: a quarter of the limit is the most.
    cache::set_limit((8 << 20) - 1);
    read(&dataset, &whole);
    read(&dataset, &whole);
    assert_eq!((cache::stats().blocks, cache::stats().misses), (0, 0));
    cache::set_limit(9 << 20);
    read(&dataset, &whole);
    assert_eq!(cache::stats().blocks, 256);
    cache::set_limit(1 << 20);
    assert!(cache::stats().bytes <= 1 << 20 && cache::stats().blocks > 100);
    cache::set_limit(LIMIT);
}

/// A conversion reads every block once: the cache does not notice.
#[test]
fn a_scan_leaves_nothing() {
    let _alone = alone();
    let file = Named::new(&tiled(Codec::Deflate, 512), true);
    let dataset = file.open();
    for row in (0..512).step_by(64) {
        read(&dataset, &window(0, row, 512, 64));
    }
    assert_eq!((cache::stats().blocks, cache::stats().misses), (0, 64));
}

/// Blocks that are held count for the call that holds them; a call with little memory goes without.
#[test]
fn a_call_with_little_memory_reads_as_ever() {
    let _alone = alone();
    let file = Named::new(&tiled(Codec::Deflate, 512), true);
    let dataset = file.open();
    let options = window(0, 0, 64, 64).cache(Cache::Decoded);
    let wide = window(32, 32, 256, 64).cache(Cache::Decoded);
    let peak = |options: &ReadOptions, limit: u64| {
        let context = Context { budget: Arc::new(Budget::new(limit)), ..Context::default() };
        let pixels = dataset.read(options, &context).unwrap().into_bytes().unwrap();
        (pixels, context.budget.peak())
    };
    let (pixels, without) = peak(&wide.clone().cache(Cache::Off), LIMIT);
    assert_eq!(peak(&wide, LIMIT).0, pixels);
    let (found, with) = peak(&wide, LIMIT);
    assert!(found == pixels && with >= 10 * 64 * 64 * 2, "{with} bytes with the cache, {without} without");
    let (found, tight) = peak(&wide, without);
    assert!(found == pixels && tight <= without);
    let one = peak(&options, LIMIT);
    assert_eq!(one.0, peak(&options.cache(Cache::Off), LIMIT).0);
}

/// The cache gives back what a call needs, down to nothing.
#[test]
fn calls_get_the_memory_that_it_holds() {
    let _alone = alone();
    let dataset = Named::new(&tiled(Codec::Deflate, 1024), true).open();
    let whole = ReadOptions::new().cache(Cache::Decoded);
    read(&dataset, &whole);
    assert_eq!(cache::stats().blocks, 256);
    let budget = Budget::of_process();
    let half = budget.take(budget.limit() / 2, "a test").unwrap();
    assert_eq!(cache::stats().blocks, 256);
    drop(half);
    let most = budget.take(budget.limit() - (1 << 20), "a test").unwrap();
    let left = cache::stats();
    assert!(left.bytes <= 1 << 20 && left.blocks > 0, "{left:?}");
    drop(most);
    let all = budget.take(budget.limit(), "a test").unwrap();
    assert_eq!(cache::stats().blocks, 0);
    drop(all);
}
