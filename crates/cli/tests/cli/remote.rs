//! Files behind URLs, by every command that takes them.

use crate::{Bench, UINT8, dem};
use std::time::{Duration, Instant};
use strile::tiff::ByteOrder;
use testkit::{Codec, Fault, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, RangeServer};

/// A folder with `dem.tif`, and a server with the same file.
fn served() -> (Bench, RangeServer) {
    let (bench, server, (_, bytes)) = (Bench::new(), RangeServer::start(), dem());
    bench.file("dem.tif", &bytes);
    server.put("dem.tif", bytes, "first");
    (bench, server)
}

#[test]
fn commands_say_of_a_url_what_they_say_of_the_file() {
    let (bench, server) = served();
    let url = server.url("dem.tif");
    bench.run(&format!("compare dem.tif {url}")).clean();
    let (here, there) =
        (bench.run("info --json --stats dem.tif"), bench.run(&format!("info --json --stats {url}")));
    let size = |facts: serde_json::Value| facts["files"][0]["figures"].clone();
    assert_eq!(size(there.clean().json()), size(here.clean().json()));
    bench.run(&format!("dump {url} -o far.npy")).clean();
    bench.run("dump dem.tif -o near.npy").clean();
    assert_eq!(std::fs::read(bench.path("far.npy")).unwrap(), std::fs::read(bench.path("near.npy")).unwrap());
    assert_eq!(bench.run(&format!("-q convert {url} far.tif")).code, 0);
    assert_eq!(bench.run("-q convert dem.tif near.tif").code, 0);
    assert_eq!(std::fs::read(bench.path("far.tif")).unwrap(), std::fs::read(bench.path("near.tif")).unwrap());
    let (here, there) = (bench.run("cog validate dem.tif"), bench.run(&format!("cog validate {url}")));
    assert_eq!(here.code, there.code);
    assert_eq!(there.text().replace(&url, "dem.tif"), here.text());
    assert_eq!(server.counts().heads, 0);
}

#[test]
fn a_plan_tells_requests_and_bytes() {
    let (bench, server) = served();
    let plan = bench.run(&format!("dump --explain --sidecars never {}", server.url("dem.tif"))).clean();
    assert!(plan.text().contains("remote   ") && plan.text().contains("request"), "{}", plan.text());
    assert_eq!(server.counts().requests, 1);
}

/// The numbers of `remote: 3 requests, 32768 bytes (…), 0 retries, 0 hedges, 1 connection, …`.
fn stats(stderr: &str) -> [u64; 5] {
    let line = stderr.lines().find_map(|line| line.strip_prefix("remote: ")).unwrap();
    let mut numbers = line.split(", ").map(|part| part.split(' ').next().unwrap().parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap())
}

/// What is planned, what is counted at the end, and what the server saw.
#[test]
fn the_plan_the_stats_and_the_server_agree() {
    let (bench, server) = served();
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(64, 64)).codec(Codec::None);
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 1024, 2048], 7);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    server.put("large.tif", spec.build_with(&pixels, &[], frame).bytes, "first");
    let url = server.url("large.tif");
    let words = format!("{url} --window 1000,500,64,200 --merge-gap 4096 --sidecars never");
    let plan = bench.run(&format!("dump {words} --explain=json")).clean().json();
    server.counts();
    let run = bench.run(&format!("dump {words} -o window.npy --remote-stats"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let counts = server.counts();
    let [requests, received, retries, hedges, connections] = stats(&run.stderr);
    assert_eq!((requests, received), (counts.requests as u64, counts.bytes));
    assert_eq!((retries, hedges, connections), (0, 0, counts.connections as u64));
    let figures = |key: &str| plan["bytes"][key].as_u64().or(plan[key].as_u64()).unwrap();
    assert_eq!((requests, received), (1 + figures("requests"), (32 << 10) + figures("request_bytes")));
    let words = format!("{url} small.tif -outsize 50% 0 -r average --merge-gap 4096 --sidecars never");
    let plan = bench.run(&format!("convert {words} --explain")).clean().text().to_owned();
    assert_eq!(server.counts().requests, 1);
    let run = bench.run(&format!("convert {words} --remote-stats"));
    let [requests, received, ..] = stats(&run.stderr);
    let (requests, bytes) = (requests - 1, strile::bytes::human(received - (32 << 10)));
    let told = format!("remote  {requests} request{} for {bytes}", if requests == 1 { "" } else { "s" });
    assert!(plan.contains(&told), "{told}: {plan}");
    server.counts();
    server.fail(|number, _| (number == 0).then_some(Fault::Status(503)));
    assert_eq!(
        stats(&bench.run(&format!("info {url} --sidecars never --remote-stats")).stderr)[..3],
        [2, 32 << 10, 1]
    );
    server.fail(|_, _| None);
    for command in
        [format!("cog validate {url}"), format!("compare {url} {url}"), format!("convert {url} copy.tif")]
    {
        server.counts();
        let run = bench.run(&format!("{command} --remote-stats"));
        let counts = server.counts();
        assert_eq!(stats(&run.stderr)[..2], [counts.requests as u64, counts.bytes], "{command}");
    }
    let local = bench.run("info --remote-stats dem.tif");
    assert!(local.code == 2 && local.stderr.contains("no file is a URL"), "{}", local.stderr);
}

#[test]
fn an_index_has_what_is_behind_urls() {
    let (bench, server) = served();
    let words = format!(
        "index . {} {} -o headers.index",
        server.url("dem.tif?sig=concealed"),
        server.url("none.tif")
    );
    let run = bench.run(&words);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("404") && run.stderr.contains("2 files"), "{}", run.stderr);
    assert_eq!(server.counts().requests, 2);
    let stored = std::fs::read(bench.path("headers.index")).unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("concealed"));
}

#[test]
fn options_of_urls() {
    let (bench, server) = served();
    let url = server.url("dem.tif?sig=concealed");
    let refused = bench.run(&format!("info --deny-private-hosts {url}"));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("leave out `--deny-private-hosts`"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("concealed"), "{}", refused.stderr);
    assert_eq!(server.counts().requests, 0);
    let local = bench.run("info --anonymous dem.tif");
    assert!(local.code == 2 && local.stderr.contains("no file is a URL"), "{}", local.stderr);
    let useless = bench.run(&format!("info --region x {url}"));
    assert!(useless.stderr.contains("`--region` does not apply"), "{}", useless.stderr);
    let written = bench.run("convert dem.tif http://user:concealed@127.0.0.1/a.tif");
    let told = "http://127.0.0.1/a.tif: cannot write over plain HTTP";
    assert!(written.code == 2 && written.stderr.contains(told), "{}", written.stderr);
    let anonymous = bench.run("convert dem.tif s3://bucket/a.tif --anonymous --region x");
    assert!(anonymous.stderr.contains("writing needs credentials"), "{}", anonymous.stderr);
    let many = bench.run("convert dem.tif -o s3://bucket/folder");
    assert!(many.stderr.contains("URLs cannot be combined with -o DIR"), "{}", many.stderr);
    server.fail(|_, _| Some(Fault::Status(403)));
    let forbidden = bench.run(&format!("info {url}"));
    assert!(
        forbidden.stderr.contains("403") && !forbidden.stderr.contains("concealed"),
        "{}",
        forbidden.stderr
    );
}

#[test]
fn stores_without_a_list_of_uploads_say_so() {
    let bench = Bench::new();
    let reading = bench.run("uploads s3://bucket/a --no-hedge");
    assert!(reading.code == 2 && reading.stderr.contains("about reading"), "{}", reading.stderr);
    for (url, told) in [
        ("gs://bucket/a", "no list of resumable uploads"),
        ("az://box/a", "blocks that were not committed"),
        ("https://host/a", "plain HTTP has no uploads"),
    ] {
        let run = bench.run(&format!("uploads {url}"));
        assert!(run.code == 2 && run.stderr.contains(told), "{}", run.stderr);
    }
}

/// What lies beside a COG is metadata that a copy must not lose.
#[test]
fn a_copy_keeps_what_lies_beside_the_file() {
    let (bench, server) = served();
    assert_eq!(bench.run("-q convert dem.tif cog.tif --of COG").code, 0);
    server.put("cog.tif", std::fs::read(bench.path("cog.tif")).unwrap(), "first");
    let aux = "<PAMDataset><PAMRasterBand band=\"1\"><Description>beside</Description></PAMRasterBand></PAMDataset>";
    server.put("cog.tif.aux.xml", aux.into(), "first");
    let url = server.url("cog.tif");
    for (sidecars, kept) in
        [("", true), ("--sidecars always", true), ("--sidecars auto", false), ("--sidecars never", false)]
    {
        assert_eq!(bench.run(&format!("-q convert {url} copy.tif --overwrite {sidecars}")).code, 0);
        let copy = bench.run("info --json copy.tif").clean().json().to_string();
        assert_eq!(copy.contains("beside"), kept, "{sidecars}: {copy}");
        let told = bench.run(&format!("info --json {sidecars} {url}")).clean().json().to_string();
        assert_eq!(told.contains("beside"), kept, "{sidecars}: {told}");
    }
    server.counts();
    bench.run(&format!("dump --explain {url}")).clean();
    assert_eq!(server.counts().requests, 1);
    let wrong = bench.run(&format!("info --sidecars often {url}"));
    assert!(wrong.stderr.contains("expected auto, always or never"), "{}", wrong.stderr);
}

#[test]
fn mosaics_of_remote_files() {
    let (bench, server) = served();
    bench.run("vrt all.vrt dem.tif").clean();
    let text = std::fs::read_to_string(bench.path("all.vrt")).unwrap();
    server.put("all.vrt", text.clone().into_bytes(), "first");
    bench.run("dump all.vrt -o near.npy").clean();
    let near = std::fs::read(bench.path("near.npy")).unwrap();
    bench.run(&format!("dump {} -o far.npy", server.url("all.vrt"))).clean();
    assert_eq!(std::fs::read(bench.path("far.npy")).unwrap(), near);
    let elsewhere = text
        .replace("relativeToVRT=\"1\"", "relativeToVRT=\"0\"")
        .replace(">dem.tif<", &format!(">{}<", server.url("dem.tif")));
    bench.file("there.vrt", elsewhere.as_bytes());
    let refused = bench.run("dump there.vrt -o there.npy");
    assert!(refused.code == 2 && refused.stderr.contains("`--allowed-host HOST`"), "{}", refused.stderr);
    bench.run("dump there.vrt -o there.npy --allowed-host 127.0.0.1").clean();
    assert_eq!(std::fs::read(bench.path("there.npy")).unwrap(), near);
    let private = bench.run("dump there.vrt -o no.npy --allowed-host 127.0.0.1 --deny-private-hosts");
    assert!(private.stderr.contains("private network"), "{}", private.stderr);
}

/// A byte every two seconds.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_wait_at_once() {
    let (bench, server) = served();
    server.fail(|_, _| Some(Fault::Drip(Duration::from_secs(2))));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_strile"))
        .args(["info", &server.url("dem.tif")])
        .current_dir(bench.folder())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while server.counts().requests == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let number = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &number]).status().unwrap().success());
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // Before the next byte.
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}
