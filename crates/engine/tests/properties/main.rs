//! Properties of the engine on random problems, against answers found by trying everything and by an integer program.
//!
//! `TRELLIS_CASES=<factor>` multiplies the number of cases, `TRELLIS_SEED=<number>` moves them. A failing case is
//! printed with its seed and as small as it could be made; its seed then goes into the list of regressions here, which
//! are tried first.

mod changes;
mod families;
mod harness;
mod mutants;
mod oracles;
mod proofs;
mod several;
mod single;

use trellis_testkit::placement::generate;

/// Seeds that failed once.
const SMALL_REGRESSIONS: &[u64] =
    &[1911, 11_690, 12_941, 13_917, 25_071, 39_061, 77_783, 78_220, 78_536, 83_808, 88_332];
const MEDIUM_REGRESSIONS: &[u64] = &[160, 312];
const SEVERAL_REGRESSIONS: &[u64] = &[0, 12, 556, 597, 835, 855, 1028, 7678, 10_098];
const PROOF_REGRESSIONS: &[u64] = &[5029];
const LIKED_REGRESSIONS: &[u64] = &[];
const FAMILY_REGRESSIONS: &[u64] = &[2401, 3116, 32_534];
const HELD_REGRESSIONS: &[u64] = &[];
const MEDIUM_HELD_REGRESSIONS: &[u64] = &[86];
const SEVERAL_HELD_REGRESSIONS: &[u64] = &[103, 855];

#[test]
fn small_problems_are_decided_as_by_exhaustive_search() {
    harness::check(generate::small, 40_000, SMALL_REGRESSIONS, |problem, _| single::judge_by_exhaustion(problem));
}

#[test]
fn medium_problems_are_decided_as_by_an_integer_program() {
    harness::check(generate::medium, 500, MEDIUM_REGRESSIONS, |problem, _| single::judge_by_program(problem));
}

#[test]
fn small_problems_with_wishes_are_decided_as_by_exhaustive_search() {
    harness::check(generate::liked, 10_000, LIKED_REGRESSIONS, |problem, _| single::judge_by_exhaustion(problem));
}

#[test]
fn medium_problems_with_wishes_are_decided_as_by_an_integer_program() {
    harness::check(generate::medium_liked, 60, &[], |problem, _| single::judge_by_program(problem));
}

#[test]
fn several_gangs_are_taken_in_order_and_none_waits_that_fits() {
    harness::check(generate::several, 10_000, SEVERAL_REGRESSIONS, |problem, _| several::judge(problem));
}

#[test]
fn a_base_goes_where_what_is_scaled_from_it_fits() {
    harness::check(generate::family, 4_000, FAMILY_REGRESSIONS, |problem, _| families::judge(problem));
}

#[test]
fn members_that_come_back_are_decided_as_by_exhaustive_search() {
    harness::check(generate::held, 20_000, HELD_REGRESSIONS, |problem, _| single::judge_by_exhaustion(problem));
}

#[test]
fn members_that_come_back_are_decided_as_by_an_integer_program() {
    harness::check(generate::medium_held, 200, MEDIUM_HELD_REGRESSIONS, |problem, _| single::judge_by_program(problem));
}

#[test]
fn what_is_held_is_kept_for_those_who_come_back() {
    harness::check(generate::several_held, 10_000, SEVERAL_HELD_REGRESSIONS, |problem, _| several::judge(problem));
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    harness::check(generate::several_held, 2_000, SEVERAL_HELD_REGRESSIONS, several::judge_shuffled);
    harness::check(generate::several, 2_000, SEVERAL_REGRESSIONS, several::judge_shuffled);
    harness::check(generate::small, 2_000, SMALL_REGRESSIONS, several::judge_shuffled);
    harness::check(generate::family, 1_000, FAMILY_REGRESSIONS, several::judge_shuffled);
    harness::check(generate::liked, 1_000, LIKED_REGRESSIONS, several::judge_shuffled);
}

#[test]
fn mutated_proofs_are_refused() {
    proofs::check_mutants(generate::small, 1_000, PROOF_REGRESSIONS);
    proofs::check_mutants(generate::held, 500, HELD_REGRESSIONS);
}

#[test]
fn what_fits_cannot_be_proved_not_to() {
    proofs::check_transplants(generate::small, 5_000, PROOF_REGRESSIONS);
    proofs::check_transplants(generate::held, 2_500, HELD_REGRESSIONS);
}

#[test]
fn generated_problems_keep_the_promises_of_the_types() {
    oracles::check_invariants(2_000);
}

#[test]
fn the_oracles_agree() {
    harness::check(generate::small, 400, SMALL_REGRESSIONS, |problem, _| oracles::judge_agreement(problem));
    harness::check(generate::held, 400, HELD_REGRESSIONS, |problem, _| oracles::judge_agreement(problem));
    harness::check(generate::liked, 200, LIKED_REGRESSIONS, |problem, _| oracles::judge_agreement(problem));
}

#[test]
fn changes_that_are_named_help() {
    harness::check(generate::small, 3_000, SMALL_REGRESSIONS, |problem, _| changes::judge(problem));
    harness::check(generate::several, 1_500, SEVERAL_REGRESSIONS, |problem, _| changes::judge(problem));
    harness::check(generate::held, 1_500, HELD_REGRESSIONS, |problem, _| changes::judge(problem));
    harness::check(generate::several_held, 1_500, SEVERAL_HELD_REGRESSIONS, |problem, _| changes::judge(problem));
}
