#[path = "../benches/clusters.rs"]
mod clusters;
use clusters::*;
use std::sync::Arc;
use std::time::Instant;
use trellis_engine::*;
fn show(name: &str, snapshot: &Snapshot, gangs: &[Gang]) {
    let mut times = Vec::new();
    let mut warm = snapshot.clone();
    plan_on(&mut warm, gangs, Options::default());
    for (i, d) in plan_on(&mut snapshot.clone(), gangs, Options::default()).decisions.iter().enumerate() {
        if i < 3 { let p: std::collections::BTreeSet<_> = d.placed.iter().map(|(_, p)| p.node).collect();
        println!("  {} {} placed {} nodes {} steps {}", gangs[i].id.name, match &d.outcome { Outcome::Placed => "Placed".into(), Outcome::Undecided => "Undecided".into(), Outcome::CannotFit(c) => format!("{c:?}").chars().take(100).collect::<String>() }, d.placed.len(), p.len(), d.steps); }
    }
    for _ in 0..20 {
        let mut s = snapshot.clone();
        let t = Instant::now();
        plan_on(&mut s, gangs, Options::default());
        times.push(t.elapsed());
        drop(s);
    }
    times.sort();
    println!("{name}: median {:?} min {:?}", times[10], times[0]);
}
fn warm(snapshot: &mut Snapshot, gang: &Gang) { let mut s = snapshot.clone(); plan_on(&mut s, std::slice::from_ref(gang), Options::default()); 
    // keep kinds counted
    let mut g = gang.clone(); g.unready=None; let big = { let mut g = gang.clone(); for p in &mut g.pods { p.bound=None; } g };
    let n = big.pods.len(); let _ = n; let mut t = snapshot.clone(); let plan = plan_on(&mut t, std::slice::from_ref(&big), Options::default());
    for (p, place) in &plan.decisions[0].placed { t.remove(*place, &big.pods[*p].request); } *snapshot = t; }
fn main() {
    for n in [1000, 10_000, 100_000] {
        let t = Instant::now();
        let c = Arc::new(cluster(n));
        println!("cluster {:?}", t.elapsed());
        let t = Instant::now();
        let mut s = Snapshot::new(c);
        println!("snapshot {n} {:?}", t.elapsed());
        let g = rack_gang("a", 16, 8);
        warm(&mut s, &g);
        show(&format!("rack16 {n}"), &s, &[g]);
    }
    let mut s = Snapshot::new(Arc::new(cluster(10_000)));
    let g = block_gang("b", 8);
    warm(&mut s, &g);
    show("block 10k", &s, &[g]);
    let s = Snapshot::new(Arc::new(cluster(5_040)));
    let gs: Vec<Gang> = (0..280).map(|i| rack_gang(&format!("g{i:03}"), 16, 8)).collect();
    show("fill 5040", &s, &gs);
    let s = Snapshot::new(Arc::new(cluster(5_040)));
    let gs: Vec<Gang> = (0..100).map(|i| rack_gang(&format!("g{i:03}"), 19 + i, 8)).collect();
    show("impossible", &s, &gs);
    let s = Snapshot::new(Arc::new(cluster(1_000)));
    show("wide 1000", &s, &[wide_gang("w", 100, 10)]);
}
