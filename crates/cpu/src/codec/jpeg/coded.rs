//! Input stream for a decoding library. The stream ends once the call is cancelled, which is a fault.

use crate::stop::Stop;
use zune_jpeg::zune_core::bytestream::{ZByteIoError, ZByteReaderTrait, ZCursor, ZSeekFrom};

/// Reads between checks for cancellation, mostly of four bytes each.
const READS: u32 = 4096;

/// A JPEG stream.
pub(super) struct Coded<'a> {
    stream: ZCursor<&'a [u8]>,
    stop: &'a Stop,
    /// Reads until the next check for cancellation; 0 once stopped.
    left: u32,
}

impl<'a> Coded<'a> {
    pub(super) fn new(stream: &'a [u8], stop: &'a Stop) -> Self {
        Self { stream: ZCursor::new(stream), stop, left: READS }
    }

    /// Returns whether reading may continue.
    #[inline(always)]
    fn goes_on(&mut self) -> bool {
        if self.left > 1 {
            self.left -= 1;
            return true;
        }
        self.look()
    }

    #[cold]
    fn look(&mut self) -> bool {
        let goes_on = self.left > 0 && !self.stop.is_set();
        self.left = if goes_on { READS } else { 0 };
        goes_on
    }

    fn check(&mut self) -> Result<(), ZByteIoError> {
        if self.goes_on() { Ok(()) } else { Err(ZByteIoError::Generic("cancelled")) }
    }
}

impl ZByteReaderTrait for Coded<'_> {
    #[inline(always)]
    fn read_byte_no_error(&mut self) -> u8 {
        self.stream.read_byte_no_error()
    }

    #[inline(always)]
    fn read_exact_bytes(&mut self, buf: &mut [u8]) -> Result<(), ZByteIoError> {
        self.check()?;
        self.stream.read_exact_bytes(buf)
    }

    #[inline(always)]
    fn read_bytes(&mut self, buf: &mut [u8]) -> Result<usize, ZByteIoError> {
        self.check()?;
        self.stream.read_bytes(buf)
    }

    fn peek_bytes(&mut self, buf: &mut [u8]) -> Result<usize, ZByteIoError> {
        self.stream.peek_bytes(buf)
    }

    fn peek_exact_bytes(&mut self, buf: &mut [u8]) -> Result<(), ZByteIoError> {
        self.stream.peek_exact_bytes(buf)
    }

    #[inline(always)]
    fn z_seek(&mut self, from: ZSeekFrom) -> Result<u64, ZByteIoError> {
        self.stream.z_seek(from)
    }

    #[inline(always)]
    fn is_eof(&mut self) -> Result<bool, ZByteIoError> {
        if self.left == 0 { Ok(true) } else { self.stream.is_eof() }
    }

    #[inline(always)]
    fn z_position(&mut self) -> Result<u64, ZByteIoError> {
        self.stream.z_position()
    }

    fn read_remaining(&mut self, sink: &mut Vec<u8>) -> Result<usize, ZByteIoError> {
        self.check()?;
        self.stream.read_remaining(sink)
    }
}
