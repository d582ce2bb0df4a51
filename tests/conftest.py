"""Settings shared by all tests: quiet plots, explicit threads, Hypothesis profiles."""

import os

# Before anything imports numpy or numba, which read these once.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "2")
os.environ["MPLBACKEND"] = "Agg"

from hypothesis import settings  # noqa: E402

# Timing is no property of the code: the first call of a compiled function takes seconds, later ones nothing.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
