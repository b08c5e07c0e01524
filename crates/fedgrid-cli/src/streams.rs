//! Standard output, standard error, and Ctrl-C; or, where another program runs a command, a reader of its own.

use std::{
    cell::RefCell,
    io::Write,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
};

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "federation"),
    expect(unreachable_pub, reason = "other programs run federations only")
)]
pub enum Stream {
    /// Results.
    Output,
    /// Progress and errors.
    Error,
}

/// Who reads what a command says.
type Reader = Rc<dyn Fn(Stream, &str)>;

thread_local! {
    /// Who reads what this thread says; none for the streams of the process.
    static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
}

/// Does something whose words have a reader of their own.
#[cfg(feature = "federation")]
pub(crate) fn read_by<T>(reader: impl Fn(Stream, &str) + 'static, work: impl FnOnce() -> T) -> T {
    /// Puts back who read before, also when the work panics.
    struct Back(Option<Reader>);
    impl Drop for Back {
        fn drop(&mut self) {
            READER.set(self.0.take());
        }
    }
    let _back = Back(READER.replace(Some(Rc::new(reader))));
    work()
}

/// Whether somebody else than the streams of the process reads.
#[cfg(feature = "federation")]
pub(crate) fn has_reader() -> bool {
    READER.with_borrow(Option::is_some)
}

/// Tells the reader, if there is one.
fn told(stream: Stream, text: &str) -> bool {
    // Not borrowed while it reads: it may say something itself.
    let reader = READER.with_borrow(Clone::clone);
    reader.inspect(|reader| reader(stream, text)).is_some()
}

/// Set when the user asks to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Prints on standard output. A reader that has gone away wants no more.
pub(crate) fn print(text: &str) {
    if told(Stream::Output, text) {
        return;
    }
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints on standard error.
pub(crate) fn complain(text: &str) {
    if told(Stream::Error, text) {
        return;
    }
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Watches for Ctrl-C: once stops at the next step, twice at once.
pub(crate) fn watch_for_interruption() {
    let _ = ctrlc::set_handler(|| {
        // 130 is what shells report for a program that Ctrl-C ended.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether the user has asked to stop.
pub(crate) fn is_interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}
