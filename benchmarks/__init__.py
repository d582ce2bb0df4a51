"""Benchmarks: ratios measured side by side in one run, never absolute times; ``python -m benchmarks [NAME …]``.

Each module ``bench_*.py`` has a function ``run() -> list[dict]`` that prints what it measures and returns it as rows,
which are kept in ``results/NAME.json``. From what is kept, ``summary`` makes one table over all (``RESULTS.md``) and
``plots`` the scaling plots; ``python -m benchmarks --table`` does only that.
"""
