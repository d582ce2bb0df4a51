"""The claims ledger: complete, its commands understood, its figures right, and the same in the documentation."""

import json
import re
import shlex
from pathlib import Path

import pytest

from burnside.cli import main
from burnside.cli.claims import command_problem
from burnside.errors import BurnsideError, UnknownName, UnreadableFile
from burnside.report.claims import CHECKS, VERDICTS, Claim, counts, ledger_section, load, markdown, recompute
from burnside.report.claims.checks import Finding
from burnside.report.page import Page

REPO = Path(__file__).resolve().parents[2]
LEDGER = load()

ROW = """
[[claim]]
id = "one"
kind = "sentence"
where = "§1"
claim = "a < b"
how = "By looking."
command = "burnside audit fig2"
verdict = "holds"
evidence = "It is {before}."
check = "figure_two"
figures = { before = 64 }
"""


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---------------------------------------------------------------------- the data


@pytest.mark.parametrize("claim", LEDGER, ids=lambda claim: claim.id)
def test_row_is_sound(claim: Claim) -> None:
    """Its command is understood, its sources exist, and its figures are what is computed now."""
    assert command_problem(claim.command) is None
    assert [source for source in claim.sources if not (REPO / source).exists()] == []
    found = recompute(claim)
    assert found.status in ("agrees", "unchecked"), found.message
    assert claim.claim.rstrip().endswith(".") and "{" not in claim.evidence


def test_every_numbered_statement_of_the_paper_has_a_row() -> None:
    """10 definitions, a proposition, 2 lemmas, 3 theorems, a corollary, 8 figures, 2 tables."""
    places = " ".join(claim.where for claim in LEDGER)
    for name in (
        *(f"Def. {k}" for k in range(1, 10)),
        *("Prop. 1", "Lemma 1", "Thm. 1", "Thm. 2", "Thm. 3", "Cor. 1"),
        *(f"Fig. {k}" for k in ("1", "2", "3", "4a", "4b", "4c", "5a", "5b")),
        *("Table 1", "Table 2"),
    ):
        assert re.search(rf"{re.escape(name)}(?!\d)", places), name
    ids = {claim.id for claim in LEDGER}
    assert {"def-10", "lemma-2", "fig-6", "fig-7", "fig-8", "uniform-pac", "five-orders"} <= ids
    assert {"compute-1d", "compute-3d", "compute-cube", "compute-robot"} <= ids
    assert set(CHECKS) == {claim.check for claim in LEDGER if claim.check}


def test_the_page_of_the_documentation_is_what_the_data_says() -> None:
    page = (REPO / "docs" / "claims.md").read_text(encoding="utf-8")
    assert page == markdown(LEDGER), "run: burnside claims --write docs/claims.md"


CHEAP = sorted(
    {c.command for c in LEDGER if c.argv[:2] in (["burnside", "audit"], ["burnside", "bounds"], ["burnside", "table"])}
    - {"burnside audit ring --n 50 --d 3"}  # ten seconds
)


@pytest.mark.parametrize("command", CHEAP)
def test_cheap_commands_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, *shlex.split(command)[1:])
    assert code == 0 and out


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", sorted({c.command for c in LEDGER if c.command.startswith("burnside ")} - set(CHEAP))
)
def test_long_commands_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    if "study" in command or "paper" in command:
        pytest.skip("takes hours")
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *shlex.split(command)[1:])[0] == 0


# ---------------------------------------------------------------------- the command


def test_show_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "claims")
    assert code == 0 and f"{len(LEDGER)} claims: " in out and "\x1b[" not in out
    code, out, _ = run(capsys, "claims", "--json", "--verdict", "holds")
    found = json.loads(out)
    assert code == 0 and found["counts"] == {"holds": counts(LEDGER)["holds"]}
    assert {row["verdict"] for row in found["claims"]} == {"holds"}
    code, out, _ = run(capsys, "claims", "--id", "fig2-64-to-8")
    assert code == 0 and "64 becomes 16" in out and "burnside audit fig2" in out and "1 claims" in out
    code, out, _ = run(capsys, "claims", "--json", "--verdict", "does not")
    assert {row["verdict"] for row in json.loads(out)["claims"]} == {"does not hold as stated"}


def test_check_passes_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "claims", "--check", "--json")
    found = json.loads(out)
    assert code == 0 and found["problems"] == {} and found["claims"] == len(LEDGER)
    assert found["agree"] == sum(bool(claim.check) for claim in LEDGER)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("before = 64|before = 65", "before is 64 where the ledger has 65"),
        ("burnside audit fig2|burnside adit fig2", "does not understand"),
        ("burnside audit fig2|pytest tests/nothing.py::test_x", "no file"),
        ("burnside audit fig2|pytest tests/test_docs.py::test_nothing", "has no test test_nothing"),
    ],
)
def test_check_fails_when_something_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, change: str, hint: str
) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(ROW.replace(*change.split("|")), encoding="utf-8")
    code, _, err = run(capsys, "claims", "--check", "--file", str(path))
    assert code == 1 and hint in err


def test_write(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "claims", "--write", str(tmp_path / "claims.md"))
    assert code == 0 and "written" in out
    assert (tmp_path / "claims.md").read_text(encoding="utf-8") == markdown(LEDGER)


@pytest.mark.parametrize(
    ("change", "error", "hint"),
    [
        ('verdict = "holds"|verdict = "hlods"', UnknownName, "did you mean 'holds'"),
        ('kind = "sentence"|kind = "sentense"', UnknownName, "did you mean 'sentence'"),
        ('how = "By looking."|', UnreadableFile, "needs the text 'how'"),
        ('how = "By looking."|howto = "x"', UnreadableFile, "unknown field: howto"),
        ("{before}|{after}", UnreadableFile, "figures that are not given: after"),
        ("{before}|{before:q}", UnreadableFile, "cannot be filled in"),
        ('id = "one"|id = "One two"', UnreadableFile, "small letters"),
        ('check = "figure_two"|', UnreadableFile, "go together"),
        ("burnside audit|rm -r", UnreadableFile, "must be 'burnside"),
        ("[[claim]]|[claim]", UnreadableFile, "no [[claim]]"),
        ("[[claim]]|[[claim", UnreadableFile, "cannot read the claims"),
    ],
)
def test_damaged_ledgers(tmp_path: Path, change: str, error: type[BurnsideError], hint: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(ROW.replace(*change.split("|")), encoding="utf-8")
    with pytest.raises(error, match=re.escape(hint)):
        load(path)


def test_more_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(ROW + ROW, encoding="utf-8")
    with pytest.raises(UnreadableFile, match="two claims have the id 'one'"):
        load(path)
    path.write_text(ROW.replace("figure_two", "figure_too"), encoding="utf-8")
    with pytest.raises(UnknownName, match="did you mean 'figure_two'"):
        recompute(load(path)[0])
    for argv in (["--file", "nowhere.toml"], ["--id", "thm1"], ["--verdict", "maybe"]):
        code, out, err = run(capsys, "claims", *argv)
        assert code == 2 and not out and err.startswith("error:") and "Traceback" not in err


def test_what_is_not_installed_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> dict[str, object]:
        raise UnreadableFile("there are no results here")

    monkeypatch.setitem(CHECKS, "figure_two", fails)
    claim = next(c for c in LEDGER if c.check == "figure_two")
    assert recompute(claim) == Finding(claim.id, "skipped", "there are no results here")


def test_section_of_the_report_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(ROW, encoding="utf-8")
    text = ledger_section(Page("t"), load(path)).render()
    assert "a &lt; b" in text and "It is 64." in text and 'aria-pressed="true"' in text
    everything = ledger_section(Page("t"), LEDGER).render()
    assert everything.count('<article class="claim"') == len(LEDGER)
    assert all(verdict in everything for verdict in counts(LEDGER)) and set(counts(LEDGER)) <= set(VERDICTS)
