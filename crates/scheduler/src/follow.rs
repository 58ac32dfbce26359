//! Follows one kind into the index: a list, then watches from where it ended, for ever.
//!
//! A connection can die without anybody being told, and a watch that is quiet looks the same as one that is dead. So watches are short,
//! and each has to end, or give a sign, in time. A sign is an event or a bookmark; after a break only a bookmark, or the end of a watch that
//! lasted its time, tells that everything that happened meanwhile is known.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{debug, info, warn};

use crate::index::{Index, Kept};
use crate::metrics::Metrics;
use crate::view::View;

/// How many objects are asked for at once.
const PAGE: u32 = 500;
/// How long a page of a list may take.
const LIST_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take until a watch is there.
const WATCH_PATIENCE: Duration = Duration::from_secs(5);
/// How much longer than it was asked for a watch may take to end.
const LATE: Duration = Duration::from_secs(2);
/// How soon it is tried again after something went wrong; twice as long each further time.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest such time.
const RETRY_LAST: Duration = Duration::from_secs(5);
/// A kind that was served does not count as gone before it has not been served for so long: an API server that starts knows its built-in
/// kinds before those of others, and pods whose gang nobody sees must not be taken for loose ones.
const GONE_AFTER: Duration = Duration::from_secs(30);

/// What those who follow share.
#[derive(Clone, Debug)]
pub struct Follower {
    /// Where what is seen goes.
    pub index: Arc<Index>,
    /// Where it is noted when a kind was last heard of.
    pub view: Arc<View>,
    /// Where restarts are counted.
    pub metrics: Metrics,
}

/// An object as the API gives it, made one of ours; or what is wrong with it.
pub type Read<K, T> = fn(K) -> Result<T, String>;

/// How a list or a watch ended.
enum End {
    /// As it should.
    Well,
    /// What happened since is no longer known to the server; it has to be listed anew.
    Expired,
    /// The kind is not served.
    NotServed,
    /// Something went wrong; the server may have said how long to wait.
    Badly(String, Option<Duration>),
}

impl End {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match status.code {
                404 => Self::NotServed,
                410 => Self::Expired,
                code => {
                    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                    let asked = (seconds > 0 && code == 429).then(|| Duration::from_secs(u64::from(seconds.min(10))));
                    Self::Badly(status.message.clone(), asked)
                }
            },
            other => Self::Badly(other.to_string(), None),
        }
    }
}

/// One kind that is followed.
struct Followed<K, T> {
    follower: Follower,
    api: Api<K>,
    read: Read<K, T>,
    /// Where the next watch begins.
    version: String,
    /// Whether all that happened is known.
    is_up_to_date: bool,
    failures: u32,
    /// Whether it was served when it was last asked for, and since when it is not.
    was_served: bool,
    not_served_since: Option<Instant>,
}

impl Follower {
    /// Follows a kind, for ever. One that is not served is asked for again and again, and followed from the moment that it is.
    pub async fn follow<K, T>(self, api: Api<K>, read: Read<K, T>)
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        T: Kept,
    {
        let mut followed = Followed {
            follower: self,
            api,
            read,
            version: String::new(),
            is_up_to_date: false,
            failures: 0,
            was_served: false,
            not_served_since: None,
        };
        loop {
            followed.round().await;
        }
    }
}

impl<K, T> Followed<K, T>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: Kept,
{
    /// A list, and watches until another list is needed.
    async fn round(&mut self) {
        match self.list().await {
            End::Well => self.well(),
            other => return self.not_well(other).await,
        }
        self.was_served = true;
        self.not_served_since = None;
        loop {
            match self.watch().await {
                End::Well => {}
                end @ End::Badly(..) => {
                    self.is_up_to_date = false;
                    self.not_well(end).await;
                }
                end => {
                    self.is_up_to_date = false;
                    self.follower.metrics.watch_restarted(T::KIND);
                    // One that is not served is told by the list.
                    return if let End::Expired = end {
                        sleep(RETRY_FIRST).await;
                    };
                }
            }
        }
    }

    /// All that has happened is known.
    fn well(&mut self) {
        if std::mem::take(&mut self.failures) > 0 {
            info!(kind = T::KIND, "watching again");
        }
        self.is_up_to_date = true;
        self.follower.view.heard(T::KIND);
    }

    /// A sign of life.
    fn sign(&mut self) {
        if self.is_up_to_date {
            self.follower.view.heard(T::KIND);
        }
    }

    async fn not_well(&mut self, end: End) {
        match end {
            End::NotServed => self.not_served().await,
            End::Badly(error, wait) => {
                self.follower.metrics.watch_restarted(T::KIND);
                if self.follower.view.trouble(T::KIND, &error) {
                    warn!(kind = T::KIND, error, "cannot watch; trying again");
                }
                let backoff = RETRY_FIRST.saturating_mul(1 << self.failures.min(10)).min(RETRY_LAST);
                self.failures += 1;
                sleep(wait.unwrap_or(backoff)).await;
            }
            End::Well | End::Expired => sleep(RETRY_FIRST).await,
        }
    }

    /// There is nothing of a kind that is not served, and that is all that is to be known of it.
    async fn not_served(&mut self) {
        let since = *self.not_served_since.get_or_insert_with(Instant::now);
        if self.was_served && since.elapsed() < GONE_AFTER {
            self.follower.view.trouble(T::KIND, "it is no longer served");
        } else {
            if std::mem::take(&mut self.was_served) {
                info!(kind = T::KIND, "no longer served");
            }
            self.follower.index.begin_list::<T>();
            self.follower.index.end_list::<T>();
            self.follower.view.heard(T::KIND);
        }
        sleep(self.follower.view.max_age() / 2).await;
    }

    async fn list(&mut self) -> End {
        let index = Arc::clone(&self.follower.index);
        index.begin_list::<T>();
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match timeout(LIST_PATIENCE, self.api.list(&params)).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => return End::of(&error),
                Err(_) => return End::Badly("a list takes too long".to_owned(), None),
            };
            let version = page.metadata.resource_version.unwrap_or_default();
            if is_older(&version, &self.version) {
                return End::Badly(format!("a list of version {version} came after version {}", self.version), None);
            }
            for object in page.items {
                self.take(object);
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                index.end_list::<T>();
                debug!(kind = T::KIND, version, "listed");
                self.version = version;
                return End::Well;
            }
        }
    }

    /// One watch, from where the last ended.
    async fn watch(&mut self) -> End {
        let seconds = u32::try_from(self.follower.view.max_age().as_secs() / 2).unwrap_or(u32::MAX).max(1);
        let params = WatchParams { bookmarks: true, timeout: Some(seconds), ..WatchParams::default() };
        let lasts = Duration::from_secs(u64::from(seconds));
        let begun = Instant::now();
        let events = match timeout(WATCH_PATIENCE, self.api.watch(&params, &self.version)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return End::of(&error),
            Err(_) => return End::Badly("the API does not answer".to_owned(), None),
        };
        pin_mut!(events);
        loop {
            let event = match timeout_at(begun + lasts + LATE, events.next()).await {
                // We slept: it ended long ago, and nobody knows what has happened since.
                Ok(_) if begun.elapsed() >= lasts + LATE => {
                    return End::Badly("the watch was not looked at for too long".to_owned(), None);
                }
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => return End::of(&error),
                // The end of a connection looks the same, but does not wait for the time to be over.
                Ok(None) if begun.elapsed() < lasts.saturating_sub(Duration::from_millis(500)) => {
                    return End::Badly("the watch ended early".to_owned(), None);
                }
                Ok(None) => {
                    self.well();
                    return End::Well;
                }
                Err(_) => return End::Badly("the watch fell silent".to_owned(), None),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.at(object.meta());
                    self.take(object);
                    self.sign();
                }
                WatchEvent::Deleted(object) => {
                    self.at(object.meta());
                    self.follower.index.gone::<T>(object.meta());
                    self.sign();
                }
                WatchEvent::Bookmark(bookmark) => {
                    self.version = bookmark.metadata.resource_version;
                    self.well();
                }
                WatchEvent::Error(status) => return End::of(&kube::Error::Api(status)),
            }
        }
    }

    fn at(&mut self, metadata: &ObjectMeta) {
        if let Some(version) = &metadata.resource_version {
            self.version.clone_from(version);
        }
    }

    /// An object that cannot be read is passed over: it must not keep us from all others.
    fn take(&self, object: K) {
        let name = object.meta().name.clone().unwrap_or_default();
        match (self.read)(object) {
            Ok(object) => self.follower.index.put(object),
            Err(error) => warn!(kind = T::KIND, name, error, "passed over: it cannot be read"),
        }
    }
}

/// Whether a version is older than another, as far as they are numbers. A server that has fallen behind would take us back in time, and
/// what was bound since would be bound over.
fn is_older(version: &str, than: &str) -> bool {
    let number = |version: &str| version.parse::<u64>().ok();
    number(version).zip(number(than)).is_some_and(|(version, than)| version < than)
}

#[cfg(test)]
mod tests;
