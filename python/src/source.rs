//! Reads byte ranges through a Python object: one `read_ranges` for all ranges of a batch.
//!
//! Any thread may call it, and holds the interpreter's lock only during the call. Its exceptions are raised
//! again for the caller of the read. An answer of another length than the range is an error.

use crate::error::carried;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::io;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use strile::Cancel;
use strile::io::{ReadAt, ReadDone, ReadOp, Source, Version};

/// A source of byte ranges that a Python object reads.
pub(crate) struct RangeSource {
    reader: Py<PyAny>,
    name: String,
    version: Version,
}

impl RangeSource {
    /// Makes a source of `len` bytes, called `name` in messages. Its reader may have a `mark`, another one where it has changed.
    pub(crate) fn new(reader: &Bound<'_, PyAny>, name: String, len: u64) -> PyResult<Arc<Self>> {
        if !reader.hasattr("read_ranges")? {
            let class = reader.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a {class} has no `read_ranges`")));
        }
        let mark = match reader.getattr_opt("mark")? {
            Some(mark) => mark.extract()?,
            None => String::new(),
        };
        Ok(Arc::new(Self { reader: reader.clone().unbind(), name, version: Version { len, mark } }))
    }

    /// Returns the bytes of ranges.
    fn fetch(&self, ranges: &[Range<u64>]) -> io::Result<Vec<PyBackedBytes>> {
        let asked: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        let given = Python::try_attach(|py| {
            let given = self.reader.call_method1(py, "read_ranges", (asked,))?;
            given.extract::<Vec<PyBackedBytes>>(py)
        });
        let given = given.ok_or_else(|| io::Error::other("the interpreter is ending"))?.map_err(carried)?;
        let wrong = |problem: String| io::Error::new(io::ErrorKind::UnexpectedEof, problem);
        if given.len() != ranges.len() {
            return Err(wrong(format!(
                "`read_ranges` gave {} answers to {} ranges",
                given.len(),
                ranges.len()
            )));
        }
        let mut pairs = ranges.iter().zip(&given);
        match pairs.find(|(range, bytes)| bytes.len() as u64 != range.end - range.start) {
            None => Ok(given),
            Some((range, bytes)) => Err(wrong(format!(
                "`read_ranges` gave {} bytes for the range from {} to {}, expected {}",
                bytes.len(),
                range.start,
                range.end,
                range.end - range.start
            ))),
        }
    }
}

impl Source for RangeSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.version.len
    }

    fn version(&self) -> Version {
        self.version.clone()
    }

    fn submit(&self, mut ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &Cancel) {
        ops.sort_by_key(|op| op.offset);
        // Ranges that follow one another are one; each op knows its range.
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut placed = Vec::with_capacity(ops.len());
        for op in ops {
            let end = op.offset.saturating_add(op.into.len() as u64);
            match ranges.last_mut() {
                Some(last) if last.end == op.offset => last.end = end,
                _ => ranges.push(op.offset..end),
            }
            placed.push((ranges.len() - 1, op));
        }
        let fetched = self.fetch(&ranges);
        for (at, ReadOp { id, offset, mut into }) in placed {
            let result = match &fetched {
                Ok(given) => copy(ranges.get(at).zip(given.get(at)), offset, &mut into),
                Err(error) => Err(again(error)),
            };
            let _nobody_waits = done.send(ReadDone { id, into, result });
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        None
    }
}

fn copy(from: Option<(&Range<u64>, &PyBackedBytes)>, offset: u64, into: &mut [u8]) -> io::Result<()> {
    let part = from.and_then(|(range, bytes)| {
        let start = usize::try_from(offset.checked_sub(range.start)?).ok()?;
        bytes.get(start..start.checked_add(into.len())?)
    });
    into.copy_from_slice(part.filter(|part| part.len() == into.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
    Ok(())
}

/// Returns the same error once more.
fn again(error: &io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>()) {
        Some(raised) => match Python::try_attach(|py| raised.clone_ref(py)) {
            Some(raised) => carried(raised),
            None => io::Error::other("the interpreter is ending"),
        },
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
