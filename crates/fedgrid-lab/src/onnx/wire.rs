//! Messages of protocol buffers as bytes: all that ONNX needs of them,
//!
//! ```text
//! field   = varint(number · 8 + type) value      type 0: varint, type 2: varint(length) bytes
//! ```

/// A message that is being written, field by field.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

/// The type of a field whose value is a number.
const NUMBER: u64 = 0;
/// The type of a field whose value has a length.
const LENGTH: u64 = 2;

impl Message {
    /// With a number more.
    pub(super) fn int(mut self, field: u64, value: i64) -> Self {
        self.varint(field * 8 + NUMBER);
        self.varint(value.cast_unsigned());
        self
    }

    /// With some bytes more.
    pub(super) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field * 8 + LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// With a text more.
    pub(super) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// With a message more.
    pub(super) fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// With a message more for each of some.
    pub(super) fn messages<'a>(self, field: u64, all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(self, |whole, one| whole.message(field, one))
    }

    /// With a list of numbers more.
    pub(super) fn ints(self, field: u64, values: &[i64]) -> Self {
        let mut packed = Self::default();
        for value in values {
            packed.varint(value.cast_unsigned());
        }
        self.message(field, &packed)
    }

    /// What was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits per byte, the lowest first; all bytes but the last have their highest bit set.
    fn varint(&mut self, mut value: u64) {
        loop {
            let [lowest, ..] = value.to_le_bytes();
            if value < 0x80 {
                return self.0.push(lowest);
            }
            self.0.push(lowest | 0x80);
            value >>= 7;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_documentation_of_protocol_buffers() {
        assert_eq!(Message::default().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing").into_bytes();
        assert_eq!(text, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let packed = Message::default().ints(6, &[3, 270, 86942]).into_bytes();
        assert_eq!(packed, [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        let below_zero = Message::default().int(1, -2).into_bytes();
        assert_eq!(below_zero[1..], [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        let nested = Message::default().message(3, &Message::default().int(1, 150)).into_bytes();
        assert_eq!(nested, [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}
