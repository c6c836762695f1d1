"""Writes the wrappers of the drop-in library from the table of intercepted functions:

    python3 tools/dropin_functions.py src/dropin/functions.txt FOLDER

- wrappers.cpp, exports.map: of the library of an MPI family
- stubs.inc, stubs.map: of the loader, which knows no MPI: name, number of words, form; of short
  calls also the words that hold the count and the datatype
- stubs_messages.inc, stubs_messages.map: the same with the functions for messages
- argument_lists.h: macros with lists of so many arguments of those

Large counts are passed on as numbers. The functions of Fortran go on to the MPI library's, which
call those of C.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# The declaration of a parameter of each kind.
DECLARATIONS = {
    "in": "const void* {}", "out": "void* {}", "count": "int {}", "counts": "const int {}[]",
    "displs": "const int {}[]", "aint": "MPI_Aint {}", "aints": "const MPI_Aint {}[]",
    "int": "int {}", "ints": "const int {}[]", "unit": "int {}", "type": "MPI_Datatype {}",
    "types": "const MPI_Datatype {}[]", "op": "MPI_Op {}", "comm": "MPI_Comm {}",
    "newcomm": "MPI_Comm* {}", "argc": "int* {}", "argv": "char*** {}", "group": "MPI_Group {}",
    "handler": "MPI_Errhandler {}", "info": "MPI_Info {}", "infos": "const MPI_Info {}[]",
    "request": "MPI_Request* {}", "requests": "MPI_Request {}[]", "value": "MPI_Request {}",
    "message": "MPI_Message* {}", "status": "MPI_Status* {}", "statuses": "MPI_Status {}[]",
    "result": "int* {}", "results": "int {}[]", "win": "MPI_Win {}", "newwin": "MPI_Win* {}",
    "file": "MPI_File {}", "newfile": "MPI_File* {}", "offset": "MPI_Offset {}",
    "text": "const char* {}", "texts": "char* {}[]", "lists": "char** {}[]",
}  # fmt: skip
# Where it is another one in the function of large counts.
LARGE = {"count": "MPI_Count {}", "counts": "const MPI_Count {}[]",
         "displs": "const MPI_Aint {}[]", "unit": "MPI_Aint {}"}  # fmt: skip
SITE = "latecomer::call_site(__builtin_return_address(0))"
FORMS = ("c", "short", "large")
WORDS = "abcdefghijklm"  # the loader's names of arguments
WITH_MESSAGES_ALONE = {"message", "object", "timed", "polling"}
# Places of calls that are counted only are of no use but beside messages.
FORTRAN_WITH_MESSAGES = WITH_MESSAGES_ALONE | {"nonblocking", "persistent", "neighbour"}


class TableError(Exception):
    """A line of the table is wrong."""


@dataclass
class Function:
    """A line of the table."""

    name: str
    parameters: list[tuple[str, str]]  # kind and name
    forms: list[str]  # of FORMS
    passes: str  # a name of PASSES; "": src/dropin/wrapped.hpp has its body

    @property
    def lower(self) -> str:
        return self.name.lower()

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.parameters]

    @property
    def values(self) -> str:
        return ", ".join(name for _, name in self.parameters)

    @property
    def with_site(self) -> str:
        return ", ".join([*(name for _, name in self.parameters), SITE])

    @property
    def plain(self) -> str:
        return f"native({self.values})"

    @property
    def call(self) -> str:
        return f"[&] {{ return {self.plain}; }}"

    @property
    def words_of_fortran(self) -> int:
        """Arguments, ierror, and at the end the lengths of texts; Fortran's MPI_Init has none."""
        counted = [kind for kind in self.kinds if kind not in {"argc", "argv"}]
        return 1 + len(counted) + sum(kind in {"text", "texts", "lists"} for kind in counted)

    def declared(self, large: bool) -> str:
        kinds = {**DECLARATIONS, **LARGE} if large else DECLARATIONS
        return ", ".join(kinds[kind].format(name) for kind, name in self.parameters)

    def letter(self, kind: str) -> str:
        """The loader's name for the last word of this kind."""
        return WORDS[max(at for at, own in enumerate(self.kinds) if own == kind)]

    def parameter(self, pattern: str) -> str:
        """The first parameter with such a name."""
        return next(name for _, name in self.parameters if re.fullmatch(pattern, name))

    def names_in_fortran(self) -> list[str]:
        f08 = f"mpi_{self.lower}_f08"
        made = [f"mpi_{self.lower}_", f"mpi_{self.lower}", f"mpi_{self.lower}__",
                f"MPI_{self.name.upper()}", f"{f08}_", f"{f08}ts_"]  # fmt: skip
        if "large" in self.forms:
            made += [f"{f08}_large_", f"{f08}ts_large_"]
        if self.name.startswith("Win_allocate"):  # those that return a C_PTR
            made += [f"mpi_{self.lower}_cptr{end}" for end in ("_", "", "__")]
        return made


# ---- what the wrappers of functions that are passed on do


def watched(f: Function) -> str:
    """A collective that is recorded, and nothing else."""
    return f'wrapped::watched(comm, "{f.lower}",\n      {SITE},\n      {f.call})'


def apart(f: Function) -> str:
    """One that makes a communicator of ranks that need have none in common."""
    has_tag = any(name == "tag" and kind in {"text", "int"} for kind, name in f.parameters)
    word = "wrapped::word_of(tag)" if has_tag else "0"
    return f"  return wrapped::made_apart(\n      {word}, newcomm, {SITE},\n      {f.call});\n"


def if_traced(f: Function, body: str, calls: str) -> str:
    """A body for traces of messages alone. `calls`: their kind where messages are timed; "": ranks
    do not wait in them."""
    timed = f"messages::untraced(OtherCalls::{calls}, {f.call})" if calls else f.plain
    return f"  if (!messages::are_traced()) return {timed};\n{body}"


def counted(f: Function, body: str) -> str:
    """The same of a call that is counted, too."""
    count = f"  latecomer::count_unhandled(latecomer::Unhandled::{f.passes});\n"
    return count + if_traced(f, body, "neighbours" if f.passes == "neighbour" else "")


def on_object(f: Function) -> str:
    """A collective that makes a window or a file of a communicator, ends one, or is on one."""
    kind, handle = next((kind, name) for kind, name in f.parameters
                        if kind in {"win", "newwin", "file", "newfile"})  # fmt: skip
    object_of = "objects::window" if "win" in kind else "objects::file"
    rest = f"{SITE},\n      {f.call});\n"
    if kind.startswith("new") and "comm" in f.kinds:
        none = "MPI_WIN_NULL" if "win" in kind else "MPI_FILE_NULL"
        return (f"  const int code = {watched(f)};\n"
                f"  const bool has_set = messages::has_set(code, {handle});\n"
                f"  return objects::made(\n"
                f"      comm, {object_of}(has_set ? *{handle} : {none}), code);\n")  # fmt: skip
    if kind.startswith("new"):
        return (f"  if ({handle} == nullptr) return native({f.values});\n"
                f'  return objects::end({object_of}(*{handle}), "{f.lower}", {rest}')  # fmt: skip
    size = "(assert & MPI_MODE_NOPRECEDE) != 0 ? 0 : -1" if f.name == "Win_fence" else "-1"
    return f'  return objects::together({object_of}({handle}), "{f.lower}", {size}, {rest}'


def timed(f: Function) -> str:
    """A call that ranks may wait in."""
    calls = kind(f) or "files"
    if re.fullmatch("Win_(post|start|complete|wait|test)", f.name):
        body = f"  return objects::{f.lower}(native, {f.with_site});\n"
    else:
        body = (f"  return latecomer::unseen::in(\n      OtherCalls::{calls}, {SITE},\n"
                f"      {f.call});\n")  # fmt: skip
    return if_traced(f, body, kind(f))


def kind(f: Function) -> str:
    """The kind of a call that is no collective among ranks; "": nobody waits for others in it."""
    if re.fullmatch("File_(read|write)(_at)?", f.name):
        return ""
    if f.passes == "message":
        begins = r"I[sbr]?send.*|Irecv|Imrecv|.*_init|Start.*|Request_free|Cancel"
        tests = r"Test.*|Iprobe|Improbe"
        return ("" if re.fullmatch(begins, f.name)
                else "polling" if re.fullmatch(tests, f.name) else "messages")  # fmt: skip
    of = {"Win": "windows", "File": "files", "Comm": "communicators"}
    if f.passes == "polling":
        return "polling"
    return of.get(f.name.partition("_")[0], "messages")


def among_neighbours(f: Function) -> str:
    """A collective among neighbours, from its begin or from its end on."""
    parts = ", ".join(f"messages::parts({f.parameter(side + 'counts?')}, "
                      f"{f.parameter(side + 'types?')})" for side in ("send", "recv"))  # fmt: skip
    begins, more = "among_neighbours", f"comm, {SITE}"
    if f.passes != "neighbour":
        begins, more = "begin_among_neighbours", f"latecomer::trace::{f.passes}, comm, request"
    return f"  return messages::{begins}(\n      {parts},\n      {more},\n      {f.call});\n"


def begun_together(f: Function) -> str:
    """A collective that a request completes."""
    if "neighbor" in f.lower:
        return among_neighbours(f)
    root = "root" if any(name == "root" for _, name in f.parameters) else "-1"
    return (f'  return messages::begin_together(\n      "{f.lower}", latecomer::trace::{f.passes}, '
            f"{root}, comm, request,\n      {SITE},\n      {f.call});\n")  # fmt: skip


SENDS = {"": "send", "s": "synchronous_send", "b": "buffered_send", "r": "ready_send"}


def message(f: Function) -> str:
    """A call that sends or receives, or one that completes such calls."""
    if "sendrecv" in f.lower:
        return exchange(f)
    name, flags = f.lower, "persistent" if f.lower.endswith("_init") else "nonblocking"
    if send := re.fullmatch("(i?)([sbr]?)send(_init)?", name):
        what = f"messages::What::{SENDS[send[2]]}"
        name = f"send<{what}>"
        if send[1] or send[3]:
            name = f"begin_send<{what}, latecomer::trace::{flags}>"
    elif name in {"irecv", "recv_init"}:
        name = f"begin_receive<latecomer::trace::{flags}>"
    return f"  return messages::{name}(native, {f.with_site});\n"


def exchange(f: Function) -> str:
    """A message each way."""
    out, back = (f"{{{f.parameter(f'({side})?count')}, {f.parameter(f'({side})?type')}}}"
                 for side in ("send", "recv"))  # fmt: skip
    to, source = "{dest, sendtag, comm}", "{source, recvtag, comm}"
    if f.lower.startswith("i"):
        return (f"  return messages::begin_exchange(\n      {out}, {to}, {source}, request,\n"
                f"      {SITE},\n      {f.call});\n")  # fmt: skip
    values = ", ".join("told" if kind == "status" else name for kind, name in f.parameters)
    return (
        f"  return messages::exchange(\n      {out}, {to}, {back}, {source}, status,\n"
        f"      {SITE},\n      [&](MPI_Status* told) {{ return native({values}); }});\n"
    )


PASSES: dict[str, Callable[[Function], str]] = {
    "makes": lambda f: (
        f'  return wrapped::made(\n      comm, newcomm, "{f.lower}", {SITE},\n      {f.call});\n'
    ),
    "apart": apart,
    "begins": lambda f: f"  return wrapped::duplicated(comm, {f.call});\n",
    "watched": lambda f: f"  return {watched(f)};\n",
    "message": lambda f: if_traced(f, message(f), kind(f)),
    "object": lambda f: if_traced(f, on_object(f), kind(f)),
    "timed": timed,
    "polling": timed,
    "neighbour": lambda f: counted(f, among_neighbours(f)),
    "nonblocking": lambda f: counted(f, begun_together(f)),
    "persistent": lambda f: counted(f, begun_together(f)),
}


# ---- the files


@dataclass
class Parts:
    """Lines of the files; of lists those of all loaders, and of the one for messages alone."""

    wrappers: str = ""
    exports: list[str] = field(default_factory=lambda: ["", ""])
    stubs: list[str] = field(default_factory=lambda: ["", ""])
    profiling: list[str] = field(default_factory=lambda: ["", ""])
    fortran: list[str] = field(default_factory=lambda: ["", ""])

    def add(self, f: Function) -> None:
        alone = f.passes in FORTRAN_WITH_MESSAGES
        for name in f.names_in_fortran():
            self.fortran[alone] += f"    {name};\n"
            self.stubs[alone] += f"FORTRAN({name}, {f.words_of_fortran})\n"
        for form in f.forms:
            if f.passes:
                self._pass_on(f, form == "large")
            elif form != "short":  # of the C function, see there
                self._own(f, form == "large")
        self.wrappers += "\n"

    def _export(self, f: Function, symbol: str, stub: str) -> None:
        alone = f.passes in WITH_MESSAGES_ALONE
        self.exports[alone] += f"    {symbol};\n"
        self.stubs[alone] += f"{stub}\n"

    def _pass_on(self, f: Function, large: bool) -> None:
        symbol, stub, needs = f"MPI_{f.name}", "STUB", "1"
        if large:
            symbol += "_c"
        # Persistent collectives and MPI_Isendrecv came with MPI 4, as large counts did.
        fresh = "Isendrecv.*|Parrived|Comm_idup_with_info|.*_from_groups?"
        if large or f.passes == "persistent" or re.fullmatch(fresh, f.name):
            needs = "LATECOMER_LARGE_COUNTS"
            if not f.name.startswith("File_"):  # MPICH calls its own large functions of files
                stub = "LARGE"
        # Weak: an older MPI library than that of the build may lack it.
        self.wrappers += (
            f"#if {needs}\n#pragma weak P{symbol}\n"
            f"LATECOMER_WRAPPER int {symbol}({f.declared(large)}) {{\n"
            f'  static const auto native = latecomer::next("{symbol}", P{symbol});\n'
            f"{PASSES[f.passes](f)}}}\n#endif\n"
        )
        self._export(f, symbol, f"{stub}({symbol}, {len(f.parameters)})")
        self.profiling[f.passes in WITH_MESSAGES_ALONE] += f"    P{symbol};\n"

    def _own(self, f: Function, large: bool) -> None:
        symbol = f"MPI_{f.name}_c" if large else f"MPI_{f.name}"
        body = (f"LATECOMER_WRAPPER int {symbol}({f.declared(large)}) {{\n"
                f"  return wrapped::{f.lower}({f.with_site});\n}}\n")  # fmt: skip
        words = len(f.parameters)
        if large:
            self.wrappers += f"#if LATECOMER_LARGE_COUNTS\n{body}#endif\n"
            stub = f"LARGE({symbol}, {words})"
        else:
            self.wrappers += body
            stub = f"STUB({symbol}, {words})"
            if "short" in f.forms:
                where = f"{f.letter('count')}, {f.letter('type')}"
                stub = f"SHORT({symbol}, {words}, {where}, {f.lower})"
        self._export(f, symbol, stub)
        self.profiling[0] += f"    P{symbol};\n"


def read(table: Path) -> list[Function]:
    """The functions of a table. Raises TableError."""
    found = []
    for line in table.read_text().splitlines():
        if not re.match("[A-Z]", line):
            continue
        match = re.fullmatch(r"([A-Za-z_]+) *\|([^|]*)\| *([a-z ]+)", line)
        if match is None:
            raise TableError(f"'{line}' is not usable; right would be NAME | parameters | forms")
        parameters = [each.split() for each in match[2].split(",") if each.strip()]
        for kind, *names in parameters:
            if kind not in DECLARATIONS or len(names) != 1:
                raise TableError(f"parameter '{' '.join([kind, *names])}' of {match[1]} is not "
                                 f"usable; right would be a name and one of these before it: "
                                 f"{', '.join(DECLARATIONS)}")  # fmt: skip
        forms = match[3].split()
        is_begun = "begun" in forms
        forms = [form for form in forms if form != "begun"]
        passes = [form for form in forms if form in PASSES]
        own = [form for form in forms if form not in PASSES]
        if len(passes) > 1 or set(own) - set(FORMS) or (passes and "short" in own):
            raise TableError(f"forms '{match[3]}' of {match[1]} are not usable; right would be "
                             f"some of {', '.join(FORMS)}, or c and large with one of "
                             f"{', '.join(PASSES)}; and begun")  # fmt: skip
        pairs = [(kind, name) for kind, name in parameters]
        found.append(Function(match[1], pairs, own, "".join(passes)))
        found += begun(found[-1]) if is_begun else []
    return found


def begun(f: Function) -> list[Function]:
    """The non-blocking and the persistent function of a collective."""
    forms = [form for form in f.forms if form != "short"]
    request = ("request", "request")
    return [Function(f"I{f.name[0].lower()}{f.name[1:]}", [*f.parameters, request], forms,
                     "nonblocking"),
            Function(f"{f.name}_init", [*f.parameters, ("info", "info"), request], forms,
                     "persistent")]  # fmt: skip


def files(functions: list[Function]) -> dict[str, str]:
    """The text of each file."""
    parts = Parts()
    for each in functions:
        parts.add(each)
    made = "Made by tools/dropin_functions.py from src/dropin/functions.txt."
    wrappers = f"""// {made}
#include "dropin/fast_path.hpp"
#include "dropin/messages.hpp"
#include "dropin/next.hpp"
#include "dropin/unseen.hpp"
#include "dropin/windows_and_files.hpp"
#include "dropin/wrapped.hpp"

#define LATECOMER_WRAPPER __attribute__((visibility("default")))

namespace messages = latecomer::messages;
namespace objects = latecomer::objects;
namespace wrapped = latecomer::wrapped;
using latecomer::trace::OtherCalls;

extern "C" {{

{parts.wrappers}}}  // extern "C"
"""
    loaders = "    latecomer_loader;\n    latecomer_find_observer;\n"
    ours = ("    latecomer_dropin_*;\n    latecomer_count_stats;\n    latecomer_get_*;\n"
            "    latecomer_last_error;\n")  # fmt: skip

    def stubs(text: str) -> str:
        short = "#define SHORT(name, words, count, type, member) STUB(name, words)\n"
        others = f"#define LARGE STUB\n#define FORTRAN STUB\n{short}"
        forms = "".join(f"#undef {form}\n" for form in ("STUB", "LARGE", "FORTRAN", "SHORT"))
        return f"/* {made} */\n#ifndef SHORT\n{others}#endif\n{text}{forms}"

    def symbols(text: str) -> str:
        return f"/* {made} */\n{{\n  global:\n{text}  local: *;\n}};\n"

    plain = symbols(parts.exports[0] + parts.fortran[0] + parts.profiling[0] + loaders)
    whole = symbols("".join(parts.exports + parts.fortran + parts.profiling) + loaders)
    return {
        "wrappers.cpp": wrappers,
        "exports.map": symbols("".join(parts.exports) + ours),
        "stubs.inc": stubs(parts.stubs[0]),
        "stubs.map": plain,
        "stubs_messages.inc": stubs("".join(parts.stubs)),
        "stubs_messages.map": whole,
        "argument_lists.h": f"/* {made} */\n{argument_lists()}",
    }


def argument_lists() -> str:
    """TYPES and MORE with the types of so many arguments, alone and after others; WORDS and AND
    without."""
    text = ""
    for count in range(len(WORDS) + 1):
        plain = [f", {word}" for word in WORDS[:count]]
        typed = [f", long {word}" for word in WORDS[:count]]
        for name, made in (("MORE", typed), ("AND", plain)):
            text += f"#define {name}{count} {''.join(made)}\n"
        text += f"#define TYPES{count} {''.join(typed)[2:] or 'void'}\n"
        text += f"#define WORDS{count} {''.join(plain)[2:]}\n"
    return text


def main() -> None:
    """Writes the files into the folder; what is wrong with the table ends it."""
    if len(sys.argv) != 3:
        sys.exit("usage: dropin_functions.py TABLE FOLDER")
    table, folder = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        made = files(read(table))
    except (OSError, TableError) as error:
        sys.exit(f"{table}: {error}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
