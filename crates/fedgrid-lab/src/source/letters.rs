//! Text as bytes: UTF-8, UTF-16 and Latin-1, all given on as UTF-8.

use std::io::{self, Read};

use crate::experiment::EncodingKey;

/// The letters that Windows has where ISO 8859-1 has none, from 0x80 on; a zero where it has none either.
const OF_WINDOWS: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc,
    0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];

/// The bytes of a mark that some programs put before text in UTF-8.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// How letters are written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Utf8,
    Utf16 { is_big: bool },
    Latin1,
}

impl Letters {
    /// As the first bytes of a text tell, or as is given; Latin-1 cannot be told by them.
    pub(super) fn of(head: &[u8], given: Option<EncodingKey>) -> Self {
        let utf16 = match head {
            [0xff, 0xfe, ..] => Some(Self::Utf16 { is_big: false }),
            [0xfe, 0xff, ..] => Some(Self::Utf16 { is_big: true }),
            _ => Self::utf16_without_mark(&head[..head.len().min(1024)]),
        };
        match given {
            Some(EncodingKey::Utf8) => Self::Utf8,
            Some(EncodingKey::Latin1) => Self::Latin1,
            Some(EncodingKey::Utf16) => utf16.unwrap_or(Self::Utf16 { is_big: false }),
            None => utf16.unwrap_or(Self::Utf8),
        }
    }

    /// Digits and Latin letters have a byte of zeros each, always on the same side.
    fn utf16_without_mark(head: &[u8]) -> Option<Self> {
        let zeros =
            |side: usize| head.iter().skip(side).step_by(2).filter(|byte| **byte == 0).count();
        let pairs = head.len() / 2;
        match (zeros(0), zeros(1)) {
            (0, odd) if pairs > 0 && 2 * odd > pairs => Some(Self::Utf16 { is_big: false }),
            (even, 0) if pairs > 0 && 2 * even > pairs => Some(Self::Utf16 { is_big: true }),
            _ => None,
        }
    }

    /// What a reader is told of it.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Utf16 { .. } => Some("UTF-16"),
            Self::Latin1 => Some("Latin-1 (Windows-1252)"),
        }
    }

    /// A stream of such letters as UTF-8.
    pub(super) fn as_utf8<'a, R: Read + Send + 'a>(self, stream: R) -> Box<dyn Read + Send + 'a> {
        match self {
            Self::Utf8 => Box::new(stream),
            _ => Box::new(Decoded {
                stream,
                letters: self,
                raw: Vec::new(),
                text: Vec::new(),
                place: 0,
            }),
        }
    }
}

/// A stream that is decoded piece by piece.
struct Decoded<R> {
    stream: R,
    letters: Letters,
    /// Bytes that are not decoded yet.
    raw: Vec<u8>,
    /// Text that is not read yet, from `place` on.
    text: Vec<u8>,
    place: usize,
}

impl<R: Read> Decoded<R> {
    /// Decodes another piece; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        const PIECE: u64 = 1 << 16;
        let read = self.stream.by_ref().take(PIECE).read_to_end(&mut self.raw)?;
        let is_end = read == 0;
        let mut text = String::new();
        let used = match self.letters {
            Letters::Utf8 => unreachable!("such text is passed on as it is"),
            Letters::Latin1 => {
                for byte in &self.raw {
                    text.push(of_latin1(*byte).ok_or(io::ErrorKind::InvalidData)?);
                }
                self.raw.len()
            }
            Letters::Utf16 { is_big } => of_utf16(&self.raw, is_big, is_end, &mut text)?,
        };
        self.raw.drain(..used);
        (self.text, self.place) = (text.into_bytes(), 0);
        Ok(!is_end)
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.place == self.text.len() && self.advance()? {}
        let count = buffer.len().min(self.text.len() - self.place);
        buffer[..count].copy_from_slice(&self.text[self.place..self.place + count]);
        self.place += count;
        Ok(count)
    }
}

/// A letter of Windows-1252; none for a byte that no text holds.
fn of_latin1(byte: u8) -> Option<char> {
    match byte {
        b'\t' | b'\n' | b'\r' | 0x0c | 0x20..=0x7e | 0xa0.. => Some(char::from(byte)),
        0x80..=0x9f => {
            let letter = OF_WINDOWS[usize::from(byte - 0x80)];
            char::from_u32(u32::from(letter)).filter(|_| letter != 0)
        }
        _ => None,
    }
}

/// Adds the letters of some bytes to a text; gives how many bytes were used, all but half a letter at their end.
fn of_utf16(bytes: &[u8], is_big: bool, is_end: bool, text: &mut String) -> io::Result<usize> {
    let pairs = bytes.as_chunks::<2>().0;
    let unit = |pair: &[u8; 2]| {
        if is_big { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) }
    };
    // The first half of a letter that takes four bytes waits for the second, in the next piece.
    let is_cut = |pair: &&[u8; 2]| !is_end && (0xd800..0xdc00).contains(&unit(pair));
    let whole = pairs.len() - usize::from(pairs.last().as_ref().is_some_and(is_cut));
    for letter in char::decode_utf16(pairs[..whole].iter().map(unit)) {
        text.push(letter.map_err(|_| io::ErrorKind::InvalidData)?);
    }
    if is_end && 2 * whole < bytes.len() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(2 * whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(letters: Letters, bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        letters.as_utf8(bytes).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn text_in_utf16_is_the_same_text_wherever_pieces_end() {
        // Letters of one, two, three and four bytes, across more than one piece.
        let text = "aé€𝄞;1,5\n".repeat(20_000);
        for is_big in [false, true] {
            let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            let bytes: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            assert_eq!(decoded(Letters::Utf16 { is_big }, &bytes).unwrap(), text);
            assert!(decoded(Letters::Utf16 { is_big }, &bytes[..bytes.len() - 1]).is_err());
            assert!(
                decoded(
                    Letters::Utf16 { is_big },
                    &[bytes[..6].to_vec(), vec![0xd8, 0xd8]].concat()
                )
                .is_err()
            );
        }
    }

    #[test]
    fn latin_letters_and_those_of_windows_are_read_and_other_bytes_are_no_text() {
        assert_eq!(decoded(Letters::Latin1, b"K\xf6ln \x80 \x9f\n").unwrap(), "Köln € Ÿ\n");
        for byte in [0x00, 0x07, 0x1b, 0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d] {
            assert!(decoded(Letters::Latin1, &[b'a', byte]).is_err(), "{byte:x}");
        }
    }

    #[test]
    fn the_first_bytes_tell_utf16() {
        let of = |head: &[u8]| Letters::of(head, None);
        assert_eq!(of(b"node,x\n"), Letters::Utf8);
        assert_eq!(of(b"\xef\xbb\xbfnode"), Letters::Utf8);
        assert_eq!(of(b"\xff\xfen\0"), Letters::Utf16 { is_big: false });
        assert_eq!(of(b"\xfe\xff\0n"), Letters::Utf16 { is_big: true });
        assert_eq!(of(b"n\0o\0d\0"), Letters::Utf16 { is_big: false });
        assert_eq!(of(b"\0n\0o\0d"), Letters::Utf16 { is_big: true });
        assert_eq!(of(b""), Letters::Utf8);
        assert_eq!(Letters::of(b"\xff\xfen\0", Some(EncodingKey::Latin1)), Letters::Latin1);
    }
}
