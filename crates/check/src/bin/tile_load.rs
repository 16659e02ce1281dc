//! Requests many tiles from a tile server on this machine, and prints how its memory changes.
//!
//! ```text
//! tile_load ADDRESS PID TILES CLIENTS PATH…
//! ```
//!
//! Each client has one connection and requests the paths in turn, TILES in total. After each tenth of them a line shows
//! the tiles so far, the tiles per second, the 50th and 99th percentile of the time to an answer, and the resident
//! memory of process PID (Linux).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, process, tiles, clients, paths @ ..] = words.as_slice() else {
        eprintln!("usage: tile_load ADDRESS PID TILES CLIENTS PATH…");
        std::process::exit(2);
    };
    let (tiles, clients): (u64, u64) = (tiles.parse().unwrap(), clients.parse().unwrap());
    assert!(!paths.is_empty() && clients > 0 && tiles > 0, "expected paths, clients and tiles");
    let step = tiles.div_ceil(10);
    let (asked, times, begun) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(Instant::now()));
    println!("tiles\ttiles/s\tp50 ms\tp99 ms\tresident MiB");
    println!("0\t\t\t\t{}", resident(process));
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
                stream.get_ref().set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                let mut body = Vec::new();
                loop {
                    let number = asked.fetch_add(1, Ordering::Relaxed);
                    if number >= tiles {
                        return;
                    }
                    let at = usize::try_from(number).unwrap() % paths.len();
                    let sent = Instant::now();
                    get(&mut stream, paths.get(at).unwrap(), &mut body);
                    let taken = sent.elapsed();
                    let mut times = times.lock().unwrap();
                    times.push(taken);
                    if times.len() as u64 >= step {
                        let mut begun = begun.lock().unwrap();
                        report(number + 1, &mut times, begun.elapsed(), process);
                        (*begun, *times) = (Instant::now(), Vec::new());
                    }
                }
            });
        }
    });
}

/// Reads one answer, which must be a tile.
fn get(stream: &mut BufReader<TcpStream>, path: &str, body: &mut Vec<u8>) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let (mut line, mut len) = (String::new(), 0);
    stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{path}: {line}");
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            len = value.trim().parse().unwrap();
        }
    }
    body.resize(len, 0);
    stream.read_exact(body).unwrap();
}

#[expect(clippy::cast_precision_loss, reason = "figures")]
fn report(so_far: u64, times: &mut [Duration], taken: Duration, process: &str) {
    times.sort();
    let at = |share: usize| times.get((times.len() - 1) * share / 100).unwrap().as_secs_f64() * 1000.0;
    let rate = times.len() as f64 / taken.as_secs_f64();
    println!("{so_far}\t{rate:.0}\t{:.2}\t{:.2}\t{}", at(50), at(99), resident(process));
}

/// Returns the resident memory of a process in MiB.
fn resident(process: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map_or_else(String::new, |pages| ((pages * 4096) >> 20).to_string())
}
