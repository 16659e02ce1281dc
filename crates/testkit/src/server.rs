//! A range server on loopback with latency, a rate per connection and faults. It counts requests.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A server that stops when it is dropped.
pub struct RangeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// Counts of requests since the last call of `counts`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests of any method.
    pub requests: usize,
    /// Number of `HEAD` requests.
    pub heads: usize,
    /// Bytes of bodies that were sent.
    pub bytes: u64,
    /// Connections that were accepted.
    pub connections: usize,
    /// Peak of simultaneous requests.
    pub at_once: usize,
    /// The heads of all requests.
    pub log: Vec<String>,
}

/// Answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// With this status and no body.
    Status(u16),
    /// The connection ends after this many bytes of the body.
    Cut(usize),
    /// With the range shifted by one byte, and a matching `Content-Range`.
    Shifted,
    /// Without `Content-Range`.
    NoContentRange,
    /// With a `Content-Range` of a larger object.
    OtherTotal,
    /// With the whole object and status 200.
    IgnoreRange,
    /// With this version of the object, whatever `If-Match` says.
    Tag(String),
    /// Without a version.
    NoTag,
    /// With an endless chunked body.
    Endless,
    /// With a body one byte shorter than the range, and a matching `Content-Length`.
    Short,
    /// With `Content-Encoding: gzip`.
    Gzip,
    /// One byte at a time, with a pause after each.
    Drip(Duration),
    /// Not at all.
    Silence,
    /// With a redirect to this URL.
    Redirect(String),
}

type Faults = Box<dyn Fn(usize, &str) -> Option<Fault> + Send + Sync>;

struct Shared {
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: HashMap<String, (Arc<Vec<u8>>, String)>,
    delay: Duration,
    /// Bytes per second per connection; 0 for no limit.
    rate: u64,
    faults: Option<Arc<Faults>>,
    counts: Counts,
    now: usize,
}

impl RangeServer {
    /// Starts a server without files.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { stopped: AtomicBool::new(false), state: Mutex::default() });
        let of_server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if of_server.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                of_server.state().counts.connections += 1;
                let shared = Arc::clone(&of_server);
                std::thread::spawn(move || {
                    // A client that disconnects is not an error.
                    let _gone = shared.serve(&stream);
                    let _closed = stream.shutdown(Shutdown::Both);
                });
            }
        });
        Self { address, shared }
    }

    /// Serves `bytes` as `path`, with a version name.
    pub fn put(&self, path: &str, bytes: Vec<u8>, version: &str) {
        self.shared.state().objects.insert(path.to_owned(), (Arc::new(bytes), format!("\"{version}\"")));
    }

    /// Waits before each answer.
    pub fn delay(&self, delay: Duration) {
        self.shared.state().delay = delay;
    }

    /// Limits the bytes per second of each connection.
    pub fn rate(&self, rate: u64) {
        self.shared.state().rate = rate;
    }

    /// Calls `fault` for each request to choose its answer, with the number of the request since the last call of
    /// `counts`, from 0, and its head.
    pub fn fail(&self, fault: impl Fn(usize, &str) -> Option<Fault> + Send + Sync + 'static) {
        self.shared.state().faults = Some(Arc::new(Box::new(fault)));
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Returns the counts since the last call. A client receives the last byte of an answer slightly before it is
    /// counted, so answers in flight get some time to end.
    pub fn counts(&self) -> Counts {
        for _ in 0..100 {
            if self.shared.state().now == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        std::mem::take(&mut self.shared.state().counts)
    }
}

impl Drop for RangeServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _woken = TcpStream::connect(self.address);
    }
}

/// An answer before faults.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        while let Some(head) = read_head(stream)? {
            let (delay, rate, fault) = {
                let mut state = self.state();
                let number = state.counts.requests;
                state.counts.requests += 1;
                state.counts.heads += usize::from(head.starts_with("HEAD"));
                state.now += 1;
                state.counts.at_once = state.counts.at_once.max(state.now);
                state.counts.log.push(head.clone());
                let fault = state.faults.clone();
                (state.delay, state.rate, fault.and_then(|fault| fault(number, &head)))
            };
            std::thread::sleep(delay);
            let answered = self.answer(&head, fault.as_ref()).send(stream, fault.as_ref(), rate);
            let mut state = self.state();
            state.now -= 1;
            state.counts.bytes += answered.as_ref().copied().unwrap_or_default();
            drop(state);
            if answered.is_err() || matches!(fault, Some(Fault::Cut(_) | Fault::Endless)) {
                return Ok(());
            }
            stream.flush()?;
        }
        Ok(())
    }

    fn answer(&self, head: &str, fault: Option<&Fault>) -> Answer {
        let empty =
            |status| Answer { status, headers: vec![("Content-Length", "0".into())], body: Vec::new() };
        let field = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        match fault {
            Some(Fault::Status(status)) => return empty(*status),
            Some(Fault::Redirect(to)) => {
                let mut answer = empty(302);
                answer.headers.push(("Location", to.clone()));
                return answer;
            }
            Some(Fault::Silence) => std::thread::sleep(Duration::from_secs(30)),
            _ => {}
        }
        let path = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
        let path = path.split('?').next().unwrap_or_default();
        let Some((whole, mut tag)) = self.state().objects.get(path).cloned() else { return empty(404) };
        if let Some(Fault::Tag(other)) = fault {
            tag = format!("\"{other}\"");
        } else if field("If-Match").is_some_and(|asked| asked != tag) {
            return empty(412);
        }
        let mut headers = vec![];
        if fault != Some(&Fault::NoTag) {
            headers.push(("ETag", tag));
        }
        let asked = field("Range").filter(|_| fault != Some(&Fault::IgnoreRange));
        let Some(asked) = asked else {
            headers.push(("Content-Length", whole.len().to_string()));
            return Answer { status: 200, headers, body: whole.to_vec() };
        };
        let (first, last) = asked.trim_start_matches("bytes=").split_once('-').unwrap();
        let (mut first, mut last) = (first.parse::<usize>().unwrap(), last.parse::<usize>().unwrap());
        if first >= whole.len() {
            let mut answer = empty(416);
            answer.headers.push(("Content-Range", format!("bytes */{}", whole.len())));
            return answer;
        }
        last = last.min(whole.len() - 1);
        if fault == Some(&Fault::Shifted) {
            (first, last) = (first + 1, (last + 1).min(whole.len() - 1));
        }
        let mut body = whole[first..=last].to_vec();
        let total = whole.len() + usize::from(fault == Some(&Fault::OtherTotal));
        if fault != Some(&Fault::NoContentRange) {
            headers.push(("Content-Range", format!("bytes {first}-{last}/{total}")));
        }
        match fault {
            Some(Fault::Gzip) => headers.push(("Content-Encoding", "gzip".into())),
            Some(Fault::Short) => drop(body.pop()),
            _ => {}
        }
        match fault {
            Some(Fault::Endless) => headers.push(("Transfer-Encoding", "chunked".into())),
            _ => headers.push(("Content-Length", body.len().to_string())),
        }
        Answer { status: 206, headers, body }
    }
}

impl Answer {
    /// Sends the answer and returns the bytes of its body.
    fn send(&self, mut stream: &TcpStream, fault: Option<&Fault>, rate: u64) -> std::io::Result<u64> {
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        let body = match fault {
            Some(Fault::Cut(len)) => &self.body[..self.body.len().min(*len)],
            _ => &self.body[..],
        };
        match fault {
            Some(Fault::Endless) => loop {
                stream.write_all(b"10000\r\n")?;
                stream.write_all(&[0; 0x10000])?;
                stream.write_all(b"\r\n")?;
            },
            Some(Fault::Drip(pause)) => {
                for byte in body {
                    stream.write_all(&[*byte])?;
                    std::thread::sleep(*pause);
                }
            }
            _ => {
                for part in body.chunks(256 << 10) {
                    stream.write_all(part)?;
                    if rate > 0 {
                        std::thread::sleep(Duration::from_secs_f64(part.len() as f64 / rate as f64));
                    }
                }
            }
        }
        Ok(body.len() as u64)
    }
}

fn read_head(mut stream: &TcpStream) -> std::io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}
