//! Files and objects that are replaced are never shown from the cache.

use crate::{Named, alone, read, tiled, window};
use std::time::Duration;
use strile::cache::Cache;
use strile::{Context, Dataset, cache};
use testkit::Codec;

/// Times of files are trusted once they are this old.
const SETTLED: Duration = Duration::from_millis(2100);

#[test]
fn a_source_without_a_state_is_not_kept() {
    let _alone = alone();
    let file = Named { state: None, ..Named::new(&tiled(Codec::Deflate, 256), true) };
    for cache in [Cache::Decoded, Cache::Encoded, Cache::Auto] {
        read(&file.open(), &window(0, 0, 64, 64).cache(cache));
    }
    assert_eq!((cache::stats().blocks, cache::stats().misses), (0, 0));
}

#[test]
fn states_are_told_apart() {
    let _alone = alone();
    let (one, other) = (tiled(Codec::Deflate, 256), tiled(Codec::Deflate, 320));
    let options = window(0, 0, 64, 64).cache(Cache::Decoded);
    let (one, other) = (Named::new(&one, true), Named::new(&other, true));
    let expected = [&one, &other]
        .map(|file| read(&file.open(), &options.clone().cache(Cache::Off)).into_bytes().unwrap());
    for _ in 0..3 {
        assert_eq!(read(&one.open(), &options).into_bytes().unwrap(), expected[0]);
        assert_eq!(read(&other.open(), &options).into_bytes().unwrap(), expected[1]);
    }
    assert_eq!(cache::stats().blocks, 2);
}

/// The same path, the same size, other pixels: replaced, and written in place.
#[test]
fn a_local_file_that_is_replaced() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    let (first, mut second) = (tiled(Codec::Lzw, 128), tiled(Codec::Lzw, 128));
    // Offsets of the first two tiles change places: another image of the same size.
    let dataset = Named::new(&first, true).open();
    let strile::tiff::BlockArray::Here(offsets) = &dataset.pages()[0].levels[0].image.table.offsets else {
        panic!()
    };
    let strile::tiff::BlockArray::Here(sizes) = &dataset.pages()[0].levels[0].image.table.sizes else {
        panic!()
    };
    let tile = |at: usize| offsets[at] as usize..(offsets[at] + sizes[at]) as usize;
    let (one, other) = (first[tile(0)].to_vec(), first[tile(1)].to_vec());
    let shorter = one.len().min(other.len());
    second[tile(0)][..shorter].copy_from_slice(&other[..shorter]);
    assert_ne!(first, second);
    let options = window(0, 0, 40, 40).cache(Cache::Decoded).on_fault(strile::read::OnFault::Fill);
    let off = |path: &std::path::Path| {
        Dataset::open(path)
            .unwrap()
            .read(&options.clone().cache(Cache::Off), &Context::default())
            .unwrap()
            .into_bytes()
            .unwrap()
    };
    std::fs::write(&path, &first).unwrap();
    // Written just now: not kept.
    assert_eq!(read(&Dataset::open(&path).unwrap(), &options).into_bytes().unwrap(), off(&path));
    assert_eq!(cache::stats().blocks, 0);
    std::thread::sleep(SETTLED);
    let old = Dataset::open(&path).unwrap();
    for _ in 0..2 {
        assert_eq!(read(&old, &options).into_bytes().unwrap(), off(&path));
    }
    assert_eq!((cache::stats().blocks, cache::stats().hits), (1, 1));
    // Another file in its place: the handle still reads the old one, which is what it opened.
    let before = off(&path);
    std::fs::write(folder.path().join("b.tif"), &second).unwrap();
    std::fs::rename(folder.path().join("b.tif"), &path).unwrap();
    assert_eq!(read(&old, &options).into_bytes().unwrap(), before);
    let found = read(&Dataset::open(&path).unwrap(), &options).into_bytes().unwrap();
    assert!(found == off(&path) && found != before);
    std::thread::sleep(SETTLED);
    let now = Dataset::open(&path).unwrap();
    assert_eq!(read(&now, &options).into_bytes().unwrap(), found);
    assert_eq!(read(&now, &options).into_bytes().unwrap(), found);
    assert_eq!(cache::stats().blocks, 2);
    // Written in place: a handle says so, though all it needs is in the cache.
    std::fs::write(&path, &first).unwrap();
    let error = now.read(&options, &Context::default()).unwrap_err().to_string();
    assert!(error.contains("the file has changed since it was opened"), "{error}");
    assert_eq!(read(&Dataset::open(&path).unwrap(), &options).into_bytes().unwrap(), before);
}

#[cfg(feature = "remote")]
mod remote {
    use super::*;
    use strile::OpenOptions;
    use strile::io::RemoteOptions;
    use testkit::{Fault, RangeServer};

    fn open(url: &str, options: RemoteOptions) -> Dataset {
        Dataset::open_with(url, &OpenOptions::new().remote(options)).unwrap()
    }

    #[test]
    fn an_object_that_is_replaced() {
        let _alone = alone();
        let server = RangeServer::start();
        let (first, second) = (tiled(Codec::Deflate, 1024), tiled(Codec::Lzw, 1024));
        server.put("a.tif", first.clone(), "first");
        let options = window(500, 500, 200, 200);
        let asked = || server.counts().requests;
        let old = open(&server.url("a.tif"), RemoteOptions::new());
        let opening = asked();
        let pixels = read(&old, &options).into_bytes().unwrap();
        assert!(asked() > 0);
        assert_eq!(read(&old, &options).into_bytes().unwrap(), pixels);
        assert_eq!(asked(), 0);
        // Another handle finds its blocks.
        let again = open(&server.url("a.tif"), RemoteOptions::new());
        assert_eq!(read(&again, &window(520, 520, 90, 90)).bands, 1);
        assert_eq!(asked(), opening);
        assert!(cache::stats().hits > 0);
        // Another user may not see the same.
        let other = open(&server.url("a.tif"), RemoteOptions::new().header("x-user", "other"));
        asked();
        assert_eq!(read(&other, &options).into_bytes().unwrap(), pixels);
        assert!(asked() > 0);
        // The old handle shows the state that it opened, as far as it is here; no byte of the new one.
        server.put("a.tif", second.clone(), "second");
        assert_eq!(read(&old, &options).into_bytes().unwrap(), pixels);
        let error = old.read(&window(0, 0, 700, 700), &Context::default()).unwrap_err().to_string();
        assert!(error.contains("has changed since it was opened"), "{error}");
        let new = open(&server.url("a.tif"), RemoteOptions::new());
        asked();
        assert_eq!(
            read(&new, &options).into_bytes().unwrap(),
            read(&Named::new(&second, true).open(), &options).into_bytes().unwrap()
        );
        assert!(asked() > 0);
        // Without an ETag nothing is kept.
        let held = cache::stats().blocks;
        server.fail(|_, _| Some(Fault::NoTag));
        let unknown = Dataset::open_with(server.url("a.tif"), &OpenOptions::new()).unwrap();
        read(&unknown, &window(0, 0, 700, 700));
        assert_eq!(cache::stats().blocks, held);
    }

    /// A query may be what tells objects apart, and names in messages have none.
    #[test]
    fn urls_that_differ_in_their_query() {
        let _alone = alone();
        let server = RangeServer::start();
        server.put("a.tif", tiled(Codec::Deflate, 1024), "same");
        let options = window(500, 500, 200, 200);
        for query in ["?file=a", "?file=b"] {
            let dataset = open(&server.url(&format!("a.tif{query}")), RemoteOptions::new());
            server.counts();
            read(&dataset, &options);
            assert!(server.counts().requests > 0, "{query}");
        }
    }
}
