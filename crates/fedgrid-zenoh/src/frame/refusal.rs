//! Why a frame is not accepted.

/// The first of a receiver's checks that a frame fails, in the order of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the fields")]
pub enum FrameRefusal {
    #[error("{0} bytes are above the cap")]
    TooLarge(usize),
    #[error("{0} bytes are less than a header, a hash and a signature")]
    TooSmall(usize),
    #[error("it does not begin with 'fgrd'")]
    Magic,
    #[error("its version is {0}, expected 1")]
    Version(u16),
    #[error("its kind is {0}, which is unknown")]
    FrameKind(u8),
    #[error("its reserved byte is not zero")]
    Reserved,
    #[error("it is of another run")]
    Run,
    #[error("it is for process {0}")]
    Receiver(u32),
    #[error("process {0} is no neighbour")]
    Sender(u32),
    #[error("its epoch is {0}, which is over or beyond reach")]
    Epoch(u64),
    #[error("its round is {0}, which is beyond reach")]
    Round(u64),
    #[error("its shape is another than the manifest's")]
    SharedSizes,
    #[error("its payload is said to be {0} bytes, which the frame does not have")]
    Length(u32),
    #[error("its payload of {0} bytes is larger than all messages of the edges to its sender")]
    Payload(u32),
    #[error("its hash is wrong")]
    Hash,
    #[error("its signature is wrong")]
    Signature,
}
