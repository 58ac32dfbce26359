//! Following a shelf without missing anything: everything first, then every change, and everything again after falling behind.

use std::sync::Arc;

use crate::store::{Change, Key, Object, Shelf, Store, Watch};

/// What a follower learns.
pub(super) enum News {
    /// All there is, in the place of whatever was learned before.
    All(Vec<(Key, Arc<Object>)>),
    /// What changed since.
    Changes(Vec<Arc<Change>>),
}

/// A follower of one shelf.
pub(super) struct Follow {
    store: Arc<Store>,
    shelf: Shelf,
    namespace: Option<&'static str>,
    watch: Option<Watch>,
}

impl Follow {
    pub(super) fn new(store: &Arc<Store>, shelf: &str) -> Self {
        Self { store: store.clone(), shelf: shelf.into(), namespace: None, watch: None }
    }

    /// The same in one namespace only.
    pub(super) fn within(self, namespace: &'static str) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// Waits for news. Nothing is lost if it is given up half way.
    pub(super) async fn next(&mut self) -> News {
        if let Some(watch) = &mut self.watch
            && let Ok(changes) = watch.next().await
        {
            return News::Changes(changes);
        }
        let snapshot = self.store.list(&self.shelf, self.namespace);
        self.watch = Some(self.store.watch(&self.shelf, self.namespace, snapshot.revision));
        News::All(snapshot.objects)
    }
}

/// The objects that news are about, as they were then; `None` for those that are gone.
pub(super) fn each(news: News) -> Vec<(Key, Option<Arc<Object>>)> {
    match news {
        News::All(objects) => objects.into_iter().map(|(key, object)| (key, Some(object))).collect(),
        News::Changes(changes) => {
            changes.iter().map(|change| (change.key.clone(), (!change.deleted).then(|| change.after.clone()))).collect()
        }
    }
}
