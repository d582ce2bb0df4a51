"""What ``burnside`` and ``burnside --help`` print: the commands by who needs them, and where to begin.

Nothing heavy is imported here, so both answer at once. That the list is complete is tested.
"""

from __future__ import annotations

from burnside._terminal import styled
from burnside.cli.console import output

__all__ = ["COMMANDS", "show_beginning", "show_help"]

QUESTION = "How much less experience does your problem need because of its symmetry?"

#: The commands by who needs them, each with one line.
COMMANDS: dict[str, dict[str, str]] = {
    "your environment": {
        "atlas": "environments people use and their symmetries, measured",
        "check": "does a symmetry hold: yes, no (here is where), or inconclusive",
        "discover": "look for symmetries that nobody has declared",
        "lint": "find what breaks the symmetry of a MuJoCo model",
        "export": "a symmetry as plain code for rsl_rl, TorchRL, CleanRL or SB3",
        "measure": "how many times less experience a learner needs, with controls",
    },
    "your model": {
        "audit": "verify a symmetry of a finite MDP and count what it saves",
        "minimise": "the smallest model that is the same problem",
        "show": "draw the states coloured by orbit beside the quotient",
        "zoo": "list the named models and their symmetries",
        "bounds": "bounds on the number of mistakes, from sizes alone",
        "cover": "covering numbers of a space and of its quotients",
    },
    "the paper": {
        "reproduce": "run the paper on this machine and write one HTML report",
        "claims": "every claim: what is true of it, and what was run here",
        "sweep": "run an experiment; the same command resumes it",
        "table": "what came of an experiment, beside the paper's numbers",
        "train": "train a network for the cube or the robot",
        "solve": "solve a Rubik's cube with the network that is shipped",
        "demos": "record demonstrations of a robot task",
    },
    "housekeeping": {
        "doctor": "what works here, what is missing, and how to get it",
        "completion": "let the shell complete commands, options and names",
    },
}

_BEGIN = (
    ("burnside atlas CartPole-v1", "the symmetry of an environment people use"),
    ("burnside check CartPole-v1", "does it hold?"),
    ("burnside measure CartPole-v1 --learner ppo", "what does it save? (minutes)"),
    ("burnside audit ring --n 5", "the same for a finite MDP, counted exactly"),
    ("burnside solve --n 3 --scramble 100", "a random cube, solved by 6 224 weights"),
    ("burnside table ring1d", "a table of the paper, beside what was measured"),
)


def show_help() -> None:
    """``burnside --help``: every command with one line, by who needs it."""
    console = output()
    console.print("usage: burnside COMMAND [options]")
    console.print()
    console.print(QUESTION)
    for title, commands in COMMANDS.items():
        console.print()
        console.print(styled((title, "bold")))
        for name, line in commands.items():
            console.print(f"  {name:<12}{line}", soft_wrap=True)
    console.print()
    console.print(
        "burnside COMMAND --help explains one of them; burnside --version prints the version.", soft_wrap=True
    )


def show_beginning() -> None:
    """``burnside`` alone: where to begin."""
    console = output()
    console.print(styled((QUESTION, "bold")))
    console.print()
    width = max(len(command) for command, _ in _BEGIN) + 3
    for command, what in _BEGIN:
        console.print(f"  {command:<{width}}{what}", soft_wrap=True)
    console.print()
    console.print("burnside --help lists all commands.")
