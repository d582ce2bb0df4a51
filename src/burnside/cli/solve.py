"""``burnside solve``: solve cubes with a policy or a value network, or the 2-cube with its exact table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from burnside.agents.cube_walks.config import shipped_policy
from burnside.cli.console import output, print_json, progress
from burnside.envs.cube.placements import placements
from burnside.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from burnside._types import AnyArray
    from burnside.agents.cube_walks import CubePolicy
    from burnside.envs.cube import CubeSpec
    from burnside.search import AStarConfig, BeamConfig
    from burnside.search.puzzle import Heuristic
    from burnside.search.result import SearchResult

__all__ = ["Solve"]


@dataclass(frozen=True)
class Solve:
    """Solve a cube: one scrambled by turns, given by its stickers, or scrambled at random; or many of the latter.

    The exit code is 0 if all are solved and 1 if not; of a single one the best partial result is then printed.
    """

    moves: Annotated[str | None, tyro.conf.Positional] = None
    """Turns that scramble the cube, such as "R U R' U'"."""
    n: int | None = None
    """Layers along an edge; default 3, or what the stickers make."""
    stickers: str | None = None
    """The cube to solve, as letters U F L D B R, face by face in that order."""
    scramble: int | None = None
    """Scramble at random with this many turns."""
    count: int | None = None
    """Solve this many random scrambles and print how many were solved, their mean length and the processor time."""
    seed: int = 0
    """Seed of the random scrambles."""
    slices: bool = False
    """Inner layers turn too."""
    network: Path | None = None
    """File of a policy or of a value network; default the shipped one, for --n 2 without one the exact table."""
    table: bool = False
    """For --n 2: the exact table as the heuristic, whatever networks there are."""
    method: Literal["policy", "astar", "beam", "greedy"] | None = None
    """policy: a beam over what a policy proposes; the others need a value network. Default: policy if there is one."""
    effort: int = 0
    """Policy: each more doubles the width and the time, for shorter solutions. A policy that can tell
    a cube from its inverse solves both from 1 on; the shipped one cannot."""
    weight: float = 0.6
    """A*: λ in f = λ·g + h."""
    batch: int = 1000
    """A*: states expanded in one step."""
    cap: int = 1_000_000
    """A*: children made before it gives up."""
    width: int = 1024
    """Policy and beam: states kept in a layer."""
    depth: int | None = None
    """Policy, beam and greedy: moves after which they give up; default 60 for a policy (250 with --slices), else 40."""
    endgame: int | None = None
    """Policy: the last turns are looked up in a table of this depth; default 7 with 12 turns (8 takes 2 s and
    70 MB), 6 for the 4-cube with --slices."""
    threads: int = 1
    """Threads of the network. More help only on cores that nothing else uses."""
    show: bool = False
    """Draw the cube before and after every move of the solution."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 0 if solved, 1 if not."""
        if self.count is not None:
            return self._many(self.count)
        spec, state, made_by = self._cube()
        method, search, name = self._searcher(spec)
        with progress(f"searching by {method}"):
            found, how = search(state)
        if self.json:
            about = {"n": spec.n, "scramble": made_by, "method": method, "heuristic": name}
            print_json(found.to_dict() | about)
        else:
            self._print(spec, state, found, how, name, made_by)
        return 0 if found.solved else 1

    def _many(self, count: int) -> int:
        """Solve random cubes, replay every solution, and say how it went; 0 if all are solved."""
        import time

        import numpy as np

        from burnside.envs.cube import apply_moves, scramble
        from burnside.envs.cube.core import is_solved

        if count < 1 or self.scramble is None or self.show:
            raise InvalidParameter("--count needs --scramble NUMBER and at least 1 cube, and draws none of them")
        began = time.process_time()
        spec, _, _ = self._cube()
        method, search, name = self._searcher(spec)
        lengths, failed = [], []
        with progress(f"solving {count} cubes by {method}") as update:
            for k in range(count):
                (state,), (turns,) = scramble(spec, self.seed, np.array(self.scramble), k)
                found, how = search(state)
                if found.solved and bool(is_solved(spec, apply_moves(spec, state, list(found.moves)))):
                    lengths.append(len(found.moves))
                else:
                    failed.append(spec.format(turns))
                note = f"{len(lengths)} solved" + (f", {np.mean(lengths):.1f} turns on average" if lengths else "")
                update(k + 1, count, note)
        seconds = time.process_time() - began
        mean = float(np.mean(lengths)) if lengths else None
        about: dict[str, Any] = {
            "cubes": count,
            "solved": len(lengths),
            "mean_length": mean,
            "cpu_seconds": seconds,
            "mean_cpu_seconds": seconds / count,
            "shortest": min(lengths, default=None),
            "longest": max(lengths, default=None),
            "n": spec.n,
            "seed": self.seed,
            "method": how,
            "heuristic": name,
            "failed": failed,
        }
        if self.json:
            print_json(about)
        else:
            console = output()
            console.print(f"solved: {len(lengths)} of {count} cubes, each solution replayed", soft_wrap=True)
            if lengths:
                low, high = about["shortest"], about["longest"]
                console.print(f"length: {mean:.2f} quarter turns on average, {low} to {high}", soft_wrap=True)
            console.print(f"processor time: {seconds / count:.3f} s per cube, {seconds:.1f} s in all", soft_wrap=True)
            console.print(f"found by: {how} with the heuristic: {name}", soft_wrap=True)
            for each in failed[:5]:
                console.print(f"not solved: {each}", soft_wrap=True)
        return 0 if len(lengths) == count else 1

    def _searcher(self, spec: CubeSpec) -> tuple[str, Callable[[AnyArray], tuple[SearchResult, str]], str]:
        """The method, the search itself, and what the network is called."""
        from burnside.search import AStarConfig, BeamConfig
        from burnside.search.endgame import usual_depth
        from burnside.search.solver import SolverConfig, solve_cube

        # what is wrong is said whatever the method is
        first = AStarConfig(weight=self.weight, batch=self.batch, cap=self.cap)
        second = BeamConfig(width=self.width, depth=40 if self.depth is None else self.depth)
        settings = SolverConfig(self.width, self.effort, depth=self.depth, table=self.endgame)
        policy = self._policy(spec)
        if policy is None:
            heuristic, canonical, name = self._heuristic(spec)
            method = self.method or "astar"
            return method, lambda state: _search(spec, state, method, heuristic, canonical, first, second), name
        network, name = policy
        table = usual_depth(network.world) if self.endgame is None else self.endgame
        how = f"policy beam (width {settings.width << settings.effort}, endgame table of depth {table})"
        return "policy", lambda state: (solve_cube(network, state, settings), how), name

    def _policy(self, spec: CubeSpec) -> tuple[CubePolicy, str] | None:
        """The policy that is to be used, if any, and its name."""
        shipped = shipped_policy(spec)
        given = self.network is not None and _holds_policy(self.network)
        if (
            self.method not in (None, "policy")
            or self.table
            or not (given or (self.network is None and shipped.is_file()))
        ):
            if self.method == "policy":
                raise InvalidParameter(
                    f"{self.network} holds no policy: leave --method away"
                    if self.network is not None
                    else f"no policy is shipped for this cube (n={spec.n}): train one and give its file with --network"
                )
            if given:
                raise InvalidParameter(f"{self.network} holds a policy, which only --method policy can use")
            return None
        torch = _torch()
        from burnside.agents.cube_walks import load_policy

        torch.set_num_threads(self._threads())
        with as_file(shipped) if self.network is None else nullcontext(self.network) as path:
            policy = load_policy(path)
        ours = placements(spec).spec
        if (policy.spec.n, policy.spec.turns) != (ours.n, ours.turns):
            raise InvalidParameter(
                f"the network {Path(path).name} was trained for n={policy.spec.n} with {policy.spec.turns} turns, "
                f"not for n={spec.n} with {spec.turns} turns"
            )
        name = f"shipped {shipped.name}" if self.network is None else self.network.name
        return policy, f"{name}, arm {policy.arm}"

    def _threads(self) -> int:
        if self.threads < 1:
            raise InvalidParameter(f"--threads must be at least 1, got {self.threads}")
        return self.threads

    def _cube(self) -> tuple[CubeSpec, AnyArray, str | None]:
        """The cube, its state, and the turns that made it if they are known."""
        import numpy as np

        from burnside.envs.cube import CubeSpec, apply_moves, scramble, solved
        from burnside.envs.cube.pieces import parse_stickers

        given = [x is not None for x in (self.moves, self.stickers, self.scramble)]
        if sum(given) != 1:
            raise InvalidParameter(
                "give one cube: turns such as \"R U R' U'\", or --stickers LETTERS, or --scramble NUMBER"
            )
        n = self.n
        if n is None:
            n = 3 if self.stickers is None else round((len("".join(self.stickers.split())) / 6) ** 0.5)
        spec = CubeSpec(max(n, 2) if self.n is None else n, turns="slices" if self.slices else "outer")
        if self.stickers is not None:
            return spec, parse_stickers(self.stickers, spec), None
        if self.scramble is not None:
            states, turns = scramble(spec, [self.seed], np.array([self.scramble]))
            return spec, states[0], spec.format(turns[0])
        actions = spec.parse(self.moves or "")
        return spec, apply_moves(spec, solved(spec), actions), spec.format(actions)

    def _heuristic(self, spec: CubeSpec) -> tuple[Heuristic, Any, str]:
        """The heuristic, the canonical form it comes with, and what it is called."""
        # With outer turns a larger cube is the 3-cube with more stickers: its network serves them all.
        size = spec.n if spec.slices else min(spec.n, 3)
        shipped = files("burnside") / "data" / f"cube{size}.safetensors"
        if self.table and (spec.n != 2 or self.network is not None):
            raise InvalidParameter("there is an exact table for n=2 only, and it takes the place of a network")
        if self.table or (self.network is None and (spec.slices or not shipped.is_file())):
            if spec.n == 2:
                from burnside.envs.cube.tables import two_values

                return two_values, None, "exact table"
            raise InvalidParameter(
                f"no network is shipped for n={spec.n}{' with slice turns' if spec.slices else ''}: "
                "train one and give its file with --network"
            )
        torch = _torch()
        from burnside.agents.cube_values import load_network
        from burnside.envs.cube import CubeSpec

        torch.set_num_threads(self._threads())
        if self.network is not None:
            value = load_network(self.network, spec)
            name = self.network.name
        else:
            with as_file(shipped) as path:
                value = load_network(path, CubeSpec(size))
            name = f"shipped {shipped.name}"
            if size != spec.n:
                small = value.value_fn
                return lambda states: small(states[..., spec.essential]), None, f"{name}, arm {value.arm}"
        return value.value_fn, value.canonicalizer, f"{name}, arm {value.arm}"

    def _print(
        self, spec: CubeSpec, state: AnyArray, found: SearchResult, how: str, name: str, made_by: str | None
    ) -> None:
        console = output()

        def line(text: str) -> None:
            console.print(text, soft_wrap=True)

        if self.scramble is not None:
            line(f"scramble: {made_by}")
        if found.solved:
            line(f"solution: {found.text or 'it is solved'}")
            line(f"length: {found.length} quarter turns")
        else:
            line(f"not solved: {found.reason}")
        if found.partial is not None:
            way = found.partial.text or "no turn"
            line(
                f"best partial result: {way} ({len(found.partial.moves)} quarter turns), "
                f"after which an estimated {found.partial.heuristic:.1f} are left"
            )
        line(
            f"found by: {how} with the heuristic: {name}"
            if found.solved
            else f"tried: {how} with the heuristic: {name}"
        )
        share = 100 * (1 - found.outside_network)
        line(f"work: {found.generated} nodes in {found.seconds_total:.2f} s, {share:.0f} % of it in the heuristic")
        if self.show:
            _replay(spec, state, found.moves if found.solved else found.partial.moves if found.partial else ())


def _search(
    spec: CubeSpec,
    state: AnyArray,
    method: str,
    heuristic: Any,
    canonical: Any,
    first: AStarConfig,
    second: BeamConfig,
) -> tuple[SearchResult, str]:
    """The result with a value network, and the method in words."""
    from burnside.search import CubePuzzle, astar, beam, greedy

    puzzle = CubePuzzle(spec)
    if method == "astar":
        found = astar(puzzle, state, heuristic, first, canonical=canonical)
        return found, f"A* (weight {first.weight:g}, batch {first.batch}, cap {first.cap})"
    if method == "beam":
        return beam(puzzle, state, heuristic, second, canonical=canonical)[0], f"beam search (width {second.width})"
    return greedy(puzzle, state, heuristic, depth=second.depth)[0], "greedy descent"


def _holds_policy(path: Path) -> bool:
    """Whether a file holds a policy; whatever else is wrong with it is found when it is loaded."""
    _torch()
    from burnside.nn.tensors import open_tensors

    return open_tensors(path).about.get("format", "").startswith("burnside-cube-walks")


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "learn") from None
    return torch


def _replay(spec: CubeSpec, state: AnyArray, moves: tuple[int, ...]) -> None:
    """Draw the cube before and after every move."""
    import sys

    from burnside.envs.cube.core import draw_ansi, move

    colour = sys.stdout.isatty()
    print(f"\n{draw_ansi(spec, state, colour)}")
    for action in moves:
        state = move(spec, state, action)
        print(f"\n{spec.names[action]}\n{draw_ansi(spec, state, colour)}")
