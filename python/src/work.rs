//! Work away from the interpreter: threads of our own compute, the caller's thread waits detached,
//! hears what happens, and looks every twentieth of a second whether the user wants to stop.
//!
//! A fit of a Python model cannot be cut short. Who stops gets the prompt back, and the threads of the
//! job end with the fit that they are in; the interpreter does not go away before they have, because
//! `CPython` ends a thread that comes back to it later, which no Rust frame survives.

use std::{
    cell::RefCell,
    io::Write,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use fedgrid::{
    compare::{Contestant, Watch},
    observe::Round,
};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyRuntimeError, PySystemExit},
    prelude::*,
};

use crate::convert::{core_error, to_json};

/// How often the caller's thread looks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a stopped job may take to end before its caller goes on without it.
const STOP_GRACE: Duration = Duration::from_millis(700);
/// How long the end of the process is held up without a word.
const QUIET_WAIT: Duration = Duration::from_secs(2);

thread_local! {
    /// The job that this thread works for.
    static CURRENT: RefCell<Option<Arc<WorkerJob>>> = const { RefCell::new(None) };
}

/// The jobs that have begun. It is locked by attached threads only, so that no fork finds it locked.
static JOBS: Mutex<Vec<Weak<WorkerJob>>> = Mutex::new(Vec::new());

/// A piece of work; it lives as long as one of its threads does, or the caller that waits for it.
#[derive(Debug)]
pub(crate) struct WorkerJob {
    stop: AtomicBool,
    has_failed: AtomicBool,
    /// The first exception that a Python model has raised. It is kept here because the mathematics
    /// passes on plain values only.
    first: Mutex<Option<PyErr>>,
    /// How many of its threads are inside a Python model, or about to be.
    inside: AtomicUsize,
    /// A child that was forked inherits the job without its threads.
    process: u32,
}

/// A thread inside a Python model, until it is dropped.
pub(crate) struct Inside(Arc<WorkerJob>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl WorkerJob {
    fn begin(_attached: Python<'_>) -> Arc<Self> {
        let job = Arc::new(Self {
            stop: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            first: Mutex::new(None),
            inside: AtomicUsize::new(0),
            process: std::process::id(),
        });
        let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|job| job.strong_count() > 0);
        jobs.push(Arc::downgrade(&job));
        job
    }

    /// The job of this thread.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Keeps an exception, if it is the first.
    pub(crate) fn report(&self, error: PyErr) {
        // Nothing that may wait for the interpreter happens under this lock.
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.has_failed.store(true, Ordering::Release);
    }

    /// Whether nothing more shall be asked of Python models.
    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped() || self.has_failed.load(Ordering::Acquire)
    }

    /// A thread is about to ask a Python model something; none if nothing more shall be asked. It is
    /// counted before it looks, so that who stops the job and then counts misses nobody.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Inside> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(self.clone());
        (!self.is_over()).then_some(inside)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    fn exception(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Short work that may ask Python models, on the caller's own thread, which is detached.
pub(crate) fn aside<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    /// Puts back the job that the thread had: a model of another job may have called us.
    struct Back(Option<Arc<WorkerJob>>);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let job = WorkerJob::begin(py);
    let back = Back(CURRENT.replace(Some(job.clone())));
    let done = py.detach(work);
    drop(back);
    job.exception().map_or(Ok(done), Err)
}

/// What a job tells while it runs.
enum JobEvent<T> {
    Tried(Contestant, usize),
    Round(Box<Round>),
    /// A text for a reader, and whether it is about progress or errors.
    #[cfg(feature = "federation")]
    Said(bool, String),
    Done(fedgrid::Result<T>),
}

/// How a job is watched: what it tells is sent to the caller's thread, which may ask it to stop.
pub(crate) struct Watching<T> {
    events: Mutex<Sender<JobEvent<T>>>,
    job: Arc<WorkerJob>,
}

impl<T> Watching<T> {
    fn send(&self, event: JobEvent<T>) {
        // A caller that has gone on hears no more.
        let _ = self.events.lock().unwrap_or_else(PoisonError::into_inner).send(event);
    }

    /// Who passes texts on to the caller's thread: progress and errors, or results.
    #[cfg(feature = "federation")]
    pub(crate) fn speaker(&self) -> impl Fn(bool, String) + use<T> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        move |is_progress, text| {
            let _ = events.send(JobEvent::Said(is_progress, text));
        }
    }
}

impl<T: Send> Watch for Watching<T> {
    fn tried(&self, contestant: Contestant, done: usize, _: usize) {
        self.send(JobEvent::Tried(contestant, done));
    }

    fn interrupted(&self) -> bool {
        self.job.is_over()
    }

    fn round(&self, round: &Round) {
        self.send(JobEvent::Round(Box::new(round.clone())));
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
        work: impl FnOnce(&Watching<T>) -> fedgrid::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.run_until(py, STOP_GRACE, work)
    }

    /// The same with another time to end in, once it is stopped.
    pub(crate) fn run_until<T: Send + 'static>(
        &self,
        py: Python<'_>,
        grace: Duration,
        work: impl FnOnce(&Watching<T>) -> fedgrid::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let job = WorkerJob::begin(py);
        let (sender, events) = channel();
        let watching = Watching { events: Mutex::new(sender.clone()), job: job.clone() };
        let own = job.clone();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            // Models are asked from these threads, which must know whose exceptions they keep.
            .start_handler(move |_| CURRENT.set(Some(own.clone())))
            .build()
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        std::thread::spawn(move || {
            let result = pool.install(|| work(&watching));
            let _ = sender.send(JobEvent::Done(result));
        });
        let ended = self.wait(py, (events, grace), &job);
        // A model's own exception says more than what it led to, unless the stop led to it.
        match (job.exception(), ended) {
            (_, Err(error)) if job.is_stopped() => Err(error),
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(result)) => result.map_err(|error| core_error(&error)),
        }
    }

    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        (events, grace): (Receiver<JobEvent<T>>, Duration),
        job: &WorkerJob,
    ) -> PyResult<fedgrid::Result<T>> {
        let mut stopped: Option<(Instant, PyErr)> = None;
        let events = Mutex::new(events);
        loop {
            let next = py.detach(|| {
                events.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNAL_INTERVAL)
            });
            let looked = match next {
                Ok(JobEvent::Done(result)) => {
                    return stopped.map_or(Ok(result), |(_, error)| Err(error));
                }
                Ok(event) => self.tell(py, &event),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("a worker thread ended unexpectedly"));
                }
            };
            if let Err(error) = looked.and_then(|()| wanted(py, job, stopped.is_some())) {
                job.stop();
                // The first reason counts: another Ctrl-C does not begin the time of grace anew.
                stopped.get_or_insert((Instant::now(), error));
            }
            // A fit of a Python model cannot be cut short: its thread is left to end by itself.
            match stopped {
                Some((since, error)) if since.elapsed() > grace => return Err(error),
                _ => {}
            }
        }
    }

    fn tell<T>(&self, py: Python<'_>, event: &JobEvent<T>) -> PyResult<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        match event {
            JobEvent::Tried(contestant, done) => {
                listener.call1(py, ("tried", contestant.to_string(), *done))?;
            }
            JobEvent::Round(round) => {
                listener.call1(py, ("round", to_json(round), round.round))?;
            }
            #[cfg(feature = "federation")]
            JobEvent::Said(is_progress, text) => {
                listener.call1(py, ("said", text, usize::from(*is_progress)))?;
            }
            JobEvent::Done(_) => {}
        }
        Ok(())
    }
}

/// Whether a job is still wanted: by the user, by the interpreter, and by the job whose model has
/// asked for it.
fn wanted(py: Python<'_>, job: &WorkerJob, is_stopping: bool) -> PyResult<()> {
    py.check_signals()?;
    if is_stopping {
        return Ok(());
    }
    if job.is_stopped() {
        return Err(PySystemExit::new_err("the interpreter is going away"));
    }
    match WorkerJob::current() {
        Some(outer) if outer.is_stopped() => Err(PyKeyboardInterrupt::new_err("interrupted")),
        _ => Ok(()),
    }
}

/// Holds up the end of the process until no thread of ours is inside a Python model any more.
#[pyfunction]
pub(crate) fn leave(py: Python<'_>) -> PyResult<()> {
    let jobs = std::mem::take(&mut *JOBS.lock().unwrap_or_else(PoisonError::into_inner));
    let ours =
        |job: &Weak<WorkerJob>| job.upgrade().filter(|job| job.process == std::process::id());
    jobs.iter().filter_map(ours).for_each(|job| job.stop());
    // Threads that only compute need no interpreter, and are not waited for.
    let is_inside = |job: Arc<WorkerJob>| job.inside.load(Ordering::SeqCst) > 0;
    let begun = Instant::now();
    let mut is_said = false;
    while jobs.iter().filter_map(ours).any(is_inside) {
        if py.check_signals().is_err() {
            return at_once(py);
        }
        if begun.elapsed() > QUIET_WAIT && !is_said {
            is_said = true;
            let words =
                "fedgrid waits for a Python model to end its fit; Ctrl-C again leaves at once";
            // Who cannot be told waits all the same.
            let _ = writeln!(std::io::stderr(), "{words}");
        }
        py.detach(|| std::thread::sleep(SIGNAL_INTERVAL / 5));
    }
    Ok(())
}

/// Ends the process as an uncaught Ctrl-C does, without another step of the interpreter.
fn at_once(py: Python<'_>) -> PyResult<()> {
    let (sys, signal) = (py.import("sys")?, py.import("signal")?);
    for stream in ["stdout", "stderr"] {
        // A stream that is closed has nothing left to say.
        let _ = sys.getattr(stream).and_then(|stream| stream.call_method0("flush"));
    }
    let number = signal.getattr("SIGINT")?;
    signal.call_method1("signal", (&number, signal.getattr("SIG_DFL")?))?;
    signal.call_method1("raise_signal", (number,))?;
    Ok(())
}
