"""`latecomer completion`: words that a shell completes, from the declarations of the verbs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from ..command.declare import Group, Parameter, argument, bad_value, parameters
from .commands import COMMANDS

Shell = Annotated[str, argument("SHELL", "The shell: bash or zsh.")]

_NAMES = ("ALGORITHM", "[NAME]")  # arguments that are algorithms
_SHELLS = ("bash", "zsh")
_CHOICES = re.compile(r"[a-z0-9-]+(\|[a-z0-9:A-Z-]+)+")  # of a metavar: lab|local|inherit

_BASH = """# Completion of latecomer, from its declarations. Source it.
_latecomer() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= options= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -- ]] && { COMPREPLY=($(compgen -f -- "$word")); return; }
    case "$verb ${COMP_WORDS[i]}" in
@VERBS@
    esac
  done
  case "$verb $before" in
@VALUES@
  esac
  case "$verb" in
@WORDS@
  esac
  COMPREPLY=($(compgen -W "$options" -- "$word"))
  [[ ${#COMPREPLY[@]} -eq 0 && $word != -* ]] && COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _latecomer latecomer ./latecomer
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def completion(shell: Shell) -> None:
    """Print the completion of this command for a shell.

    Verbs, options, their choices, and names of algorithms are completed.

    Example: source <(latecomer completion bash)
    """
    if shell not in _SHELLS:
        raise bad_value("SHELL", f"'{shell}'; give {' or '.join(_SHELLS)}")
    found = [(words, parameters(verb)) for words, verb in COMMANDS.verbs()]
    text = _BASH.replace("@VERBS@", "\n".join(_verb_lines(COMMANDS)))
    text = text.replace("@VALUES@", "\n".join(_value_lines(found)))
    text = text.replace("@WORDS@", "\n".join(_word_lines(COMMANDS, found)))
    print((_ZSH if shell == "zsh" else "") + text, end="")


def _groups(group: Group) -> Iterator[tuple[str, Group]]:
    yield "", group
    for name, found in group.commands.items():
        if isinstance(found, Group):
            yield name, found


def _verb_lines(commands: Group) -> Iterator[str]:
    for path, group in _groups(commands):
        for name in group.commands:
            whole = f"{path} {name}".strip()
            yield f"    '{path} {name}') verb='{whole}' ;;"


def _value_lines(verbs: list[tuple[str, list[Parameter]]]) -> Iterator[str]:
    for path, declared in verbs:
        for each in declared:
            if not each.option.names or each.is_flag:
                continue
            patterns = "|".join(f"'{path} {name}'" for name in each.option.names)
            yield f"    {patterns}) {_values(each)}; return ;;"


def _values(each: Parameter) -> str:
    """What a value of an option may be, as a command of bash."""
    words = None
    if _CHOICES.fullmatch(each.option.metavar):
        words = each.option.metavar.replace("|", " ")
    elif "--collective" in each.option.names:
        words = " ".join(_collectives())
    elif "--algorithms" in each.option.names:
        words = " ".join(_algorithms())
    if words is not None:
        return f'COMPREPLY=($(compgen -W "{words}" -- "$word"))'
    return 'COMPREPLY=($(compgen -f -- "$word"))'


def _word_lines(commands: Group, verbs: list[tuple[str, list[Parameter]]]) -> Iterator[str]:
    for path, group in _groups(commands):
        top = " help version --version" if path == "" else ""
        yield f"    '{path}') options='{' '.join(group.commands)} --help{top}' ;;"
    for path, declared in verbs:
        shown = [each for each in declared if not each.option.hidden]
        words = [name for each in shown for name in each.option.names if name.startswith("--")]
        if any(each.option.metavar in _NAMES and not each.option.names for each in declared):
            words += _algorithms()
        yield f"    '{path}') options='{' '.join([*words, '--help'])}' ;;"


def _collectives() -> list[str]:
    import latecomer

    return list(latecomer.collectives())


def _algorithms() -> list[str]:
    import latecomer

    return list(dict.fromkeys(row.name for row in latecomer.algorithms()))
