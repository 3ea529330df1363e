#!/usr/bin/python3 -B
"""Whatever a user gets wrong gives one clear line and the right exit code."""

import gzip
import os
import pathlib
import struct

from support.program import SMALL, refusal, train


def idx(path, shape, data, magic=0x0800):
    header = struct.pack(">I", magic | len(shape)) + b"".join(struct.pack(">I", size) for size in shape)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(header + data)


def mnist(folder, labels=bytes(range(10)) * 2, magic=0x0800):
    for part in ("train", "t10k"):
        idx(pathlib.Path(folder, f"{part}-images-idx3-ubyte"), (20, 4, 4), bytes(320), magic)
        idx(pathlib.Path(folder, f"{part}-labels-idx1-ubyte"), (20,), labels)


def refused(code, needle, *arguments, **options):
    line = refusal(code, *arguments, **options)
    assert needle in line, (needle, line)


# Usage and configuration: 2.
refused(2, "did you mean train?", "trian")
refused(2, "did you mean --model?", "train", "--modle", "mlp")
refused(2, "did you mean lenet?", "train", "--model", "lenett")
refused(2, "no option hiden; did you mean hidden?", "train", *SMALL, "--model", "mlp,hiden=3")
refused(2, "did you mean train.lr?", "train", "--set", "train.lrr=1")
refused(2, "did you mean train.lr?", "train", env={**os.environ, "HOCKET_TRAIN__LRR": "1"})
refused(2, "expected a number above 0, found 'fast'", "train", "--lr", "fast")
refused(2, "did you mean cosine?", "train", *SMALL, "--lr-schedule", "cosin")
refused(2, "unknown data 'nonsense'", "train", "--data", "nonsense")
refused(2, "--workers: expected a whole number from 1 to 65536, found '0'", "train", "--workers", "0")
refused(2, "did you mean dp?", "train", "--mesh", "db=2")
pathlib.Path("bad.toml").write_text("[train]\nlr = 0.1\nepochz = 3\n")
refused(2, "bad.toml:3:1: unknown key train.epochz; did you mean train.epochs?", "train", "--config", "bad.toml")
pathlib.Path("bad.toml").write_text("[train]\nlr = = 3\n")
refused(2, "bad.toml:2:6: ", "train", "--config", "bad.toml")
pathlib.Path("bad.model").write_text("input image f32[N,1,28,28]\nx = conv2d(image, nowhere)\n")
refused(2, "bad.model", "train", *SMALL, "--model", "file:bad.model")
refused(2, "cannot be opened", "train", *SMALL, "--model", "file:missing.model")
refused(2, "does not fit", "models", "lenet", "--memory", "1MB")

# Data: 3.
pathlib.Path("empty.svm").write_text("")
pathlib.Path("zero.svm").write_text("+1 1:1\n-1 0:1\n")
pathlib.Path("descending.svm").write_text("+1 1:1\n-1 3:1 2:1\n")
pathlib.Path("nan.csv").write_text("a,label\n1,0\nnan,1\n")
refused(3, "missing.svm", "train", "--model", "logreg", "--data", "libsvm:missing.svm")
refused(3, "empty.svm", "train", "--model", "logreg", "--data", "libsvm:empty.svm")
refused(3, "zero.svm: line 2", "train", "--model", "logreg", "--data", "libsvm:zero.svm")
refused(3, "descending.svm: line 2", "train", "--model", "logreg", "--data", "libsvm:descending.svm")
refused(3, "nan.csv", "train", "--model", "logreg", "--data", "csv:nan.csv")
mnist("magic", magic=0x1234)
refused(3, "magic/train-images", "train", "--model", "mlp", "--data", "mnist:magic")
mnist("label", labels=bytes([200]) * 20)
refused(3, "label", "train", "--model", "mlp", "--data", "mnist:label,classes=10")
mnist("torn")
whole = gzip.compress(pathlib.Path("torn/train-images-idx3-ubyte").read_bytes() * 50)
pathlib.Path("torn/train-images-idx3-ubyte").unlink()
pathlib.Path("torn/train-images-idx3-ubyte.gz").write_bytes(whole[:-9])
refused(3, "torn/train-images-idx3-ubyte.gz", "train", "--model", "mlp", "--data", "mnist:torn")
assert not pathlib.Path("runs").exists() or not list(pathlib.Path("runs").iterdir()), "a refused run left a folder"

# A run's own files.
train(*SMALL, "--out", "run", "--checkpoint-every", "8")
refused(2, "holds a run already", "train", *SMALL, "--out", "run")
refused(2, "cannot resume", "train", "--resume", "run", "--model", "mlp,hidden=17")
refused(2, "fc", "eval", "--run", "run", "--set", "train.model=mlp,hidden=17")
refused(2, "no such folder", "train", "--resume", "nowhere")
newest = pathlib.Path("run/checkpoints/step-00000016/model.safetensors")
newest.write_bytes(newest.read_bytes()[:-100])
refused(3, "step-00000016", "eval", "--checkpoint", newest.parent)
resumed = train("--resume", "run")
assert resumed["steps"] == 16, resumed
assert train(*SMALL)["parameter_hash"] == resumed["parameter_hash"]

# A loss that is no longer finite names its tensor; a target that is missed has its own code.
refused(1, "the loss is not finite", "train", *SMALL, "--quiet", "--lr", "1e30", "--optimizer", "sgd", "--epochs", "5")
