#!/usr/bin/env python3
"""Checks the #include lines under src/: a file includes its own folder, layers on its left, and of the libraries that
belong to one layer only its own. Also that no two headers define a type of the same name: there is one namespace."""

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
# Libraries, by how their headers begin.
OWNED = {"hwy": "tensor", "dnnl.h": "tensor", "dnnl.hpp": "tensor", "mpi.h": "bindings", "sqlite3.h": "jobs"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


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
        if OWNED.get(target, layer) != layer:
            yield f"{file}:{number}: {target} belongs to {OWNED[target]}"
        if target in RANK and target != layer and RANK[target] >= RANK[layer]:
            yield f"{file}:{number}: {layer} must not include {target}"


TYPE = re.compile(r"^(?:enum class|struct|class) ([A-Z]\w+)\b[^;]*$")


def doubles_in(files):
    homes = {}
    for file in files:
        if file.suffix != ".h":
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = TYPE.match(line)
            if not match:
                continue
            home = homes.setdefault(match.group(1), f"{file}:{number}")
            if home != f"{file}:{number}":
                yield f"{file}:{number}: {match.group(1)} is defined in {home} too"


def main():
    src = pathlib.Path(sys.argv[1])
    files = [f for f in sorted(src.rglob("*")) if f.suffix in (".h", ".cc") and f.parent != src]
    faults = [fault for file in files for fault in faults_of(file, src)] + list(doubles_in(files))
    print("\n".join(faults) if faults else f"{len(files)} files keep the order of the layers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
