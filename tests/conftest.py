"""Settings shared by all tests: quiet plots, explicit threads, Hypothesis profiles."""

import os
import signal
import sys
from collections.abc import Iterator

# Before anything imports numpy or numba, which read these once.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "2")
os.environ["MPLBACKEND"] = "Agg"
# A shell starts what runs in the background deaf to Ctrl-C, and so would be the programs whose Ctrl-C is tested.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# Timing is not a property of the code: the first call of a compiled function takes seconds, later ones nothing.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def threads_of_torch() -> Iterator[None]:
    """Commands set the threads of torch for their process, which is ours here.

    Left as it was by ``burnside solve``, two threads per test process waited for one another on two cores: tests
    elsewhere took 17 seconds instead of 0.3.
    """
    yield
    torch, wanted = sys.modules.get("torch"), int(os.environ["OMP_NUM_THREADS"])
    if torch is not None and torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)
