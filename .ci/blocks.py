#!/usr/bin/env python3
"""Run the blocks of pages as they stand, in an empty folder, with what is installed: .ci/blocks.py BIN PAGE...

BIN is the folder with the python and the cobic to use. `make` and `pip` in console blocks are what led to that folder.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

LONG = ("cobic reproduce",)  # all rows of the paper take minutes; the tests solve them one by one


def commands_of(page: str, python: str) -> list[list[str]]:
    """What a reader would run, from the first block to the last."""
    commands = []
    for language, block in re.findall(r"^```(python|console)\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        if language == "python":
            commands.append([python, "-c", block])
        lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ cobic ")]
        commands += [shlex.split(line, comments=True) for line in lines if not line.startswith(LONG)]
    return commands


def main() -> int:
    """Run all blocks; the number of failures is the exit code."""
    folder, *pages = (Path(each).absolute() for each in sys.argv[1:])
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    ran = failed = 0
    for page in pages:
        with tempfile.TemporaryDirectory() as place:
            for command in commands_of(page.read_text(encoding="utf-8"), str(folder / "python")):
                ended = subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True, text=True)
                ran += 1
                if ended.returncode:
                    failed += 1
                    print(f"{page.name}: {shlex.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    print(f"{ran - failed} of {ran} blocks and commands run as they stand")
    return min(failed or (not ran), 1)


if __name__ == "__main__":
    sys.exit(main())
