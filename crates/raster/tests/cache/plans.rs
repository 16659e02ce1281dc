//! Plans say what comes from the cache, and looking at a plan changes nothing.

use crate::{Named, alone, read, tiled, window};
use strile::cache::Cache;
use strile::{Context, cache};
use testkit::Codec;

#[test]
fn a_plan_counts_what_the_cache_has() {
    let _alone = alone();
    for (is_local, cache) in [(true, Cache::Decoded), (false, Cache::Decoded), (false, Cache::Encoded)] {
        let file = Named::new(&tiled(Codec::Deflate, 512), is_local);
        let dataset = file.open();
        let options = window(0, 0, 128, 128).cache(cache);
        let plan = |options| dataset.plan(options, &Context::default()).unwrap();
        let before = plan(&options);
        assert_eq!(plan(&options).figures(), before.figures());
        assert_eq!((before.figures().blocks, before.figures().cached), (4, 0));
        assert!(!before.to_string().contains("cache"), "{before}");
        file.taken();
        read(&dataset, &options);
        assert_eq!(file.taken(), before.figures().range_bytes, "{before}");
        // Two of its blocks, and two others.
        let other = window(64, 0, 192, 64).cache(cache);
        let next = plan(&other);
        let figures = next.figures();
        assert_eq!((figures.blocks, figures.cached), (3, 1));
        assert!(figures.range_bytes > 0 && figures.cached_bytes > 0);
        assert!(next.to_string().contains("cache    1 block found, "), "{next}");
        file.taken();
        read(&dataset, &other);
        assert_eq!(file.taken(), figures.range_bytes, "{next}");
        let all = plan(&other);
        assert_eq!(
            (all.figures().cached, all.figures().ranges, all.figures().range_bytes),
            (3, 0, 0),
            "{all}"
        );
        file.taken();
        read(&dataset, &other);
        assert_eq!(file.taken(), 0);
        let off = plan(&other.clone().cache(Cache::Off)).figures();
        assert_eq!((off.cached, off.blocks), (0, 3));
    }
}

/// What a read takes is what the plan says, from the cache or not.
#[test]
fn memory_is_what_the_plan_says() {
    let _alone = alone();
    let dataset = Named::new(&tiled(Codec::Deflate, 512), true).open();
    for cache in [Cache::Off, Cache::Auto, Cache::Auto, Cache::Auto, Cache::Decoded] {
        let options = window(10, 10, 300, 200).cache(cache);
        let context = || {
            let budget = std::sync::Arc::new(strile::engine::Budget::new(1 << 30));
            Context { budget, ..Context::default() }
        };
        let plan = dataset.plan(&options, &context()).unwrap();
        let context = context();
        dataset.read(&options, &context).unwrap();
        let peak = context.budget.peak();
        assert!(peak <= plan.memory.host, "{peak} bytes, {plan}");
        assert!(plan.memory.host <= 2 * peak, "{peak} bytes, {plan}");
    }
}

#[test]
fn a_plan_is_no_read() {
    let _alone = alone();
    let dataset = Named::new(&tiled(Codec::Deflate, 256), true).open();
    for _ in 0..5 {
        dataset.plan(&window(0, 0, 64, 64), &Context::default()).unwrap();
    }
    read(&dataset, &window(0, 0, 64, 64));
    assert_eq!((cache::stats().blocks, cache::stats().hits, cache::stats().misses), (0, 0, 1));
}
