"""The claims ledger: its quotes stand in the paper, its commands show its figures, its verdicts follow from them."""

import json
import re
from pathlib import Path

import pytest

from burnside.cli import main
from burnside.cli.claims import command_problem, examine, shown
from burnside.errors import BurnsideError, UnknownName, UnreadableFile
from burnside.report.claims import (
    COMPUTATIONS,
    OURS,
    STATUSES,
    Claim,
    compute,
    counts,
    figure_at,
    fingerprint,
    holds,
    is_quoted,
    kept,
    ledger_section,
    load,
    markdown,
    squeezed,
)
from burnside.report.page import Page

REPO = Path(__file__).resolve().parents[2]
LEDGER = load()
#: The paper is not a part of the repository; where a copy lies in a folder 'shared' beside or above it, it is read.
PAPER = next((p for p in (top / "shared" / "paper.tex" for top in REPO.parents) if p.is_file()), None)

ROW = """
[[claim]]
id = "one"
kind = "sentence"
where = "§1"
quote = "a < b"
claim = "Our words."
status = "wrong"
ours = "computed exactly"
evidence = "It is {before}."
how = "By counting."
command = "burnside audit fig2 --json"
figures = { before = "pairs", order = "group.order" }
expect = ["before == 16"]
"""
MEASURED = (
    ROW.replace('"wrong"', '"measurement"').replace('"computed exactly"', '"reproduced"') + 'scale = ["order >= 2"]\n'
)


def write(folder: Path, text: str = ROW, *, quote: str = "a < b", **figures: object) -> Path:
    """A ledger of one row with its kept figures."""
    path = folder / "claims.toml"
    path.write_text(text, encoding="utf-8")
    content = {"figures": {"one": {"before": 16, "order": 2} | figures}, "quotes": {"one": fingerprint(quote)}}
    path.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---------------------------------------------------------------------- the rows


def test_every_command_shows_the_figures_of_its_row_and_every_verdict_follows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # commands do not depend on where they are typed, and leave nothing behind
    code, out, _ = run(capsys, "claims", "--check", "--json")
    found = json.loads(out)
    assert code == 0 and found["problems"] == {} and found["skipped"] == {} and found["wrong"] == 0
    assert found["claims"] == len(LEDGER) and found["shown"] == sum(bool(claim.paths) for claim in LEDGER)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("claim", LEDGER, ids=lambda claim: claim.id)
def test_row_is_sound(claim: Claim) -> None:
    """Its command is understood, its sources exist, its texts are sentences with their figures filled in."""
    assert command_problem(claim.command) is None
    assert [source for source in claim.sources if not (REPO / source).exists()] == []
    for text in (claim.claim, claim.found, claim.how, claim.needs or "."):
        assert text.rstrip().endswith(".") and "{" not in text
    assert len(claim.quote) < 200, "a quote is short"
    assert not re.search(r"\banchor|\btrap\b", " ".join((claim.found, claim.how))), "what is not in the repository"


@pytest.mark.skipif(PAPER is None, reason="the paper does not lie beside the repository")
def test_every_quote_stands_in_the_paper() -> None:
    assert PAPER is not None
    text = squeezed(PAPER.read_text(encoding="utf-8"))
    assert [claim.id for claim in LEDGER if not is_quoted(claim.quote, text)] == []


def test_quotes_are_those_that_were_found_in_the_paper() -> None:
    """Without the paper: nobody changed a quote since it was last compared."""
    assert {claim.id: fingerprint(claim.quote) for claim in LEDGER} == dict(kept().quotes)


def test_every_numbered_statement_of_the_paper_has_a_row() -> None:
    """10 definitions, a proposition, 2 lemmas, 3 theorems, a corollary, 8 figures, 2 tables, and more."""
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
    assert {"compute-1d", "compute-3d", "compute-cube", "compute-robot", "cube-50000"} <= ids
    assert {"robot-frame", "robot-reward", "robot-frozen-encoder", "robot-wrist-image", "identical-settings"} <= ids
    assert {"setup-1d-dqn", "setup-3d-dqn", "setup-3d-ppo", "robot-ppo", "cube-deepcubea", "cube-scrambles"} <= ids
    assert {"robot-budget", "robot-schedule", "empirical-rewards", "known-rewards", "seed-42"} <= ids


def test_nothing_is_called_reproduced_that_was_not_run_at_a_deciding_scale() -> None:
    """The 1D game was run at the paper's scale, mistakes with ten seeds; 3D, cube and robot were not."""
    decided = {claim.id for claim in LEDGER if claim.ours in ("reproduced", "contradicted")}
    assert decided == {"fewer-episodes", "intro-grows", "gap-grows", "fig-4a", "n-50-fails", "advantage-grows"}
    for claim in LEDGER:
        if re.match(r"burnside table (ring3d|cube|robot|planar)", claim.command):
            assert claim.ours == "not decided here", claim.id


def test_measured_numbers_are_figures_and_not_typed() -> None:
    """What a run showed stands in braces; decimals that are typed are the paper's, ε, δ, α or a noise level."""
    constants = {"0.1", "0.3", "0.05", "1.0"}
    for claim in LEDGER:
        if claim.ours in ("reproduced", "contradicted", "not decided here"):
            quoted = set(re.findall(r"\d+\.\d+", f"{claim.quote} {claim.claim}"))
            typed = set(re.findall(r"\d+\.\d+", re.sub(r"\{[^}]*\}", "", claim.evidence)))
            assert typed <= quoted | constants, (claim.id, typed - quoted)


def test_every_computation_serves_a_row() -> None:
    used = {c.argv[c.argv.index("--compute") + 1] for c in LEDGER if "--compute" in c.argv}
    assert used == set(COMPUTATIONS)


def test_the_page_of_the_documentation_is_what_the_data_says() -> None:
    page = (REPO / "docs" / "claims.md").read_text(encoding="utf-8")
    assert page == markdown(LEDGER), "run: burnside claims --write docs/claims.md"


# ---------------------------------------------------------------------- the command


def test_show_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "claims")
    assert code == 0 and f"{len(LEDGER)} claims, of the paper: " in out and "\x1b[" not in out
    code, out, _ = run(capsys, "claims", "--json", "--status", "correct")
    found = json.loads(out)
    assert code == 0 and found["counts"]["status"] == {"correct": counts(LEDGER)["status"]["correct"]}
    assert {row["status"] for row in found["claims"]} == {"correct"} and {"ours", "figures"} <= found["claims"][
        0
    ].keys()
    code, out, _ = run(capsys, "claims", "--id", "fig2-64-to-8")
    assert code == 0 and "64 becomes 16" in out and "here: computed exactly" in out
    code, out, _ = run(capsys, "claims", "--json", "--ours", "not")
    assert {row["ours"] for row in json.loads(out)["claims"]} == {"not decided here"}
    assert all(row["needs"] for row in json.loads(out)["claims"])
    code, out, _ = run(capsys, "claims", "--compute", "orbit-stabilizer")
    assert code == 0 and "order: 10" in out


def test_check_of_one_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "claims", "--check", "--file", str(write(tmp_path)))
    assert code == 0 and "1 rows have figures, and their commands show them, 0 wrong" in out and not err
    code, out, _ = run(capsys, "claims", "--check", "--file", str(write(tmp_path, MEASURED)))
    assert code == 0


@pytest.mark.parametrize(
    ("change", "figures", "hint"),
    [
        ("", {"before": 17}, "before is 16 where the ledger has 17"),
        ("before == 16|before == 17", {}, "its verdict needs 'before == 17', which does not hold"),
        ('"pairs"|"bounds.M.lower"', {}, "its verdict needs"),  # null
        ('"pairs"|"paris"', {}, "prints nothing at 'paris'"),
        ("a < b|a <= b", {}, "the quote was never compared with the paper as it is now"),
        ("audit fig2|adit fig2", {}, "does not understand"),
        ("fig2 --json|fig2", {}, "must end with --json"),
        ("audit fig2|audit fgi2", {}, "did you mean 'fig2'"),
    ],
)
def test_check_fails_when_something_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, change: str, figures: dict[str, object], hint: str
) -> None:
    text = ROW.replace(*change.split("|")) if change else ROW
    code, _, err = run(capsys, "claims", "--check", "--file", str(write(tmp_path, text, **figures)))
    assert code == 1 and hint in err and "Traceback" not in err


def test_a_scale_that_does_not_decide_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, MEASURED.replace("order >= 2", "order >= 10"))
    code, _, err = run(capsys, "claims", "--check", "--file", str(path))
    assert code == 1 and "its scale needs 'order >= 10', which does not hold" in err


def test_tests_that_are_named_must_be_there() -> None:
    assert command_problem("pytest tests/cli/test_claims.py::test_show_and_json") is None
    assert command_problem("pytest tests/nothing.py::test_x") == "there is no file tests/nothing.py"
    assert "has no test test_nothing" in str(command_problem("pytest tests/test_docs.py::test_nothing"))
    assert "neither" in str(command_problem("pytest tests -x"))


def test_update_computes_keeps_and_compares_quotes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, before=999, old=1)
    paper = tmp_path / "paper.tex"
    paper.write_text(r"We find that $a < b$~\cite{x}.", encoding="utf-8")
    code, out, _ = run(capsys, "claims", "--update", "--paper", str(paper), "--file", str(path))
    assert code == 0 and "1 quotes stand in the paper" in out
    assert kept(path).figures == {"one": {"before": 16, "order": 2}}
    assert run(capsys, "claims", "--check", "--file", str(path))[0] == 0
    paper.write_text("We find that b < a.", encoding="utf-8")
    code, _, err = run(capsys, "claims", "--check", "--paper", str(paper), "--file", str(path))
    assert code == 1 and "the quote does not stand in the paper" in err


def test_write(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "claims", "--write", str(tmp_path / "claims.md"))
    assert code == 0 and "written" in out
    assert (tmp_path / "claims.md").read_text(encoding="utf-8") == markdown(LEDGER)


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("change", "error", "hint"),
    [
        ('status = "wrong"|status = "worng"', UnknownName, "did you mean 'wrong'"),
        ('ours = "computed exactly"|ours = "computed"', UnknownName, "did you mean 'computed exactly'"),
        ('kind = "sentence"|kind = "sentense"', UnknownName, "did you mean 'sentence'"),
        ('how = "By counting."|', UnreadableFile, "needs the text 'how'"),
        ('how = "By counting."|howto = "x"', UnreadableFile, "unknown field: howto"),
        ('quote = "a < b"|', UnreadableFile, "needs the text 'quote'"),
        ("{before}|{after}", UnreadableFile, "figures that are not given: after"),
        ("before == 16|after == 16", UnreadableFile, "figures that are not given: after"),
        ("before == 16|before ==", UnreadableFile, "cannot be read"),
        ('id = "one"|id = "One two"', UnreadableFile, "small letters"),
        ("burnside audit fig2 --json|pytest tests/a.py::b", UnreadableFile, "figures are printed by 'burnside"),
        ("burnside audit|rm -r", UnreadableFile, "figures are printed by 'burnside"),
        ('"pairs"|7', UnreadableFile, "where it stands in what the command prints"),
        ('"computed exactly"|"not decided here"', UnreadableFile, "must be 'computed exactly' or 'contradicted'"),
        ('"wrong"|"measurement"', UnreadableFile, "not 'computed exactly'"),
        ('"computed exactly"|"contradicted"', UnreadableFile, "'scale' says why a run decides"),
        ('expect = |scale = ["before > 1"]\nexpect = ', UnreadableFile, "'scale' says why a run decides"),
        ('expect = |needs = "A GPU."\nexpect = ', UnreadableFile, "'needs' says what would decide"),
        ("[[claim]]|[claim]", UnreadableFile, "no [[claim]]"),
        ("[[claim]]|[[claim", UnreadableFile, "cannot read the claims"),
    ],
)
def test_damaged_ledgers(tmp_path: Path, change: str, error: type[BurnsideError], hint: str) -> None:
    path = write(tmp_path, ROW.replace(*change.split("|")))
    with pytest.raises(error, match=re.escape(hint)):
        load(path)


def test_more_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, ROW + ROW)
    with pytest.raises(UnreadableFile, match="two claims have the id 'one'"):
        load(path)
    path = write(tmp_path)
    path.with_suffix(".json").write_text("{", encoding="utf-8")
    with pytest.raises(UnreadableFile, match="are damaged"):
        load(path)
    path.with_suffix(".json").unlink()
    with pytest.raises(UnreadableFile, match="never computed: before, order"):
        load(path)
    write(tmp_path, ROW.replace("{before}", "{before:q}"))
    with pytest.raises(UnreadableFile, match="cannot be filled in"):
        _ = load(path)[0].found
    with pytest.raises(UnknownName, match="did you mean 'figure-two'"):
        compute("figure-too")
    bad = (["--file", "nowhere.toml"], ["--id", "thm1"], ["--status", "maybe"], ["--ours", "maybe"], ["--compute", "x"])
    for argv in (*bad, ["--paper", "paper.tex"], ["--check", "--paper", "nowhere.tex"]):
        code, out, err = run(capsys, "claims", *argv)
        assert code == 2 and not out and err.startswith("error:") and "Traceback" not in err


def test_what_is_not_there_in_a_wheel_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(c for c in LEDGER if c.id == "intro-grows")

    def nothing(command: str) -> object:
        raise UnreadableFile("there are no committed results of mistakes here")

    monkeypatch.setattr("burnside.cli.claims.shown", nothing)
    assert examine(claim, kept()).problems == ("there are no committed results of mistakes here",)
    monkeypatch.setattr("burnside.cli.claims.shown", lambda command: __import__("burnside.nowhere"))
    assert examine(claim, kept()).problems == ("No module named 'burnside.nowhere'",)
    monkeypatch.setattr("burnside.cli.claims.shown", lambda command: __import__("no_such_package"))
    assert examine(claim, kept()).skipped == "No module named 'no_such_package'"
    monkeypatch.setattr("burnside.cli.claims.shown", nothing)
    monkeypatch.setattr("burnside.cli.claims._checkout", lambda: None)
    found = examine(claim, kept())
    assert not found.problems and found.skipped == "there are no committed results of mistakes here"


def test_conditions_are_data_and_never_run() -> None:
    assert holds("1 <= a < 3 and not (b == [1, 2] or abs(a) > 9)", {"a": 2, "b": [1]})
    for condition in ("__import__('os')", "a.real > 1", "[x for x in a]", "a ** 9 ** 9", "(lambda: 1)()", "open('x')"):
        with pytest.raises(UnreadableFile, match="not understood"):
            holds(condition, {"a": 2})


def test_paths_name_one_place() -> None:
    table = {"rows": [{"n": 5, "arm": None}, {"n": 5, "arm": "x"}]}
    assert figure_at(table, "rows[n=5,arm=null]") == {"n": 5, "arm": None}
    for path, hint in (("rows[n=5]", "fits 2 entries"), ("rows[n=6]", "fits 0"), ("rows[7]", "2 entries only")):
        with pytest.raises(UnreadableFile, match=hint):
            figure_at(table, path)
    for path in ("rows.n", "nothing", "rows[0].n[0]"):
        with pytest.raises(UnreadableFile, match="the command prints no"):
            figure_at(table, path)


def test_commands_that_print_no_json_are_said() -> None:
    with pytest.raises(UnreadableFile, match="prints no JSON"):
        shown("burnside minimise ring --n 5")


def test_quotes_are_found_whatever_the_markup() -> None:
    text = squeezed(
        "The \\emph{group}~$\\G$ acts\nfreely\\cite{a,b} on $|\\bar{\\s}|=2$ and $1{,}444.1\\pm137.0\\%$ % no\nends."
    )
    assert is_quoted("The group G acts freely on |S̄| = 2 and 1,444.1 ± 137.0% ends.", text)
    assert is_quoted("The group … ends", text) and not is_quoted("ends … The group", text)
    assert not is_quoted("acts freely on actions", text) and not is_quoted("…", text)


# ---------------------------------------------------------------------- the report


def test_section_of_the_report_is_escaped_and_has_both_axes(tmp_path: Path) -> None:
    text = ledger_section(Page("t"), load(write(tmp_path))).render()
    assert "a &lt; b" in text and "It is 16." in text and 'aria-pressed="true"' in text
    everything = ledger_section(Page("t"), LEDGER).render()
    assert everything.count('<article class="claim"') == len(LEDGER)
    found = counts(LEDGER)
    assert sum(found["status"].values()) == sum(found["ours"].values()) == len(LEDGER)
    assert set(found["status"]) <= set(STATUSES) and set(found["ours"]) <= set(OURS)
    assert all(f'data-name="{name}"' in everything for axis in found.values() for name in axis)
