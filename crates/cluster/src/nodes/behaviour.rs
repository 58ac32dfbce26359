//! How a pod's containers behave: what options say for all pods, unless the pod's annotations say otherwise.
//!
//! Annotations are read anew whenever the pod changes, so `kubectl annotate` plays a failure on a pod that runs.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use super::Options;

/// How a container ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With exit code 0.
    Success,
    /// With another one.
    Failed {
        /// What its program returns; 137 is what a killed one leaves behind.
        exit_code: i32,
        /// The reason in the container's status, such as `Error` or `OOMKilled`.
        reason: String,
    },
}

impl Outcome {
    /// What a program that returns `code` leaves behind.
    pub fn of_code(code: i32) -> Self {
        match code {
            0 => Self::Success,
            exit_code => Self::Failed { exit_code, reason: "Error".to_owned() },
        }
    }
}

/// The keys of the annotations by which a pod says how it wants to behave. Times are in seconds, fractions allowed; what cannot be read
/// counts as not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotations {
    /// Time from the end of the init containers until the containers run and are ready, instead of [`Options::ready_after`].
    pub start_seconds: String,
    /// Time until each container ends; without it they run for ever.
    pub run_seconds: String,
    /// The exit code with which they end; without it 0.
    pub exit_code: String,
    /// Time that each init container takes; without it none.
    pub init_seconds: String,
    /// The exit code with which init containers end; without it 0.
    pub init_exit_code: String,
    /// `false` makes containers that run unready, as a failing readiness probe does.
    pub ready: String,
    /// Time from the deletion until the containers have ended, instead of [`Options::stop_after`]; the grace period cuts it short.
    /// `never` makes termination hang even beyond the grace period, for as long as the annotation is there.
    pub stop_seconds: String,
    /// The exit code with which containers end that are stopped, instead of [`Options::stop_exit_code`].
    pub stop_exit_code: String,
}

impl Default for Annotations {
    fn default() -> Self {
        let key = |name: &str| format!("trellis.dev/simulate-{name}");
        Self {
            start_seconds: key("start-seconds"),
            run_seconds: key("run-seconds"),
            exit_code: key("exit-code"),
            init_seconds: key("init-seconds"),
            init_exit_code: key("init-exit-code"),
            ready: key("ready"),
            stop_seconds: key("stop-seconds"),
            stop_exit_code: key("stop-exit-code"),
        }
    }
}

/// What decides how long a container runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Duty {
    /// Nothing ends it.
    Forever,
    /// It ends by itself.
    For(Duration, Outcome),
    /// A hook does.
    Hook,
}

/// How one pod's containers behave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behaviour {
    pub(super) start_after: Duration,
    pub(super) init: Duty,
    pub(super) run: Duty,
    pub(super) ready: bool,
    /// Nothing if termination hangs.
    pub(super) stop_after: Option<Duration>,
    pub(super) stop_exit_code: i32,
    pub(super) restart_after: Duration,
    pub(super) restart_max: Duration,
}

impl Behaviour {
    pub(super) fn of(pod: &Pod, options: &Options) -> Self {
        let keys = &options.annotations;
        let text = |key: &str| pod.metadata.annotations.as_ref().and_then(|all| all.get(key)).map(|text| text.trim());
        let seconds = |key: &str| text(key)?.parse().ok().and_then(|value| Duration::try_from_secs_f64(value).ok());
        let code = |key: &str| text(key)?.parse::<i32>().ok();
        let outcome = |key: &str| Outcome::of_code(code(key).unwrap_or(0));

        let init = match &options.init {
            Some(_) => Duty::Hook,
            None => Duty::For(seconds(&keys.init_seconds).unwrap_or_default(), outcome(&keys.init_exit_code)),
        };
        let run = match (&options.run, seconds(&keys.run_seconds)) {
            (Some(_), _) => Duty::Hook,
            (None, Some(time)) => Duty::For(time, outcome(&keys.exit_code)),
            (None, None) => Duty::Forever,
        };
        let stop_after = match text(&keys.stop_seconds) {
            Some("never") => None,
            _ => Some(seconds(&keys.stop_seconds).unwrap_or(options.stop_after)),
        };
        // A restart takes a moment, or a container that fails at once would be restarted without end at one and the same time.
        let restart_after = options.restart_after.max(Duration::from_millis(1));
        Self {
            start_after: seconds(&keys.start_seconds).unwrap_or(options.ready_after),
            init,
            run,
            ready: text(&keys.ready) != Some("false"),
            stop_after,
            stop_exit_code: code(&keys.stop_exit_code).unwrap_or(options.stop_exit_code),
            restart_after,
            restart_max: options.restart_max.max(restart_after),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(annotations: &Value, change: impl Fn(&mut Behaviour)) {
        let pod: Pod = serde_json::from_value(json!({ "metadata": { "annotations": annotations } })).unwrap();
        let mut expected = Behaviour {
            start_after: Duration::from_secs(1),
            init: Duty::For(Duration::ZERO, Outcome::Success),
            run: Duty::Forever,
            ready: true,
            stop_after: Some(Duration::ZERO),
            stop_exit_code: 0,
            restart_after: Duration::from_secs(1),
            restart_max: Duration::from_secs(30),
        };
        change(&mut expected);
        assert_eq!(Behaviour::of(&pod, &Options::default()), expected, "{annotations}");
    }

    #[test]
    fn annotations_go_before_options() {
        let failed = |exit_code| Outcome::Failed { exit_code, reason: "Error".to_owned() };
        check(&json!({}), |_| ());
        check(&json!({ "trellis.dev/simulate-start-seconds": "0.25" }), |b| b.start_after = Duration::from_millis(250));
        check(&json!({ "trellis.dev/simulate-run-seconds": "3" }), |b| {
            b.run = Duty::For(Duration::from_secs(3), Outcome::Success);
        });
        let failing = json!({ "trellis.dev/simulate-run-seconds": "3", "trellis.dev/simulate-exit-code": "2" });
        check(&failing, |b| b.run = Duty::For(Duration::from_secs(3), failed(2)));
        // A code alone ends nothing.
        check(&json!({ "trellis.dev/simulate-exit-code": "2" }), |_| ());
        let init = json!({ "trellis.dev/simulate-init-seconds": "5", "trellis.dev/simulate-init-exit-code": "1" });
        check(&init, |b| b.init = Duty::For(Duration::from_secs(5), failed(1)));
        check(&json!({ "trellis.dev/simulate-ready": "false" }), |b| b.ready = false);
        check(&json!({ "trellis.dev/simulate-stop-seconds": "never" }), |b| b.stop_after = None);
        check(&json!({ "trellis.dev/simulate-stop-seconds": " 7 " }), |b| b.stop_after = Some(Duration::from_secs(7)));
        check(&json!({ "trellis.dev/simulate-stop-exit-code": "143" }), |b| b.stop_exit_code = 143);
        // What cannot be read is not there.
        for text in ["soon", "-1", "inf", "NaN", ""] {
            check(
                &json!({ "trellis.dev/simulate-run-seconds": text, "trellis.dev/simulate-stop-seconds": text }),
                |_| (),
            );
        }
    }
}
