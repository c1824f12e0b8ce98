"""`cobic completion`: a script that teaches a shell the commands and options.

By hand: shtab knows no fish, and argcomplete starts Python at every press of Tab.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cobic.cli.codes import EXIT_DONE
from cobic.methods import METHODS

_NAMES = "bash", "zsh", "fish"


@dataclass(frozen=True)
class _Option:
    """An option of a command: its spellings, its help, the words it takes, and whether it takes any at all."""

    spellings: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True)
class _Command:
    """A command of the parser."""

    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]


def add_parser(commands: Any, summary: str) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "completion",
        help=summary,
        description=(
            "Print a completion script. bash and zsh: eval it in ~/.bashrc, or after compinit in ~/.zshrc; "
            "fish: write it to ~/.config/fish/completions/cobic.fish."
        ),
        epilog='example: eval "$(cobic completion bash)"',
    )
    parser.add_argument("shell", choices=_NAMES, metavar="SHELL", help=f"one of {', '.join(_NAMES)}")
    parser.set_defaults(run=lambda arguments: run(arguments, commands.choices, _helps(commands)))


def run(arguments: argparse.Namespace, parsers: dict[str, argparse.ArgumentParser], helps: dict[str, str]) -> int:
    """Print the script of a shell."""
    known = [_command(name, parser, helps[name]) for name, parser in parsers.items()]
    scripts: dict[str, Callable[[list[_Command]], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    print("\n".join(scripts[arguments.shell](known)))
    return EXIT_DONE


def _helps(commands: Any) -> dict[str, str]:
    return {choice.dest: choice.help or "" for choice in commands._choices_actions}


def _command(name: str, parser: argparse.ArgumentParser, text: str) -> _Command:
    options, words = [], list[str]()
    for action in parser._actions:
        known = METHODS if "--method" in action.option_strings else ()  # its complaint is better than argparse's
        choices = tuple(str(choice) for choice in action.choices or known)
        if action.option_strings:
            described = (action.help or "") % {**vars(action), "prog": parser.prog}
            options.append(_Option(tuple(action.option_strings), described, choices, action.nargs != 0))
        else:
            words += choices
    return _Command(name, text, tuple(options), tuple(words))


def _bash(commands: list[_Command]) -> Iterator[str]:
    yield "_cobic() {"
    yield '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words="" options=""'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    words="{" ".join(command.name for command in commands)} --help --version"'
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "    return"
    yield "  fi"
    yield '  case "${COMP_WORDS[1]}" in'
    for command in commands:
        spellings = " ".join(spelling for option in command.options for spelling in option.spellings)
        yield f'    {command.name}) options="{spellings}"; words="{" ".join(command.words)}" ;;'
    yield "  esac"
    yield '  case "${COMP_WORDS[1]} $before" in'
    for command in commands:
        for option in command.options:
            for spelling in option.spellings if option.choices else ():
                yield f'    "{command.name} {spelling}") options=""; words="{" ".join(option.choices)}" ;;'
    yield "  esac"
    yield '  if [ -n "$words" ] || [[ "$current" == -* ]]; then'
    yield '    COMPREPLY=($(compgen -W "$words $options" -- "$current"))'
    yield "  else"
    yield '    COMPREPLY=($(compgen -f -- "$current"))'
    yield "  fi"
    yield "}"
    yield "complete -o filenames -F _cobic cobic"


def _zsh(commands: list[_Command]) -> Iterator[str]:
    yield "#compdef cobic"
    yield "_cobic() {"
    yield "  local -a commands=("
    for command in commands:
        yield f"    {_single(f'{command.name}:{command.help}')}"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then _describe command commands; return; fi"
    yield "  local name=${words[2]}"
    yield "  shift words; (( CURRENT-- ))"
    yield "  case $name in"
    for command in commands:
        yield f"    {command.name}) _arguments -s \\"
        for option in command.options:
            for spelling in option.spellings:
                yield f"      {_single(_zsh_option(spelling, option))} \\"
        rest = f"({' '.join(command.words)})" if command.words else "_files"
        yield f"      {_single(f'*:file:{rest}')} ;;"
    yield "  esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = _cobic ]; then _cobic "$@"; else compdef _cobic cobic; fi'


def _zsh_option(spelling: str, option: _Option) -> str:
    text = option.help.translate({ord("["): "(", ord("]"): ")", ord(":"): ";"})
    values = f"({' '.join(option.choices)})" if option.choices else "_files"
    return f"*{spelling}[{text}]" + (f":value:{values}" if option.takes_value else "")


def _fish(commands: list[_Command]) -> Iterator[str]:
    for command in commands:
        yield f"complete -c cobic -n __fish_use_subcommand -f -a {command.name} -d {_single(command.help)}"
    for command in commands:
        seen = f"-n {_single(f'__fish_seen_subcommand_from {command.name}')}"
        if command.words:
            yield f"complete -c cobic {seen} -f -a {_single(' '.join(command.words))}"
        for option in command.options:
            named = " ".join(_fish_name(spelling) for spelling in option.spellings)
            value = " -r" if option.takes_value else ""
            value += f" -f -a {_single(' '.join(option.choices))}" if option.choices else ""
            yield f"complete -c cobic {seen} {named}{value} -d {_single(option.help)}"


def _fish_name(spelling: str) -> str:
    return f"-{'l' if spelling.startswith('--') else 's'} {spelling.lstrip('-')}"


def _single(text: str) -> str:
    """A word in single quotes; a quote in it becomes a typographic one, which no shell minds."""
    return "'" + text.replace("'", "’") + "'"
