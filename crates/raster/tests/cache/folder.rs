//! Blocks of remote files in a folder.

use crate::{Named, alone, read, tiled, window};
use std::path::Path;
use strile::cache;
use strile::cache::Cache;
use testkit::Codec;

fn blocks(path: &Path) -> Vec<std::path::PathBuf> {
    let found = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    found.filter(|path| !path.ends_with("salt.strile")).collect()
}

#[test]
fn blocks_outlive_the_memory_of_the_process() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("blocks");
    cache::set_folder(Some(&path), 64 << 20).unwrap();
    let file = Named::new(&tiled(Codec::Deflate, 512), false);
    let options = window(10, 10, 300, 300).cache(Cache::Encoded);
    let expected = read(&file.open(), &options.clone().cache(Cache::Off)).into_bytes().unwrap();
    assert_eq!(blocks(&path).len(), 0, "the read said that it does not use the cache");
    assert_eq!(read(&file.open(), &options).into_bytes().unwrap(), expected);
    let kept = blocks(&path).len();
    assert!(kept > 0 && cache::stats().folder_bytes > 0);

    // As a later process.
    cache::clear();
    let before = cache::stats().folder_hits;
    let dataset = file.open();
    file.taken();
    assert_eq!(read(&dataset, &options).into_bytes().unwrap(), expected);
    assert_eq!(cache::stats().folder_hits - before, kept as u64);
    assert_eq!(file.taken(), 0, "nothing was fetched");

    // Damaged blocks are fetched again.
    for block in blocks(&path) {
        let mut bytes = std::fs::read(&block).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&block, bytes).unwrap();
    }
    cache::clear();
    assert_eq!(read(&dataset, &options).into_bytes().unwrap(), expected);
    assert!(file.taken() > 0);
    assert_eq!(blocks(&path).len(), kept);

    // Another state of the same file has other blocks.
    let changed = Named::new(&tiled(Codec::Deflate, 512), false);
    cache::clear();
    let before = cache::stats().folder_hits;
    read(&changed.open(), &options);
    assert_eq!(cache::stats().folder_hits, before);

    // Local files have none.
    cache::set_folder(None, 0).unwrap();
    assert_eq!(cache::stats().folder_limit, 0);
    cache::set_folder(Some(&place.path().join("other")), 64 << 20).unwrap();
    let local = Named::new(&tiled(Codec::Deflate, 512), true);
    read(&local.open(), &options.cache(Cache::Decoded));
    assert_eq!(blocks(&place.path().join("other")).len(), 0);
    cache::set_folder(None, 0).unwrap();
}
