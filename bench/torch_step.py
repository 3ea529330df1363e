#!/usr/bin/env python3
"""PyTorch's side of `hocket bench step --peers`: the same models, shapes and work in a step.

    torch_step.py MODEL THREADS [CAPABILITY [SETTINGS RANK WORKERS FILE]]

Without CAPABILITY, PyTorch runs as it comes, with the environment that OpenBLAS and OpenMP need. With CAPABILITY, that
of torch's own kernels, avx2 or avx512 (neither is always the faster one), it tries the settings that may make it faster
and keeps the best. With SETTINGS, which are kept (a list with commas), it is one of WORKERS processes that meet at FILE
and train together with DistributedDataParallel over Gloo, and tries the settings of that. It prints a line of JSON that
says what was chosen. Then it reads numbers of steps, one a line, and answers each with the seconds that they took, until
its input ends: the process stays alive so that its rounds can alternate with another program's.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time

# Asked in a process of its own: OpenBLAS chooses its kernels once, when it is loaded.
ASK_OPENBLAS = """
import ctypes
blas = ctypes.CDLL("libblas.so.3")
blas.openblas_get_corename.restype = ctypes.c_char_p
print(blas.openblas_get_corename().decode())
"""
OLD_CORES = ("Prescott", "Core2", "Nehalem", "Sandybridge", "Haswell", "Zen", "Excavator")


def choose_environment():
    """Sets what torch and OpenBLAS read when they are loaded. Returns what was chosen and found."""
    with open("/proc/cpuinfo") as info:
        has_avx512 = "avx512f" in info.read()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # A choice for other work than this would hold torch back.
        os.environ.pop(name, None)
    asked = subprocess.run([sys.executable, "-c", ASK_OPENBLAS], text=True, capture_output=True)
    core = asked.stdout.strip()
    wanted = {"OMP_WAIT_POLICY": "PASSIVE"}  # Or OpenMP's threads spin against OpenBLAS' own.
    if len(sys.argv) > 4:
        wanted["GLOO_SOCKET_IFNAME"] = "lo"
    if has_avx512 and core in OLD_CORES:  # OpenBLAS does not know this processor.
        wanted["OPENBLAS_CORETYPE"] = "SkylakeX"
    if len(sys.argv) > 3:
        wanted["ATEN_CPU_CAPABILITY"] = sys.argv[3]
    os.environ.update(wanted)
    return {"blas": f"OpenBLAS ({core})" if core else "not OpenBLAS: slow", **{n: os.environ[n] for n in wanted}}


ENVIRONMENT = choose_environment()

try:
    import torch
    import torch.distributed as dist
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as error:
    if __name__ != "__main__":
        raise
    print(json.dumps({"missing": str(error)}), flush=True)
    sys.exit(1)

# Parameters have the names that they have in Hocket.


class Mlp(nn.Module):
    def __init__(self, inputs=784, hidden=(512, 512), classes=10):
        super().__init__()
        widths = [inputs, *hidden, classes]
        self.layers = len(widths) - 1
        for i in range(self.layers):
            setattr(self, f"fc{i + 1}", nn.Linear(widths[i], widths[i + 1]))

    def forward(self, x):
        x = x.flatten(1)
        for i in range(1, self.layers):
            x = F.relu(getattr(self, f"fc{i}")(x))
        return getattr(self, f"fc{self.layers}")(x)


class LeNet(nn.Module):
    def __init__(self, size=28, channels=(32, 64), hidden=128, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels[0], 3, padding=1)
        self.conv2 = nn.Conv2d(channels[0], channels[1], 3, padding=1)
        self.fc1 = nn.Linear(channels[1] * (size // 4) ** 2, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.missing = outputs - inputs

    def shortcut(self, x):
        if self.missing == 0:
            return x
        before = self.missing // 2
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.missing - before))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, depth=20, classes=10):
        super().__init__()
        blocks = (depth - 2) // 6
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.stage1 = self.stage(blocks, 16, 16, 1)
        self.stage2 = self.stage(blocks, 16, 32, 2)
        self.stage3 = self.stage(blocks, 32, 64, 2)
        self.fc = nn.Linear(64, classes)

    @staticmethod
    def stage(blocks, inputs, outputs, stride):
        first = BasicBlock(inputs, outputs, stride)
        return nn.Sequential(first, *[BasicBlock(outputs, outputs, 1) for _ in range(blocks - 1)])

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.fc(self.stage3(self.stage2(self.stage1(x))).mean((2, 3)))


class Attention(nn.Module):
    """Causal attention over q, k and v that lie side by side for each head."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.heads = heads
        self.hidden = torch.triu(torch.ones(context, context, dtype=torch.bool), 1)
        self.bias = torch.zeros(context, context).masked_fill(self.hidden, float("-inf"))
        self.add_mask = False

    def probabilities(self, q, k):
        scale = q.shape[-1] ** -0.5
        if self.add_mask:
            return torch.baddbmm(self.bias.to(q.dtype), q, k.transpose(1, 2), alpha=scale).softmax(-1)
        return (q @ k.transpose(1, 2) * scale).masked_fill(self.hidden, float("-inf")).softmax(-1)

    def forward(self, x):
        samples, context, width = x.shape
        qkv = self.qkv(x).view(samples, context, self.heads, 3, width // self.heads)
        q, k, v = qkv.permute(3, 0, 2, 1, 4).reshape(3, samples * self.heads, context, -1).unbind(0)
        mixed = self.probabilities(q, k) @ v
        mixed = mixed.view(samples, self.heads, context, -1).transpose(1, 2)
        return self.proj(mixed.reshape(samples, context, width))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, context)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)})

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp["down"](F.gelu(self.mlp["up"](self.ln2(x))))


class Gpt(nn.Module):
    def __init__(self, layers=4, width=256, heads=4, context=128, symbols=256):
        super().__init__()
        self.tok = nn.Embedding(symbols, width)
        self.pos = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads, context) for _ in range(layers)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, symbols, bias=False)

    def forward(self, ids):
        return self.head(self.ln(self.blocks(self.tok(ids) + self.pos.weight))).flatten(0, 1)


def images(channels, size, count):
    return torch.randn(count, channels, size, size), torch.randint(0, 10, (count,))


def text(context, count):
    windows = torch.randint(0, 256, (count, context + 1))
    return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


# model: its class, its preloaded samples, samples in a step, optimizer, settings to try
BENCHES = {
    "mlp": (Mlp, lambda: images(1, 28, 8192), 128, "momentum", []),
    "lenet": (LeNet, lambda: images(1, 28, 8192), 128, "momentum", ["channels_last"]),
    "resnet20": (ResNet, lambda: images(3, 32, 2048), 64, "momentum", ["channels_last"]),
    "gpt": (Gpt, lambda: text(128, 2048), 16, "adamw", ["add_mask"]),
}


# What DistributedDataParallel is built with for each of its settings.
PARALLEL = {
    "keep_gradients": {},  # Backward adds to the buckets in place.
    "own_buffers": {"broadcast_buffers": False},  # Batch normalisation's.
    "static_graph": {"static_graph": True},
    "bucket_cap_mb=1": {"bucket_cap_mb": 1},
    "bucket_cap_mb=4": {"bucket_cap_mb": 4},
}


def join_workers(rank, workers, file):
    dist.init_process_group("gloo", store=dist.FileStore(file, workers), rank=rank, world_size=workers)
    # torch 1.13 has dataclasses as defaults of others, which Python 3.11 refuses unless they can be hashed.
    plain = dataclasses.dataclass

    def hashable(cls=None, **options):
        if cls is None:
            return lambda found: hashable(found, **options)
        return plain(cls, **options, **({} if "__hash__" in vars(cls) else {"unsafe_hash": True}))

    dataclasses.dataclass = hashable
    import torch.distributed._shard  # noqa: F401
    dataclasses.dataclass = plain


def parallel(model, settings):
    options = {}
    for setting in settings:
        options.update(PARALLEL.get(setting, {}))
    return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, **options)


def slowest(seconds):
    """The most that any worker says."""
    if not dist.is_initialized():
        return seconds
    most = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return most.item()


class Bench:
    def __init__(self, name, settings):
        build, load, self.batch, optimizer, _ = BENCHES[name]
        torch.manual_seed(1 + (dist.get_rank() if dist.is_initialized() else 0))
        self.inputs, self.labels = load()
        self.model = build()
        if "channels_last" in settings:
            self.inputs = self.inputs.contiguous(memory_format=torch.channels_last)
            self.model = self.model.to(memory_format=torch.channels_last)
        if "add_mask" in settings:
            for block in self.model.blocks:
                block.attn.add_mask = True
        parameters = self.model.parameters()
        foreach = "foreach" in settings
        if optimizer == "adamw":
            self.optimizer = torch.optim.AdamW(parameters, lr=3e-4, weight_decay=0, foreach=foreach)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9, foreach=foreach)
        if dist.is_initialized():
            self.model = parallel(self.model, settings)
        self.set_to_none = "keep_gradients" not in settings

    def step(self):
        chosen = torch.randint(0, len(self.inputs), (self.batch,))
        scores = self.model(self.inputs[chosen])
        loss = F.cross_entropy(scores, self.labels[chosen].flatten())
        self.optimizer.zero_grad(set_to_none=self.set_to_none)
        loss.backward()
        self.optimizer.step()

    def run(self, steps):
        """The seconds that so many steps take."""
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        return time.perf_counter() - start


def speed_up(name, settings, candidate):
    """How much faster the step is with `candidate` than without: the median of alternating rounds."""
    benches = [Bench(name, settings), Bench(name, [*settings, candidate])]
    for bench in benches:
        bench.run(2)
    steps = max(1, round(0.25 / slowest(benches[0].run(1))))
    rounds = [[slowest(bench.run(steps)) for bench in benches] for _ in range(5)]
    return statistics.median(without / with_it for without, with_it in rounds)


def candidates_of(name):
    if len(sys.argv) > 4:
        return [setting for setting in PARALLEL if setting != "own_buffers" or name == "resnet20"]
    return [*BENCHES[name][4], "foreach"] if len(sys.argv) > 3 else []


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    settings, tried = [], {}
    if len(sys.argv) > 4:
        given, rank, workers, file = sys.argv[4:]
        settings = given.split(",") if given else []
        join_workers(int(rank), int(workers), file)
    for candidate in candidates_of(name):
        tried[candidate] = round(speed_up(name, settings, candidate), 3)
        if tried[candidate] > 1:
            settings.append(candidate)
    bench = Bench(name, settings)
    bench.run(3)
    print(json.dumps({"torch": torch.__version__, **ENVIRONMENT, "settings": settings, "speed_ups": tried}), flush=True)
    for line in sys.stdin:
        print(bench.run(int(line)), flush=True)


if __name__ == "__main__":
    main()
