//! Reads little-endian numbers from bytes and says where they end early.

use super::TrainingDataError;

/// Bytes and a place in them.
#[derive(Debug)]
pub(super) struct ByteReader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> ByteReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        ByteReader { bytes, offset: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }

    /// Returns the number of bytes read so far.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], TrainingDataError> {
        let rest = &self.bytes[self.offset..];
        let taken = rest.get(..count).ok_or_else(|| self.fault("the file ends early"))?;
        self.offset += count;
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, TrainingDataError> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn i8(&mut self) -> Result<i8, TrainingDataError> {
        Ok(self.u8()? as i8)
    }

    pub(super) fn u16(&mut self) -> Result<u16, TrainingDataError> {
        Ok(u16::from_le_bytes([self.u8()?, self.u8()?]))
    }

    pub(super) fn i16(&mut self) -> Result<i16, TrainingDataError> {
        Ok(self.u16()? as i16)
    }

    /// Returns the error of damaged data at this place.
    pub(super) fn fault(&self, reason: &str) -> TrainingDataError {
        TrainingDataError::Damaged { offset: self.offset, reason: reason.into() }
    }
}
