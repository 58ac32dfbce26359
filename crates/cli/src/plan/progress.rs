//! Says on stderr what is being done, while that takes long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Nothing is said before that much time has passed, nor more often.
const PAUSE: Duration = Duration::from_secs(1);
/// Pauses grow to this.
const LONGEST: Duration = Duration::from_secs(8);

/// What is being done.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// Files are read and objects judged.
    Reading,
    /// Objects become a cluster and gangs.
    Translating(usize),
    /// Gangs are decided: this many of that many are.
    Planning(usize, usize),
    /// Decisions are explained.
    Explaining(usize),
}

/// Watches over a command; ends when it is dropped.
pub struct Progress {
    phase: Arc<Mutex<Phase>>,
    watch: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins with reading.
    pub fn start() -> Self {
        let phase = Arc::new(Mutex::new(Phase::Reading));
        let (sender, receiver) = channel();
        let current = phase.clone();
        let watcher = std::thread::spawn(move || {
            let mut pause = PAUSE;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(pause) {
                let phase = *current.lock().unwrap_or_else(PoisonError::into_inner);
                eprintln!("{}", in_words(phase));
                pause = (pause * 2).min(LONGEST);
            }
        });
        Self { phase, watch: Some((sender, watcher)) }
    }

    /// Something else is being done from now on.
    pub fn set(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, watcher)) = self.watch.take() {
            drop(sender);
            drop(watcher.join());
        }
    }
}

fn in_words(phase: Phase) -> String {
    match phase {
        Phase::Reading => "reading …".to_owned(),
        Phase::Translating(objects) => format!("looking at {objects} objects …"),
        Phase::Planning(done, all) => format!("planning gang {} of {all} …", (done + 1).min(all)),
        Phase::Explaining(gangs) => format!("explaining {gangs} gangs …"),
    }
}
