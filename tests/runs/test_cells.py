"""Names of cells."""

from burnside.runs.cells import cell_name


def test_names_depend_on_every_value_and_on_no_order() -> None:
    base = {"n": 5, "seed": 0, "options": {"c": 0.3}}
    assert cell_name(base) == cell_name({"options": {"c": 0.3}, "seed": 0, "n": 5})
    assert len({cell_name(base), cell_name(base | {"seed": 1}), cell_name(base | {"options": {"c": 0.31}})}) == 3
