//! Why a gang waits, in full: the annotation `trellis.dev/explanation`.

use super::{AllTold, Verdict};
use crate::decide::Round;
use crate::picture::{Object, Picture};
use crate::plan::{Note, Plan, site};
use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHasher;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::hash::Hasher as _;
use trellis_api::names::annotation;
use trellis_engine::{Outcome, explain_some, order};
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

/// Explains gangs that wait, as far as that is due; what was told before still holds for the others.
pub(super) fn decide(
    picture: &Picture<'_>,
    round: &mut Round,
    verdicts: &[Option<Verdict>],
    plan: &mut Plan,
) -> AllTold {
    let now = picture.around.now;
    let (mut all, mut due) = (AllTold::new(), Vec::new());
    for gang in order(&picture.gangs) {
        let is_written = picture.whos[gang].object.annotation(annotation::EXPLANATION).is_some();
        if round.drafts[gang].is_placed && is_written {
            // It goes with the write that gives the gang its place.
            round.drafts[gang].annotations.insert(annotation::EXPLANATION, None);
        }
        let Some(verdict) = verdicts[gang].as_ref() else { continue };
        let stored = stored(picture, gang);
        if !verdict.is_explained {
            let is_stale = stored.is_some() && !picture.is_lone(gang);
            if is_stale && verdict.is_scheduled {
                round.drafts[gang].annotations.insert(annotation::EXPLANATION, None);
            }
            continue;
        }
        let digest = digest(round, gang);
        match stored {
            Some(told) if told.digest == digest || picture.is_lone(gang) && now < after(told.at, EVERY * 6) => {
                all.insert(gang, told);
            }
            Some(told) if now < after(told.at, EVERY) => {
                plan.again(after(told.at, EVERY));
                all.insert(gang, told);
            }
            stored => due.push((gang, digest, stored)),
        }
    }
    if due.len() > AT_ONCE {
        plan.again(after(now, SOON));
        for (gang, _, stored) in due.drain(AT_ONCE..) {
            all.extend(stored.map(|told| (gang, told)));
        }
    }
    let which: Vec<usize> = due.iter().map(|(gang, ..)| *gang).collect();
    if which.is_empty() {
        return all;
    }
    let explanations = explain_some(&mut round.snapshot, &picture.gangs, &round.engine, &which, round.options);
    let names = Names::new(&picture.cluster);
    for ((gang, digest, stored), explanation) in due.into_iter().zip(explanations) {
        let it = &picture.gangs[gang];
        let short: Vec<_> = explanation.domains.iter().map(|it| (&it.domain, &it.short)).collect();
        // Why a gang cannot be planned at all is neither: it is told anew whenever it changes.
        let key = hash(&format!("{:?}", (explanation.binding, short, &it.unready)));
        if let Some(told) = stored.filter(|told| told.key == key && !told.key.is_empty()) {
            all.insert(gang, told);
            continue;
        }
        let headline = explanation.binding.and_then(|group| {
            let constraint = it.groups[group].constraint?;
            let level = names.level(constraint, constraint.required?).level;
            let whom = if group == 0 { "the gang".to_owned() } else { format!("group `{}`", it.groups[group].name) };
            Some(format!("no {level} has room for {whom}"))
        });
        let text = explanation.text.clone() + &reserved_by(picture, round, gang);
        let is_room = explanation.empty_cluster.is_some();
        let headline = headline.or_else(|| is_room.then(|| "the cluster has no room for it".to_owned()));
        let told = Told { at: now, digest, key, headline: headline.unwrap_or_default(), text };
        if !picture.is_lone(gang) {
            let view = |domains| explanation::view(&explanation, it, &names).shortened(domains);
            let text = DOMAINS.iter().find_map(|domains| form(&told, &json!(view(*domains))));
            let draft = &mut round.drafts[gang];
            draft.annotations.insert(annotation::EXPLANATION, text);
            if draft.site == site::KEEP {
                draft.site = site::EXPLAIN;
            }
            if matches!(picture.whos[gang].object, Object::PodGroup(_)) {
                tell(picture, gang, verdicts[gang].as_ref(), &told, plan);
            }
        }
        all.insert(gang, told);
    }
    all
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

/// As it is written, if it is short enough.
fn form(told: &Told, view: &Value) -> Option<String> {
    let mut form = Map::new();
    form.insert("at".to_owned(), json!(crate::holds::floor_second(told.at)));
    form.insert("digest".to_owned(), json!(told.digest));
    form.insert("key".to_owned(), json!(told.key));
    form.insert("headline".to_owned(), json!(told.headline));
    form.extend(view.as_object().cloned().unwrap_or_default());
    form.insert("text".to_owned(), json!(told.text));
    let text = Value::Object(form).to_string();
    (text.len() <= BYTES).then_some(text)
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
