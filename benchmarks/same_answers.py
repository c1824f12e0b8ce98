"""The same answers: what this version and another say about many problems, compared to the last bit."""

import os
from pathlib import Path
from typing import Any

import cobic
from benchmarks.apart import of_version
from benchmarks.real_columns import source_tree

_SCRIPT = Path(__file__).with_name("all_answers.py")
_SECONDS = 3600.0  # of all problems together, which take minutes
_COMPARED = ("status", "selected", "bound", "objective_bound", "support", "statement", "certificate", "holds")


def run(*, quick: bool, against: Path | None = None) -> list[dict[str, Any]]:
    """One line per problem that is answered otherwise, and one that counts; quickly only the problems that we make."""
    if against is None:
        return [{"problem": "skipped: --against FOLDER names the other version"}]
    asked = {"real": bool(os.environ.get("COBIC_DATA")) and not quick}
    trees = (Path(cobic.__file__).parents[1], source_tree(against))
    told = [of_version(tree, _SCRIPT, asked, _SECONDS) for tree in trees]
    if any(ended.how != "done" for ended in told):
        return [{"problem": "this version, the other", "differ in": ", ".join(ended.how for ended in told)}]
    now, then = (ended.value["answers"] for ended in told)
    rows = [
        {
            "problem": here["problem"],
            "differ in": ", ".join(name for name in _COMPARED if here[name] != there[name]),
            "this": f"{here['selected']} of {here['bound']}",
            "other": f"{there['selected']} of {there['bound']}",
        }
        for here, there in zip(now, then, strict=True)
    ]
    different = [row for row in rows if row["differ in"]]
    return [*different, {"problem": f"{len(rows)} compared", "differ in": f"{len(different)} differ"}]
