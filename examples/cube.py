"""A random Rubik's cube, solved by the network that is shipped: 6 224 weights, tied over 96 symmetries."""

import sys
from importlib.resources import as_file, files

from burnside.envs.cube import CubeSpec, scramble
from burnside.search import SolverConfig, solve_cube

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 7

spec = CubeSpec(3)
(state,), (turns,) = scramble(spec, seeds=SEED, lengths=100)
print("scramble:", spec.format(turns))
with as_file(files("burnside") / "data" / "cube3-policy.safetensors") as policy:
    found = solve_cube(policy, state, SolverConfig(width=256))
print("solution:", found.text, f"({found.length} quarter turns)" if found.solved else "(not solved)")
