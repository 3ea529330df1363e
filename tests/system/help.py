#!/usr/bin/python3 -B
"""Help lists every command, docs/CLI.md every option and key, and examples in both are ones the program accepts."""

import json
import pathlib
import re
import tomllib

from support.program import SMALL, SOURCE, output, run, train

page = (SOURCE / "docs" / "CLI.md").read_text()
assert output() == output("--help") == output("help")
assert re.fullmatch(r"hocket \d+\.\d+\.\d+\n", output("--version"))

commands = re.findall(r"^  (\w+)  ", output(), re.MULTILINE)
assert commands[0] == "train", commands


def section_of(command):
    return page.split(f"## `hocket {command}`")[1].split("\n## ")[0]


flags = {}
for command in commands:
    text = output(command, "--help")
    assert text == output("help", command)
    flags[command] = set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE))
    section = section_of(command)
    if command == "compare":
        section += section_of("train")  # Whose options it takes.
    for flag in flags[command] - {"--help"}:
        assert f"`{flag}" in section, f"docs/CLI.md does not describe {flag} of hocket {command}"

train(*SMALL, "--steps", 1, "--out", "run")
for key in tomllib.loads(pathlib.Path("run/config.toml").read_text())["train"]:
    assert f"`train.{key}`" in page, f"docs/CLI.md does not describe train.{key}"

for command, shown in re.findall(r"^ *hocket (\w+)([^\n]*)", page, re.MULTILINE):
    own = shown.split(" -- ")[0]  # What follows is another program's.
    unknown = set(re.findall(r"(--[\w-]+)", own)) - flags.get(command, set())
    assert not unknown, f"docs/CLI.md shows hocket {command} with {unknown}"

doctor = run("doctor", "--json")
assert doctor.returncode in (0, 1) and json.loads(doctor.stdout)["cores"]["cores"] >= 1
