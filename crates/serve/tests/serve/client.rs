//! A server in a thread, and a client of plain sockets.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use strile::Cancel;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile_serve::{ServeError, Server, ServerOptions};
use testkit::{ImageSpec, Pixels};

/// A server that ends when it is dropped.
pub struct Running {
    pub address: SocketAddr,
    /// The path of the page, `/TOKEN/`.
    pub path: String,
    cancel: Cancel,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    fn start(server: Server) -> Self {
        let (address, url) = (server.address(), server.url());
        let path = url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap();
        let cancel = Cancel::default();
        let flag = cancel.clone();
        let thread = std::thread::spawn(move || server.run(&flag));
        Self { address, path, cancel, thread: Some(thread) }
    }

    pub fn view(paths: &[PathBuf], options: ServerOptions) -> Self {
        Self::start(Server::view(paths, options).unwrap())
    }

    pub fn tiles(paths: &[PathBuf], options: ServerOptions) -> Self {
        Self::start(Server::tiles(paths, options).unwrap())
    }

    /// Asks for a path below the page's.
    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.path))
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Sends bytes and reads until the server closes.
    pub fn ask(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Asks it to end; returns how long that took.
    pub fn stop(&mut self) -> Duration {
        let begun = Instant::now();
        self.cancel.cancel();
        self.thread.take().unwrap().join().unwrap().unwrap();
        begun.elapsed()
    }

    /// Waits until it has ended by itself.
    pub fn has_ended(&mut self, within: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < within {
            if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
                self.thread.take().unwrap().join().unwrap().unwrap();
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}

/// An answer, read whole.
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let _closed_early = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes.split_off(end + 4) }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }
}

pub const fn uint(bits: u16) -> SampleType {
    SampleType { format: SampleFormat::Uint, bits }
}

/// Writes a file and returns its path.
pub fn write(folder: &Path, name: &str, spec: &ImageSpec, pixels: &Pixels) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, spec.build(pixels, ByteOrder::Little, false).bytes).unwrap();
    path
}

/// Pixels of bytes, by band, row and column.
pub fn bytes([bands, height, width]: [usize; 3], value: impl Fn(usize, usize, usize) -> u8) -> Pixels {
    let mut pixels = Pixels::zeroed(strile::DataType::U8, bands, height, width);
    for band in 0..bands {
        for y in 0..height {
            for x in 0..width {
                pixels.sample_mut(band, y, x)[0] = value(band, y, x);
            }
        }
    }
    pixels
}
