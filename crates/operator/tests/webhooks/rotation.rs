//! A rotation of the certificate by the clock, on a server that asks all the time: no request may fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use trellis_operator::webhooks::install;

use crate::servers::{Handshakes, Hooks, Server};

const DAY: Duration = Duration::from_hours(24);
/// How many ask at once.
const CALLERS: usize = 4;
/// How many answers are waited for after each step.
const ANSWERS: usize = 40;
const TICK: Duration = Duration::from_millis(20);
const TICKS: usize = 3000;

/// Creates a set without storing it, so that both webhooks are asked.
pub async fn dry_run(client: &Client, set: &Value) -> Result<Value, kube::Error> {
    let namespace = set["metadata"]["namespace"].as_str().unwrap_or_default();
    let path = format!("/apis/grove.io/v1alpha1/namespaces/{namespace}/podcliquesets?dryRun=All");
    let request = Request::post(path).header("content-type", "application/json");
    client.request(request.body(set.to_string().into_bytes()).expect("a request")).await
}

/// From the first certificate to the second, and to the end of the first one's authority.
pub async fn play(server: &Server, hooks: &Hooks) {
    let asking = Asking::start(&server.admin);
    let publish = |bundle: Option<Vec<u8>>| {
        let client = server.operator.clone();
        let wanted = server.wanted_with(bundle.as_deref());
        async move { install(&client, &wanted).await.map(drop) }
    };
    let authorities = || {
        let bundle = String::from_utf8(hooks.certificates.bundle().unwrap_or_default()).expect("PEM");
        bundle.matches("BEGIN CERTIFICATE").count()
    };
    let step = async || hooks.certificates.step(publish).await.expect("a look");

    assert_eq!((hooks.handshakes.counts().len(), authorities()), (1, 1));
    asking.go_on().await;
    // Two thirds of its life are over, and our clock is at the machine's own time.
    hooks.clock.advance(60 * DAY);
    let before = hooks.handshakes.counts()[0];
    step().await;
    assert_eq!(authorities(), 2, "the next authority is published first");
    hooks.handshakes.more_than(0, before).await;
    asking.go_on().await;
    assert_eq!(hooks.handshakes.counts().len(), 1, "the second certificate was shown before its time");

    hooks.clock.advance(Duration::from_mins(11));
    step().await;
    asking.go_on().await;
    // The first authority ends; whoever connects anew has to find the second one good.
    hooks.clock.advance(31 * DAY);
    step().await;
    assert_eq!(authorities(), 1);
    hooks.handshakes.more_than(1, 0).await;
    asking.go_on().await;
    assert_eq!(hooks.handshakes.counts().len(), 2);
    assert!(!install(&server.operator, &server.wanted(false)).await.expect("a look"), "the bundle was not published");
    asking.end().await;
}

impl Handshakes {
    /// Waits until there were more handshakes than this with one of the certificates.
    async fn more_than(&self, certificate: usize, count: usize) {
        for _ in 0..TICKS {
            if self.counts().get(certificate).is_some_and(|now| *now > count) {
                return;
            }
            tokio::time::sleep(TICK).await;
        }
        panic!("no handshake with certificate {certificate}: {:?}", self.counts());
    }
}

/// Callers that ask without a pause, and count.
struct Asking {
    answers: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    callers: JoinSet<Vec<String>>,
}

impl Asking {
    fn start(client: &Client) -> Self {
        let (answers, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (client, answers, stop) = (client.clone(), answers.clone(), stop.clone());
            callers.spawn(async move {
                let mut set: Value = serde_json::from_str(crate::cases::SMALL_SET).expect("a set");
                set["metadata"]["name"] = json!(format!("caller-{caller}"));
                let mut faults = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match dry_run(&client, &set).await {
                        Ok(made) if made["spec"]["template"]["terminationDelay"] == "4h" => {}
                        Ok(made) => faults.push(format!("not defaulted: {made}")),
                        Err(error) => faults.push(error.to_string()),
                    }
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                faults
            });
        }
        Self { answers, stop, callers }
    }

    /// Waits for some more answers.
    async fn go_on(&self) {
        let before = self.answers.load(Ordering::Relaxed);
        for _ in 0..TICKS {
            if self.answers.load(Ordering::Relaxed) >= before + ANSWERS {
                return;
            }
            tokio::time::sleep(TICK).await;
        }
        panic!("no more answers");
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let faults: Vec<String> = self.callers.join_all().await.into_iter().flatten().collect();
        let all = self.answers.load(Ordering::Relaxed);
        assert!(faults.is_empty(), "{} of {all} requests failed: {}", faults.len(), faults.join("\n"));
    }
}
