"""Unsound edits of helpers and constants, none of which carries a theorem: each makes a proof stale, or is banned.

`seen_by` names a test of behaviour that was seen to fail under the edit; where it is empty, none was tried or found.
The edits are applied to the source text in memory.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = "verified_dp.core."


@dataclass(frozen=True)
class Edit:
    """In the definition or constant `place` (`name` or `Class.name`) the text `old`, which is there once, is `new`."""

    place: str
    old: str
    new: str
    theorem: str
    banned: bool = False
    seen_by: str = ""


EDITS = [
    # two steps by an integral
    Edit("_by_half", "max(arb(0))) + arb(0).union(beyond))", "max(arb(0))))", "T227-two-steps"),
    Edit("_over_mirror", "+ plus_minus((p_true - p).abs_upper())", "", "T227-two-steps"),
    Edit("Ramp.place", "sqrt(analytic)", "sqrt()", "T227-two-steps"),
    Edit("_over_mirror", "+ p - ratio * q", "+ p", "T227-two-steps", seen_by="test_quadrature_agrees"),
    # sums over counts of outcomes
    Edit("HalvesValues.delta", "upper_end(total + lost + wrong)", "upper_end(total + wrong)", "T163-halves",
         seen_by="test_what_is_left_out_is_added_above_only"),
    Edit("HalvesValues._bound_rest", "reach.expm1()", "reach.expm1() * 0", "T163-halves",
         seen_by="test_eps_at_a_sum_of_losses_is_enclosed"),
    Edit("bound_missed", "rest, share, count - window.low", "rest, share, count", "T163-halves",
         seen_by="test_what_a_window_misses"),
    Edit("enclose_trinomial", "(gap * unit).expm1() + lost", "(gap * unit).expm1()", "T135-binomial-sums",
         seen_by="test_what_three_losses_leave_out"),
    Edit("HalvesWitness.evaluate", "gap + count * error", "gap", "T163-halves",
         seen_by="test_rounded_losses_of_many_steps"),
    Edit("enclose_event", "both * inner + p * term", "both * inner", "T135-binomial-sums",
         seen_by="test_events_of_three_outcomes"),
    # few steps by all of their outcomes
    Edit("FewStepsValues.delta", "upper_end(total + lost + wrong)", "upper_end(total + wrong)", "T231-few-steps",
         seen_by="test_short_lists_widen_both_ends"),
    Edit("FewStepsValues.delta", "lower_end(total - growth * lack)", "lower_end(total)", "T231-few-steps",
         seen_by="test_any_split_of_random_laws"),
    Edit("FewStepsValues.delta", "self.gap + 1", "0 * self.gap", "T231-few-steps",
         seen_by="test_rounded_losses_are_counted"),
    Edit("share", "int(fmpz.bin_uiui(total, n))", "1", "T231-few-steps", seen_by="test_each_way_to_share_is_made_once"),
    # sums of discrete Gaussians
    Edit("DiscreteGaussianLoss.merged", "(count - 1) *", "(count - 2) *", "T224-sums-of-discrete-gaussians",
         seen_by="test_ratios_of_sums"),
    Edit("enclose_merged", "* (1 + plus_minus(error))", "", "T224-sums-of-discrete-gaussians",
         seen_by="test_narrow_noise_is_enclosed"),
    # noisy votes
    Edit("_MOVES", "(-1, (-2,))", "(-1, (-1,))", "T233-noisy-votes", seen_by="test_votes_of_all_neighbours"),
    Edit("_total", "many * values[gap, move]", "values[gap, move]", "T233-noisy-votes",
         seen_by="test_votes_of_all_neighbours"),
    # balls: every bound goes through these
    Edit("normal_tail", "erfc() / 2", "erfc() / 6", "T15-gaussian", seen_by="test_normal_tail_keeps_relative_accuracy"),
    Edit("normal_density", "/ (2 * variance)).exp()", "/ variance).exp()", "T60-tails",
         seen_by="test_density_is_the_derivative_of_the_tail"),
    Edit("upper_end", "x.upper()", "x.mid()", "T03-chernoff", banned=True),
    Edit("lower_end", "x.lower()", "x.upper()", "T222-lattice-on-a-circle",
         seen_by="test_ball_contains_the_rational_at_any_precision"),
    Edit("plus_minus", "upper_end(radius)", "lower_end(radius)", "T08-shifted-line",
         seen_by="test_plus_minus_and_disc_hold_the_whole_disc"),
    Edit("largest", "upper_end(value)", "lower_end(value)", "T187-rays",
         seen_by="test_largest_and_smallest_bound_every_point"),
    Edit("least_upper", "upper_end(value)", "lower_end(value)", "T213-private-selection",
         seen_by="test_largest_and_smallest_bound_every_point"),
    Edit("smallest", "lower_end(value)", "upper_end(value)", "T187-rays",
         seen_by="test_largest_and_smallest_bound_every_point"),
    Edit("step_down", "arb(0).union(arb(1))", "arb(1)", "T60-tails", seen_by="test_wide_balls_hold_every_tail"),
    Edit("all_powers", "table[n - n // 2]", "table[n // 2]", "T222-lattice-on-a-circle",
         seen_by="test_all_frequencies_give_the_sum_of_the_aliases"),
    Edit("upper_dyadic", "upper_end(x)", "lower_end(x)", "T110-gdp-filter",
         seen_by="test_ball_contains_the_rational_at_any_precision"),
    Edit("ball", "fmpq(*value.as_integer_ratio())", "float(value)", "T15-gaussian", banned=True),
    # exact and dyadic numbers
    Edit("Dyadic._compare_finite", "self.sign * _sign(self.top", "_sign(self.top", "T13-epsilon-of-delta",
         seen_by="test_dyadics_compare_and_hash_as_fractions_do"),
    Edit("_scale_up", "-(-top // bottom)", "top // bottom", "T13-epsilon-of-delta",
         seen_by="test_decimals_are_the_nearest_on_their_side"),
    Edit("_scale_down", ".lower().floor()", ".upper().ceil()", "T13-epsilon-of-delta",
         seen_by="test_gigantic_and_moderate_exponents_round_alike"),
    Edit("_signed", "-_integer(digits) if", "_integer(digits) if", "T114-safe-rounding",
         seen_by="test_numbers_are_read_exactly"),
    Edit("_from_decimal", "power - len(decimals)", "power - len(decimals) + 1", "T114-safe-rounding",
         seen_by="test_numbers_are_read_exactly"),
    Edit("square_root", "root if root * root == number else SquareRoot(number)", "root", "T15-gaussian",
         seen_by="test_gaussians_on_one_sample_are_one_gaussian"),
    # mechanisms: what a step is
    Edit("mean_distance", "2 if relation is Relation.REPLACE", "1 if relation is Relation.REPLACE",
         "T23-pair-gaussian", seen_by="test_distance_of_means_follows_the_convention"),
    Edit("binomial_weights", "rest ** (trials - n)", "rest ** trials", "T53-with-replacement",
         seen_by="test_binomial_weights_are_those_of_repeated_draws"),
    Edit("Laplace.ratio", "self.sensitivity / self.scale", "self.scale / self.sensitivity", "T42-pair-shift",
         seen_by="test_laplace_ratio_is_sensitivity_over_scale"),
    Edit("Composition.merged", "counts.get(mechanism, 0) + count", "count", "T25-composition",
         seen_by="test_compose_flattens"),
    # pairs
    Edit("ORDERS", "Relation.ADD_OR_REMOVE: (\"remove\", \"add\")", "Relation.ADD_OR_REMOVE: (\"remove\",)",
         "T25-composition", seen_by="test_random_sensitivities_are_dominated"),
    Edit("Setting.mixtures", "-mean, weight", "mean, weight", "T22-pair-poisson-replace",
         seen_by="test_the_table_has_a_law_and_its_words_or_a_reason"),
    Edit("square", "number * number", "Fraction(float(number)**2)", "T73-sampled-composition", banned=True),
    # laws
    Edit("SWAPPED", '"remove": "add"', '"remove": "remove"', "T16-reversal",
         seen_by="test_the_swapped_order_exchanges_the_pair"),
    Edit("mirrored", "-mean, weight", "mean, weight", "T22-pair-poisson-replace",
         seen_by="test_values_of_other_libraries"),
    Edit("MixtureCurve._rows", "(2 * variance)", "variance", "T51-mixtures",
         seen_by="test_wide_balls_hold_every_value"),
    Edit("FiniteLoss.in_order", "(q, p) for", "(p, q) for", "T55-finite", seen_by="test_reversal_ties_the_two_orders"),
    Edit("OddsLoss.enclose_atoms", "(odds + 1 + self.others)", "(odds + self.others)", "T54-randomized-response",
         seen_by="test_reversal_ties_the_two_orders"),
    Edit("SampledLoss._odds", ".expm1()", ".exp()", "T60-tails", seen_by="test_tails_make_the_curve"),
    Edit("MixtureLines._growth", "reach) ** -power", "reach) ** power", "T08-shifted-line",
         seen_by="test_random_mixtures_keep_the_lemmas"),
    Edit("MixtureLines._spread", "max(above", "min(above", "T08-shifted-line",
         seen_by="test_random_mixtures_keep_the_lemmas"),
    Edit("DiscreteGaussianLoss._reaches", "self.sensitivity - 2 * outcome", "self.sensitivity + 2 * outcome",
         "T50-discrete-gaussian", seen_by="test_discrete_gaussian_by_its_masses"),
    Edit("_theta", "(2 * arb.pi())", "arb.pi()", "T63-discrete-gaussian-sums",
         seen_by="test_reversal_ties_the_two_orders"),
    Edit("_threshold", "arb(1) / 2", "arb(1)", "T14-single-step",
         seen_by="test_single_step_is_the_divergence_of_the_densities"),
    Edit("LaplaceMixtureLoss._enclose_end", "sign * mean", "mean", "T75-random-shifts",
         seen_by="test_the_curve_is_that_of_the_mixtures"),
    Edit("_sinc_beyond", "min(1 / x)", "min(1 / (2 * x))", "T62-sampled-laplace-beyond",
         seen_by="test_layers_of_flat_and_stepped_floors"),
    Edit("SampledLaplaceLoss._power", "tilt + 1 if", "tilt if", "T61-sampled-laplace",
         seen_by="test_transform_is_the_quadrature_over_the_outputs"),
    Edit("_UNKNOWN", "(arb(1), arb(0)), ", "", "T75-random-shifts",
         seen_by="test_a_cut_among_hundreds_of_outcomes_holds_every_curve"),
    Edit("GaussianLoss.enclose_moment", "(exponent + 1)", "(exponent - 1)", "T03-chernoff",
         seen_by="test_moments_and_transforms_belong_to_the_curve"),
    Edit("ComposedLoss.laws", "if self.mean_shift_squared else self.parts", "if not self.parts else self.parts",
         "T25-composition", seen_by="test_largest_loss_adds_up"),
    # the engines' helpers
    Edit("total_shift", "count * grid.shift", "grid.shift", "T222-lattice-on-a-circle",
         seen_by="test_the_grid_of_a_sum_is_shifted_once_for_every_step"),
    Edit("_merged", "old[0] + p, old[1] + q", "p, q", "T73-sampled-composition",
         seen_by="test_finite_releases_of_one_sample_exactly"),
    Edit("enclose_atoms_exactly", "(place / 2).exp()", "place.exp()", "T45-pieces",
         seen_by="test_tails_density_and_moments_of_a_composition"),
    # papers
    Edit("ANY_STEPS", '"0.56"', '"0.06"', "T99-berry-esseen", seen_by="test_a_setting_where_the_estimates_are_far_off"),
    Edit("bound_poles", "(1 + tilt) + far * far", "4 + far * far", "T141-certified-expansions",
         seen_by="test_cells_cover_what_is_left_out"),
    Edit("_moments_of_nodes", "spread * i", "spread * 0", "T94-tilted-moments",
         seen_by="test_error_of_coarse_rules_is_covered"),
]


def load(path: Path) -> ModuleType:
    """A program or test that belongs to no package, as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_for_edits", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


hashes = load(ROOT / "proofs" / "record_hashes.py")
banned: Callable[[str], list[str]] = load(ROOT / "tests" / "test_architecture.py").syntax_complaints
SOURCES, PACKAGES = hashes.code.sources_below(ROOT)
PACKAGE = hashes.code.package_of(SOURCES, PACKAGES)


def spans(module: str, place: str) -> list[tuple[int, int]]:
    """First and last line of every definition or constant of that name at the top of a module (of a class)."""
    body: list[ast.stmt] = PACKAGE.modules[module].tree.body
    *owners, _ = place.split(".")
    for owner in owners:
        body = [node for outer in body if getattr(outer, "name", "") == owner for node in getattr(outer, "body", [])]
    name = place.rpartition(".")[2]
    return [(node.lineno, node.end_lineno or node.lineno) for node in body if name in hashes.code.bound_by(node)]


def edited(edit: Edit) -> tuple[str, str]:
    """The module with the edit and its new source; that there is one such place is asserted."""
    rooms = [name for name in SOURCES if name.startswith((CORE, "verified_dp.papers."))]
    found = []
    for name in rooms:
        lines = SOURCES[name].splitlines(keepends=True)
        for first, last in spans(name, edit.place):
            inside = "".join(lines[first - 1 : last])
            if inside.count(edit.old) == 1:
                new = inside.replace(edit.old, edit.new)
                found.append((name, "".join([*lines[: first - 1], new, *lines[last:]])))
    assert len(found) == 1, f"{edit.place} with {edit.old!r} is in {[name for name, _ in found]}, not in one module"
    return found[0]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.place)
def test_edit_makes_a_proof_stale_or_is_banned(edit: Edit) -> None:
    module, source = edited(edit)
    package = hashes.code.package_of({**SOURCES, module: source}, PACKAGES)
    before, after = ({proved.name: proved.hash for proved in hashes.proved_in(one, edit.theorem)}
                     for one in (PACKAGE, package))
    assert before and before != after
    assert bool(banned(source)) is edit.banned


def test_tests_that_see_edits_are_there() -> None:
    files = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    named = {edit.seen_by for edit in EDITS if edit.seen_by}
    assert len(named) >= 15
    assert {name for name in named if not any(f"def {name}(" in text for text in files)} == set()
