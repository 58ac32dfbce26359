//! Two who want the same lease. Expiry is judged by the machine's clock, which does not move here, so a lease changes hands when its
//! holder gives it up, or when the holder is dead for long, as the first one is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use kube_lease_manager::{LeaseManager, LeaseManagerBuilder};
use tokio::sync::watch;
use trellis_cluster::store::Change;

use crate::{NAMESPACE, eventually, truth};

const NAME: &str = "gauges";
/// Longer than any test lasts by the machine's clock.
const DURATION: u64 = 3_600;
/// Renewals come this long before the end: every second.
const GRACE: u64 = 3_599;
/// How long one holds it at a time, and leaves it to others.
const HELD: Duration = Duration::from_secs(3);
/// How long one waits before looking again.
const LOOK: Duration = Duration::from_millis(700);

/// Those who contend.
pub struct Holders {
    stop: watch::Sender<bool>,
    tasks: Vec<tokio::task::JoinHandle<usize>>,
}

/// Lets two clients contend for a lease that a dead one left behind.
pub async fn contend(clean: &Client, clients: [Client; 2]) -> Holders {
    let long_ago = MicroTime(Timestamp::now() - SignedDuration::from_hours(2));
    let spec = LeaseSpec {
        holder_identity: Some("dead".to_owned()),
        acquire_time: Some(long_ago.clone()),
        renew_time: Some(long_ago),
        lease_duration_seconds: Some(15),
        ..LeaseSpec::default()
    };
    let lease =
        Lease { metadata: ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() }, spec: Some(spec) };
    let leases = Api::<Lease>::namespaced(clean.clone(), NAMESPACE);
    leases.create(&PostParams::default(), &lease).await.expect("a lease");
    let stop = watch::Sender::new(false);
    let leaders = Arc::new(AtomicUsize::new(0));
    let [left, right] = clients;
    let mut tasks = vec![tokio::spawn(hold(left, "left", leaders.clone(), stop.subscribe()))];
    // Two who break the same dead one's lease may take it from each other: that is the holders' fault, not the API's.
    eventually("the first one takes the dead one's lease", async || {
        let lease = leases.get(NAME).await.expect("the lease");
        lease.spec.and_then(|spec| spec.holder_identity).as_deref() == Some("left")
    })
    .await;
    tasks.push(tokio::spawn(hold(right, "right", leaders, stop.subscribe())));
    Holders { stop, tasks }
}

impl Holders {
    /// Ends both.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            let times = task.await.expect("a holder");
            assert!(times > 1, "one never held the lease again");
        }
    }
}

/// Takes the lease, holds it for a while, gives it up, and so on; returns how often.
async fn hold(
    client: Client,
    identity: &'static str,
    leaders: Arc<AtomicUsize>,
    mut stop: watch::Receiver<bool>,
) -> usize {
    let mut times = 0;
    while !*stop.borrow() {
        let Ok(manager) = manager(&client, identity).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (mut leads, task) = manager.watch().await;
        let led = tokio::time::timeout(LOOK, leads.wait_for(|leads| *leads)).await;
        if !matches!(led, Ok(Ok(_))) {
            drop(led);
            // A holder looks again only when the lease is over by the machine's clock, so it is made anew to look sooner.
            task.abort();
            continue;
        }
        drop(led);
        times += 1;
        assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0, "{identity} is not the only one");
        tokio::select! {
            () = tokio::time::sleep(HELD) => {}
            _ = leads.wait_for(|leads| !*leads) => panic!("{identity} lost the lease"),
            _ = stop.changed() => {}
        }
        leaders.fetch_sub(1, Ordering::SeqCst);
        // Nobody listens any more, so the lease is given up; if that fails, it is still ours and the next round takes it up again.
        drop(leads);
        let _ = task.await;
        tokio::time::sleep(HELD).await;
    }
    times
}

async fn manager(client: &Client, identity: &str) -> kube_lease_manager::Result<LeaseManager> {
    let builder = LeaseManagerBuilder::new(client.clone(), NAME).with_namespace(NAMESPACE).with_identity(identity);
    builder.with_duration(DURATION).with_grace(GRACE).with_field_manager(identity).build().await
}

/// The lease never went from one to another before the first had given it up or was out of time.
pub fn check(changes: &[Arc<Change>]) {
    let (mut handovers, mut renewals) = (0, 0);
    let mut last: Option<Lease> = None;
    for change in changes {
        let lease: Lease = serde_json::from_value(truth::after(change)).expect("a lease");
        let holder = |lease: &Lease| lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
        if let Some(before) = &last {
            match (holder(before), holder(&lease)) {
                (Some(one), Some(other)) if one != other => panic!("{one} had it still when {other} took it"),
                (Some(_), Some(_)) => renewals += 1,
                (None, Some(_)) => handovers += 1,
                (Some(one), None) if one == "dead" => assert!(is_over(before)),
                _ => {}
            }
        }
        last = Some(lease);
    }
    println!("the lease was taken {handovers} times and renewed {renewals} times");
    assert!(handovers > 4 && renewals > 10);
}

/// Whether the holder was out of time.
fn is_over(lease: &Lease) -> bool {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = i64::from(spec.lease_duration_seconds.unwrap_or_default());
    spec.renew_time.is_none_or(|renewed| renewed.0 + SignedDuration::from_secs(seconds) < Timestamp::now())
}
