//! Files behind URLs, by every command that takes them.

use crate::{Bench, dem};
use std::time::{Duration, Instant};
use testkit::{Fault, RangeServer};

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
    let written = bench.run("convert dem.tif s3://bucket/a.tif");
    assert!(written.code == 2 && written.stderr.contains("unsupported"), "{}", written.stderr);
    server.fail(|_, _| Some(Fault::Status(403)));
    let forbidden = bench.run(&format!("info {url}"));
    assert!(
        forbidden.stderr.contains("403") && !forbidden.stderr.contains("concealed"),
        "{}",
        forbidden.stderr
    );
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
    assert!(begun.elapsed() < Duration::from_millis(300), "{:?}", begun.elapsed());
}
