"""Declarations of many kinds, each with a way to draw observations and actions: what the property tests run over."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.symmetry import (
    EnvSymmetry,
    Frame,
    Image,
    Labels,
    MultiLabels,
    Rotation,
    Shift,
    SignedPermutation,
    Stack,
    Trivial,
)

Rng = np.random.Generator


@dataclass(frozen=True)
class Case:
    declaration: EnvSymmetry
    observe: Callable[[Rng], Any]
    choose: Callable[[Rng], Any]
    domains: tuple[Any, ...] = (None,)
    tolerance: float = 0.0


def vector(n: int, dtype: Any = np.float64) -> Callable[[Rng], Any]:
    return lambda rng: rng.normal(size=n).astype(dtype)


def small(n: int) -> Callable[[Rng], Any]:
    """Vectors with many ties: whole numbers from −1 to 1."""
    return lambda rng: rng.integers(-1, 2, size=n).astype(np.float64)


def label(n: int) -> Callable[[Rng], int]:
    return lambda rng: int(rng.integers(n))


def phases(rng: Rng) -> Any:
    return np.concatenate([rng.normal(size=2), rng.uniform(0, 1, size=1), rng.uniform(-np.pi, np.pi, size=1)])


def pose(rng: Rng) -> Any:
    q = rng.normal(size=4)
    q = q / np.linalg.norm(q)
    return np.concatenate([rng.normal(size=3), q if q[0] > 0 else -q, rng.normal(size=3)])


def room(rng: Rng) -> dict[str, Any]:
    picture = rng.integers(0, 3, size=(4, 4, 2)).astype(np.uint8)
    return {"image": picture, "place": rng.normal(size=2), "task": rng.integers(0, 5, size=3)}


ANT = SignedPermutation("0,2,1,-3")
GO2 = SignedPermutation.by_slices(8, swap=[((0, 2), (2, 4)), ((4, 6), (6, 8))], flip=[0, 2, 4, 6])

CASES: dict[str, Case] = {
    "cartpole": Case(
        EnvSymmetry("mirror", "- - - -", "labels 1,0", names=("x", "v", "angle", "turn")),
        small(4),
        label(2),
        (None, "angle", ["turn", 0], lambda x: x[..., 2] + 2 * x[..., 3]),
    ),
    "cartpole float32": Case(EnvSymmetry("C2", "- - - -", Labels([1, 0])), vector(4, np.float32), label(2), (2,)),
    "legs": Case(EnvSymmetry("mirror", ANT, "1,0"), small(4), vector(2), (None, 1, 3)),
    "klein": Case(
        EnvSymmetry("V4", ["-0,1,3,2", "0,-1,2,3"], ["labels 1,0,2", "labels 0,1,2"]), small(4), label(3), (None, 1, 2)
    ),
    "square": Case(
        EnvSymmetry("D4", Rotation((0, 1), odd=(2,)), ["labels 1,2,3,0", "labels 0,3,2,1"]),
        small(3),
        label(4),
        (None, 2),
    ),
    "hexagon": Case(
        EnvSymmetry("D6", Rotation((0, 1), (2, 3), angles=(4,)), Rotation((0, 1))),
        lambda rng: np.append(rng.normal(size=4), rng.uniform(-3, 3)),
        vector(2),
        (None, 2),
        1e-9,
    ),
    "cube": Case(EnvSymmetry("Oh", Rotation((0, 1, 2), axial=(3, 4, 5)), Rotation((0, 1, 2))), small(6), vector(3)),
    "three legs": Case(EnvSymmetry("S3", ["1,2,0", "1,0,2"], ["1,2,0", "1,0,2"]), small(3), vector(3), (None, 0)),
    "gait": Case(
        EnvSymmetry("mirror", Trivial(1) + SignedPermutation("-0") + Shift(0.5, 1.0, 0.0) + Shift(0.0, sign=-1), "-0"),
        phases,
        vector(1),
        (None, 1),
        1e-9,
    ),
    "flat history": Case(EnvSymmetry("mirror", SignedPermutation("-0,1") * 3, "-0"), small(6), vector(1), (None, 4)),
    "frame stack": Case(
        EnvSymmetry("mirror", Stack(GO2, 2), SignedPermutation("1,0")),
        lambda rng: rng.integers(-1, 2, size=(2, 8)).astype(float),
        vector(2),
    ),
    "image": Case(
        EnvSymmetry("D4", Image(channels="first"), ["labels 1,2,3,0", "labels 0,3,2,1"]),
        lambda rng: rng.integers(0, 2, size=(2, 3, 3)).astype(np.uint8),
        label(4),
    ),
    "flipped image": Case(
        EnvSymmetry("mirror", Image("flip_lr", permute="1,0"), "labels 1,0"),
        lambda rng: rng.integers(0, 2, size=(2, 5, 2)).astype(np.uint8),
        label(2),
    ),
    "dictionary": Case(
        EnvSymmetry("C4", {"image": Image(), "place": Rotation((0, 1)), "task": Trivial(3)}, Labels("1,2,3,0")),
        room,
        label(4),
        (None, "place", ("place", 1), ["image"]),
    ),
    "tuple": Case(
        EnvSymmetry("mirror", ("-0,1", "labels 2,1,0"), ("-0", MultiLabels([None, "1,0"]))),
        lambda rng: (rng.integers(-1, 2, size=2).astype(float), int(rng.integers(3))),
        lambda rng: (rng.normal(size=1), rng.integers(0, 2, size=2)),
    ),
    "labels": Case(EnvSymmetry("C4", "labels 1,2,3,0,4", "labels 1,2,3,0"), label(5), label(4)),
    "many labels": Case(
        EnvSymmetry("mirror", MultiLabels([None, "1,0", "1,0"], places="0,2,1"), "labels 1,0"),
        lambda rng: rng.integers(0, 2, size=3),
        label(2),
    ),
    "quaternion": Case(
        EnvSymmetry("C4", Rotation((0, 1, 2), quaternions=(3, 4, 5, 6), axial=(7, 8, 9)), Rotation((0, 1, 2))),
        pose,
        vector(3),
        (None,),
        1e-9,
    ),
    "SO(2)": Case(
        EnvSymmetry("SO(2)", Rotation((0, 2), (4, 5), odd=(3,), angles=(6,)), Rotation((0, 1))),
        lambda rng: np.concatenate([rng.normal(size=6), rng.uniform(-3, 3, size=1)]),
        vector(2),
        (Frame(direction=(4, 5)), Frame(angle=6)),
        1e-9,
    ),
    "O(2)": Case(
        EnvSymmetry("O(2)", Rotation((0, 2), (4, 5), (8, 9), odd=(3, 6, 7), angles=(10,)), Rotation(odd=(0, 1))),
        lambda rng: np.append(rng.normal(size=10), rng.uniform(-3, 3)),
        vector(2),
        (Frame(direction=(4, 5)), Frame(angle=10)),
        1e-9,
    ),
    "SO(3)": Case(
        EnvSymmetry("SO(3)", Rotation((0, 1, 2), (3, 4, 5), axial=(6, 7, 8)), Rotation((0, 1, 2))),
        vector(9),
        vector(3),
        (Frame(direction=(0, 1, 2), second=(3, 4, 5)),),
        1e-9,
    ),
    "SE(2)": Case(
        EnvSymmetry("SE(2)", Rotation((2, 3), points=((0, 1), (4, 5))) + Trivial(1), Rotation((0, 1)) + Trivial(1)),
        vector(7),
        vector(3),
        (Frame(position=(0, 1), direction=(2, 3)),),
        1e-9,
    ),
    "SE(3)": Case(
        EnvSymmetry(
            "SE(3)",
            {
                "hand": Rotation(points=(0, 1, 2), quaternions=(3, 4, 5, 6)),
                "cloud": Stack(Rotation(points=(0, 1, 2)), 4),
            },
            Rotation((0, 1, 2)),
        ),
        lambda rng: {"hand": pose(rng)[:7], "cloud": rng.normal(size=(4, 3))},
        vector(3),
        (Frame(position=(0, 1, 2), orientation=(3, 4, 5, 6), key="hand"),),
        1e-9,
    ),
}
