"""The figures of the ledger, computed again: each function takes less than two seconds and returns plain numbers.

A claim names its function in ``check`` and the figures it rests on in ``figures``. What needs an extra that is not
installed, or results that are not there (an installed wheel has none), is skipped and said so.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from burnside.errors import MissingExtra, UnknownName, UnreadableFile
from burnside.report.claims.ledger import Claim

__all__ = ["CHECKS", "Finding", "recompute"]

Figures = dict[str, Any]
CHECKS: dict[str, Callable[[], Figures]] = {}


def _check(function: Callable[[], Figures]) -> Callable[[], Figures]:
    """Register a function under its name; what it finds is kept, for the claims that share it."""
    CHECKS[function.__name__] = cache(function)
    return function


@dataclass(frozen=True)
class Finding:
    """What came of computing the figures of a claim again.

    Attributes:
        claim: its id.
        status: ``agrees``, ``differs``, ``skipped`` (something is not installed) or ``unchecked`` (takes too long).
        message: which figure differs and how, or why it was skipped.
    """

    claim: str
    status: Literal["agrees", "differs", "skipped", "unchecked"]
    message: str = ""


def recompute(claim: Claim) -> Finding:
    """Compute the figures of a claim again and compare.

    >>> from burnside.report.claims import load
    >>> recompute(next(c for c in load() if c.id == "fig2-64-to-8")).status
    'agrees'
    """
    if not claim.check:
        return Finding(claim.id, "unchecked")
    if claim.check not in CHECKS:
        raise UnknownName(f"check of the claim {claim.id}", claim.check, CHECKS)
    try:
        found = CHECKS[claim.check]()
    except (MissingExtra, UnreadableFile) as reason:
        return Finding(claim.id, "skipped", str(reason))
    except ImportError as reason:
        return Finding(claim.id, "skipped", f"{reason.name or 'a package'} is not installed")
    differences = [
        f"{key} is {found.get(key)!r} where the ledger has {value!r}"
        for key, value in claim.figures.items()
        if not _agree(found.get(key), value, claim.tolerance)
    ]
    return Finding(claim.id, "differs", "; ".join(differences)) if differences else Finding(claim.id, "agrees")


def _agree(found: Any, value: Any, tolerance: float) -> bool:
    if isinstance(value, (bool, str)) or found is None:
        return bool(found == value)
    if isinstance(value, list):
        return len(found) == len(value) and all(_agree(f, v, tolerance) for f, v in zip(found, value, strict=True))
    return math.isclose(found, value, rel_tol=tolerance, abs_tol=tolerance)


# ---------------------------------------------------------------------- groups, quotients, values


@_check
def orbit_stabilizer() -> Figures:
    """Orbit size times stabilizer order, for every state of the ring under D5."""
    from burnside.groups import Action, Group

    group = Group.dihedral(5)
    action = Action.natural(group)
    sizes = np.bincount(action.orbits())[action.orbits()]
    products = {int(sizes[i]) * action.stabilizer(i).order for i in range(5)}
    return {"order": group.order, "products": sorted(products)}


@_check
def ring_counts() -> Figures:
    """The ring game at N = 5 under the groups of the audit."""
    from burnside.mdp import minimise, quotient, zoo

    ring = zoo.ring(5)
    figures: Figures = {"states": ring.n_states, "pairs": ring.n_pairs}
    for name in ("Z", "D", "graph"):
        small = quotient(ring, ring.symmetry(name)).mdp
        figures |= {f"{name}_states": small.n_states, f"{name}_pairs": small.n_pairs, f"{name}_C": small.successors}
    coarsest = minimise(ring).mdp
    return figures | {"minimal_states": coarsest.n_states, "minimal_pairs": coarsest.n_pairs, "C": ring.successors}


@_check
def figure_two() -> Figures:
    """Fig. 2 as drawn, and with duplicate actions."""
    from burnside.mdp import discover, quotient, zoo

    drawn, double = zoo.fig2(), zoo.fig2(duplicates=True)
    small = quotient(drawn, drawn.symmetry()).mdp
    smaller = quotient(double, double.symmetry("Z2×Z2")).mdp
    return {
        "before": drawn.successors * drawn.n_pairs,
        "states": drawn.n_states,
        "actions": drawn.n_actions,
        "quotient_states": small.n_states,
        "quotient_pairs": small.n_pairs,
        "after": small.successors * small.n_pairs,
        "all_symmetries": discover(drawn).order,
        "with_duplicates": smaller.successors * smaller.n_pairs,
    }


@_check
def rotated_bandit() -> Figures:
    """|S̄|·|Ā| against the true number of pair orbits, for 8 and 16 arms."""
    from burnside.mdp import zoo
    from burnside.theory import audit

    figures: Figures = {}
    for arms in (8, 16):
        found = audit(zoo.bandit(arms))
        orbits_of_arms = arms / found.to_dict()["factors"]["paper_parts"]["actions"]
        figures |= {f"pairs_{arms}": found.quotient_size.pairs, "product": found.quotient_size.states * orbits_of_arms}
    return figures


@_check
def slippery_walk() -> Figures:
    """A walk on a ring of 12 whose state is the position: C over the orbit size, and |σ(Succ)|."""
    from burnside.mdp import Symmetry, TabularMDP, quotient

    n = 12
    walk = TabularMDP.from_step(range(n), lambda s: (-1, 1), lambda s, a: [(0.8, (s + a) % n, 0.0), (0.2, s, 0.0)], H=4)
    turn = Symmetry.from_actions(walk, ((np.arange(n) + 1) % n)[None], order=n)
    small = quotient(walk, turn).mdp
    return {"C": walk.successors, "paper": walk.successors / n, "exact": small.successors, "states": small.n_states}


@_check
def fixed_goal() -> Figures:
    """The slippery ring whose goal is fixed in p₀: joint factor and reachable factor."""
    from burnside.mdp import zoo
    from burnside.theory import audit

    found = audit(zoo.slip_ring(10, goal="fixed"))
    return {"joint": found.joint, "reachable": found.reachable_factor}


@_check
def values() -> Figures:
    """Largest gap between V* of a model and of its quotient, and of lifted values, over six models."""
    from burnside.mdp import policy_return, quotient, solve, zoo

    gaps, lifts = [], []
    for model in (zoo.ring(5), zoo.fig2(), zoo.grid(5), zoo.torus(3), zoo.hypercube(4), zoo.river()):
        small = quotient(model, model.symmetry())
        plan, best = solve(small.mdp), solve(model)
        gaps.append(float(np.abs(best.V - plan.V[:, small.sigma]).max()))
        lifts.append(abs(policy_return(model, small.lift(plan.policy)) - best.value))
    return {"models": len(gaps), "agree": max(gaps) < 1e-9, "lifted": max(lifts) < 1e-9}


@_check
def river() -> Figures:
    """App. A on the symmetric river: values, argmax sets, and a deterministic equivariant policy."""
    from burnside.mdp import check_invariance, zoo

    model = zoo.river()
    found = check_invariance(model, model.symmetry())
    return {
        "values": found.value_gap < 1e-9,
        "q": found.q_gap < 1e-9,
        "sets": found.argmax_equivariant,
        "deterministic": found.deterministic_equivariant,
        "obstruction": str(found.obstruction),
    }


@_check
def large_rings() -> Figures:
    """The ring game with about 10⁵ states, and the 3D game at N = 5 and 20, from their orbit structure."""
    from burnside.mdp import zoo

    line = zoo.ring_game(11)
    found = line.orbits(line.symmetry())
    cube, large = zoo.ring_game(5, d=3), zoo.ring_game(20, d=3)
    solid, larger = cube.orbits(cube.symmetry()), large.orbits(large.symmetry())
    return {
        "states_11": line.n_states,
        "factor_11": found.pairs // found.quotient_pairs,
        "free_3d": solid.free and larger.free,
        "factor_5": solid.pairs // solid.quotient_pairs,
        "moves_3d": cube.n_pairs // cube.n_states,
        "factor_20": larger.pairs // larger.quotient_pairs,
    }


# ---------------------------------------------------------------------- bounds


@_check
def bounds() -> Figures:
    """UCFH's constants at (S, pairs, C, H, ε, δ) = (100, 400, 2, 10, 1, 0.1), and the formulas on a free ring."""
    from burnside.theory.bounds import Size, corollary1, leading, lemma1, theorem1, ucfh

    size, at = Size(100, 400, 2), (10, 1.0, 0.1)
    explicit = ucfh(size, *at)
    small = Size(10, 40, 2)
    formulas = [
        lemma1(small, *at),
        theorem1(100, 4, 2, *at, g_s=10, g_a=1, g_c=1),
        corollary1(100, 4, 2, *at, order=10),
    ]
    return {
        "w_min": explicit.w_min,
        "m": explicit.m,
        "episodes": explicit.episodes,
        "formulas_agree": bool(np.allclose(formulas, leading(small, *at))),
        "formula_factor": leading(size, *at) / leading(small, *at),
    }


@_check
def explicit_ratios() -> Figures:
    """Explicit bound of M over that of M̄ for rings of 5, 10, 20 and 50 cells (position, goal)."""
    from burnside.theory.bounds import Size, ucfh

    found = []
    for n, horizon in ((5, 8), (10, 10), (20, 14), (50, 28)):
        whole, small = (ucfh(Size(k * n, 4 * k * n, 2), horizon, 1.0, 0.1).episodes for k in (n, 1))
        found.append(round(whole / small))
    return {"ratios": found}


@_check
def lower_bound() -> Figures:
    """The range of ε and δ in which the lower bound is proved, at H = 10, and where it is zero."""
    from burnside.theory.bounds import Size, lower

    return {
        "valid_at_tenth": lower(Size(100, 400, 2), 10, 0.1, 0.1).valid,
        "valid_far_below": lower(Size(100, 400, 2), 10, 1e-4, 1e-5).valid,
        "largest_eps": 8 / (640 * math.exp(4)),
        "largest_delta": math.exp(-4) / 80,
        "at_three_states": lower(Size(3, 12, 2), 10, 1e-4, 1e-5).value,
    }


@_check
def figure_three() -> Figures:
    """Where the leading term crosses 95 % for |S| = 10⁵, and what is left at |G| = |S|."""
    from burnside.theory.bounds import Size, episodes_for_optimality, ucfh

    whole, single = Size(10**5, 4 * 10**5, 2), Size(1, 4, 2)
    at = [episodes_for_optimality(size, 0.95, 0.05) for size in (whole, single)]
    return {
        "unstructured": at[0],
        "symmetric": at[1],
        "orders": math.log10(at[0] / at[1]),
        "explicit_at_one_state": ucfh(single, 10, 0.5, 0.05).episodes,
    }


@_check
def circle_pair() -> Figures:
    """A circle turned together with its actions: the product formula of Thm. 3 against the joint count at α = 0.1."""
    from burnside.theory import continuous, covering

    joint = covering.circle_pair(0.1).lower
    return {
        "joint": joint,
        "corrected_over_stated": continuous.theorem3(1, 1, 10, 1.0, 0.05, pairs=joint).corrected
        / continuous.theorem3(1, 1, 10, 1.0, 0.05, pairs=joint).as_stated,
        "l_v_at_1": continuous.lipschitz_value(1.0, 1.0, 20),
        "l_v_at_2": continuous.lipschitz_value(1.0, 2.0, 20),
    }


# ---------------------------------------------------------------------- committed results


def _committed(experiment: str, file: str = "") -> Path:
    from burnside.runs import committed

    if not file:
        folder = committed(experiment)
        if folder is None:
            raise UnreadableFile(f"there are no committed results of {experiment} here")
        return folder
    for top in (Path("results"), Path(__file__).resolve().parents[4] / "results"):
        if (top / experiment / file).is_file():
            return top / experiment / file
    raise UnreadableFile(f"there are no committed results of {experiment} here")


@_check
def measured_mistakes() -> Figures:
    """Ratios of ``results/mistakes`` and how far each prediction is off, as a geometric mean."""
    with _committed("mistakes", "mistakes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def off(column: str) -> float:
        logs = [abs(math.log(float(r[column]) / float(r["ratio"]))) for r in rows if r[column]]
        return round(math.exp(sum(logs) / len(logs)), 2)

    by_model = {r["model"]: round(float(r["ratio"]), 2) for r in rows}
    return {
        "models": len(rows),
        "ring_5": by_model["slip-ring(n=5) / Z"],
        "ring_10": by_model["slip-ring(n=10) / Z"],
        "ring_15": by_model["slip-ring(n=15) / Z"],
        "ring_20": by_model["slip-ring(n=20) / Z"],
        "fixed_goal": by_model["slip-ring(n=10, goal=fixed) / Z"],
        "hypercube_6": by_model["hypercube(d=6)"],
        "off_reachable": off("joint reachable"),
        "off_order": off("order"),
        "off_paper": off("paper"),
    }


@_check
def circles() -> Figures:
    """Expected return in the 3D game of a policy that runs in a circle of two to five cells."""
    from burnside.experiments.ring3d.analysis import circling

    return {f"cells_{k}": round(circling(k), 2) for k in (2, 3, 4, 5)}


# ---------------------------------------------------------------------- the cube and arithmetic


@_check
def cube_counts() -> Figures:
    """Orders of the groups, layers of the 3-, 4- and 5-cube, and what each canonical form merges, to depth 3."""
    from burnside.envs.cube import CubeSpec, layers
    from burnside.envs.cube.geometry import matrices, paper_rotations, symmetry_table

    position = layers(CubeSpec(3), 3, "position")
    recoloured = layers(CubeSpec(3), 3, "conjugation")
    two = layers(CubeSpec(2), 3, "position")
    assert position.canonical is not None and recoloured.canonical is not None and two.canonical is not None
    ours = {row.tobytes() for row in symmetry_table(5)[:24]}
    return {
        "rotations": int(sum(round(float(np.linalg.det(m))) == 1 for m in matrices())),
        "with_mirrors": len(matrices()),
        "raw": list(position.raw),
        "position": list(position.canonical),
        "recoloured": list(recoloured.canonical),
        "two_raw": list(two.raw),
        "two_position": list(two.canonical),
        "same_layers_4_5": all(layers(CubeSpec(n), 3).raw == position.raw for n in (4, 5)),
        "lifted": len(ours & {row.tobytes() for row in paper_rotations(5)}),
        "moves": CubeSpec(3).n_moves,
        "stickers_3": CubeSpec(3).n_stickers,
        "inputs_3": CubeSpec(3).n_inputs,
        "hash": 6**13,
        "hash_fits": 6**13 < 2**63,
    }


@_check
def robot_arithmetic() -> Figures:
    """Minibatch times gradient accumulation."""
    return {"batch": 16 * 128}


@_check
def setup_rings() -> Figures:
    """Defaults of the ring environments and of DQN and PPO against App. C."""
    from burnside.agents.dqn import DQNConfig
    from burnside.envs.ring import RingSpec
    from burnside.experiments.ring1d.config import PRESETS

    line, solid, dqn = RingSpec(10), RingSpec(5, d=3), DQNConfig.preset("ring1d")
    return {
        "p_mine": line.p_mine,
        "end_reward_1d": line.end_reward,
        "end_reward_3d": solid.end_reward,
        "limit_1d_over_n": line.time_limit // line.n,
        "limit_3d": solid.time_limit,
        "moves_1d": line.n_actions,
        "moves_3d": solid.n_actions,
        "hidden": list(dqn.hidden),
        "episodes": PRESETS["paper"].episodes,
        "seeds": PRESETS["paper"].seeds,
        "sizes": list(PRESETS["paper"].sizes),
    }
