//! Requests that mean harm: the server says no, or nothing, and goes on.

use crate::client::{Answer, Running, bytes, uint, write};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use strile_serve::ServerOptions;
use testkit::{Codec, Grid, ImageSpec};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("served")).unwrap();
    let pixels = bytes([1, 700, 900], |_, y, x| (x ^ y) as u8);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Tiles(64, 64)).codec(Codec::Deflate);
    write(&folder.path().join("served"), "a.tif", &spec, &pixels);
    write(folder.path(), "secret.tif", &spec, &pixels);
    std::fs::write(folder.path().join("served/notes.txt"), "not a raster").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret.tif"), folder.path().join("served/link.tif"))
        .unwrap();
    folder
}

#[test]
fn nothing_outside_the_folder_is_read() {
    let folder = folder();
    let server = Running::tiles(&[folder.path().join("served")], ServerOptions::default());
    assert_eq!(server.get("info?url=a.tif").status, 200);
    let secret = folder.path().join("secret.tif");
    let secret = secret.to_str().unwrap();
    let names = [
        "../secret.tif",
        "..%2fsecret.tif",
        "%2e%2e/secret.tif",
        "%2e%2e%2fsecret.tif",
        "%252e%252e%252fsecret.tif",
        "..%5csecret.tif",
        "..%c0%afsecret.tif",
        "a.tif/../../secret.tif",
        "./../secret.tif",
        "served/../../secret.tif",
        "....//secret.tif",
        "/etc/passwd",
        secret,
        "file:///etc/passwd",
        "file://localhost/etc/passwd",
        "link.tif",
        "notes.txt",
        "",
        ".",
        "..",
        "a.tif%00.png",
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:1/a.tif",
        "s3://bucket/a.tif",
        "https://example.org/a.tif",
        "/vsicurl/http://127.0.0.1/a.tif",
        "nul.tif",
        "a.tif?x",
        "A.TIF/",
        "%00",
        "~/a.tif",
        "\\\\host\\share\\a.tif",
        "C:/a.tif",
    ];
    for name in names {
        for address in ["info", "tiles/0/0/0.png", "preview.png", "statistics", "point/0,0", "tilejson.json"]
        {
            let answer =
                server.get(&format!("{address}?url={}", name.replace('\\', "%5C").replace(' ', "%20")));
            assert!((400..500).contains(&answer.status), "{name}: {} {}", answer.status, answer.text());
            assert!(!answer.text().contains(folder.path().to_str().unwrap()), "{name}: {}", answer.text());
        }
    }
    let elsewhere = server.ask("GET /info?url=a.tif HTTP/1.1\r\nHost: evil.org\r\nConnection: close\r\n\r\n");
    assert_eq!(elsewhere.status, 421);
    for path in ["../info?url=a.tif", "tiles/../info", "%2e%2e/%2e%2e/etc/passwd", "served/a.tif", "a.tif"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.get("info?url=a.tif").status, 200);
}

#[test]
fn absurd_numbers_and_parameters_are_refused() {
    let folder = folder();
    let server = Running::tiles(&[folder.path().join("served")], ServerOptions::default());
    let view = Running::view(&[folder.path().join("served/a.tif")], ServerOptions::default());
    for wrong in [
        "tiles/99/0/0.png",
        "tiles/4294967295/0/0.png",
        "tiles/18446744073709551616/0/0.png",
        "tiles/-1/0/0.png",
        "tiles/0/1/0.png",
        "tiles/0/4294967295/4294967295.png",
        "tiles/a/b/c.png",
        "tiles/0/0/0.exe",
        "tiles/0/0/0.",
        "tiles/Nothing/0/0/0.png",
        "tiles/0/0/0.png?bidx=0",
        "tiles/0/0/0.png?bidx=2",
        "tiles/0/0/0.png?bidx=99999999",
        "tiles/0/0/0.png?rescale=1",
        "tiles/0/0/0.png?rescale=5,1",
        "tiles/0/0/0.png?rescale=nan,1",
        "tiles/0/0/0.png?colormap_name=none",
        "tiles/0/0/0.png?resampling=magic",
        "tiles/0/0/0.png?tilesize=99999999",
        "tiles/0/0/0.png?tilesize=0",
        "tiles/0/0/0.png?nodata=x",
        "tiles/0/0/0.png?expression=import",
        "preview.png?max_size=0",
        "tiles/0/0/0.png?expression=((((b1",
        "preview.png?max_size=1000000000",
        "tiles/0/0/0.png?unknown=1",
        "tiles/0/0/0.png?url=a.tif&url=a.tif",
        "point/x,y",
        "point/1e999,0",
        "point/0",
        "statistics?bidx=0",
        "tiles/0/0",
        "tiles/0/0/0/0/0.png",
        "tiles/0/0/0.npy?rescale=0,1",
    ] {
        let separator = if wrong.contains('?') { "&" } else { "?" };
        let wrong =
            if wrong.contains("url=") { wrong.to_owned() } else { format!("{wrong}{separator}url=a.tif") };
        let answer = server.get(&wrong);
        assert!((400..500).contains(&answer.status), "{wrong}: {} {}", answer.status, answer.text());
    }
    for wrong in [
        "api/1/info",
        "api/99999999999999999999/info",
        "api/x/info",
        "api/0/nothing",
        "api/0/tile/9/0/0",
        "api/0/tile/0/4/0",
        "api/0/tile/0/4294967295/0",
        "api/0/tile/0/-1/0",
        "api/0/tile/0/0",
        "api/0/tile/0/0/0?bands=0",
        "api/0/tile/0/0/0?bands=2",
        "api/0/tile/0/0/0?bands=1,,1",
        "api/0/tile/0/0/0?x=1",
        "api/0/value",
        "api/0/value?x=1e300&y=0",
        "api/0/value?x=nan&y=0",
        "api/0/value?x=900&y=0",
        "api/0/value?x=0&y=0&level=77",
        "api/0/profile?x0=0&y0=0&x1=1e9&y1=0",
        "api/0/profile?x0=0&y0=0&x1=1&y1=0&band=1,1",
        "api/0/statistics?bands=65536",
    ] {
        let answer = view.get(wrong);
        assert!((400..500).contains(&answer.status), "{wrong}: {} {}", answer.status, answer.text());
    }
    let many = "1,".repeat(300) + "1";
    assert_eq!(view.get(&format!("api/0/tile/0/0/0?bands={many}")).status, 400);
    assert_eq!(view.get(&"a".repeat(5000)).status, 414);
    let raw = |request: String| server.ask(&request).status;
    assert_eq!(
        raw(format!("GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "a".repeat(5000))),
        414
    );
    assert!(
        [400, 431].contains(&raw(format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
            "a".repeat(40_000)
        )))
    );
    let headers: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    assert!([400, 431].contains(&raw(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"))));
    assert_eq!(
        raw("GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
            .into()),
        413
    );
    let chunked =
        "GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(chunked.into()), 413);
    assert_eq!(raw("\0\x01\x02 HTTP/9.9\r\n\r\n".into()), 400);
    assert_eq!(server.get("health").status, 200);
    assert_eq!(view.get("api/0/info").status, 200);
}

#[test]
fn connections_without_a_request_make_room_for_others() {
    let folder = folder();
    let mut options = ServerOptions::default();
    options.connections = 64;
    let mut server = Running::tiles(&[folder.path().join("served")], options);
    let begun = Instant::now();
    let mut idle: Vec<TcpStream> = Vec::new();
    for number in 0..2000 {
        let Ok(mut stream) = TcpStream::connect(server.address) else { continue };
        // Half of them begin a request and never end it.
        if number % 2 == 0 {
            let _closed = stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
        }
        idle.push(stream);
        if idle.len() > 400 {
            idle.drain(..200);
        }
        if number % 250 == 0 {
            assert_eq!(server.get("health").status, 200, "after {number} connections");
        }
    }
    assert_eq!(server.get("tiles/0/0/0.png?url=a.tif").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(60));
    let ended = server.stop();
    assert!(ended < Duration::from_millis(300), "{ended:?}");
}

#[test]
fn a_client_that_reads_nothing_hurts_nobody_and_the_server_ends_at_once() {
    let folder = folder();
    let mut server = Running::view(&[folder.path().join("served/a.tif")], ServerOptions::default());
    let mut deaf = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect();
        let request = format!("GET {}api/0/tile/0/0/0 HTTP/1.1\r\nHost: localhost\r\n\r\n", server.path);
        stream.write_all(request.repeat(50).as_bytes()).unwrap();
        deaf.push(stream);
    }
    let begun = Instant::now();
    assert_eq!(server.get("api/0/tile/0/1/1").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let ended = server.stop();
    assert!(ended < Duration::from_millis(300), "{ended:?}");
    drop(deaf);
}

#[test]
fn memory_is_that_of_the_budget() {
    let folder = folder();
    let pixels = bytes([40, 600, 600], |band, _, x| (band + x) as u8);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Tiles(256, 256)).codec(Codec::Deflate);
    write(&folder.path().join("served"), "bands.tif", &spec, &pixels);
    let mut options = ServerOptions::default();
    options.budget = std::sync::Arc::new(strile::engine::Budget::new(3 << 20));
    let server = Running::view(&[folder.path().join("served")], options);
    let bands: Vec<String> = (1..=40).map(|band| band.to_string()).collect();
    let large = format!("api/1/tile/0/0/0?bands={}", bands.join(","));
    let answer = server.get(&large);
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.text().contains("memory") && answer.header("retry-after").is_some(), "{}", answer.text());
    assert_eq!(server.get("api/0/tile/0/0/0").status, 200);
}

#[test]
fn requests_of_clients_that_left_do_not_pile_up() {
    let folder = folder();
    let pixels = bytes([3, 2048, 2048], |band, y, x| (band * y + x) as u8);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Strips(2048)).codec(Codec::Lzw);
    write(&folder.path().join("served"), "strip.tif", &spec, &pixels);
    let server = Running::tiles(&[folder.path().join("served")], ServerOptions::default());
    for _ in 0..300 {
        let mut stream = server.connect();
        stream
            .write_all(b"GET /preview.png?url=strip.tif&max_size=2000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
    }
    let begun = Instant::now();
    assert_eq!(server.get("tiles/0/0/0.png?url=a.tif").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn answers_follow_each_other_on_one_connection() {
    let folder = folder();
    let server = Running::tiles(&[folder.path().join("served")], ServerOptions::default());
    let mut stream = server.connect();
    for _ in 0..3 {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut bytes = vec![0; 4096];
        let mut len = 0;
        while !bytes[..len].ends_with(b"}") {
            len += stream.read(&mut bytes[len..]).unwrap();
        }
        assert!(bytes.starts_with(b"HTTP/1.1 200"));
    }
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(Answer::read(stream).status, 200);
}

/// Raises the limit of open files; whether so many may be open.
#[cfg(target_os = "linux")]
fn may_open(files: u64) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|now| now >= files) {
        return true;
    }
    let raised = Rlimit { current: limit.maximum.map_or(Some(files), |most| Some(most.min(files))), ..limit };
    limit.maximum.is_none_or(|most| most >= files) && setrlimit(Resource::Nofile, raised).is_ok()
}

/// Resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// 10,000 connections are open at once: most send nothing, some a part of a request, some ask for a tile and do not read it.
#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_connections_take_little_memory_and_the_service_goes_on() {
    const MANY: usize = 10_000;
    if !may_open(12_000) {
        eprintln!("skipped: fewer than 12,000 files may be open");
        return;
    }
    let folder = folder();
    let mut server = Running::tiles(&[folder.path().join("served")], ServerOptions::default());
    assert_eq!(server.get("tiles/0/0/0.png?url=a.tif").status, 200);
    let before = resident();
    let mut all: Vec<TcpStream> = Vec::with_capacity(MANY);
    for number in 0..MANY {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let part = match number % 20 {
            0 => "GET /tiles/0/0/0.png?url=a.tif HTTP/1.1\r\nHost: localhost\r\n\r\n",
            1..=8 => "GET /tiles/0/0/0.png?url=a.tif HTTP/1.1\r\nHost: local",
            _ => "",
        };
        // Those that make room for others are closed by the server.
        let _closed = stream.write_all(part.as_bytes());
        all.push(stream);
        if number % 1000 == 999 {
            let begun = Instant::now();
            assert_eq!(server.get("health").status, 200, "after {number} connections");
            assert!(begun.elapsed() < Duration::from_secs(10), "after {number} connections");
        }
    }
    let grown = resident().saturating_sub(before) >> 20;
    assert!(grown < 128, "{grown} MiB more");
    assert_eq!(server.get("tiles/0/0/0.png?url=a.tif").status, 200);
    let ended = server.stop();
    assert!(ended < Duration::from_millis(500), "{ended:?}");
    drop(all);
}
