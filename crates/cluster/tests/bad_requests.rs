//! No request makes the API fall over: tens of thousands of spoiled ones, decided by a seed, are all answered in order.
//!
//! Requests go straight into [`Api::handle`], so a panic in it is a panic here. `TRELLIS_SEED` chooses other requests,
//! `TRELLIS_LONG` ten times as many.

#[path = "bad_requests/answers.rs"]
mod answers;
#[path = "bad_requests/bodies.rs"]
mod bodies;
#[path = "bad_requests/objects.rs"]
mod objects;
#[path = "bad_requests/requests.rs"]
mod requests;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use serde_json::json;
use trellis_cluster::api::{Api, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::user::User;
use trellis_testkit::mutate::Dice;

use objects::Objects;
use requests::Described;

const SEED: u64 = 20_260_731;
const REQUESTS: usize = 20_000;

/// After this many the API is made anew, so that spoiled definitions and deleted objects do not rule the rest.
const ROUND: usize = 400;

/// Where the last panic in the API happened, which the payload does not know; `None` while no request is under way.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

fn place() -> MutexGuard<'static, Option<String>> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tokio::test(start_paused = true)]
async fn no_request_makes_the_api_fall_over() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("TRELLIS_SEED").unwrap_or(SEED);
    let rounds = REQUESTS / ROUND * if std::env::var_os("TRELLIS_LONG").is_some() { 10 } else { 1 };
    println!("seed {seed}");
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match &mut *place() {
        Some(place) => *place = info.to_string(),
        None => usual(info),
    }));
    let objects = Objects::read();
    let mut dice = Dice::new(seed);
    let mut faults: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut codes: BTreeMap<u16, usize> = BTreeMap::new();
    for _ in 0..rounds {
        let api = furnished(&objects, &mut dice).await;
        for _ in 0..ROUND {
            let request = requests::request(&objects, &mut dice);
            let shown = request.to_string();
            match asked(&api, request).await {
                Ok(code) => *codes.entry(code).or_default() += 1,
                Err(fault) => faults.entry(fault).or_insert((0, shown)).0 += 1,
            }
        }
        if let Err(fault) = still_works(&api).await {
            faults.entry(format!("afterwards: {fault}")).or_insert((0, String::new())).0 += 1;
        }
    }
    let _ = std::panic::take_hook();
    println!("answers by status: {codes:?}");
    let told: Vec<String> =
        faults.iter().map(|(fault, (times, request))| format!("{times} times: {fault}\n  {request}")).collect();
    assert!(told.is_empty(), "seed {seed}: {} kinds of faults:\n{}", told.len(), told.join("\n"));
    // If most requests were refused for the same simple reason, nothing would be proven.
    for code in [200, 201, 400, 404, 405, 409, 415, 422] {
        assert!(codes.get(&code).is_some_and(|&times| times > rounds / 10), "hardly any answers {code}: {codes:?}");
    }
}

/// An API with one good object of every kind.
async fn furnished(objects: &Objects, dice: &mut Dice) -> Api {
    let entropy = Entropy::seeded(u64::try_from(dice.below(usize::MAX)).unwrap_or_default());
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
    let api = Api::new(Options { clock, entropy, ..Options::default() });
    api.furnish().await.expect("the objects of every cluster");
    let mut refused = Vec::new();
    for object in objects.definitions.iter().chain(&objects.good) {
        if let Err(status) = api.create(&User::admin(), object).await {
            refused.push(status.to_string());
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    api
}

/// The status of the answer, or what is wrong with it.
async fn asked(api: &Api, request: Described) -> Result<u16, String> {
    let method = request.method().to_owned();
    let request = request.build()?;
    let watched = request.uri().query().is_some_and(|query| query.contains("watch"));
    let answered = async {
        let answer = api.handle(&User::admin(), request).await;
        answers::whole(answer, watched).await
    };
    *place() = Some(String::new());
    let answer = AssertUnwindSafe(answered).catch_unwind().await;
    let panicked = place().take().unwrap_or_default();
    answers::judge(&answer.map_err(|_| panicked)?, &method)
}

/// Objects can still be made, read and deleted.
async fn still_works(api: &Api) -> Result<(), String> {
    let path = "/api/v1/namespaces/kube-system/configmaps";
    let body = json!({"metadata": {"name": "afterwards"}, "data": {"a": "b"}});
    let steps = [("POST", path.to_owned(), Some(&body)), ("GET", format!("{path}/afterwards"), None)];
    let last = ("DELETE", format!("{path}/afterwards"), None);
    for (method, path, body) in steps.into_iter().chain([last]) {
        let request = Described::plain(method, &path, body);
        let answer = api.handle(&User::admin(), request.build()?).await;
        let answer = answers::whole(answer, false).await;
        if !answer.status().is_success() {
            return Err(format!("{method} {path} is answered with {}", String::from_utf8_lossy(answer.body())));
        }
    }
    Ok(())
}
