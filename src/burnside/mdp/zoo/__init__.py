"""Named symmetric MDPs, each with its declared symmetries; the first one declared is the default.

``zoo.make("ring", n=5)`` is ``zoo.ring(n=5)``; ``zoo.names()`` lists the models (``catalogue``). A model that is too
large for a table comes back as a :class:`~burnside.mdp.graph.GraphMDP`.

It may import ``burnside.mdp`` and what lies below.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.mdp.zoo.catalogue import make as make
from burnside.mdp.zoo.catalogue import names as names
from burnside.mdp.zoo.chains import deep_sea as deep_sea
from burnside.mdp.zoo.chains import river as river
from burnside.mdp.zoo.chains import river_product as river_product
from burnside.mdp.zoo.grids import grid as grid
from burnside.mdp.zoo.grids import hypercube as hypercube
from burnside.mdp.zoo.grids import torus as torus
from burnside.mdp.zoo.rings import ring as ring
from burnside.mdp.zoo.rings import ring_game as ring_game
from burnside.mdp.zoo.rings import slip_ring as slip_ring
from burnside.mdp.zoo.small import bandit as bandit
from burnside.mdp.zoo.small import fig2 as fig2

__all__ = exported(__name__)
