"""Print the installed versions of what a constraints file pins; fail if one differs."""

import sys
from importlib.metadata import version
from pathlib import Path

wrong = []
for line in Path(sys.argv[1]).read_text().splitlines():
    if "==" not in line:
        continue
    name, pinned = line.strip().split("==")
    installed = version(name)
    print(f"{name} {installed}")
    if installed != pinned:
        wrong.append(f"{name} is {installed}, not {pinned}")
if wrong:
    sys.exit("; ".join(wrong))
