#!/usr/bin/env python3
"""Checks that every #include under src/ points to the file's own folder or to a layer on its left."""

import pathlib
import re
import sys

# Layers from left to right; folders in one cell do not see each other.
ORDER = [
    ["base"],
    ["net", "tensor"],
    ["collective", "graph"],
    ["nn", "data", "plan"],
    ["runtime", "ps"],
    ["sync"],
    ["train"],
    ["jobs", "report"],
    ["cli", "bindings"],
]
RANK = {folder: rank for rank, cell in enumerate(ORDER) for folder in cell}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def faults_of(file, src):
    layer = file.relative_to(src).parts[0]
    if layer not in RANK:
        yield f"{file}: the folder {layer} is no layer"
        return
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1).split("/")[0]
        if "/" not in match.group(1) or target not in RANK:
            yield f'{file}:{number}: "{match.group(1)}" does not start with a layer\'s name'
        elif target != layer and RANK[target] >= RANK[layer]:
            yield f"{file}:{number}: {layer} must not include {target}"


def main():
    src = pathlib.Path(sys.argv[1])
    files = [f for f in sorted(src.rglob("*")) if f.suffix in (".h", ".cc") and f.parent != src]
    faults = [fault for file in files for fault in faults_of(file, src)]
    print("\n".join(faults) if faults else f"{len(files)} files keep the order of the layers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
