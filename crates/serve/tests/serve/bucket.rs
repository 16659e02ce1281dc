//! Buckets: what is listed, and what is read of them.

use crate::client::{Running, bytes, uint, write};
use serde_json::json;
use std::path::PathBuf;
use strile::io::RemoteOptions;
use strile_serve::{Server, ServerOptions};
use testkit::{Codec, Fault, Grid, ImageSpec, RangeServer};

/// S3's list of keys.
fn listing(keys: &[&str]) -> Vec<u8> {
    let one = |key: &&str| {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-31T12:00:00.000Z</LastModified><ETag>\"1\"</ETag>\
             <Size>9</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )
    };
    let all: String = keys.iter().map(one).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>scenes</Name><KeyCount>{}</KeyCount>\
         <IsTruncated>false</IsTruncated>{all}</ListBucketResult>",
        keys.len()
    )
    .into_bytes()
}

fn options(store: &RangeServer) -> ServerOptions {
    let mut options = ServerOptions::default();
    let endpoint = store.url("");
    let mut remote = RemoteOptions::new().anonymous(true).region("us-east-1").retries(1u32);
    remote.endpoint = Some(endpoint.trim_end_matches('/').to_owned());
    options.open.open = options.open.open.clone().remote(remote).sidecars(false);
    options
}

#[test]
fn the_files_of_a_bucket_are_listed_and_served_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([1, 40, 60], |_, y, x| (x + y) as u8);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Tiles(32, 32)).codec(Codec::Deflate);
    let file = std::fs::read(write(folder.path(), "a.tif", &spec, &pixels)).unwrap();
    let store = RangeServer::start();
    let keys = ["2024/b.tif", "2024/deep/a.tif", "2024/notes.txt", "2023/other.tif", "2024/odd name?.tif"];
    store.put("scenes", listing(&keys), "list");
    for key in ["2024/b.tif", "2024/deep/a.tif", "2023/other.tif"] {
        store.put(&format!("scenes/{key}"), file.clone(), "first");
    }
    let given = [PathBuf::from("s3://scenes/2024")];
    let served = Running::tiles(&given, options(&store));
    let index = served.json("");
    assert_eq!((&index["files"], &index["problems"]), (&json!(["b.tif", "deep/a.tif"]), &json!([])));
    let lists = || store.counts().log.iter().filter(|head| head.contains("list-type=2")).count();
    assert_eq!(lists(), 1);
    served.json("");
    assert_eq!(lists(), 0, "the list is kept for a while");
    assert_eq!(served.json("info?url=deep/a.tif")["width"], 60);
    assert_eq!(served.get("tiles/0/0/0.png?url=b.tif").status, 200);
    for elsewhere in ["../2023/other.tif", "other.tif", "s3://scenes/2023/other.tif", "s3://else/b.tif"] {
        assert_eq!(served.get(&format!("info?url={elsewhere}")).status, 404, "{elsewhere}");
    }
    let viewed = Running::view(&given, options(&store));
    let sources = viewed.json("api/sources");
    assert_eq!((&sources[1]["name"], &sources[1]["ok"]), (&json!("deep/a.tif"), &json!(true)));
    assert_eq!(viewed.json("api/1/value?x=3&y=4")["values"], json!([7]));
}

#[test]
fn a_bucket_that_cannot_be_listed_says_why_and_its_files_are_served_by_name() {
    let store = RangeServer::start();
    store.put("scenes", listing(&[]), "list");
    let refused =
        |given: &str| Server::view(&[PathBuf::from(given)], options(&store)).err().unwrap().to_string();
    assert_eq!(refused("s3://scenes/"), "found no GeoTIFF or VRT in s3://scenes/");
    store.fail(|_, head| head.contains("list-type=2").then_some(Fault::Status(403)));
    let problem = refused("s3://scenes");
    assert!(problem.starts_with("cannot list s3://scenes/: the store refuses to list it (403"), "{problem}");
    let mut plain = options(&store);
    plain.open.open = plain.open.open.clone().remote(RemoteOptions::new());
    let problem = Server::view(&[PathBuf::from(store.url("x/"))], plain).err().unwrap().to_string();
    assert!(problem.contains("plain HTTP has no list of files"), "{problem}");
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.tif", &ImageSpec::new(uint(8)), &bytes([1, 8, 8], |_, _, x| x as u8));
    store.put("scenes/a.tif", std::fs::read(path).unwrap(), "first");
    let served = Running::tiles(&[PathBuf::from("s3://scenes/")], options(&store));
    let problems = served.json("")["problems"].to_string();
    assert!(problems.contains("refuses to list"), "{problems}");
    assert_eq!(served.json("info?url=a.tif")["width"], 8);
}
