"""``assert_symmetric``, as a function and as pytest's fixture: it passes what holds, and names what is worst."""

import pytest

pytest.importorskip("gymnasium")

from tests.symmetry.worlds import Square

from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry import EnvSymmetry
from burnside.testing import assert_symmetric

pytest_plugins = ["pytester"]

NAMES = ["x", "y", "vx", "vy"]
MIRROR = EnvSymmetry("mirror", "-0,1,-2,3", "-0,1", names=NAMES)


class Tilted(Square):
    """A force of a thousandth along y, wherever x is positive."""

    def f(self, x, a):
        y = super().f(x, a)
        y[3] += 1e-3 * (x[0] > 0)
        return y


def access(symmetry):
    """The state of these worlds is x."""
    return symmetry.changed(get_state=lambda env: env.unwrapped.x.copy(), set_state=put)


def put(env, x):
    env.unwrapped.x = x.copy()


def test_what_holds_passes():
    assert assert_symmetric(Square(), access(MIRROR), samples=100).verdict == "holds"


def test_the_worst_coordinate_is_named():
    with pytest.raises(AssertionError, match=r"the worst coordinate is vy, which differs by 0\.001"):
        assert_symmetric(Tilted(), access(MIRROR), samples=100)


def test_eps_allows_a_difference():
    assert_symmetric(Tilted(), access(MIRROR), samples=100, eps=2e-3)
    with pytest.raises(AssertionError, match=r"allowed: 0.0005"):
        assert_symmetric(Tilted(), access(MIRROR), samples=100, eps=5e-4)


def test_what_cannot_be_decided_fails():
    with pytest.raises(AssertionError, match="could not be shown"):
        assert_symmetric(Square(), access(MIRROR), samples=100, max_failure_rate=1e-6)


def test_bad_options():
    with pytest.raises(InvalidParameter, match="eps"):
        assert_symmetric(Square(), access(MIRROR), eps=-1)
    with pytest.raises(UnknownName, match="colour"):
        assert_symmetric(Square(), access(MIRROR), components=["colour"])


def test_the_fixture(pytester, pytestconfig):
    # pytest loads it by itself where this version is installed; loading it twice is an error
    loaded = pytestconfig.pluginmanager.hasplugin("burnside")
    pytester.makepyfile(
        """
        from burnside.symmetry import EnvSymmetry

        def test_right(assert_symmetric):
            assert_symmetric("CartPole-v1", EnvSymmetry("mirror", "- - - -", "labels 1,0"), samples=60)

        def test_wrong(assert_symmetric):
            assert_symmetric("CartPole-v1", EnvSymmetry("mirror", "- - - -", "labels 0,1"), samples=60)
        """
    )
    result = pytester.runpytest_inprocess(
        *([] if loaded else ["-p", "burnside.testing.plugin"]), "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*AssertionError*the worst coordinate is observation*"])
