"""Small MuJoCo models with one asymmetry at a time."""

#: A cart with two arms, left (y > 0) and right. Every place where an asymmetry can be put has a name.
TWO_ARMS = """
<mujoco>
  <option gravity="{gravity}" solver="{solver}"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" friction=".2"/>
    <body name="torso" pos="0 0 .6">
      <freejoint name="root"/>
      <geom name="trunk" type="box" size=".2 .1 .1"/>
      <body name="left_arm" pos="0 .15 {height}">
        <joint name="left_shoulder" axis="{axis}" range="-30 60" stiffness="{stiffness}" damping="{damping}"
               armature="{armature}" frictionloss="{frictionloss}"/>
        <geom name="left_upper" type="capsule" size=".04" fromto="0 0 0 {reach} .2 -.1" friction="{friction}"
              density="{density}"/>
        <body name="left_hand" pos="{reach} .2 -.1">
          <joint name="left_wrist" axis="1 0 0" range="{range}"/>
          <geom name="left_palm" type="sphere" size="{size}"/>
        </body>
      </body>
      <body name="right_arm" pos="0 -.15 0">
        <joint name="right_shoulder" axis="0 1 0" range="-30 60" stiffness="1" damping=".1" armature=".01"
               frictionloss="0"/>
        <geom name="right_upper" type="capsule" size=".04" fromto="0 0 0 0 -.2 -.1" friction="1" density="1000"/>
        <body name="right_hand" pos="0 -.2 -.1">
          <joint name="right_wrist" axis="1 0 0" range="-40 20"/>
          <geom name="right_palm" type="sphere" size=".05"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="left_push" joint="left_shoulder" gear="{gear}" ctrlrange="{ctrlrange}"/>
    <motor name="right_push" joint="right_shoulder" gear="10" ctrlrange="-1 1"/>
    <position name="left_turn" joint="left_wrist" kp="{kp}" ctrlrange="-.5 .7"/>
    <position name="right_turn" joint="right_wrist" kp="5" ctrlrange="-.7 .5"/>
  </actuator>
</mujoco>
"""

SYMMETRIC = {
    "gravity": "0 0 -9.81",
    "solver": "Newton",
    "height": "0",
    "axis": "0 1 0",
    "stiffness": "1",
    "damping": ".1",
    "armature": ".01",
    "frictionloss": "0",
    "reach": "0",
    "friction": "1",
    "density": "1000",
    "range": "-20 40",
    "size": ".05",
    "gear": "10",
    "ctrlrange": "-1 1",
    "kp": "5",
}

#: One change → the violations it must cause, and no others. The first named is the one that was changed.
FLAWS = {
    "gravity=0 .05 -9.81": ["gravity"],
    "stiffness=2": ["joint stiffness"],
    "damping=.3": ["joint damping"],
    "armature=.05": ["joint armature"],
    "frictionloss=.2": ["joint friction loss"],
    "friction=.5": ["geom friction"],
    "range=-20 30": ["joint range"],
    "gear=12": ["actuator gear"],
    "ctrlrange=-1 .8": ["actuator control range"],
    "kp=6": ["actuator gain", "actuator bias"],
    "density=1500": ["body mass", "body inertia"],
    "size=.055": ["geom size", "body mass", "body inertia"],
    "height=.004": ["body place"],
    "axis=0 1 .02": ["joint axis"],
    "solver=PGS": ["solver order"],
}


def two_arms(change: str = "") -> str:
    """The XML of the model, with one change such as ``"friction=.5"``."""
    name, _, value = change.partition("=")
    return TWO_ARMS.format(**(SYMMETRIC | ({name: value} if change else {})))
