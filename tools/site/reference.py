"""The pages of the site that are made from code: commands, headers, Python, decisions."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import headers
from latecomer.cli import COMMANDS
from latecomer.command.declare import Group, Parameter, parameters

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = _ROOT / "python" / "latecomer"
# Modules whose names users import; those that a clone does not have are left out.
_MODULES = ("", "mpi", "torch")


def pages() -> dict[str, str]:
    """The Markdown of each generated page, by its name."""
    include = sorted((_ROOT / "include" / "latecomer").glob("*.h"))
    return {
        "reference/command.md": command_page(),
        "reference/python.md": python_page(),
        "decisions/index.md": decisions_page(),
        **{f"reference/{path.name}.md": headers.header_page(path) for path in include},
    }


def command_page() -> str:
    """Each verb: its documentation, its arguments and its options."""
    lines = ["# The command", "", "`latecomer VERB --help` prints the same. In a clone the command "
             "is `./latecomer`.", ""]  # fmt: skip
    for path, verb in _verbs(COMMANDS, "latecomer"):
        text = textwrap.dedent("    " + (verb.__doc__ or ""))
        lines += [f"## {path}", "", *_with_examples(text), ""]
        declared = [each for each in parameters(verb) if not each.option.hidden]
        lines += ["| option | meaning |", "| --- | --- |", *map(_option_row, declared), ""]
    return "\n".join(lines)


def _verbs(group: Group, path: str) -> Iterator[tuple[str, object]]:
    for name in sorted(group.commands):
        found = group.commands[name]
        if isinstance(found, Group):
            yield from _verbs(found, f"{path} {name}")
        else:
            yield f"{path} {name}", group.verb(name)


def _with_examples(text: str) -> Iterator[str]:
    for line in text.splitlines():
        example = re.match(r"\s*Example: +(.*)", line)
        yield f"\n```sh\n{example[1]}\n```" if example else line


def _option_row(each: Parameter) -> str:
    names = "<br>".join(f"`{f'{name} {each.option.metavar}'.strip()}`"
                        for name in each.option.names or [""])  # fmt: skip
    said = [each.range.strip(), "required" if each.required else ""]
    if not each.required and each.default not in (None, False, ""):
        said.append(f"default: `{each.default}`")
    if each.repeated and each.option.names:
        said.append("can be repeated")
    more = "; ".join(filter(None, said))
    text = f"{each.option.help} ({more})" if more else each.option.help
    return f"| {_cell(names)} | {_cell(text)} |"


def _cell(text: str) -> str:
    """The text with its bars escaped; Markdown needs that outside of code only."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def python_page() -> str:
    """The names that users import, with their signatures and docstrings."""
    lines = ["# Python", ""]
    for module in _MODULES:
        path = next((each for each in (_PACKAGE / module / "__init__.py",
                     _PACKAGE / f"{module}.py") if each.is_file()), None)  # fmt: skip
        if path is None:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lines += [f"## {'.'.join(filter(None, ['latecomer', module]))}", ""]
        lines += [*_docstring(tree, "first"), ""]
        for name in _public(tree):
            lines += _python_entry(path, tree, name)
    return "\n".join(lines)


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [name]:
            return node.value
    return None


def _public(tree: ast.Module) -> list[str]:
    value = _assigned(tree, "__all__")
    names = ast.literal_eval(value) if value else []
    return [name for name in names if not name.startswith("__")]


def _python_entry(path: Path, tree: ast.Module, name: str) -> list[str]:
    names = _assigned(tree, "_NAMES")
    homes = ast.literal_eval(names) if names else {}
    where = next((module for module, its in homes.items() if name in its), None)
    if where:
        file = path.parent / f"{where.replace('.', '/')}.py"
        path = file if file.is_file() else file.with_suffix("") / "__init__.py"
    found = _definition(path, name)
    source, node = found or ("", ast.parse(""))
    if found is None or ast.unparse(node).endswith(f"core.{name}"):
        return [f"### `{name}`", "", "A class of the compiled core.", ""]
    code = _signature(source, node)
    return [f"### `{name}`", "", "```python", code, "```", "", *_docstring(node), ""]


def _definition(path: Path, name: str) -> tuple[str, ast.AST] | None:
    """The source that defines a name, and its definition: here, or where it is imported from."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return source, node
        if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == [name]:
            return source, node
        if isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names}:
            file = path.parents[max(node.level - 1, 0)] / f"{(node.module or '').replace('.', '/')}"
            for there in (file.with_suffix(".py"), file / "__init__.py"):
                if node.level and there.is_file() and there != path:
                    return _definition(there, name)
    return None


def _signature(source: str, node: ast.AST) -> str:
    """The head of a function, a class with the heads of its public members, or an assignment."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node)
    if isinstance(node, ast.FunctionDef):
        end = node.body[0].lineno - 1
        lines = source.splitlines()[node.lineno - 1 : end]
        return textwrap.dedent("\n".join(lines)).rstrip().removesuffix(":")
    lines = [source.splitlines()[node.lineno - 1]]
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            lines += source.splitlines()[part.lineno - 1 : part.end_lineno]
        public = isinstance(part, ast.FunctionDef) and (
            not part.name.startswith("_") or part.name == "__init__"
        )
        if public:
            lines += [
                "",
                *(
                    f"    {each.id if isinstance(each, ast.Name) else ast.unparse(each)}".replace(
                        "    ", "    @", 1
                    )
                    for each in part.decorator_list
                ),
            ]
            lines += textwrap.indent(_signature(source, part), "    ").splitlines()
            said = (ast.get_docstring(part) or "").splitlines()
            lines += [f"        # {line}".rstrip() for line in said]
    return "\n".join(lines)


def _docstring(node: ast.AST, part: str = "") -> list[str]:
    text = "" if isinstance(node, ast.Assign) else ast.get_docstring(node) or ""
    lines: list[str] = []
    code = False
    for line in text.splitlines():
        is_code = line.strip().startswith(">>>") or (code and bool(line.strip()))
        if is_code != code:
            lines += ["", "```python"] if is_code else ["```", ""]
            code = is_code
        lines.append(line.strip() if code else line)
    if code:
        lines.append("```")
    if part == "first" and lines:
        lines[0] = lines[0].partition(": ")[2] or lines[0]
        lines[0] = f"{lines[0][:1].upper()}{lines[0][1:]}"
    return lines


def decisions_page() -> str:
    """The list of decisions, by number."""
    lines = ["# Decisions", "", "Reasons that the code cannot show: for this way, and against "
             "another.", "", "| number | decision |", "| --- | --- |"]  # fmt: skip
    for path in sorted((_ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0]
        title = re.sub(r"^#\s*(\d+\.\s*)?", "", title)
        lines.append(f"| {int(path.name[:4])} | [{title}]({path.name}) |")
    return "\n".join(lines)
