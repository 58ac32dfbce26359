//! What goes wrong, decided by a seed: one source of faults for each client, so that one client's requests do not change another's luck.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use trellis_cluster::api::Api;
use trellis_cluster::faults::{Fault, Faults, Seen};
use trellis_cluster::status::Status;
use trellis_cluster::user::User;
use trellis_testkit::mutate::Dice;

use crate::{NAMESPACE, Running};

/// Faults for all clients.
pub struct Trouble {
    seed: u64,
    on: Arc<AtomicBool>,
    suffered: Arc<AtomicUsize>,
    all: Mutex<Vec<Faults>>,
}

impl Trouble {
    pub fn new(seed: u64) -> Self {
        Self { seed, on: Arc::new(AtomicBool::new(true)), suffered: Arc::default(), all: Mutex::default() }
    }

    /// A client that suffers.
    pub fn client(&self, api: &Api, user: &str) -> Client {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let number = u64::try_from(all.len()).unwrap_or_default();
        let mut dice = Dice::new(self.seed.wrapping_mul(31).wrapping_add(number));
        let (on, suffered) = (self.on.clone(), self.suffered.clone());
        let faults = Faults::decided(move |seen| {
            if !on.load(Ordering::Relaxed) {
                return Fault::None;
            }
            let fault = decide(seen, &mut dice);
            suffered.fetch_add(usize::from(fault != Fault::None), Ordering::Relaxed);
            fault
        });
        all.push(faults.clone());
        Client::new(faults.around(api.service(User::service_account(NAMESPACE, user))), NAMESPACE)
    }

    /// Cuts clients off now and then, until it is dropped.
    pub fn disturb(&self) -> Running {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut dice = Dice::new(!self.seed);
        Running::spawn(async move {
            loop {
                tokio::time::sleep(milliseconds(5_000, &mut dice)).await;
                let faults = &all[dice.below(all.len())];
                if dice.below(2) == 0 {
                    faults.cut_watches();
                } else {
                    faults.disconnect();
                    tokio::time::sleep(milliseconds(2_000, &mut dice)).await;
                    faults.reconnect();
                }
            }
        })
    }

    /// From now on all goes well. Watches that still suffer break.
    pub fn end(&self) {
        self.on.store(false, Ordering::Relaxed);
        for faults in self.all.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            faults.reconnect();
            faults.cut_watches();
        }
    }

    pub fn requests(&self) -> u64 {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|faults| faults.seen().0).sum()
    }

    pub fn suffered(&self) -> usize {
        self.suffered.load(Ordering::Relaxed)
    }
}

fn milliseconds(most: usize, dice: &mut Dice) -> Duration {
    Duration::from_millis(u64::try_from(1 + dice.below(most)).unwrap_or_default())
}

fn decide(seen: &Seen, dice: &mut Dice) -> Fault {
    match (dice.below(100), seen.watch, seen.list) {
        (0..=3, ..) => Fault::LoseRequest,
        (4..=6, ..) => Fault::Refuse(refusal(dice)),
        (7..=10, ..) => Fault::Delay(milliseconds(300, dice)),
        (11..=14, false, _) => Fault::LoseAnswer,
        (15..=17, false, _) => Fault::TimeOut,
        (18..=45, _, true) => Fault::StaleList(1 + dice.below(6)),
        (11..=40, true, _) => Fault::BreakWatch(dice.below(40)),
        (41..=50, true, _) => Fault::DelayWatch(milliseconds(50, dice)),
        (51..=60, true, _) => Fault::RepeatWatch,
        (61..=66, true, _) => Fault::ExpireWatch,
        _ => Fault::None,
    }
}

fn refusal(dice: &mut Dice) -> Status {
    match dice.below(3) {
        0 => Status::too_many_requests("too many requests, please try again later"),
        1 => Status::internal("something is wrong"),
        _ => Status::other(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
    }
}
