"""``burnside solve``: solve a cube with a network, or the 2-cube with its exact table."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from burnside.cli.console import output, print_json, progress
from burnside.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from burnside._types import AnyArray
    from burnside.envs.cube import CubeSpec
    from burnside.search.puzzle import Heuristic
    from burnside.search.result import SearchResult

__all__ = ["Solve"]


@dataclass(frozen=True)
class Solve:
    """Solve a cube: one scrambled by turns, given by its stickers, or scrambled at random.

    The exit code is 0 if it is solved and 1 if it is not; then the best partial result is printed.
    """

    moves: Annotated[str | None, tyro.conf.Positional] = None
    """Turns that scramble the cube, such as "R U R' U'"."""
    n: int | None = None
    """Layers along an edge; default 3, or what the stickers make."""
    stickers: str | None = None
    """The cube to solve, as letters U F L D B R, face by face in that order."""
    scramble: int | None = None
    """Scramble at random with this many turns."""
    seed: int = 0
    """Seed of the random scramble."""
    slices: bool = False
    """Inner layers turn too."""
    network: Path | None = None
    """File of a value network; default the one that is shipped, and for --n 2 without one the exact table."""
    table: bool = False
    """For --n 2: the exact table as the heuristic, whatever networks there are."""
    method: Literal["astar", "beam", "greedy"] = "astar"
    """How to search."""
    weight: float = 0.6
    """A*: λ in f = λ·g + h."""
    batch: int = 1000
    """A*: states expanded in one step."""
    cap: int = 1_000_000
    """A*: children made before it gives up."""
    width: int = 1024
    """Beam: states kept in a layer."""
    depth: int = 40
    """Beam and greedy: moves after which they give up."""
    threads: int | None = None
    """Threads of the network; default those torch takes."""
    show: bool = False
    """Draw the cube before and after every move of the solution."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 0 if solved, 1 if not."""
        spec, state, made_by = self._cube()
        heuristic, canonical, name = self._heuristic(spec)
        with progress(f"searching by {self.method}"):
            found, how = self._search(spec, state, heuristic, canonical)
        if self.json:
            about = {"n": spec.n, "scramble": made_by, "method": self.method, "heuristic": name}
            print_json(found.to_dict() | about)
        else:
            self._print(spec, state, found, how, name, made_by)
        return 0 if found.solved else 1

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
        try:
            import torch
        except ImportError:
            raise MissingExtra("torch", "learn") from None
        from burnside.agents.cube_values import load_network
        from burnside.envs.cube import CubeSpec

        if self.threads is not None:
            if self.threads < 1:
                raise InvalidParameter(f"--threads must be at least 1, got {self.threads}")
            torch.set_num_threads(self.threads)
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

    def _search(self, spec: CubeSpec, state: AnyArray, heuristic: Any, canonical: Any) -> tuple[SearchResult, str]:
        """The result, and the method in words."""
        from burnside.search import AStarConfig, BeamConfig, CubePuzzle, astar, beam, greedy

        puzzle = CubePuzzle(spec)
        if self.method == "astar":
            settings = AStarConfig(weight=self.weight, batch=self.batch, cap=self.cap)
            found = astar(puzzle, state, heuristic, settings, canonical=canonical)
            return found, f"A* (weight {self.weight:g}, batch {self.batch}, cap {self.cap})"
        if self.method == "beam":
            wide = BeamConfig(width=self.width, depth=self.depth)
            return beam(puzzle, state, heuristic, wide, canonical=canonical)[0], f"beam search (width {self.width})"
        return greedy(puzzle, state, heuristic, depth=self.depth)[0], "greedy descent"

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


def _replay(spec: CubeSpec, state: AnyArray, moves: tuple[int, ...]) -> None:
    """Draw the cube before and after every move."""
    import sys

    from burnside.envs.cube.core import draw_ansi, move

    colour = sys.stdout.isatty()
    print(f"\n{draw_ansi(spec, state, colour)}")
    for action in moves:
        state = move(spec, state, action)
        print(f"\n{spec.names[action]}\n{draw_ansi(spec, state, colour)}")
