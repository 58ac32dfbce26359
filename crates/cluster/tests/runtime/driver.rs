//! Who changes the objects: a client without faults.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use trellis_testkit::mutate::Dice;

use crate::gauges;

const OBJECTS: usize = 50;

/// Makes, changes and deletes objects as long as there is more to do.
pub async fn change(api: &Api<DynamicObject>, seed: u64, more: impl Fn() -> bool) {
    let mut dice = Dice::new(seed);
    while more() {
        let name = format!("gauge-{}", dice.below(OBJECTS));
        let size = dice.below(1_000_000);
        let patch = Patch::Merge(json!({"spec": {"size": size}}));
        let result = match dice.below(40) {
            0 => api.delete(&name, &DeleteParams::default()).await.map(drop),
            _ => api.patch(&name, &PatchParams::default(), &patch).await.map(drop),
        };
        match result {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let object = DynamicObject::new(&name, &gauges()).data(json!({"spec": {"size": size}}));
                api.create(&PostParams::default(), &object).await.expect("a new gauge");
            }
            Err(error) => panic!("{name}: {error}"),
        }
        // Bursts with pauses between them.
        if dice.below(4) == 0 {
            tokio::time::sleep(Duration::from_millis(u64::try_from(dice.below(200)).unwrap_or_default())).await;
        }
    }
}
