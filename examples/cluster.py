"""A sweep that loses nothing: stop it, run it again, and it resumes; here, with Ray, or with Slurm.

    python examples/cluster.py                     on this machine
    python examples/cluster.py ray                 a Ray cluster (RAY_ADDRESS, or one of its own here)
    python examples/cluster.py slurm               one job per cell

The folder is the same everywhere: begin on a laptop, end on a cluster. `burnside sweep` is the same as a command.
"""

import sys

from burnside.experiments.registry import EXPERIMENTS
from burnside.runs import sweep

ENGINE = sys.argv[1] if len(sys.argv) > 1 else "local"

if __name__ == "__main__":  # workers are processes of their own
    experiment = EXPERIMENTS["ring1d"]
    outcome = sweep(experiment, "smoke", "runs/example", engine=ENGINE, workers=0 if ENGINE == "local" else 2)
    print(f"{len(outcome.done)} cells done, {len(outcome.skipped)} finished before, {len(outcome.failed)} failed")
    for row in experiment.table("runs/example", False):
        print(f"N = {row['n']}, {row['arm']}: solved {row['solved']:.0%} of {row['seeds']} seeds")
