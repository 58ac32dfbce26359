//! How old the view of the cluster is. Nothing is decided before every kind was listed, and nothing is bound when one of them has not
//! been heard of for too long, because then nobody knows what happened since.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When each kind was last heard of.
#[derive(Debug)]
pub struct View {
    /// The oldest view that is good enough.
    max_age: Duration,
    kinds: Mutex<BTreeMap<&'static str, Kind>>,
}

#[derive(Debug, Default)]
struct Kind {
    /// When it was last certain that all that had happened was known; never before the first list is in.
    heard: Option<Instant>,
    /// What is wrong at this time.
    trouble: Option<String>,
}

impl View {
    /// A view of these kinds, none of which has been heard of.
    pub fn new(max_age: Duration, kinds: &[&'static str]) -> Self {
        let kinds = kinds.iter().map(|kind| (*kind, Kind::default())).collect();
        Self { max_age, kinds: Mutex::new(kinds) }
    }

    fn kinds(&self) -> MutexGuard<'_, BTreeMap<&'static str, Kind>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that has happened to this kind is known.
    pub fn heard(&self, kind: &'static str) {
        let now = Instant::now();
        self.kinds().insert(kind, Kind { heard: Some(now), trouble: None });
    }

    /// Something is wrong; whether that is news.
    pub fn trouble(&self, kind: &'static str, trouble: &str) -> bool {
        let mut kinds = self.kinds();
        let entry = kinds.entry(kind).or_default();
        entry.trouble.replace(trouble.to_owned()).is_none()
    }

    /// The oldest view that is good enough.
    pub fn max_age(&self) -> Duration {
        self.max_age
    }

    /// How old the oldest part is; none while something has not been listed.
    pub fn age(&self) -> Option<Duration> {
        let kinds = self.kinds();
        let ages = kinds.values().map(|kind| kind.heard.map(|heard| heard.elapsed()));
        ages.reduce(|oldest, age| Some(oldest?.max(age?))).flatten()
    }

    /// Whether it is good enough to act on; if not, why.
    pub fn is_fresh(&self) -> Result<(), String> {
        let kinds = self.kinds();
        let found = kinds.iter().find_map(|(name, kind)| {
            let why = match kind.heard {
                None => "not listed yet".to_owned(),
                Some(heard) if heard.elapsed() >= self.max_age => {
                    format!("not heard of for {} s", heard.elapsed().as_secs())
                }
                Some(_) => return None,
            };
            let trouble = kind.trouble.as_ref().map(|trouble| format!(" ({trouble})")).unwrap_or_default();
            Some(format!("{name}: {why}{trouble}"))
        });
        found.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_view_is_as_old_as_its_oldest_part() {
        let view = View::new(Duration::from_secs(6), &["Node", "Pod"]);
        let why = || view.is_fresh().err().unwrap_or_default();
        assert_eq!((why().as_str(), view.age()), ("Node: not listed yet", None));
        view.heard("Node");
        assert_eq!((why().as_str(), view.age()), ("Pod: not listed yet", None));
        advance(Duration::from_secs(4)).await;
        view.heard("Pod");
        assert_eq!((why().as_str(), view.age()), ("", Some(Duration::from_secs(4))));
        assert!(view.trouble("Node", "refused"));
        assert!(!view.trouble("Node", "refused"), "it is said once");
        assert_eq!(why(), "", "trouble that has just begun is no reason to stop");
        advance(Duration::from_secs(3)).await;
        assert_eq!(why(), "Node: not heard of for 7 s (refused)");
        view.heard("Node");
        assert_eq!((why().as_str(), view.age()), ("", Some(Duration::from_secs(3))));
    }
}
