#!/usr/bin/python3 -B
"""However a step is cut, it trains the same model: tensor parallel, ZeRO, both, and what users declare."""

from support.program import refusal, train

TEXT = ["--model", "gpt,layers=1,width=32,heads=4", "--data", "synthetic:text", "--batch", "8", "--steps", "6"]

# ZeRO changes where things are, not a bit of what they are; nor does the transport.
alone = train(*TEXT, "--threads", 1)
whole = train(*TEXT, "--workers", 2)
for level in (1, 2, 3):
    for transport in ("shm", "tcp"):
        cut = train(*TEXT, "--workers", 2, "--zero", level, "--transport", transport, "--reduce-order", "rank")
        assert cut["parameter_hash"] == whole["parameter_hash"], (level, transport, cut)
        assert cut["zero"] == level and cut["mesh"] == "dp=2", cut

# Weights cut as the model says, as the user says, and both ways at once.
for arguments in (["--mesh", "tp=2"], ["--mesh", "dp=2,tp=2"], ["--mesh", "dp=2,tp=2", "--zero", 3],
                  ["--mesh", "tp=2", "--place", "*.up.weight=tp:replicated,*.down.weight=tp:replicated"]):
    cut = train(*TEXT, *arguments)
    assert cut["mesh"] == arguments[1], cut
    assert abs(cut["test_loss"] - alone["test_loss"]) < 1e-4 * alone["test_loss"], (arguments, cut, alone)
    assert train(*TEXT, *arguments)["parameter_hash"] == cut["parameter_hash"], arguments

# What cannot be is said in one line.
message = refusal(2, "train", *TEXT, "--mesh", "tp=2", "--place", "blocks.0.ln1.weight=tp:0")
assert "blocks.0.ln1.weight" in message and "legal: tp:replicated" in message, message
message = refusal(2, "train", *TEXT, "--mesh", "tp=3", "--place", "head.weight=tp:0")
assert "head.weight" in message and "3 ranks" in message, message
message = refusal(2, "train", *TEXT, "--mesh", "tp=2", "--place", "nothing=tp:0")
assert "nothing" in message, message
message = refusal(2, "train", *TEXT, "--mesh", "dp=2,xp=2")
assert "xp=2" in message, message

# Workers share sparse rows as one has them.
SPARSE = ["--model", "logreg", "--data", "synthetic:sparse,samples=2000", "--steps", 20]
alone, together = train(*SPARSE), train(*SPARSE, "--workers", 2, "--zero", 1)
assert abs(alone["test_loss"] - together["test_loss"]) < 1e-6 and together["bytes_sent"] > 0, (alone, together)
