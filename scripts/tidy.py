#!/usr/bin/env python3
"""Runs clang-tidy over every source file of a compile_commands.json, on all cores.

A file that passed is not checked again until something it depends on changes: its text, the text of
the headers of ours that it reaches, its compile command, the configuration, or an installed package.
Passes are remembered as empty files named by the hash of all that, under the user's cache directory,
so a fresh clone starts warm.

Usage: scripts/tidy.py BUILD_DIRECTORY [PATH_PREFIX...]
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

# From 22 on it does not look into the headers of other projects, which halves its time.
TIDY = "clang-tidy-22"
ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "cairn-tidy"
KEEP_DAYS = 30
OUR_INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def reached_headers(source):
    """`source` and the files of ours it includes, directly or not."""
    found, queue = set(), [source]
    while queue:
        path = queue.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for name in OUR_INCLUDE.findall(path.read_bytes()):
            relative = name.decode()
            queue += [ROOT / "src" / relative, ROOT / relative, path.parent / relative]
    return sorted(found)


def environment_hash():
    """What all files depend on: the configuration and the packages we build with."""
    names = {line.split()[1] for line in (ROOT / "scripts/packages.txt").read_text().splitlines()
             if line and not line.startswith("#")}
    versions = subprocess.run(["dpkg-query", "-W", *sorted(names)], capture_output=True, text=True)
    text = (ROOT / ".clang-tidy").read_text() + versions.stdout
    return hashlib.sha256(text.encode()).hexdigest()


def key_of(entry, environment):
    digest = hashlib.sha256(environment.encode())
    digest.update(entry["command"].replace(str(ROOT), "").encode())
    for path in reached_headers(pathlib.Path(entry["file"])):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def check(source, build):
    # What other projects do and the compilers that build us accept: g++'s library calls a deprecated
    # function of its own in stable_sort, and Google Benchmark uses __COUNTER__.
    ignored = ["--extra-arg=-Wno-deprecated-declarations", "--extra-arg=-Wno-c2y-extensions"]
    run = subprocess.run([TIDY, "--quiet", *ignored, "-p", str(build), str(source)],
                         capture_output=True, text=True)
    return run.returncode == 0, run.stdout or run.stderr


def forget_old_passes():
    oldest = time.time() - KEEP_DAYS * 24 * 3600
    for stamp in CACHE.iterdir():
        if stamp.stat().st_mtime < oldest:
            stamp.unlink(missing_ok=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    prefixes = [str((ROOT / prefix).resolve()) for prefix in sys.argv[2:]] or [str(ROOT)]
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if not entry["file"].startswith(str(build))
               and any(entry["file"].startswith(prefix) for prefix in prefixes)]
    # Bodies of other projects, not ours to check.
    entries = [entry for entry in entries if not entry["file"].endswith("net/boost_impl.cc")]
    CACHE.mkdir(parents=True, exist_ok=True)
    forget_old_passes()
    environment = environment_hash()

    todo = {}
    for entry in entries:
        stamp = CACHE / key_of(entry, environment)
        if stamp.exists():
            stamp.touch()
        else:
            todo[pathlib.Path(entry["file"])] = stamp

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(check, source, build): source for source in todo}
        for done in concurrent.futures.as_completed(runs):
            source = runs[done]
            passed, output = done.result()
            if passed:
                todo[source].touch()
            else:
                failed += 1
                print(f"--- {source.relative_to(ROOT)}\n{output}", flush=True)
    print(f"clang-tidy: {len(entries)} files, {len(todo)} checked now, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
