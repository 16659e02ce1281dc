//! Writes to a stream that takes bytes in order: a pipe, standard output, a socket, another language's object.
//!
//! Bytes that were written cannot be taken back, but nothing is written after an error. A failed write returns the
//! writer's own error unchanged, and from then on neither `commit` nor `abort` writes another byte.

use super::{BUFFER, Sink, Stopped};
use std::io::{self, Write};

/// Writes a file front to back to a stream, such as standard output.
pub struct StreamSink<W: Write + Send> {
    name: String,
    writer: W,
    tail: Vec<u8>,
    stopped: Stopped,
}

impl<W: Write + Send> StreamSink<W> {
    /// Creates a sink that writes into `writer`, called `name` in messages.
    pub fn new(name: impl Into<String>, writer: W) -> Self {
        Self { name: name.into(), writer, tail: Vec::new(), stopped: Stopped::default() }
    }

    fn flush(&mut self) -> io::Result<()> {
        let sent = self.writer.write_all(&self.tail);
        self.tail.clear();
        self.stopped.note(sent)
    }
}

impl<W: Write + Send> Sink for StreamSink<W> {
    fn name(&self) -> &str {
        &self.name
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        if self.tail.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            let sent = self.writer.write_all(bytes);
            return self.stopped.note(sent);
        }
        self.tail.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.stopped.check()?;
        self.flush()?;
        self.writer.flush()
    }

    fn abort(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Accepts `room` bytes; then the pipe is closed.
    #[derive(Clone)]
    struct Pipe {
        room: usize,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.taken.lock().unwrap();
            let count = bytes.len().min(self.room - taken.len());
            if count == 0 {
                return Err(io::Error::from_raw_os_error(32));
            }
            taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn pipe(room: usize) -> (Box<StreamSink<Pipe>>, Arc<Mutex<Vec<u8>>>) {
        let taken = Arc::new(Mutex::new(Vec::new()));
        (Box::new(StreamSink::new("pipe", Pipe { room, taken: Arc::clone(&taken) })), taken)
    }

    #[test]
    fn bytes_arrive_in_order_whatever_their_sizes() {
        let (mut sink, taken) = pipe(usize::MAX);
        let bytes: Vec<u8> = (0..3 * BUFFER).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let (mut rest, sizes) = (&bytes[..], [1, 70_000, BUFFER - 5, BUFFER, 13, usize::MAX]);
        for size in sizes {
            let (now, later) = rest.split_at(size.min(rest.len()));
            sink.append(now).unwrap();
            rest = later;
        }
        sink.commit().unwrap();
        assert!(*taken.lock().unwrap() == bytes);
    }

    #[test]
    fn a_closed_pipe_is_told_unchanged_and_nothing_follows() {
        let (mut sink, taken) = pipe(BUFFER + 10);
        sink.append(&vec![1; BUFFER]).unwrap();
        sink.append(b"small").unwrap();
        // The small piece is written first, then five bytes of this one.
        let error = sink.append(&vec![2; BUFFER]).unwrap_err();
        assert_eq!((error.kind(), error.raw_os_error()), (io::ErrorKind::BrokenPipe, Some(32)));
        assert_eq!(taken.lock().unwrap().len(), BUFFER + 10);
        let later = sink.append(b"more").unwrap_err();
        assert_eq!(later.kind(), io::ErrorKind::BrokenPipe);
        assert!(later.to_string().starts_with("nothing is written after an error"), "{later}");
        assert_eq!(sink.commit().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn abort_sends_nothing_more() {
        let (mut sink, taken) = pipe(usize::MAX);
        sink.append(b"collected").unwrap();
        sink.abort();
        assert!(taken.lock().unwrap().is_empty());
    }

    #[test]
    fn it_cannot_patch() {
        let (mut sink, _) = pipe(usize::MAX);
        assert!(!sink.can_patch());
        assert_eq!(sink.patch(0, b"x").unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_told_at_the_commit_at_the_latest() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut sink = Box::new(StreamSink::new("/dev/full", full));
        sink.append(b"data").unwrap();
        assert_eq!(sink.commit().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
