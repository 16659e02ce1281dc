//! A local file, read by position from any thread.
//!
//! It is not mapped into memory: if another program truncates a mapped file, the process that reads it is killed.

use super::{ReadDone, ReadOp, Source, Version, check_unchanged, open_regular, state_of};
use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use strile_engine::{Cancel, PerProcess, ReadAt, Span, thread_builder};

/// Reads a local file by position.
pub struct FileSource {
    name: String,
    version: Version,
    file: Arc<LocalFile>,
    /// Whether the caller changes the file itself.
    changes: AtomicBool,
}

struct LocalFile(File);

impl FileSource {
    /// Opens a regular file for reading. A directory, a pipe, a socket or a device is an error.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, version) = open_regular(path).map_err(|error| Error::io(path, error))?;
        Ok(Self {
            name: path.display().to_string(),
            version,
            file: Arc::new(LocalFile(file)),
            changes: AtomicBool::new(false),
        })
    }
}

impl Source for FileSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.version.len
    }

    fn version(&self) -> Version {
        self.version.clone()
    }

    fn state(&self) -> Option<String> {
        match self.changes.load(Ordering::Relaxed) {
            true => None,
            false => state_of(&self.version),
        }
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &Cancel) {
        let file: Arc<dyn ReadAt> = Arc::clone(&self.file) as _;
        submit(&file, ops, done);
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        Some(Arc::clone(&self.file) as Arc<dyn ReadAt>)
    }

    fn check_unchanged(&self) -> io::Result<()> {
        match self.changes.load(Ordering::Relaxed) {
            true => Ok(()),
            false => check_unchanged(&self.file.0, &self.version),
        }
    }

    fn expect_changes(&self) {
        self.changes.store(true, Ordering::Relaxed);
    }
}

/// Reads on separate threads that wait for the disk.
pub(crate) fn submit(file: &Arc<dyn ReadAt>, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>) {
    for ReadOp { id, offset, mut into } in ops {
        let (file, done) = (Arc::clone(file), done.clone());
        readers().run(Box::new(move || {
            let result = file.read_into(offset, &mut into);
            let _nobody_waits = done.send(ReadDone { id, into, result });
        }));
    }
}

impl ReadAt for LocalFile {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if scratch.len() < len {
            scratch.try_reserve_exact(len - scratch.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
            scratch.resize(len, 0);
        }
        let into = scratch.get_mut(..len).ok_or(io::ErrorKind::OutOfMemory)?;
        self.0.read_exact_at(into, span.offset)?;
        Ok(into)
    }

    fn read_into(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(into, offset)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.0)
    }
}

/// Reads by position, under one name on every system.
pub(crate) trait ReadExactAt {
    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()>;
}

#[cfg(unix)]
impl ReadExactAt for File {
    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, into, offset)
    }
}

#[cfg(windows)]
impl ReadExactAt for File {
    fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !into.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(self, into, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            into = into.get_mut(read..).unwrap_or_default();
            offset += read as u64;
        }
        Ok(())
    }
}

/// Threads that wait for the disk on behalf of others. The first submitted read of a process starts them.
struct Readers {
    queue: Mutex<mpsc::Sender<Work>>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Enough to keep a page cache busy. More threads only queue in the kernel.
const READERS: usize = 8;

fn readers() -> &'static Readers {
    static READERS_OF_THE_PROCESS: PerProcess<Readers> = PerProcess::new();
    READERS_OF_THE_PROCESS.get(|| {
        let (queue, work) = mpsc::channel::<Work>();
        let work = Arc::new(Mutex::new(work));
        for _ in 0..READERS {
            let work = Arc::clone(&work);
            // The threads live as long as the process. If none can be started, `run` reads itself.
            let reader = move || {
                loop {
                    let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    match next {
                        Ok(read) => read(),
                        Err(_) => return,
                    }
                }
            };
            let _started = thread_builder("strile-read").and_then(|new| new.spawn(reader));
        }
        Readers { queue: Mutex::new(queue) }
    })
}

impl Readers {
    fn run(&self, read: Work) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(mpsc::SendError(read)) = queue.send(read) {
            read();
        }
    }
}
