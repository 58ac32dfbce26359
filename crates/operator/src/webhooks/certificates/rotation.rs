//! What is to be done about a certificate, from what is held and the time alone.
//!
//! After two thirds of a certificate's life the next one is made, with an authority of its own. It is put beside the current one,
//! and its authority into the bundle. Only after API servers have had time to hear of the bundle is it shown. An authority leaves the
//! bundle when it has expired: whoever still shows a certificate of it is refused in any case.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::Options;
use super::issue::{Facts, issue, split};

/// A certificate and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl fmt::Debug for Pair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// What a Secret or a folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What is shown.
    pub serving: Pair,
    /// The authorities, in PEM.
    pub bundle: String,
    /// What is shown next.
    pub next: Option<Pair>,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing, for so long.
    Stay(Duration),
    /// This is to be held from now on.
    Write(Held),
}

/// Whether the certificate can be shown: it is valid, good for all names, and one of the bundle vouches for it.
pub fn is_usable(held: &Held, names: &[String], now: Timestamp) -> bool {
    is_good(&held.serving, &held.bundle, names, now)
}

fn is_good(pair: &Pair, bundle: &str, names: &[String], now: Timestamp) -> bool {
    let Some(facts) = Facts::of(&pair.certificate) else { return false };
    let vouched = || authorities(bundle).any(|(_, authority)| authority.subject == facts.issuer);
    facts.is_valid_at(now)
        && names.iter().all(|name| facts.is_for(name))
        && vouched()
        && super::certified(pair, "").is_ok()
}

fn authorities(bundle: &str) -> impl Iterator<Item = (String, Facts)> {
    split(bundle).into_iter().filter_map(|pem| Facts::of(&pem).map(|facts| (pem, facts)))
}

/// The authorities that have not expired.
fn living(bundle: &str, now: Timestamp) -> String {
    authorities(bundle).filter(|(_, facts)| facts.is_valid_at(now)).map(|(pem, _)| pem).collect()
}

/// A certificate to be shown at once, where there is none to be used. Authorities that others may still depend on stay.
pub fn fresh(held: Option<&Held>, names: &[String], options: &Options, now: Timestamp) -> Result<Held, rcgen::Error> {
    let (authority, serving) = issue(names, options.lifetime, now)?;
    let bundle = held.map(|held| living(&held.bundle, now)).unwrap_or_default() + &authority;
    Ok(Held { serving, bundle, next: None })
}

/// What is to be done now.
pub fn turn(held: Option<&Held>, names: &[String], options: &Options, now: Timestamp) -> Result<Turn, rcgen::Error> {
    let usable = held.is_some_and(|held| is_usable(held, names, now));
    let next = held.and_then(|held| held.next.as_ref().filter(|next| is_good(next, &held.bundle, names, now)));
    if let (Some(held), Some(next)) = (held, next) {
        let ready = Facts::of(&next.certificate).map_or(now, |facts| after(facts.issued, options.overlap));
        return Ok(match usable && now < ready {
            true => Turn::Stay(until(ready, now)),
            false => Turn::Write(Held { serving: next.clone(), next: None, ..held.clone() }),
        });
    }
    let Some((held, facts)) =
        held.filter(|_| usable).and_then(|held| Facts::of(&held.serving.certificate).map(|facts| (held, facts)))
    else {
        return Ok(Turn::Write(fresh(held, names, options, now)?));
    };
    let life = until(facts.expires, facts.issued);
    let due = after(facts.issued, life / 3 * 2);
    let living = living(&held.bundle, now);
    if now >= due {
        let (authority, next) = issue(names, options.lifetime, now)?;
        return Ok(Turn::Write(Held { bundle: living + &authority, next: Some(next), ..held.clone() }));
    }
    if living != held.bundle {
        return Ok(Turn::Write(Held { bundle: living, ..held.clone() }));
    }
    let ends = authorities(&held.bundle).map(|(_, facts)| facts.expires).min().unwrap_or(due);
    Ok(Turn::Stay(until(due.min(ends), now)))
}

fn after(time: Timestamp, duration: Duration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// How long it is until then; nothing if it has been.
fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
