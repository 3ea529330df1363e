"""Reads a checkpoint, whoever wrote its parts, without any library."""

import array
import itertools
import json
import pathlib


def read_file(path):
    """The tensors of a safetensors file, as bytes by name."""
    data = path.read_bytes()
    header_bytes = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + header_bytes])
    body = memoryview(data)[8 + header_bytes :]
    return {name: body[slice(*info["data_offsets"])] for name, info in header.items() if name != "__metadata__"}


def runs_of(part):
    """Where the elements of a part lie in the whole tensor, as (first, count), in the order of the part's bytes."""
    shape, box, begin = part["shape"], part["box"], part["begin"]
    if not shape:
        return [(0, 1)]
    runs = []
    for at in itertools.product(*(range(b, b + n) for b, n in zip(begin[:-1], box[:-1]))):
        first = 0
        for i, size in zip((*at, begin[-1]), shape):
            first = first * size + i
        runs.append((first, box[-1]))
    return runs


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def read_parameters(run_folder, step):
    """The parameters of a run after a step by name. Not of parts that ZeRO has sliced."""
    folder = pathlib.Path(run_folder) / "checkpoints" / f"step-{step:08}"
    parts = [part for part in json.loads((folder / "manifest.json").read_text())["parts"]
             if part["tensor"].startswith("param/")]
    files = {name: read_file(folder / name) for name in {part["file"] for part in parts}}
    parameters = {}
    for part in parts:
        assert part["first"] == 0 and part["count"] == count_of(part["box"]), part
        values = array.array({"f32": "f", "f64": "d"}[part["dtype"]], bytes(files[part["file"]][part["tensor"]]))
        empty = array.array(values.typecode, bytes(values.itemsize * count_of(part["shape"])))
        whole = parameters.setdefault(part["tensor"], empty)
        at = 0
        for first, count in runs_of(part):
            whole[first : first + count] = values[at : at + count]
            at += count
    return parameters


def largest_difference(one, other, step):
    """Of any parameter of two runs after a step."""
    a, b = read_parameters(one, step), read_parameters(other, step)
    assert a.keys() == b.keys()
    return max(abs(x - y) for name in a for x, y in zip(a[name], b[name], strict=True))
