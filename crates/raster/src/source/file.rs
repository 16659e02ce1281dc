//! A local file, read by position from any thread.
//!
//! Not mapped into memory: a mapped file that another program truncates kills the process that reads it.

use super::{ReadDone, ReadOp, Source, Version};
use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::UNIX_EPOCH;
use strile_engine::{ReadAt, Span};

/// See the module.
pub struct FileSource {
    name: String,
    len: u64,
    mark: String,
    file: Arc<LocalFile>,
}

struct LocalFile(File);

impl FileSource {
    /// Opens a file for reading.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |error: io::Error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
        // Before it is opened: a pipe would be waited for.
        let metadata = std::fs::metadata(path).map_err(fail)?;
        if metadata.is_dir() {
            return Err(fail(io::Error::new(io::ErrorKind::IsADirectory, "is a directory, a file expected")));
        }
        if !metadata.is_file() {
            let problem = "is not a regular file; `-` reads from standard input";
            return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            name: path.display().to_string(),
            len: metadata.len(),
            mark: modified.map(|since| since.as_nanos().to_string()).unwrap_or_default(),
            file: Arc::new(LocalFile(file)),
        })
    }
}

impl Source for FileSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn version(&self) -> Version {
        Version { len: self.len, mark: self.mark.clone() }
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>) {
        for op in ops {
            let (file, done) = (Arc::clone(&self.file), done.clone());
            readers().run(Box::new(move || {
                let ReadOp { id, offset, mut into } = op;
                let result = file.0.read_exact_at(&mut into, offset);
                let _nobody_waits = done.send(ReadDone { id, into, result });
            }));
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        Some(Arc::clone(&self.file) as Arc<dyn ReadAt>)
    }
}

impl ReadAt for LocalFile {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if scratch.len() < len {
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

/// Reading by position, under one name on every system.
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

/// Threads that wait for the disk so that others need not; started by the first submitted read.
struct Readers {
    queue: Mutex<mpsc::Sender<Work>>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Enough to keep a page cache busy; more only queue in the kernel.
const READERS: usize = 8;

fn readers() -> &'static Readers {
    static READERS_OF_THE_PROCESS: OnceLock<Readers> = OnceLock::new();
    READERS_OF_THE_PROCESS.get_or_init(|| {
        let (queue, work) = mpsc::channel::<Work>();
        let work = Arc::new(Mutex::new(work));
        for _ in 0..READERS {
            let work = Arc::clone(&work);
            // The threads live as long as the process; where none can be started, `run` reads itself.
            let _started = std::thread::Builder::new().name("strile-read".into()).spawn(move || {
                loop {
                    let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    match next {
                        Ok(read) => read(),
                        Err(_) => return,
                    }
                }
            });
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
