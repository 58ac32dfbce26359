//! Why a gang waits, in full: the annotation `trellis.dev/explanation`.

use super::{AllTold, Verdict};
use crate::decide::Round;
use crate::picture::{Object, Picture};
use crate::plan::{Note, Plan, site};
use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHasher;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hasher as _;
use trellis_api::names::annotation;
use trellis_engine::{DomainReport, Explanation, Gang, Outcome, explain_some, order};
use trellis_lower::{explanation, named::Names};

/// An explanation is written at most so often.
const EVERY: SignedDuration = SignedDuration::from_secs(10);
/// So many explanations are made in one decision; the others come with the next.
const AT_ONCE: usize = 32;
/// When to go on with those.
const SOON: SignedDuration = SignedDuration::from_millis(200);
/// Most bytes of an explanation.
const BYTES: usize = 16 << 10;
/// Domains that are told of, where there is room.
const DOMAINS: [usize; 5] = [20, 10, 5, 1, 0];
/// Nodes that a change is told of by name.
const NODES: usize = 20;

/// What is known of why a gang waits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Told {
    at: Timestamp,
    /// Of the proof that it was made from.
    digest: String,
    /// Of what binds and what is short.
    key: String,
    /// A sentence without numbers.
    headline: String,
    /// One paragraph.
    pub text: String,
}

impl Told {
    /// The sentence, or another if there is none.
    pub fn headline(&self, otherwise: &str) -> String {
        if self.headline.is_empty() { otherwise.to_owned() } else { self.headline.clone() }
    }
}

/// What was worked out of why gangs wait, by uid. It is only a memory: whoever has none works it out once more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explained(HashMap<String, Worked>);

/// When and from which proof it was last worked out why a gang waits. What is told may be older: it stays as long as what binds and what
/// is short stay the same.
#[derive(Clone, Debug)]
struct Worked {
    at: Timestamp,
    digest: String,
    told: Told,
}

impl Worked {
    fn of(told: &Told) -> Self {
        Self { at: told.at, digest: told.digest.clone(), told: told.clone() }
    }
}

/// A gang of which it has to be worked out why it waits.
struct Due {
    gang: usize,
    digest: String,
    /// What people can read of it now.
    stored: Option<Told>,
    last: Option<Worked>,
}

/// Explains gangs that wait, as far as that is due; what was told before still holds for the others.
pub(super) fn decide(
    picture: &Picture<'_>,
    round: &mut Round,
    verdicts: &[Option<Verdict>],
    explained: &mut Explained,
    plan: &mut Plan,
) -> AllTold {
    let (mut all, mut due) = (AllTold::new(), Vec::new());
    let mut before = std::mem::take(&mut explained.0);
    for gang in order(&picture.gangs) {
        let object = picture.whos[gang].object;
        let is_written = object.annotation(annotation::EXPLANATION).is_some();
        if round.drafts[gang].is_placed && is_written {
            // It goes with the write that gives the gang its place.
            round.drafts[gang].annotations.insert(annotation::EXPLANATION, None);
        }
        let Some(verdict) = verdicts[gang].as_ref() else { continue };
        if !verdict.is_explained {
            if is_written && verdict.is_scheduled && !picture.is_lone(gang) {
                round.drafts[gang].annotations.insert(annotation::EXPLANATION, None);
            }
            continue;
        }
        let (stored, digest) = (stored(picture, gang), digest(round, gang));
        let last = before.remove(object.uid()).or_else(|| stored.as_ref().map(Worked::of));
        // What was written last may have got lost on its way.
        let is_lost =
            |last: &Worked| stored.as_ref().is_some_and(|it| it.key != last.told.key) && !picture.is_lone(gang);
        let is_new = stored.is_none() || last.as_ref().is_none_or(|last| last.digest != digest || is_lost(last));
        let rests = last.as_ref().map(|last| after(last.at, EVERY)).filter(|until| picture.around.now < *until);
        match (last, stored) {
            (Some(last), Some(_)) if !is_new || rests.is_some() => {
                if let Some(until) = rests.filter(|_| is_new) {
                    plan.again(until);
                }
                all.insert(gang, last.told.clone());
                explained.0.insert(object.uid().to_owned(), last);
            }
            (last, stored) => due.push(Due { gang, digest, stored, last }),
        }
    }
    // Whoever has waited longest for it comes first, so that everybody's turn comes.
    due.sort_by_key(|due| due.last.as_ref().map(|last| last.at));
    for Due { gang, stored, last, .. } in due.drain(AT_ONCE.min(due.len())..) {
        plan.again(after(picture.around.now, SOON));
        all.extend(stored.map(|told| (gang, told)));
        let uid = picture.whos[gang].object.uid().to_owned();
        explained.0.extend(last.map(|last| (uid, last)));
    }
    work_out(picture, round, verdicts, due, explained, &mut all, plan);
    all
}

/// Works out why these wait, and has it written where there is something new to say.
fn work_out(
    picture: &Picture<'_>,
    round: &mut Round,
    verdicts: &[Option<Verdict>],
    due: Vec<Due>,
    explained: &mut Explained,
    all: &mut AllTold,
    plan: &mut Plan,
) {
    let which: Vec<usize> = due.iter().map(|due| due.gang).collect();
    if which.is_empty() {
        return;
    }
    let now = picture.around.now;
    let explanations = explain_some(&mut round.snapshot, &picture.gangs, &round.engine, &which, round.options);
    let names = Names::new(&picture.cluster);
    for (Due { gang, digest, stored, .. }, explanation) in due.into_iter().zip(explanations) {
        let it = &picture.gangs[gang];
        let key = key(&explanation, it, &names);
        let told = match stored.filter(|told| told.key == key) {
            Some(told) => told,
            None => {
                let headline = headline(&explanation, it, &names);
                let text = explanation.text.clone() + &reserved_by(picture, round, gang);
                let told = Told { at: now, digest: digest.clone(), key, headline, text };
                if !picture.is_lone(gang) {
                    let draft = &mut round.drafts[gang];
                    let text = form(&told, &explanation, it, &names);
                    draft.annotations.insert(annotation::EXPLANATION, Some(text));
                    if draft.site == site::KEEP {
                        draft.site = site::EXPLAIN;
                    }
                    if matches!(picture.whos[gang].object, Object::PodGroup(_)) {
                        tell(picture, gang, verdicts[gang].as_ref(), &told, plan);
                    }
                }
                told
            }
        };
        let uid = picture.whos[gang].object.uid().to_owned();
        explained.0.insert(uid, Worked { at: now, digest, told: told.clone() });
        all.insert(gang, told);
    }
}

/// A number for what binds and what is short; as long as it is the same, nothing new is told. Why a gang cannot be planned at all is
/// neither, and is told anew whenever it changes.
fn key(explanation: &Explanation, gang: &Gang, names: &Names<'_>) -> String {
    let domain = |it: &DomainReport| (it.domain.map(|domain| names.domain(domain).to_owned()), it.short.clone());
    let short: Vec<_> = explanation.domains.iter().take(DOMAINS[0]).map(domain).collect();
    hash(&format!("{:?}", (explanation.binding, short, &gang.unready)))
}

/// Why a gang waits, in a sentence without numbers.
fn headline(explanation: &Explanation, gang: &Gang, names: &Names<'_>) -> String {
    let binding = explanation.binding.and_then(|group| {
        let constraint = gang.groups[group].constraint?;
        let level = names.level(constraint, constraint.required?).level;
        let whom = if group == 0 { "the gang".to_owned() } else { format!("group `{}`", gang.groups[group].name) };
        Some(format!("no {level} has room for {whom}"))
    });
    let is_room = explanation.empty_cluster.is_some();
    binding.or_else(|| is_room.then(|| "the cluster has no room for it".to_owned())).unwrap_or_default()
}

/// A PodGroup has no condition of ours whose change would be told.
fn tell(picture: &Picture<'_>, gang: usize, verdict: Option<&Verdict>, told: &Told, plan: &mut Plan) {
    let Some(verdict) = verdict else { return };
    plan.notes.push(Note {
        about: picture.whos[gang].target.clone(),
        uid: picture.whos[gang].object.uid().to_owned(),
        warning: true,
        reason: verdict.reason,
        message: told.headline(&verdict.message),
    });
}

/// What was told before: in the annotation, or, of a pod by itself, in its condition.
fn stored(picture: &Picture<'_>, gang: usize) -> Option<Told> {
    if let Object::Pod(pod) = picture.whos[gang].object {
        let conditions = pod.status.as_ref()?.conditions.as_ref()?;
        let known = conditions.iter().find(|known| known.type_ == "PodScheduled" && known.status == "False")?;
        let at = known.last_probe_time.as_ref().map(|time| time.0).unwrap_or_default();
        return Some(Told { at, text: known.message.clone()?, ..Told::default() });
    }
    serde_json::from_str(picture.whos[gang].object.annotation(annotation::EXPLANATION)?).ok()
}

/// As it is written: with as many domains as there is room for.
fn form(told: &Told, explanation: &Explanation, gang: &Gang, names: &Names<'_>) -> String {
    let written = |view: &Value| {
        let mut form = Map::new();
        form.insert("at".to_owned(), json!(crate::holds::floor_second(told.at)));
        form.insert("digest".to_owned(), json!(told.digest));
        form.insert("key".to_owned(), json!(told.key));
        form.insert("headline".to_owned(), json!(told.headline));
        form.extend(view.as_object().cloned().unwrap_or_default());
        form.insert("text".to_owned(), json!(told.text));
        Value::Object(form).to_string()
    };
    let view = |domains| json!(explanation::view(explanation, gang, names).shortened(domains, NODES));
    let texts = DOMAINS.iter().map(|domains| written(&view(*domains)));
    texts.into_iter().find(|text| text.len() <= BYTES).unwrap_or_else(|| written(&Value::Null))
}

/// Tells who is ahead and has room reserved.
fn reserved_by(picture: &Picture<'_>, round: &Round, gang: usize) -> String {
    let order = order(&picture.gangs);
    let ahead = order.iter().take_while(|other| **other != gang);
    let reserving = ahead.filter(|other| !round.engine.decisions[**other].reserved.is_empty());
    let names: Vec<String> = reserving
        .take(3)
        .map(|other| format!("{}/{}", picture.gangs[*other].id.namespace, picture.gangs[*other].id.name))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" Room is reserved for {}, which is ahead.", names.join(", "))
    }
}

/// A number for what the engine answered: as long as it is the same, there is nothing new to tell.
fn digest(round: &Round, gang: usize) -> String {
    match &round.engine.decisions[gang].outcome {
        Outcome::CannotFit(claim) => hash(&format!("{claim:?}")),
        Outcome::Undecided => "undecided".to_owned(),
        Outcome::Placed => String::new(),
    }
}

fn hash(text: &str) -> String {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    let mut hex = String::new();
    let _ = write!(hex, "{:016x}", hasher.finish());
    hex
}

fn after(time: Timestamp, span: SignedDuration) -> Timestamp {
    time.checked_add(span).unwrap_or(Timestamp::MAX)
}
