"""Operational-space control of the arm in compiled code: the torques robosuite's controller computes, without its cost.

robosuite runs its controller 25 times per control step in Python, which takes three quarters of the time of a step.
:func:`torques` computes the same law (Khatib 1987, position and orientation decoupled, a posture in the null space)
from the arrays MuJoCo keeps anyway. Two shortcuts change rounding only: positive definite matrices are factorised
instead of inverted, and ``Nᵀ M y`` is evaluated as ``M y − Jᵀ Λ J y``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from burnside._compiled import njit
from burnside._types import FloatArray, IntArray

__all__ = ["STIFFNESS", "Arm", "torques"]

STIFFNESS = 150.0
"""Gain on pose errors; the damping is critical."""

_POSTURE = 10.0  # gain of the null-space posture
_SMALL = 1e-10  # a pivot below this times the largest is a singular arm


@njit(cache=True)
def _solve(a: FloatArray, b: FloatArray, n: int) -> bool:
    """Solve a x = b in place for a positive definite a (n × n, destroyed), b with any number of columns."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, a[i, i])
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
        if a[j, j] <= _SMALL * largest:
            return False
        root = np.sqrt(a[j, j])
        for i in range(j, n):
            a[i, j] /= root
    for c in range(b.shape[1]):
        for i in range(n):
            total = b[i, c]
            for k in range(i):
                total -= a[i, k] * b[k, c]
            b[i, c] = total / a[i, i]
        for i in range(n - 1, -1, -1):
            total = b[i, c]
            for k in range(i + 1, n):
                total -= a[k, i] * b[k, c]
            b[i, c] = total / a[i, i]
    return True


@njit(cache=True)
def _product(j: FloatArray, k: FloatArray, low: int, high: int) -> FloatArray:
    """Rows low…high of J times the same columns of K = M⁻¹ Jᵀ."""
    n = high - low
    out = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            total = 0.0
            for i in range(j.shape[1]):
                total += j[low + a, i] * k[i, low + b]
            out[a, b] = total
    return out


@njit(cache=True)
def _apply(lam: FloatArray, vector: FloatArray) -> FloatArray:
    """lam⁻¹ vector; by the pseudo-inverse where the arm is singular, as robosuite does."""
    n = lam.shape[0]
    copy = lam.copy()
    column = np.empty((n, 1))
    for i in range(n):
        column[i, 0] = vector[i]
    if _solve(copy, column, n):
        return column[:, 0].copy()
    return np.linalg.pinv(lam) @ vector


class Arm(NamedTuple):
    """What the controller reads of a model and its state: views into MuJoCo's memory, which follow the state.

    Attributes:
        position: Where the grip site is.
        rotation: Its rotation matrix as nine numbers, row by row.
        jacp: Jacobian of its position (3 × nv).
        jacr: Jacobian of its rotation (3 × nv).
        packed_mass: MuJoCo's ``qM``.
        mass_address: MuJoCo's ``dof_Madr``.
        parent: MuJoCo's ``dof_parentid``.
        qpos: Positions; the first seven are the arm's angles.
        qvel: Velocities.
        bias: MuJoCo's ``qfrc_bias``, which compensates gravity.
        limits: Lowest and highest torque per actuator.
        control: What the actuators are told; the first seven are written.
    """

    position: FloatArray
    rotation: FloatArray
    jacp: FloatArray
    jacr: FloatArray
    packed_mass: FloatArray
    mass_address: IntArray
    parent: IntArray
    qpos: FloatArray
    qvel: FloatArray
    bias: FloatArray
    limits: FloatArray
    control: FloatArray


@njit(cache=True)
def torques(goal: FloatArray, goal_rotation: FloatArray, posture: FloatArray, arm: Arm) -> None:
    """Write the torques of the seven arm joints into ``arm.control[:7]``. They are the first joints of the model.

    The same as robosuite's own controller, against which a test holds it.

    Args:
        goal: position the grip site should reach.
        goal_rotation: its rotation matrix (3 × 3).
        posture: joint angles to which the null space pulls.
        arm: the arm as it is.
    """
    n = 7
    site_position, site_rotation, jacp, jacr = arm.position, arm.rotation, arm.jacp, arm.jacr
    packed_mass, mass_address, parent = arm.packed_mass, arm.mass_address, arm.parent
    qpos, qvel, bias, limits, out = arm.qpos, arm.qvel, arm.bias, arm.limits, arm.control
    damping = 2.0 * np.sqrt(STIFFNESS)
    mass = np.zeros((n, n))
    for i in range(n):
        address, k = mass_address[i], i
        while k >= 0:
            mass[i, k] = packed_mass[address]
            mass[k, i] = mass[i, k]
            address += 1
            k = parent[k]
    jacobian = np.empty((6, n))
    for r in range(3):
        for i in range(n):
            jacobian[r, i] = jacp[r, i]
            jacobian[r + 3, i] = jacr[r, i]
    wanted = np.zeros(6)
    for r in range(3):
        speed = 0.0
        spin = 0.0
        for i in range(qvel.shape[0]):
            speed += jacp[r, i] * qvel[i]
            spin += jacr[r, i] * qvel[i]
        wanted[r] = STIFFNESS * (goal[r] - site_position[r]) - damping * speed
        wanted[r + 3] = -damping * spin
    for c in range(3):
        a0, a1, a2 = site_rotation[c], site_rotation[3 + c], site_rotation[6 + c]
        b0, b1, b2 = goal_rotation[0, c], goal_rotation[1, c], goal_rotation[2, c]
        wanted[3] += 0.5 * STIFFNESS * (a1 * b2 - a2 * b1)
        wanted[4] += 0.5 * STIFFNESS * (a2 * b0 - a0 * b2)
        wanted[5] += 0.5 * STIFFNESS * (a0 * b1 - a1 * b0)
    pull = np.empty(n)
    for i in range(n):
        pull[i] = _POSTURE * (posture[i] - qpos[i]) - 2.0 * np.sqrt(_POSTURE) * qvel[i]
    spread = np.empty((n, 6))  # M⁻¹ Jᵀ
    for i in range(n):
        for r in range(6):
            spread[i, r] = jacobian[r, i]
    _solve(mass.copy(), spread, n)
    force = np.empty(6)
    force[:3] = _apply(_product(jacobian, spread, 0, 3), wanted[:3])
    force[3:] = _apply(_product(jacobian, spread, 3, 6), wanted[3:])
    moved = np.zeros(6)  # J y
    for r in range(6):
        for i in range(n):
            moved[r] += jacobian[r, i] * pull[i]
    force -= _apply(_product(jacobian, spread, 0, 6), moved)
    for i in range(n):
        total = bias[i]
        for r in range(6):
            total += jacobian[r, i] * force[r]
        for k in range(n):
            total += mass[i, k] * pull[k]
        out[i] = min(max(total, limits[i, 0]), limits[i, 1])
