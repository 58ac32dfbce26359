//! How long decisions take on warm snapshots, single-threaded. Clusters and gangs are in `clusters.rs`.

mod clusters;

use clusters::{block_gang, cluster, rack_gang, request, wide_gang};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use trellis_engine::{Gang, Occupant, Options, Outcome, Place, Snapshot, explain_on, plan_on};

/// A snapshot that knows the kinds of the gangs, with nothing placed.
fn warm(nodes: usize, gangs: &[Gang]) -> Snapshot {
    let mut snapshot = Snapshot::new(Arc::new(cluster(nodes)));
    let plan = plan_on(&mut snapshot, gangs, Options::default());
    for (gang, decision) in gangs.iter().zip(&plan.decisions) {
        for (pod, place) in &decision.placed {
            snapshot.remove(*place, &gang.pods[*pod].request);
        }
    }
    snapshot
}

fn decisions(criterion: &mut Criterion) {
    let mut decide = |name: &str, nodes: usize, gangs: Vec<Gang>, placed: bool| {
        let mut snapshot = warm(nodes, &gangs);
        let plan = plan_on(&mut snapshot.clone(), &gangs, Options::default());
        let is_placed = |outcome: &Outcome| *outcome == Outcome::Placed;
        assert!(plan.decisions.iter().all(|decision| is_placed(&decision.outcome) == placed), "{name}");
        criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                let mut taken = std::time::Duration::ZERO;
                for _ in 0..rounds {
                    let begin = std::time::Instant::now();
                    let plan = black_box(plan_on(&mut snapshot, &gangs, Options::default()));
                    taken += begin.elapsed();
                    for (gang, decision) in gangs.iter().zip(&plan.decisions) {
                        for (pod, place) in &decision.placed {
                            snapshot.remove(*place, &gang.pods[*pod].request);
                        }
                    }
                }
                taken
            });
        });
    };
    for nodes in [1_000, 10_000, 100_000] {
        decide(&format!("rack gang of 16/{nodes} nodes"), nodes, vec![rack_gang("a", 16, 8)], true);
    }
    decide("block gang of 8 x (1 + 16)/10000 nodes", 10_000, vec![block_gang("b", 8)], true);
    let many = (0..280).map(|i| rack_gang(&format!("g{i:03}"), 16, 8)).collect();
    decide("280 gangs of 16/5040 nodes", 5_040, many, true);
    decide("1000 pods in 100 rack groups/1000 nodes", 1_000, vec![wide_gang("w", 100, 10)], true);
}

fn refusals(criterion: &mut Criterion) {
    let gangs: Vec<Gang> = (0..100).map(|i| rack_gang(&format!("g{i:03}"), 19 + i, 8)).collect();
    let snapshot = warm(5_040, &gangs);
    criterion.bench_function("100 gangs that cannot fit, proof and explanation/5040 nodes", |bencher| {
        bencher.iter_batched_ref(
            || snapshot.clone(),
            |snapshot| {
                let plan = plan_on(snapshot, &gangs, Options::default());
                black_box(explain_on(snapshot, &gangs, &plan, Options::default()))
            },
            BatchSize::LargeInput,
        );
    });
}

fn snapshots(criterion: &mut Criterion) {
    let mut full = cluster(100_000);
    let small = request(1, 1);
    full.occupants = (0..500_000)
        .map(|i| Occupant {
            namespace: "default".to_owned(),
            name: format!("p{i}"),
            node: i % 100_000,
            request: small.clone(),
        })
        .collect();
    let full = Arc::new(full);
    let mut group = criterion.benchmark_group("snapshot");
    group.sample_size(10);
    group.bench_function("100000 nodes, 500000 pods", |bencher| bencher.iter(|| Snapshot::new(full.clone())));
    group.finish();
    let mut snapshot = Snapshot::new(full);
    // Some kinds to keep counted.
    let gangs: Vec<Gang> = (1..4).map(|gpus| rack_gang(&format!("g{gpus}"), 200, gpus)).collect();
    plan_on(&mut snapshot, &gangs, Options::default());
    let mut node = 0;
    criterion.bench_function("one pod added and removed/100000 nodes", |bencher| {
        bencher.iter(|| {
            node = (node + 7919) % 100_000;
            let place = Place { node, zone: None };
            snapshot.add(place, &small);
            snapshot.remove(place, &small);
        });
    });
}

criterion_group!(benches, decisions, refusals, snapshots);
criterion_main!(benches);
