"""Figures of groups, quotients, bounds and learners, each computed in a few seconds at most."""

from __future__ import annotations

import math

import numpy as np

from burnside.report.claims.compute import Figures, computation

__all__: list[str] = []


# ---------------------------------------------------------------------- groups, quotients, values


@computation
def orbit_stabilizer() -> Figures:
    """Orbit size times stabilizer order, for every corner of the pentagon under D5."""
    from burnside.groups import Action, Group

    group = Group.dihedral(5)
    action = Action.natural(group)
    sizes = np.bincount(action.orbits())[action.orbits()]
    products = {int(sizes[i]) * action.stabilizer(i).order for i in range(5)}
    return {"order": group.order, "products": sorted(products)}


@computation
def ring_counts() -> Figures:
    """The ring game at N = 5: pairs under the rotations, with reflections, under all of its graph, and the coarsest."""
    from burnside.mdp import minimise, quotient, zoo

    ring = zoo.ring(5)
    figures: Figures = {"states": ring.n_states, "pairs": ring.n_pairs}
    for name in ("Z", "D", "graph"):
        symmetry = ring.symmetry(name)
        small = quotient(ring, symmetry).mdp
        figures |= {f"{name}_order": symmetry.order, f"{name}_states": small.n_states, f"{name}_pairs": small.n_pairs}
    coarsest = minimise(ring).mdp
    return figures | {"minimal_states": coarsest.n_states, "minimal_pairs": coarsest.n_pairs}


@computation
def growth_of_states() -> Figures:
    """States before and after quotienting: the ring game under rotations, bit strings under permutations."""
    from burnside.mdp import quotient, zoo

    sizes = [5, 7, 9, 11]
    rings = [zoo.ring_game(n) for n in sizes]
    counts = [ring.orbits(ring.symmetry()) for ring in rings]
    cube = zoo.hypercube(6)
    return {
        "sizes": sizes,
        "ring": [found.states for found in counts],
        "ring_quotient": [found.quotient_states for found in counts],
        "bits": cube.n_states,
        "bits_quotient": quotient(cube, cube.symmetry()).mdp.n_states,
    }


@computation
def figure_two() -> Figures:
    """Fig. 2 with rewards and probabilities of our own, and the same with duplicate actions."""
    from burnside.mdp import quotient, zoo

    drawn, double = zoo.fig2(), zoo.fig2(duplicates=True)
    small = quotient(drawn, drawn.symmetry()).mdp
    smaller = quotient(double, double.symmetry("Z2×Z2")).mdp
    return {
        "states": drawn.n_states,
        "actions": drawn.n_actions,
        "before": drawn.successors * drawn.n_pairs,
        "order": drawn.symmetry().order,
        "quotient_states": small.n_states,
        "quotient_pairs": small.n_pairs,
        "after": small.successors * small.n_pairs,
        "duplicates_order": double.symmetry("Z2×Z2").order,
        "duplicates_states": smaller.n_states,
        "duplicates_pairs": smaller.n_pairs,
        "duplicates_after": smaller.successors * smaller.n_pairs,
    }


@computation
def slippery_walk() -> Figures:
    """A walk on a ring of 12 whose state is the position alone: C over the size of the orbit, and |σ(Succ)|."""
    from burnside.mdp import Symmetry, TabularMDP, quotient

    n = 12
    walk = TabularMDP.from_step(range(n), lambda s: (-1, 1), lambda s, a: [(0.8, (s + a) % n, 0.0), (0.2, s, 0.0)], H=4)
    turn = Symmetry.from_actions(walk, ((np.arange(n) + 1) % n)[None], order=n)
    small = quotient(walk, turn).mdp
    return {"n": n, "C": walk.successors, "formula": walk.successors / n, "exact": small.successors}


@computation
def values() -> Figures:
    """V* of models against V* of their quotients, the value of lifted policies, and the equations of Def. 9."""
    from burnside.mdp import policy_return, quotient, solve, zoo

    gaps, lifts, sound = [], [], []
    for model in (zoo.ring(5), zoo.fig2(), zoo.grid(5), zoo.torus(3), zoo.hypercube(4), zoo.river()):
        small = quotient(model, model.symmetry())
        plan, best = solve(small.mdp), solve(model)
        gaps.append(float(np.abs(best.V - plan.V[:, small.sigma]).max()))
        lifts.append(abs(policy_return(model, small.lift(plan.policy)) - best.value))
        sound.append(small.hom.check(model, small.mdp).ok)
    return {
        "models": len(gaps),
        "values_agree": max(gaps) < 1e-9,
        "lifted_is_optimal": max(lifts) < 1e-9,
        "homomorphisms": sum(sound),
    }


@computation
def invariance() -> Figures:
    """App. A on the symmetric river: values, sets of optimal actions, and whether a policy can be equivariant."""
    from burnside.mdp import check_invariance, zoo

    model = zoo.river()
    found = check_invariance(model, model.symmetry())
    return {
        "values_invariant": found.value_gap < 1e-9,
        "q_invariant": found.q_gap < 1e-9,
        "sets_equivariant": found.argmax_equivariant,
        "a_policy_is_equivariant": found.deterministic_equivariant,
        "obstruction": str(found.obstruction),
    }


# ---------------------------------------------------------------------- bounds


@computation
def explicit_ratios() -> Figures:
    """Explicit bound of M over that of its quotient for rings of 5, 10, 20 and 50 cells (position, goal)."""
    from burnside.theory.bounds import Size, ucfh

    found = []
    for n, horizon in ((5, 8), (10, 10), (20, 14), (50, 28)):
        whole, small = (ucfh(Size(k * n, 4 * k * n, 2), horizon, 1.0, 0.1).episodes for k in (n, 1))
        found.append(round(whole / small))
    return {"sizes": [5, 10, 20, 50], "ratios": found}


@computation
def reward_range() -> Figures:
    """The explicit bound at (100, 400, 2, 10, 1, 0.1) for rewards of range 1 and of the ring's range."""
    from burnside.mdp import zoo
    from burnside.theory.bounds import Size, ucfh

    span = zoo.ring(5).reward_range
    unit, ring = (ucfh(Size(100, 400, 2), 10, 1.0, 0.1, width).episodes for width in (1.0, span))
    return {"ring_range": span, "at_range_1": unit, "at_range_11": ring}


@computation
def lower_bound() -> Figures:
    """Where the lower bound of Dann & Brunskill is proved, and a learner and an MDP below what Thm. 2 says."""
    from burnside.learning.ucfh import ucfh_literal
    from burnside.mdp import zoo
    from burnside.theory.bounds import Size, lower

    ring = zoo.slip_ring(5)
    run = ucfh_literal(ring, support="known", max_episodes=10**7)
    return {
        "largest_eps": (10 - 2) / (640 * math.exp(4)),
        "largest_delta": math.exp(-4) / 80,
        "proved_at_a_tenth": lower(Size(100, 400, 2), 10, 0.1, 0.1).valid,
        "proved_far_below": lower(Size(100, 400, 2), 10, 1e-4, 1e-5).valid,
        "at_three_states": lower(Size(3, 12, 2), 10, 1e-4, 1e-5).value,
        "states": ring.n_states,
        "pairs": ring.n_pairs,
        "episodes": run.episodes,
        "mistakes": run.mistakes(),
    }


@computation
def figure_three() -> Figures:
    """Where the leading term crosses 95 % for |S| = 10⁵ (|A| = 4, C = 2, δ = 0.05), and what |G| = |S| leaves."""
    from burnside.theory.bounds import Size, episodes_for_optimality, ucfh

    whole, single = Size(10**5, 4 * 10**5, 2), Size(1, 4, 2)
    at = [episodes_for_optimality(size, 0.95, 0.05) for size in (whole, single)]
    return {
        "unstructured": at[0],
        "symmetric": at[1],
        "orders": math.log10(at[0] / at[1]),
        "explicit_at_one_state": ucfh(single, 10, 0.5, 0.05).episodes,
    }


@computation
def lipschitz_constants() -> Figures:
    """L_V = L_r Σ L_p^i at H = 20, and the resolution α that the value and the policy need at ε = 0.1."""
    from burnside.theory import continuous

    horizon, eps = 20, 0.1
    at_one, at_two = (continuous.lipschitz_value(1.0, lp, horizon) for lp in (1.0, 2.0))
    return {
        "at_one": at_one,
        "at_two": at_two,
        "alpha_value": continuous.alpha(eps, horizon, at_one, "value"),
        "alpha_policy": continuous.alpha(eps, horizon, at_one, "policy"),
    }


# ---------------------------------------------------------------------- learners


@computation
def frozen_learner() -> Figures:
    """UCFH as published on two arms that differ by less than its ε₀, until no pair can be updated any more.

    The policy it ends with is played forever. Where it is the worse arm, every episode from then on is a mistake at
    any ε below the difference, in a share of runs larger than δ: the bound cannot hold for all ε at once.
    """
    from burnside.learning import UCFH, learn
    from burnside.mdp import TabularMDP

    eps, delta, half, seeds = 0.05, 0.1, 1e-7, 60

    def step(state: int, arm: int) -> list[tuple[float, int, float]]:
        if state:
            return [(1.0, state, float(state == 1))]
        win = 0.5 + (half if arm == 0 else -half)
        return [(win, 1, 0.0), (1.0 - win, 2, 0.0)]

    arms = TabularMDP.from_step(range(3), lambda s: (0, 1) if s == 0 else (0,), step, H=2, p0={0: 1.0})
    runs = [
        learn(
            arms,
            UCFH(bulk=True, grain=0.05),
            eps,
            delta,
            absolute=True,
            seed=seed,
            min_episodes=10**14,
            max_episodes=10**14,
        )
        for seed in range(seeds)
    ]
    wrong = [run for run in runs if run.gaps[-1] > half]
    return {
        "eps": eps,
        "delta": delta,
        "difference": 2 * half,
        "runs": seeds,
        "frozen": sum(run.settled for run in runs),
        "wrong_for_ever": len(wrong),
        "share": len(wrong) / seeds,
        "mistakes_at_eps": max(run.mistakes() for run in runs),
    }


@computation
def confidence_sets() -> Figures:
    """How often UCFH's interval for one probability holds it, exactly (binomial sums), at its worst over p and n."""
    from scipy.stats import binom

    from burnside.learning.ucfh import confidence_interval

    delta1 = 0.1
    worst = 1.0
    sizes = (2, 3, 5, 10, 30, 100, 300)
    for n in sizes:
        ends = np.array([confidence_interval(k / n, n, delta1) for k in range(n + 1)])
        probabilities = np.unique(np.concatenate([np.linspace(0, 1, 201), ends.ravel() + 1e-9, ends.ravel() - 1e-9]))
        for p in probabilities[(probabilities >= 0) & (probabilities <= 1)]:
            outside = (ends[:, 0] > p) | (ends[:, 1] < p)
            worst = min(worst, 1.0 - float(binom.pmf(np.flatnonzero(outside), n, p).sum()))
    return {"delta1": delta1, "sizes": list(sizes), "worst": worst}


@computation
def literal_ucfh() -> Figures:
    """UCFH with the published constants on slippery rings and their quotients, three seeds, sampled in bulk."""
    from burnside.learning import UCFH, compare
    from burnside.learning.ucfh import ucfh_constants
    from burnside.mdp import quotient, zoo

    figures: Figures = {}
    for n in (5, 10):
        ring = zoo.slip_ring(n)
        small = quotient(ring, ring.symmetry())
        found = compare(ring, None, "ucfh-literal", seeds=3)
        eps = found.on_m[0].eps
        sizes = [ucfh_constants(model, UCFH(), eps, 0.1) for model in (ring, small.mdp)]
        on_m, on_quotient = (float(np.mean([r.mistakes() for r in runs])) for runs in (found.on_m, found.on_quotient))
        figures |= {
            f"mistakes_{n}": on_m,
            f"bound_{n}": sizes[0].bound.episodes,
            f"ratio_{n}": on_m / on_quotient,
            f"law_{n}": small.reduction.pair_factor * sizes[0].first / sizes[1].first,
        }
    return figures


# ---------------------------------------------------------------------- the cube


@computation
def cube_counts() -> Figures:
    """Orders of the groups, layers of the 3-, 4-, 5- and 6-cube, and the paper's way of lifting rotations."""
    from burnside.envs.cube import CubeSpec
    from burnside.envs.cube.geometry import matrices, paper_rotations, symmetry_table
    from burnside.envs.cube.tables import layers

    raw = layers(CubeSpec(3), 3).raw
    ours = {row.tobytes() for row in symmetry_table(5)[:24]}
    return {
        "rotations": int(sum(round(float(np.linalg.det(m))) == 1 for m in matrices())),
        "with_mirrors": len(matrices()),
        "raw": list(raw),
        "same_layers": sum(layers(CubeSpec(n), 3).raw == raw for n in (4, 5, 6)),
        "lifted": len(ours & {row.tobytes() for row in paper_rotations(5)}),
        "moves": CubeSpec(3).n_moves,
        "slice_moves": CubeSpec(4, turns="slices").n_moves,
        "stickers": [CubeSpec(n).n_stickers for n in (2, 3, 4, 5, 6)],
        "inputs": [CubeSpec(n).n_inputs for n in (2, 3, 4, 5, 6)],
        "hash": 6**13,
        "most_stickers_in_int64": max(k for k in range(1, 64) if 6**k <= 2**63 - 1),
    }


@computation
def cube_position() -> Figures:
    """What the paper's canonical form merges within three turns, and what rotating with recolouring merges."""
    from burnside.envs.cube import CubeSpec
    from burnside.envs.cube.tables import layers

    found: Figures = {}
    for name, n, symmetry in (("three", 3, "position"), ("recoloured", 3, "conjugation"), ("two", 2, "position")):
        counted = layers(CubeSpec(n), 3, symmetry)
        found |= {f"{name}_raw": list(counted.raw), f"{name}_merged": list(counted.canonical or ())}
    return found


@computation
def table_two_errors() -> Figures:
    """Table 2: which '±' exceeds the largest standard error that ten percentages with that mean can have.

    A percentage is at most 100, so with mean m the standard error is largest if one seed has all of the shortfall; it
    is then 100 − m, whatever the number of seeds.
    """
    from burnside.experiments.cube.config import PAPER

    cells = {key: value for key, value in PAPER.items() if value[0] < 100}
    beyond = {key: value for key, value in cells.items() if value[1] > 100 - value[0] + 1e-9}
    return {
        "cells": len(cells),
        "impossible": len(beyond),
        "sizes": sorted({n for n, _ in beyond}),
        "means": [mean for mean, _ in beyond.values()],
        "errors": [error for _, error in beyond.values()],
    }
