"""Common functions of the tests of papers and their reproduction."""

from evidence.reproduce.paper import NAMES, Number, read_paper

PAPERS = {name: read_paper(name) for name in NAMES}
SOME = Number(
    table="Table 1", row="a", column="b", collective="allreduce", algorithm="Ring", baseline="",
    ranks=8, bytes=1 << 20, arrival="balanced", late_rank=1, delay_ms=0.0, metric="elapsed",
    statistic="mean", value=1.0, unit="ms", network="", doubt="",
)  # fmt: skip
