"""Print a completion script.

bash and zsh: eval it in ~/.bashrc, or after compinit in ~/.zshrc; fish: write it to
~/.config/fish/completions/cobic.fish.

example: eval "$(cobic completion bash)"
"""

# By hand: shtab knows no fish, and argcomplete starts Python at every press of Tab.

import argparse
from collections.abc import Iterator

from cobic.cli.main import COMMANDS, build_parser
from cobic.methods import METHODS

_NAMES = "bash", "zsh", "fish"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=_NAMES, metavar="SHELL", help=f"one of {', '.join(_NAMES)}")


def run(arguments: argparse.Namespace) -> None:
    """Print the script of a shell."""
    parsers = next(action.choices for action in build_parser()._actions if isinstance(action.choices, dict))
    print("\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](parsers)))


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _choices(action: argparse.Action) -> str:
    """The words that an option or argument takes."""
    known = METHODS if "--method" in action.option_strings else ()  # its complaint is better than argparse's
    return " ".join(str(choice) for choice in action.choices or known)


def _words(parser: argparse.ArgumentParser) -> str:
    """The words that a command takes without an option."""
    return " ".join(filter(None, (_choices(action) for action in parser._actions if not action.option_strings)))


def _help(action: argparse.Action) -> str:
    return (action.help or "") % vars(action)


def _bash(parsers: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    yield "_cobic() {"
    yield '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words="" options=""'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    words="{" ".join(parsers)} --help --version"'
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "    return"
    yield "  fi"
    yield '  case "${COMP_WORDS[1]}" in'
    for name, parser in parsers.items():
        spellings = " ".join(spelling for action in _options(parser) for spelling in action.option_strings)
        yield f'    {name}) options="{spellings}"; words="{_words(parser)}" ;;'
    yield "  esac"
    yield '  case "${COMP_WORDS[1]} $before" in'
    for name, parser in parsers.items():
        for action in filter(_choices, _options(parser)):
            for spelling in action.option_strings:
                yield f'    "{name} {spelling}") options=""; words="{_choices(action)}" ;;'
    yield "  esac"
    yield '  if [ -n "$words" ] || [[ "$current" == -* ]]; then'
    yield '    COMPREPLY=($(compgen -W "$words $options" -- "$current"))'
    yield "  else"
    yield '    COMPREPLY=($(compgen -f -- "$current"))'
    yield "  fi"
    yield "}"
    yield "complete -o filenames -F _cobic cobic"


def _zsh(parsers: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    yield "#compdef cobic"
    yield "_cobic() {"
    yield "  local -a commands=("
    for name in parsers:
        yield f"    {_single(f'{name}:{COMMANDS[name]}')}"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then _describe command commands; return; fi"
    yield "  local name=${words[2]}"
    yield "  shift words; (( CURRENT-- ))"
    yield "  case $name in"
    for name, parser in parsers.items():
        yield f"    {name}) _arguments -s \\"
        for action in _options(parser):
            text = _help(action).translate({ord("["): "(", ord("]"): ")", ord(":"): ";"})
            values = f"({_choices(action)})" if _choices(action) else "_files"
            for spelling in action.option_strings:
                option = f"*{spelling}[{text}]" + ("" if action.nargs == 0 else f":value:{values}")
                yield f"      {_single(option)} \\"
        rest = f"({_words(parser)})" if _words(parser) else "_files"
        yield f"      {_single(f'*:file:{rest}')} ;;"
    yield "  esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = _cobic ]; then _cobic "$@"; else compdef _cobic cobic; fi'


def _fish(parsers: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    for name in parsers:
        yield f"complete -c cobic -n __fish_use_subcommand -f -a {name} -d {_single(COMMANDS[name])}"
    for name, parser in parsers.items():
        seen = f"-n {_single(f'__fish_seen_subcommand_from {name}')}"
        if _words(parser):
            yield f"complete -c cobic {seen} -f -a {_single(_words(parser))}"
        for action in _options(parser):
            long = [(each.lstrip("-"), each.startswith("--")) for each in action.option_strings]
            spellings = " ".join(f"-{'l' if is_long else 's'} {word}" for word, is_long in long)
            value = "" if action.nargs == 0 else " -r"
            value += f" -f -a {_single(_choices(action))}" if _choices(action) else ""
            yield f"complete -c cobic {seen} {spellings}{value} -d {_single(_help(action))}"


def _single(text: str) -> str:
    """A word in single quotes; a quote in it becomes a typographic one, which no shell minds."""
    return "'" + text.replace("'", "’") + "'"
