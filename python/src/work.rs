//! Work away from the interpreter: threads of our own compute, the caller's thread waits detached,
//! hears what happens, and looks every twentieth of a second whether the user wants to stop.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use fedgrid::{
    compare::{Contestant, Watch},
    observe::Round,
};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyRuntimeError},
    prelude::*,
};

use crate::convert::{core_error, to_json};

/// How often the caller's thread looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// How long a stopped job may take to end before its caller goes on without it.
const PATIENCE: Duration = Duration::from_millis(700);

/// The first exception that a Python model has raised. It is kept here because the mathematics
/// passes on plain values only.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    is_there: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Trouble {
    /// Keeps an exception, if it is the first.
    pub(crate) fn report(&self, error: PyErr) {
        // Nothing that may wait for the interpreter happens under this lock.
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_there.store(true, Ordering::Release);
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<PyErr> {
        self.is_there.store(false, Ordering::Release);
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a job tells while it runs.
enum Event<T> {
    Tried(Contestant, usize),
    Round(Box<Round>),
    Done(fedgrid::Result<T>),
}

/// How a job is watched: what it tells is sent to the caller's thread, which may ask it to stop.
pub(crate) struct Watching<T> {
    events: Mutex<Sender<Event<T>>>,
    stop: Arc<AtomicBool>,
    trouble: Arc<Trouble>,
}

impl<T> Watching<T> {
    fn send(&self, event: Event<T>) {
        // A caller that has gone on hears no more.
        let _ = self.events.lock().unwrap_or_else(PoisonError::into_inner).send(event);
    }
}

impl<T: Send> Watch for Watching<T> {
    fn tried(&self, contestant: Contestant, done: usize, _: usize) {
        self.send(Event::Tried(contestant, done));
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.trouble.is_there()
    }

    fn round(&self, round: &Round) {
        self.send(Event::Round(Box::new(round.clone())));
    }
}

/// How a job is run: on how many threads, and who listens.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    /// How many threads; zero is one per core.
    threads: usize,
    /// Called with the kind of an event and what it holds; none if nobody listens.
    listener: Option<Py<PyAny>>,
}

impl How {
    /// Runs a job to its end, an exception or Ctrl-C.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        trouble: &Arc<Trouble>,
        job: impl FnOnce(&Watching<T>) -> fedgrid::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (sender, events) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let watching = Watching {
            events: Mutex::new(sender.clone()),
            stop: stop.clone(),
            trouble: trouble.clone(),
        };
        drop(trouble.take());
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build()
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        std::thread::spawn(move || {
            let result = pool.install(|| job(&watching));
            let _ = sender.send(Event::Done(result));
        });
        let ended = self.wait(py, events, &stop);
        // A model's own exception says more than what it led to.
        match (trouble.take(), ended) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(result)) => result.map_err(|error| core_error(&error)),
        }
    }

    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        events: Receiver<Event<T>>,
        stop: &AtomicBool,
    ) -> PyResult<fedgrid::Result<T>> {
        let mut stopped: Option<(Instant, PyErr)> = None;
        let events = Mutex::new(events);
        loop {
            let next = py.detach(|| {
                events.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)
            });
            let looked = match next {
                Ok(Event::Done(result)) => {
                    return stopped.map_or(Ok(result), |(_, error)| Err(error));
                }
                Ok(event) => self.tell(py, &event),
                Err(RecvTimeoutError::Timeout) => py.check_signals(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("a worker thread ended unexpectedly"));
                }
            };
            if let Err(error) = looked {
                stop.store(true, Ordering::Relaxed);
                stopped.get_or_insert((Instant::now(), error));
            }
            // A fit of a Python model cannot be cut short: its thread is left to end by itself.
            if stopped.as_ref().is_some_and(|(since, _)| since.elapsed() > PATIENCE) {
                let error = stopped.map(|(_, error)| error);
                return Err(error.unwrap_or_else(|| PyKeyboardInterrupt::new_err("interrupted")));
            }
        }
    }

    fn tell<T>(&self, py: Python<'_>, event: &Event<T>) -> PyResult<()> {
        py.check_signals()?;
        let Some(listener) = &self.listener else { return Ok(()) };
        match event {
            Event::Tried(contestant, done) => {
                listener.call1(py, ("tried", contestant.to_string(), *done))?;
            }
            Event::Round(round) => {
                listener.call1(py, ("round", to_json(round), round.round))?;
            }
            Event::Done(_) => {}
        }
        Ok(())
    }
}
