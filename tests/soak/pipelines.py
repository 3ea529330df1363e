#!/usr/bin/python3 -B
"""Every model cut in 2, 3 and 4 stages, with 1, 2, 4 and 8 micro-batches, by every synchronous schedule, ends with the bits of one
worker with the same micro-batches."""

import os
import pathlib
import sys
import tempfile

os.environ.setdefault("HOCKET", str(pathlib.Path(sys.argv[1]).resolve()))
os.environ.setdefault("HOCKET_SOURCE", str(pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "system"))

from support.program import refusal, train  # noqa: E402

IMAGES = ["--data", "synthetic:1x16x16:3:48", "--batch", 32, "--steps", 3]  # The last batch of an epoch is shorter.
TEXT = ["--data", "synthetic:text,samples=48", "--batch", 32, "--steps", 3]
MODELS = {"mlp,hidden=24x20x16x12x10x8x8,dropout=0.3": IMAGES, "lenet": IMAGES, "resnet,depth=8": IMAGES,
          "gpt,layers=4,width=16,heads=2,dropout=0.1": TEXT}

os.chdir(tempfile.mkdtemp())
for model, data in MODELS.items():
    runs = refused = 0
    for micro_batches in (1, 2, 4, 8):
        arguments = ["--model", model, *data, "--threads", 1, "--microbatches", micro_batches]
        alone = train(*arguments)
        for stages in (2, 3, 4):
            ways = ["naive", "gpipe", "1f1b"]
            if micro_batches % stages == 0:
                ways += ["interleaved,chunks=2"]
            for way in ways:
                cut = [*arguments, "--mesh", f"pp={stages}", "--schedule", way]
                if model == "lenet" and way.startswith("interleaved") and stages > 2:
                    assert "stages at most" in refusal(2, "train", *cut)
                    refused += 1
                    continue
                result = train(*cut)
                for key in ("parameter_hash", "train_loss", "test_loss", "test_accuracy"):
                    assert result[key] == alone[key], (cut, key, result[key], alone[key])
                runs += 1
    print(f"{model}: {runs} pipelines, the bits of one worker; {refused} refused, as the model has too few layers", flush=True)
