//! What holds for any bytes: tiling, and bounded work.

use super::*;

#[test]
fn a_file_of_greedy_headers_is_given_up() {
    // Each header asks for the checksum of all that follows.
    let header = {
        let mut bytes = records(1).bytes();
        bytes.truncate(61);
        bytes
    };
    let count = 60_000usize;
    let mut bytes = Vec::new();
    for index in 0..count {
        let left = u32::try_from((count - index) * 61 - 12).unwrap();
        let mut header = header.clone();
        header[..8].copy_from_slice(&(index as u64).to_be_bytes());
        header[8..12].copy_from_slice(&left.to_be_bytes());
        bytes.extend(header);
    }
    bytes.extend([1; 10]);
    let asked = std::cell::Cell::new(0);
    let source = Asked { file: &bytes, asked: &asked };
    collect(SegmentScanner::new(source, Offset(0), TailExpectation::MustBeWhole), bytes.len());
    // Believing each header once would ask for 110 GB.
    assert!(asked.get() < 1 << 30, "{} bytes were asked for", asked.get());
}

/// A source that counts the bytes that it is asked for.
struct Asked<'a> {
    file: &'a [u8],
    asked: &'a std::cell::Cell<usize>,
}

impl ByteSource for Asked<'_> {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        self.asked.set(self.asked.get() + length);
        Ok(&self.file[usize::try_from(position).unwrap()..])
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_tiled(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
        scan(&bytes);
    }

    #[test]
    fn mutilated_segments_are_tiled(
        cuts in proptest::collection::vec((0usize..2000, 0usize..200, proptest::num::u8::ANY), 1..5),
        kind in 0..3,
    ) {
        let segment = match kind { 0 => mixed(), 1 => uniform(), _ => legacy() };
        let mut bytes = segment.bytes();
        for (at, length, byte) in cuts {
            let at = at % bytes.len().max(1);
            let end = (at + length).min(bytes.len());
            match byte % 3 {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at..end].fill(byte),
                _ => { let copy = bytes[at..end].to_vec(); bytes.splice(end..end, copy); }
            }
        }
        scan(&bytes);
    }
}

/// A source that reads ahead, as files are read, and counts what it reads.
struct ReadAhead<'a> {
    file: &'a [u8],
    start: usize,
    end: usize,
    read: &'a std::cell::Cell<usize>,
}

impl ByteSource for ReadAhead<'_> {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        let position = usize::try_from(position).unwrap();
        let wanted = (position + length).min(self.file.len());
        if position < self.start || wanted > self.end {
            self.start = position;
            self.end = (position + length.max(16 << 10)).min(self.file.len());
            self.read.set(self.read.get() + self.end - self.start);
        }
        Ok(&self.file[position..self.end])
    }
}

#[test]
fn clean_batches_are_read_once_also_between_holes() {
    for step in [0, 5] {
        let mut segment = SegmentBuilder::new();
        for number in 0..400 {
            segment = segment.skip_to(number * (20 + step)).batch(records(20));
        }
        let (bytes, read) = (segment.bytes(), std::cell::Cell::new(0));
        let source = ReadAhead { file: &bytes, start: 0, end: 0, read: &read };
        let seen = collect(SegmentScanner::new(source, Offset(0), TailExpectation::MustBeWhole), bytes.len());
        assert!(seen.iter().all(|item| matches!(item, Seen::Good { .. })));
        assert!(read.get() < bytes.len() + bytes.len() / 8, "{} of {} bytes", read.get(), bytes.len());
    }
}
