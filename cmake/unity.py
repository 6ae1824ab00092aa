#!/usr/bin/env python3
"""Puts source files into groups that are compiled as one, for builds that are compiled often and cold.

What a group saves is the work that its files share: headers are parsed, and templates instantiated,
once. Files of one group share one set of anonymous names, so two files that define the same name go
into different groups. What this script cannot see (a name that is ambiguous only in company) is an
error of the compiler; rename one of the two.

Usage: unity.py OUTPUT_DIRECTORY TARGET INCLUDE_ROOT... < FILES

Reads source files, one per line. Writes OUTPUT_DIRECTORY/TARGET_N.cc, each of which includes its
files by their paths below src or tests, so that the text is the same in every clone and ccache finds
it. Prints what to compile: these files, and the ones that stay alone. Files that have not changed are
not written again.
"""

import pathlib
import re
import sys

# Per group: enough that headers matter little, few enough that a change does not recompile much.
MAX_LINES = 1_500
MAX_FILES = 10

COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
# At the outermost level of a namespace.
NAMED_TYPE = re.compile(r"^(?:template\s*<[^{;]*>\s*)?(?:struct|class|enum class|enum|union)\s+(?:alignas\(\w+\)\s*)?(\w+)")
ALIAS = re.compile(r"^using\s+(\w+)\s*=")
BORROWED = re.compile(r"^using\s+(?:typename\s+)?[\w:]*?(\w+)\s*;")
NAMESPACE_ALIAS = re.compile(r"^namespace\s+(\w+)\s*=")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|INSTANTIATE_TEST_SUITE_P)\s*\(\s*(\w+)\s*,\s*(\w+)")
BEFORE_CALL = re.compile(r"([~\w:]+)\s*\(")
VARIABLE = re.compile(r"([\w:]+)\s*(?:\[[^\]]*\]\s*)*(?:=|\{|;|$)")
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)
OWN_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def statements(text):
    """The texts that begin at the outermost level of namespaces, up to their first ; or {."""
    depth_of_bodies = 0
    begin = 0
    i = 0
    while i < len(text):
        c = text[i]
        if depth_of_bodies:
            depth_of_bodies += {"{": 1, "}": -1}.get(c, 0)
            if depth_of_bodies == 0:
                begin = i + 1
        elif c == "{":
            head = text[begin:i].strip()
            if re.match(r"^(inline\s+)?namespace\b", head) or head.startswith('extern "C"'):
                begin = i + 1
            else:
                yield head + " {"
                depth_of_bodies = 1
        elif c == ";":
            yield text[begin:i + 1].strip()
            begin = i + 1
        elif c == "}":
            begin = i + 1
        i += 1


def defined_names(path):
    """Names that the file defines at the level of a namespace, and those it only borrows."""
    text = path.read_text()
    macros = set(MACRO.findall(text))
    text = COMMENT_OR_STRING.sub(lambda m: '""' if m.group(0)[0] in '"R' else " ", text)
    text = re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.MULTILINE)
    defined, borrowed = set(macros), set()
    for statement in statements(text):
        statement = re.sub(r"\[\[[^\]]*\]\]\s*", "", statement)
        test = TEST.match(statement)
        if test:
            defined.add(f"{test.group(1)}.{test.group(2)}")
            continue
        alias = BORROWED.match(statement)
        if alias:
            borrowed.add(alias.group(1))
            continue
        found = NAMED_TYPE.match(statement) or ALIAS.match(statement) or NAMESPACE_ALIAS.match(statement)
        if found:
            (borrowed if statement.startswith("namespace") else defined).add(found.group(1))
            continue
        head = re.sub(r"<[^<>]*>", "", statement)
        for _ in range(4):
            head = re.sub(r"<[^<>]*>", "", head)
        call = BEFORE_CALL.search(head)
        variable = VARIABLE.search(head)
        first = min((m for m in (call, variable) if m), key=lambda m: m.start(1), default=None)
        if first and "::" not in first.group(1):
            defined.add(first.group(1))
    return defined, borrowed


class Group:
    def __init__(self):
        self.files, self.lines, self.defined, self.borrowed = [], 0, set(), set()

    def takes(self, lines, defined, borrowed):
        return (len(self.files) < MAX_FILES and self.lines + lines <= MAX_LINES
                and not defined & (self.defined | self.borrowed) and not borrowed & self.defined)

    def add(self, path, lines, defined, borrowed):
        self.files.append(path)
        self.lines += lines
        self.defined |= defined
        self.borrowed |= borrowed


def include_path(path, roots):
    for root in roots:
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    raise SystemExit(f"unity.py: {path} is below none of {', '.join(map(str, roots))}")


def main():
    output, target = pathlib.Path(sys.argv[1]), sys.argv[2]
    roots = [pathlib.Path(root) for root in sys.argv[3:]]
    groups = []
    for path in sorted(map(pathlib.Path, filter(None, sys.stdin.read().splitlines()))):
        lines = path.read_text().count("\n")
        defined, borrowed = defined_names(path)
        group = next((g for g in groups if g.takes(lines, defined, borrowed)), None)
        if group is None:
            group = Group()
            groups.append(group)
        group.add(path, lines, defined, borrowed)

    output.mkdir(parents=True, exist_ok=True)
    for number, group in enumerate(groups):
        if len(group.files) == 1:
            print(group.files[0])
            continue
        text = "".join(f'#include "{include_path(path, roots)}"\n' for path in group.files)
        unit = output / f"{target}_{number}.cc"
        if not unit.exists() or unit.read_text() != text:
            unit.write_text(text)
        print(unit)


if __name__ == "__main__":
    main()
