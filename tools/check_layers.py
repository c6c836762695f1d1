"""Checks that each folder includes or imports the folders that the architecture allows it.

Usage: python tools/check_layers.py [ROOT]. Prints every include and import that breaks a layer,
every folder that is allowed and not used, and every cycle of packages or files, and exits 1.
The table is that of docs/architecture.md below ROOT; without it the script exits 2.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

Table = dict[str, list[str]]  # the folders that each folder may use, as includes name them
HEAD = "| folder | holds | may use |"
PUBLIC = "latecomer"  # the public headers
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
MPI_CALL = re.compile(r"(?<![A-Za-z_])MPI_[A-Z][a-z_]+[a-z0-9_]*\s*\(")
TOPS = ("src", "bench", "examples", "evidence/simgrid")
BINDING = re.compile(r"python/[a-z_]+\.[ch]pp")  # each file of the bindings is a layer
PACKAGE = "python/latecomer"
API = "api"  # the package itself: python/latecomer/__init__.py


def rows_of(document: str) -> Iterator[tuple[list[str], str]]:
    """The paths of each row, and the folders that they may use. ValueError for no table."""
    lines = document.partition(HEAD)[2].splitlines()[2:]
    if not lines:
        raise ValueError(f"no table of layers: a line '{HEAD}', and rows below it, are needed")
    for line in lines:
        if not line.startswith("|"):
            break
        folders, _, uses = (cell.strip() for cell in line.strip("|").split("|"))
        yield re.findall(r"`([A-Za-z_./]+)`", folders), uses


def table_of(document: str) -> Table:
    """The rows of C++ folders."""
    table: Table = {}
    for paths, uses in rows_of(document):
        for path in paths:
            known = path.startswith(tuple(f"{top}/" for top in TOPS)) or BINDING.fullmatch(path)
            if not known or uses.startswith("as "):
                continue
            named = uses.replace("public headers", PUBLIC)
            layer = path.removeprefix("src/").removesuffix("/")
            table[layer] = [] if named == "-" else named.split(", ")
    return table


def python_table_of(document: str) -> Table:
    """The rows of Python packages, and of modules beside them, by name."""
    table: Table = {}
    for paths, uses in rows_of(document):
        for path in paths:
            if path.startswith(f"{PACKAGE}/"):
                name = path.removeprefix(f"{PACKAGE}/").removesuffix("/").removesuffix(".py")
                layer = API if name == "__init__" else name
                table[layer] = [] if uses == "-" else uses.split(", ")
    return table


class Layers:
    """The table, and the uses that were found."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.used: dict[str, set[str]] = {layer: set() for layer in table}

    def of(self, path: str) -> str:
        """The layer that an included path or a source belongs to; '' if to none."""
        known = sorted([*self.table, PUBLIC], key=len, reverse=True)
        return next((name for name in known if path.startswith(name + "/")), "")

    def breaches(self, layer: str, text: str) -> list[str]:
        """The includes and calls of a file of the layer that are forbidden there."""
        allowed = {layer, *self.table[layer]}
        included = [(name, self.of(name)) for name in INCLUDE.findall(text)]
        self.used[layer].update(folder for _, folder in included)
        found = [f'includes "{name}"' for name, folder in included if folder not in {"", *allowed}]
        if layer in {"transports/mpi", "runtime"}:
            # Below the C API only PMPI_ is called, so that tools and the drop-in do not see us.
            found += [f"calls {call.strip('( ')}" for call in MPI_CALL.findall(text)]
        return found

    def unused(self) -> list[str]:
        """The folders that the table allows and no file needs."""
        return [f"{layer}: may use {folder}, and does not" for layer, allowed in self.table.items()
                for folder in allowed if folder not in self.used[layer]]  # fmt: skip


class Package:
    """The modules of the Python package by dotted name without `latecomer.`, and their imports."""

    def __init__(self, folder: Path, table: Table) -> None:
        self.table = table
        self.files = {_dotted(file.relative_to(folder)): file for file in folder.rglob("*.py")}
        self.strangers: dict[str, set[str]] = {}  # packages of elsewhere, by module
        self.imports = {name: self._imports(name) for name in sorted(self.files)}

    def layer(self, module: str) -> str:
        """The innermost folder or module that the table names; else the folder it should name."""
        path = module.replace(".", "/")
        known = [name for name in self.table if f"{path}/".startswith(f"{name}/")]
        return max(known, key=len, default=path.partition("/")[0] or API)

    def _imports(self, module: str) -> list[str]:
        tree = ast.parse(self.files[module].read_text(encoding="utf-8"))
        found = [name for node in ast.walk(tree) for name in self._named(module, node)]
        self.strangers[module] = {n[1:].partition(".")[0] for n in found if n.startswith("/")}
        return [name for name in dict.fromkeys(found) if name in self.files and name != module]

    def _named(self, module: str, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (_inside(alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = self._base(module, node)
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                # The extension `_core` lies beside the packages and is no module of ours.
                yield "_core" if inner == "_core" else inner if inner in self.files else base

    def _base(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return _inside(node.module or "")
        is_package = self.files[module].name == "__init__.py"
        parts = module.split(".") if module else []
        up = node.level - is_package
        kept = parts[: len(parts) - up] if up else parts
        return ".".join([*kept, *([node.module] if node.module else [])])


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _inside(module: str) -> str:
    """Without the package's name; a module of elsewhere gets a name that no file has."""
    if module == PUBLIC:
        return ""
    return module.removeprefix("latecomer.") if module.startswith("latecomer.") else "/" + module


def cycle(graph: Mapping[str, list[str]]) -> list[str]:
    """The nodes of a cycle, in order; empty if there is none."""
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return path[path.index(node) :]
        if node in done:
            return []
        found = next(filter(None, (visit(n, [*path, node]) for n in graph.get(node, []))), [])
        done.add(node)
        return found

    return next(filter(None, (visit(node, []) for node in graph)), [])


def units(root: Path) -> dict[str, list[str]]:
    """The units below src, a source and its header each, and those that they include."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        unit = path.relative_to(root / "src").with_suffix("").as_posix()
        named = INCLUDE.findall(path.read_text(encoding="utf-8"))
        included = [Path(name).with_suffix("").as_posix() for name in named]
        found.setdefault(unit, []).extend(name for name in included if name != unit)
    return found


def check_python(root: Path, table: Table) -> list[str]:
    """Every breach of the Python package, as `file: what`, and every cycle."""
    package = Package(root / PACKAGE, table)
    used: dict[str, set[str]] = {layer: set() for layer in table}
    problems = []
    for module, imports in package.imports.items():
        name, layer = package.files[module].relative_to(root), package.layer(module)
        if layer not in table:
            problems.append(f"{name}: belongs to no layer; add its package to the table")
            continue
        if "evidence" in package.strangers[module]:
            problems.append(f"{name}: imports evidence, which is no part of the product")
        for target in imports:
            found = package.layer(target)
            used[layer].add(found)
            if found not in {layer, *table[layer]}:
                problems.append(f"{name}: imports {target or 'latecomer'}")
    problems += [f"{PACKAGE}/{layer}: may use {other}, and does not"
                 for layer, allowed in table.items() for other in allowed
                 if other not in used[layer]]  # fmt: skip
    if around := cycle({layer: sorted(others - {layer}) for layer, others in used.items()}):
        problems.append(f"{PACKAGE}: packages import each other: {', '.join(around)}")
    if around := cycle(package.imports):
        problems.append(f"{PACKAGE}: modules import each other: {', '.join(around)}")
    return problems


def check(root: Path) -> list[str]:
    """Every breach below root, as `file: what`."""
    document = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    layers = Layers(table_of(document))
    problems = []
    for top in TOPS:
        for path in sorted((root / top).rglob("*.[ch]pp")):
            name = path.relative_to(root / top if top == "src" else root).as_posix()
            layer = layers.of(name)
            if not layer:
                problems.append(f"{name}: belongs to no layer; add its folder to the table")
                continue
            text = path.read_text(encoding="utf-8")
            problems += [f"{name}: {what}" for what in layers.breaches(layer, text)]
    for path in sorted((root / "python").glob("*.[ch]pp")):
        name = path.relative_to(root).as_posix()
        if name not in layers.table:
            problems.append(f"{name}: belongs to no layer; add it to the table")
            continue
        text = path.read_text(encoding="utf-8")
        problems += [f"{name}: {what}" for what in layers.breaches(name, text)]
    if around := cycle(units(root)):
        problems.append(f"src: files include each other: {', '.join(around)}")
    return problems + layers.unused() + check_python(root, python_table_of(document))


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    try:
        problems = check(root)
    except (OSError, ValueError) as error:
        print(f"layers: {error}", file=sys.stderr)
        return 2
    print("\n".join(problems) or "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
