//! What a configuration comes to: the options of profile `trellis`.

use std::time::Duration;

use serde_json::Value;
use trellis_api::duration;
use trellis_api::kinds::config::{OperatorConfiguration, TrellisConfig};
use trellis_api::names::profile;
use trellis_api::settings::profile_config;

use crate::settings::Settings;

impl Settings {
    /// What a configuration that was admitted comes to, for one who serves these names. Total: of one that was not, it makes the best sense.
    pub fn of(config: Option<&OperatorConfiguration>, served: impl IntoIterator<Item = String>) -> Self {
        let defaults = Self { served: served.into_iter().collect(), ..Self::default() };
        let Some(config) = config else { return defaults };
        let written: TrellisConfig = profile_config(&config.scheduler.profiles, profile::TRELLIS);
        let hold = written.hold_seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
        let reserve_after = written.reserve_after.as_ref().and_then(read);
        Self {
            hold: hold.unwrap_or(defaults.hold),
            reserve_after: reserve_after.map_or(defaults.reserve_after, |after| Some(after).filter(|it| !it.is_zero())),
            ..defaults
        }
    }
}

/// A duration as text; 0 may be a number.
fn read(value: &Value) -> Option<Duration> {
    match value {
        Value::String(text) => duration::parse(text),
        Value::Number(number) => number.as_u64().filter(|number| *number == 0).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The seconds that places are held, and those after which room is reserved, by the options of the profile.
    fn check(options: &Value, hold: u64, reserve_after: Option<u64>) {
        let config = json!({ "scheduler": { "profiles": [{ "name": "trellis", "config": options }] } });
        let config: OperatorConfiguration = serde_json::from_value(config).expect("a configuration");
        let settings = Settings::of(Some(&config), ["mine".to_owned()]);
        let found = (settings.hold, settings.reserve_after);
        assert_eq!(found, (Duration::from_secs(hold), reserve_after.map(Duration::from_secs)), "{options}");
        assert!(settings.served.contains("mine") && settings.served.len() == 1);
    }

    #[test]
    fn options_of_the_profile_count() {
        check(&json!({}), 300, Some(600));
        check(&json!({ "holdSeconds": 0, "reserveAfter": "1m30s" }), 0, Some(90));
        check(&json!({ "holdSeconds": 7, "reserveAfter": 0 }), 7, None);
        check(&json!({ "reserveAfter": "0s" }), 300, None);
        check(&json!({ "reserveAfter": "0" }), 300, None);
        let none = Settings::of(None, ["mine".to_owned()]);
        assert_eq!((none.hold, none.reserve_after), (Settings::default().hold, Settings::default().reserve_after));
    }
}
