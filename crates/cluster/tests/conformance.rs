//! The embedded API answers as kube-apiserver does: the same requests go to both, and the answers are compared.
//!
//! What is compared, step by step: the status code, the headers `Content-Type`, `Warning`, `Location` and
//! `Retry-After`, the body, and for watches the sequence of events. What no two servers can agree on is replaced by
//! symbols first, see `normal.rs`. The real server's answer is the expectation; where the embedded API differs on
//! purpose, `conformance/differences.yaml` says so, and an entry there that no longer differs is a failure too.
//!
//! # The format of the case files, `conformance/cases/*.yaml`
//!
//! ```yaml
//! names:                       # optional: texts and objects for `{…}` in the cases below; may use each other
//!   maps: /api/v1/namespaces/{ns}/configmaps
//! cases:
//! - case: what it shows
//!   steps:
//!   - do: POST {maps}?dryRun=All       # GET POST PUT DELETE PATCH; MERGE, JSON, STRATEGIC, APPLY are PATCH with that type
//!     body: {metadata: {name: a}}      # sent as JSON
//!     with: {data: {b: c}}             # a merge patch that is applied to `body` before it is sent
//!     raw: '{"metadata":'              # instead of `body`: sent as it is
//!     headers: {Accept: text/plain}
//!     token: none                      # or `wrong`; otherwise the administrator's
//!     as: made                         # later steps can say {made.metadata.uid}
//!     expect: 201                      # what the real server must answer, or the case is broken
//!     has: some text                   # what the real server's body must contain, or the case is broken
//!     eventually: true                 # repeat until `expect` and `has` hold
//!     at: /metadata/labels             # compare this part of the body only (a JSON pointer)
//!     keep: {name: [pods, pods/log]}   # compare only those items of the list there whose `name` is one of these
//!   - watch: '{maps}?watch=true'       # open a watch under the name `as`, or `watch` without one
//!     as: w
//!   - events: w                        # read `count` events of it, or with `end: true` all until the stream ends;
//!     count: 2                         # bookmarks in a row count as one
//!   - expire: true                     # the server forgets its history, so that version 1 is too old to watch from
//! ```
//!
//! `{ns}` is a namespace of the case's own, made before the first step, `{x*1000}` is `x` a thousand times. A text that
//! is nothing but one `{…}` becomes the value itself, so `body: '{made}'` sends an earlier answer back. Every case has
//! an `expect`, so that a case that breaks on both sides in the same way is noticed.
//!
//! Two things not to write, since a real server answers them by chance: several unknown labels or fields in one request
//! (it keeps them in maps), and a request that changes nothing but what the server takes back (whether that is written
//! depends on whether a second has passed since the last write).
//!
//! # Working on it
//!
//! `TRELLIS_CONFORMANCE_ONLY=text` runs the cases with `text` in their name or file and prints the real answers.
//! `TRELLIS_CONFORMANCE_TWICE=1` puts a second real server in place of the embedded API: nothing may differ then, or a
//! case or its normalisation is not deterministic.

#[path = "conformance/case.rs"]
mod case;
#[path = "conformance/compare.rs"]
mod compare;
#[path = "conformance/fill.rs"]
mod fill;
#[path = "conformance/normal.rs"]
mod normal;
#[path = "conformance/play.rs"]
mod play;
#[path = "conformance/target.rs"]
mod target;

use std::io::Write as _;

use futures::StreamExt as _;
use trellis_testkit::Program;

use crate::case::Case;
use crate::compare::{Outcome, Verdict};
use crate::target::Target;

/// Cases at a time: the real server is slow, and two cores are all that many machines have.
const AT_A_TIME: usize = 8;

/// As many as were asked for: more than this differing on purpose would be another API.
const DIFFERENCES_MAX: usize = 10;

const CASES_MIN: usize = 150;
const APPLY_CASES_MIN: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_api_answers_as_kube_apiserver_does() {
    let only = std::env::var("TRELLIS_CONFORMANCE_ONLY").ok();
    let mut cases = case::all();
    cases.retain(|case| only.as_ref().is_none_or(|text| case.title().contains(text.as_str())));
    assert!(!cases.is_empty(), "no case has `{}` in its name", only.unwrap_or_default());

    let (real, other) = tokio::join!(target::real(), target::other());
    // A server that forgets its history forgets that of all cases.
    let (alone, together): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.expires());
    let answers = futures::stream::iter(together).map(|case| both(case, &real, &other)).buffer_unordered(AT_A_TIME);
    let mut outcomes: Vec<Outcome> = answers.collect().await;
    for case in alone {
        outcomes.push(both(case, &real, &other).await);
    }
    outcomes.sort_by(|one, other| one.case.cmp(&other.case));

    if only.is_some() {
        say(&outcomes.iter().map(Outcome::shown).collect::<String>());
    }
    let verdict = compare::judge(&outcomes, compare::listed(), only.is_none());
    let (count, version) = (cases.len(), Program::ApiServer.version().trim_start_matches('v'));
    let Verdict { as_listed, faults } = verdict;
    say(&format!(
        "conformance: {count} cases ran on {} and on kube-apiserver {version}; {as_listed} differ as listed\n",
        other.name
    ));
    let total = faults.len();
    assert!(faults.is_empty(), "{total} cases are broken or differ\n\n{}", faults.join("\n"));
}

#[test]
fn there_are_as_many_cases_as_promised_and_few_differences() {
    let cases = case::all();
    let apply = cases.iter().filter(|case| case.file.starts_with("apply")).count();
    assert!(cases.len() >= CASES_MIN && apply >= APPLY_CASES_MIN, "{} cases, {apply} of apply", cases.len());
    assert!(compare::listed().len() <= DIFFERENCES_MAX);
    for case in &cases {
        let guarded = case.steps.iter().any(|step| step.expect.is_some());
        assert!(guarded, "`{}` would pass if it broke on both sides", case.title());
    }
    let mut titles: Vec<String> = cases.iter().map(Case::title).collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), cases.len(), "two cases have the same name");
}

async fn both(case: &Case, real: &Target, other: &Target) -> Outcome {
    let (real, other) = tokio::join!(play::play(case, real), play::play(case, other));
    Outcome { case: case.title(), real, other }
}

/// Past the test harness, which shows the output of failed tests only.
fn say(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).ok();
}
