"""A finite MDP: find its symmetry, solve the small problem, use its policy in the large one."""

import gymnasium as gym

import burnside as bs
from burnside.mdp import evaluate

# Gymnasium's FrozenLake with a map that is its own mirror image along the diagonal.
lake = gym.make("FrozenLake-v1", desc=["SFFF", "FFHF", "FHFF", "FFFG"])
mdp = bs.TabularMDP.from_gym(lake, H=30, name="lake")

symmetry = bs.discover(mdp)
print(f"found {symmetry.name}; it holds: {bs.verify(mdp, symmetry).ok}")

quotient = bs.quotient(mdp, symmetry)  # verified first: a counter-example if it does not hold
print(f"{mdp.n_pairs} state-action pairs, {quotient.mdp.n_pairs} to learn")

small, large = bs.solve(quotient.mdp), bs.solve(mdp)
print(f"value of the small problem {small.value:.6f}, of the large one {large.value:.6f}")

policy = quotient.hom.lift(small.policy)
print(f"the small policy, lifted, is worth {mdp.p0 @ evaluate(mdp, policy)[0]:.6f} there")
