"""Outputs at images and shared weights inside compiled code; :mod:`burnside.nn.images` says what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray
from burnside.nn.images import AVERAGE, MIRROR, Images, Ties

__all__ = ["combine", "project", "pull", "spread"]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_AVERAGE, _MIRROR = AVERAGE, MIRROR


@njit(cache=True, nogil=True, error_model="numpy")
def combine(out: AnyArray, rows: int, size: int, images: Images, kept: AnyArray) -> None:
    """From the outputs at all images to one output for each of ``rows`` observations, in place.

    ``kept`` gets the outputs at the images, turned back, which :func:`spread` needs for the mirror loss.
    """
    count = images.count
    if count == 1:
        return
    share = _ONE / np.float32(count)
    for i in range(rows):
        for g in range(count):
            at = (i * count + g) * size
            for a in range(size):
                total = _ZERO
                for b in range(size):
                    total += images.turns[g, a, b] * out[at + b]
                kept[at + a] = total
        for a in range(size):
            total = kept[i * count * size + a]
            if images.mode == _AVERAGE:
                for g in range(1, count):
                    total += kept[(i * count + g) * size + a]
                total *= share
            out[i * size + a] = total


@njit(cache=True, nogil=True, error_model="numpy")
def spread(dout: AnyArray, rows: int, size: int, images: Images, kept: AnyArray, scale: Any) -> float:
    """From slopes of the outputs to slopes of the outputs at all images, in place; returns the mirror loss.

    ``scale`` is one over the rows of the update.
    """
    count = images.count
    if count == 1:
        return 0.0
    share, loss = _ONE / np.float32(count), 0.0
    pulls = np.float32(images.weight) * scale * share
    slope = np.empty(size, dtype=np.float32)
    mean = np.empty(size, dtype=np.float32)
    for back in range(rows):
        i = rows - 1 - back  # the last first: what is written lies behind what is read
        for a in range(size):
            slope[a] = dout[i * size + a]
            mean[a] = _ZERO
            for g in range(count):
                mean[a] += share * kept[(i * count + g) * size + a]
        for g in range(count):
            at = (i * count + g) * size
            for b in range(size):
                total = _ZERO
                for a in range(size):
                    if images.mode == _AVERAGE:
                        part = share * slope[a]
                    else:
                        apart = kept[at + a] - mean[a]
                        loss += (
                            0.5 * np.float64(share * scale) * np.float64(apart) * np.float64(apart) if b == 0 else 0.0
                        )
                        part = pulls * apart
                        if g == 0:
                            part += slope[a]
                    total += images.turns[g, a, b] * part
                dout[at + b] = total
    return loss


@njit(cache=True, nogil=True, error_model="numpy")
def project(values: AnyArray, ties: Ties, share: Any) -> None:
    """Pull tied parameters (or their gradients) together by a share; 1 makes them equal up to their sign."""
    if ties.orbit.size == 0:
        return
    sums = np.zeros(ties.size.size, dtype=np.float32)
    for i in range(values.size):
        sums[ties.orbit[i]] += ties.sign[i] * values[i]
    for i in range(values.size):
        to = ties.sign[i] * sums[ties.orbit[i]] / ties.size[ties.orbit[i]]
        values[i] = to if share >= 1.0 else values[i] + np.float32(share) * (to - values[i])


@njit(cache=True, nogil=True, error_model="numpy")
def pull(grad: AnyArray, ties: Ties) -> None:
    """What shared weights do to a gradient: nothing if the weights are only drawn to each other."""
    if ties.pull >= 1.0:
        project(grad, ties, _ONE)
