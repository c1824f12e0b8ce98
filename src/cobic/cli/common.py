"""What several commands share: arguments, progress, and the way an answer is told."""

import argparse
import ast
import json
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from rich.console import Console
from rich.text import Text

from cobic.answer.folder import ANSWER_FILES
from cobic.answer.frontier import FRONTIER_FILES
from cobic.answer.panel_folder import PANEL_FILES
from cobic.answer.steps import Steps
from cobic.answer.words import found_line, proven_line
from cobic.checks import require, require_whole
from cobic.cli.main import EXIT_INFEASIBLE, EXIT_INTERRUPTED, EXIT_NOTHING_FOUND, printable
from cobic.errors import InputError
from cobic.io import read, read_groups, write_folder
from cobic.io.files import naming, prepare_folder, try_out
from cobic.io.raw import Reading
from cobic.matrix import TRANSFORMS
from cobic.methods import DEFAULT_METHOD, METHODS, find_method
from cobic.methods.memory import require_room
from cobic.problem import Problem
from cobic.problem.advice import class_advice, transform_advice
from cobic.problem.dataset import Dataset
from cobic.search.budget import Stopwatch
from cobic.search.cluster import cluster
from cobic.search.result import Result, Status

T = TypeVar("T")
TRANSFORM_ARGUMENTS = ("transform", "floor")  # of :func:`add_transform_arguments`, and of a problem
# What goes when a folder gets an answer of another kind: a report would take the one for the other.
ANSWERS = frozenset({*ANSWER_FILES, *PANEL_FILES, *FRONTIER_FILES})
_SHOWN_ASIDE = 12  # names on a line; the rest is counted


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say how a file is to be read."""
    group = parser.add_argument_group("the data")
    add = group.add_argument
    add("data", metavar="DATA", help="a file of measurements: CSV, GCT, Excel, h5ad, R …")
    add("--labels", metavar="NAME", help="column or row of the classes")
    add("--labels-file", metavar="FILE", help="second file: sample name, class; or a CLS file")
    add("--labels-from-names", metavar="PATTERN", help="classes in sample names, as '(Tumor|Normal)'")
    sides = group.add_mutually_exclusive_group()
    sides.add_argument("--features-in-rows", action="store_true", default=None, help="each line is a feature")
    sides.add_argument("--samples-in-rows", action="store_false", dest="features_in_rows", help="each line is a sample")
    add("--ids", metavar="NAME", help="column of the sample names, if it is not recognised")
    add("--drop", metavar="NAME", action="append", default=[], help="leave a column or row out (repeatable)")
    only = "only the samples of this class (repeatable)"
    add("--class", metavar="NAME", dest="classes", action="append", default=[], help=only)
    add("--part", "--sheet", metavar="NAME", help="Excel sheet, R object, array or layer to read")
    add("--header-row", type=int, metavar="N", help="line of the names, from 1; 0 for none")
    add("--decimal", choices=(".", ","), help="decimal mark, if it is not recognised")
    add("--encoding", metavar="NAME", help="of a text file, if it is not UTF-8")
    add("--backed", action="store_true", help="leave h5ad, Zarr or npy on disk; read piece by piece")


def add_method_arguments(parser: argparse.ArgumentParser, time_limit: float = 60.0, of: str = "") -> None:
    """Arguments that say how to solve."""
    add = parser.add_argument_group("the method").add_argument
    add("--method", default=DEFAULT_METHOD, help=f"{', '.join(METHODS)} (default: {DEFAULT_METHOD})")
    limit = f"{of}default: {time_limit:g}; 0 for none"
    add("--time-limit", type=float, default=time_limit, metavar="SECONDS", help=limit)
    add("--seed", type=int, default=0, help="default: 0")
    gap = "end when selection and bound are as close as this, e.g. 0.1%% (default: 0.01%%); 0 goes on to the proof"
    add("--gap", type=share, metavar="SHARE", help=gap)
    add("-O", "--option", action="append", default=[], metavar="NAME=VALUE", help="option of the method (repeatable)")


def add_margin_arguments(parser: argparse.ArgumentParser, *, in_words: bool = False) -> None:
    """Arguments that say by how much a class must win."""
    group = parser.add_argument_group("the margins")
    shares = ", a share of the largest feasible one as 30%%, or auto: cross-validated" if in_words else ", at least 0"
    kind = number_or_text if in_words else float
    group.add_argument("--alpha", type=kind, default=0.0, help=f"additive margin{shares} (default: 0)")
    group.add_argument("--beta", type=float, default=1.0, help="multiplicative margin, at least 1 (default: 1)")


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say what is asked of a selection besides its margins."""
    add = parser.add_argument_group("the rules").add_argument
    add("--ties", choices=("first", "exclude"), default="first", help="features with tied class means")
    add("--beta-rule", choices=("published", "sign-aware"), default="published")
    price = "let margins be violated at a price, in features per unit of margin; auto for a sensible one"
    add("--slack-penalty", metavar="PRICE", default=float("inf"), type=number_or_text, help=price)
    add("--fixed-in", action="append", metavar="NAME", help="feature that must be selected (repeatable)")
    add("--fixed-out", action="append", metavar="NAME", help="feature that must not be (repeatable)")
    groups = "table with the columns feature, group: all of a group or nothing"
    add("--groups", type=Path, metavar="FILE", help=groups)
    add_transform_arguments(parser)


def add_transform_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say what becomes of the values first."""
    add = parser.add_argument_group("the values").add_argument
    add("--transform", choices=TRANSFORMS, help="what becomes of the values first, also of new samples")
    add("--floor", type=float, metavar="N", help="with log2 or log1p: what is below N counts as N")


def add_panel_choices(add: Callable[..., Any], split: str) -> None:
    """Arguments that only panels have."""
    shared = f"features of each class in a total: as serves the margin best, or as evenly as can be (default: {split})"
    add("--split", choices=("any", "even"), default=split, help=shared)
    tail = "share of the samples whose margins count, the worst first: 0 for the worst alone, 1 for all (default: 0.3)"
    add("--tail", type=float, default=0.3, metavar="SHARE", help=tail)
    add("--weights", choices=("equal", "balanced"), default="equal", help="balanced: all classes count the same")
    add("--offset", action="store_true", help="add a constant to the mean of each class, fitted with the panel")


def add_answer_arguments(parser: argparse.ArgumentParser, files: str) -> Any:
    """Arguments that say where the answer goes; the group, for more of them."""
    group = parser.add_argument_group("the answer")
    group.add_argument("--out", type=Path, metavar="FOLDER", help=f"write {files}")
    group.add_argument("--force", action="store_true", help="overwrite files in the folder")
    group.add_argument("--json", action="store_true", help="print one JSON object")
    return group


def panel_size(text: str) -> int | dict[str, int]:
    """A number, or one for each class."""
    try:
        if "=" not in text:
            return int(text)
        return {name: int(count) for name, _, count in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        message = f"--size {text!r}: write a whole number, or one for each class as A=5,B=5"
        raise InputError(message) from None


def add_parallel_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Arguments that say where work is done side by side."""
    group = parser.add_argument_group("the work").add_mutually_exclusive_group()
    group.add_argument("--jobs", type=int, metavar="N", help=f"{what} in N processes; -1 for one per core")
    group.add_argument("--cluster", metavar="WHERE", help="local:4 for four Dask workers, or tcp://HOST:PORT")


def number_or_text(text: str) -> float | str:
    """A price or a margin; words are left to those who know some of them, and complain about the rest."""
    try:
        return float(text)
    except ValueError:
        return text


def rules(arguments: argparse.Namespace, data: Dataset) -> dict[str, Any]:
    """Keyword arguments of a problem from those of :func:`add_rule_arguments`."""
    names = ("ties", "beta_rule", "slack_penalty", "fixed_in", "fixed_out", *TRANSFORM_ARGUMENTS)
    groups = None if arguments.groups is None else read_groups(arguments.groups, data.feature_names)
    return {**{name: getattr(arguments, name) for name in names}, "groups": groups}


def require_place(file: Path, *, overwrite: bool, folders: bool = False) -> None:
    """Find out before the work that a file cannot be written; some files are folders, as those of Zarr."""
    if file.is_dir() and not folders:
        message = f"{file} is a folder: give the name of a file"
    elif file.exists() and not overwrite:
        message = f"{file} exists: choose another name, or overwrite it with --force"
    elif not file.parent.is_dir():
        message = f"cannot write {file}: there is no folder {file.parent}"
    else:
        with naming(file):
            try_out(file.parent)
        return
    raise InputError(message)


@contextmanager
def output_folder(folder: Path | None, *, overwrite: bool) -> Iterator[None]:
    """Make a folder before the work; if the work fails, what was made and is still empty is taken away again."""
    made = [] if folder is None else [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if folder is not None:
            prepare_folder(folder, overwrite=overwrite)
        yield
    except BaseException:
        for each in made:
            with suppress(OSError):  # there is something in it
                each.rmdir()
        raise


@contextmanager
def resumable_folder(arguments: argparse.Namespace) -> Iterator[Steps]:
    """Make the folder of a long run, in which its steps are kept until the answer is there; go on with one begun."""
    if arguments.out is None:
        yield Steps()
        return
    folder = arguments.out / "steps"

    def tell(usable: int, damaged: int) -> None:
        again = f"; {damaged} damaged one(s) are done again" if damaged else ""
        print(f"cobic: goes on after {usable} finished step(s) in {folder}{again}", file=sys.stderr)

    with output_folder(arguments.out, overwrite=arguments.force or folder.is_dir()):
        yield Steps(folder, anew=arguments.force, on_resume=tell)


@contextmanager
def repeated(arguments: argparse.Namespace, run: Callable[..., T], what: str, **more: Any) -> Iterator[tuple[T, Steps]]:
    """Select again and again, for a path or a stability; the steps are kept until the answer is told and written."""
    asked = reading(arguments)
    if arguments.top is not None:
        require_whole("--top", arguments.top, 1)
    options = solve_options(arguments)
    data = read_data(asked, transformed=arguments.transform is not None)
    with resumable_folder(arguments) as steps:
        with cluster(arguments.cluster), live_progress(what) as on_progress:
            found = run(
                data.X,
                data.y,
                alpha=arguments.alpha,
                beta=arguments.beta,
                method=options.pop("method"),
                time_limit=options.pop("time_limit"),
                random_state=options.pop("seed"),
                n_jobs=arguments.jobs,
                method_options=options,
                feature_names=data.feature_names,
                sample_names=data.sample_names,
                on_progress=on_progress,
                folder=steps,
                **rules(arguments, data),
                **more,
            )
        yield found, steps


def reading(arguments: argparse.Namespace, *, labelled: bool = True) -> Reading:
    """What the arguments of :func:`add_table_arguments` say; complain if classes are needed and nowhere."""
    given = {each.name: getattr(arguments, each.name) for each in fields(Reading) if each.name != "path"}
    asked = Reading(arguments.data, **given)
    message = (
        "say where the classes are: --labels NAME (a column or row), --labels-file FILE or --labels-from-names "
        "PATTERN; cobic inspect DATA shows what there is"
    )
    require(asked.says_classes or not labelled, message)
    return asked


def read_data(asked: Reading, features: tuple[str, ...] | None = None, *, transformed: bool = False) -> Dataset:
    """Read a file, which may have to have some features; its values may be held transformed as well."""
    tell_memory(asked, solving=features is None, transformed=transformed)
    with read_progress(asked.path):
        return read.read_data(asked, features)


def tell_memory(asked: Reading, *, solving: bool, transformed: bool = False) -> None:
    """Refuse a file that will not fit into memory before it is read, and say what a large one takes."""
    how = {"backed": True, "on_disk": asked.backed, "transformed": transformed}
    estimate = require_room(asked.path, solving=solving, **how)
    if estimate is not None:
        print(f"cobic: {estimate}", file=sys.stderr)


def read_line(data: Dataset, problem: Problem) -> str:
    """What was read, in a line for a person, one more if something was set aside, and one if a transform suits it."""
    advice = [transform_advice(problem.raw)] if problem.transformation is None else []
    told = [*class_advice(data.class_sizes), *filter(None, advice)]
    return "\n".join([_read_line(data), *(f"{each[:1].upper()}{each[1:]}." for each in told)])


def _read_line(data: Dataset) -> str:
    classes = ", ".join(f"{cls}: {size}" for cls, size in data.class_sizes.items())
    n_samples, n_features = data.X.shape
    line = f"Read {n_samples} samples × {n_features} features, {data.layout}; classes {classes}."
    if not data.set_aside:
        return line
    more = len(data.set_aside) - _SHOWN_ASIDE
    shown = ", ".join(data.set_aside[:_SHOWN_ASIDE]) + (f" and {more} more (see cobic inspect)" if more > 0 else "")
    return f"{line}\nSet aside: {shown}."


def solve_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of :func:`cobic.solve` from those of :func:`add_method_arguments`."""
    require_whole("seed", arguments.seed, 0)
    options = dict(_option(text) for text in arguments.option)
    if arguments.gap is not None:
        options["target_gap"] = arguments.gap
    find_method(arguments.method, options)
    time_limit = arguments.time_limit or None
    return {"method": arguments.method, "time_limit": time_limit, "seed": arguments.seed, **options}


def about_the_same(arguments: argparse.Namespace, command: str, *more: str) -> str:
    """Another command about the same data."""
    asked = reading(arguments)
    return shlex.join(["cobic", command, str(asked.path), *asked.place_of_classes, *asked.layout, *more])


def share(text: str) -> float:
    """A share such as 0.001 or 0.1%."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        value = -1.0
    if rest or not 0 <= value < 1:
        message = f"{text!r} is no share: write it as 0.001 or 0.1%"
        raise argparse.ArgumentTypeError(message)
    return value


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    require(equals, f"--option {text!r}: write it as NAME=VALUE")
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name.replace("-", "_"), ast.literal_eval(value)
    return name.replace("-", "_"), value


def numbers(option: str, text: str, example: str) -> list[float]:
    """The numbers of an option that takes several, with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        message = f"{option} {text!r}: write numbers with commas between them, as {example}"
        raise InputError(message) from None


class Doing:
    """What is under way, as one line on a terminal, whose seconds go on whether or not there is news."""

    def __init__(self, what: str, time_limit: float | None = None, watch: Stopwatch | None = None) -> None:
        self._what, self._news, self._watch = what, "", watch or Stopwatch()
        self._limit = f" of at most {time_limit:g} s" if time_limit else " s"

    def tell(self, event: object) -> None:
        """Say what is new."""
        self._news = f": {getattr(event, 'words', event)}"

    def __rich__(self) -> Text:
        """The line at this moment, which is asked for several times a second."""
        return Text(f"{self._what}{self._news}; {self._watch.running:.0f}{self._limit}")


@contextmanager
def live_progress(what: str, time_limit: float | None = None) -> Iterator[Callable[[object], None] | None]:
    """Show what is told, and the time, on standard error while it is a terminal; otherwise stay silent."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    doing = Doing(what, time_limit)
    with console.status(doing):
        yield doing.tell


def read_progress(path: Path) -> AbstractContextManager[Any]:
    """Say what is being read, how large it is, and for how long."""
    size = f", {path.stat().st_size / 1e6:.1f} MB" if path.is_file() else ""
    return live_progress(f"reading {printable(path.name)}{size}")


def tell_cut_short(count: int, what: str) -> None:
    """Say how many of several searches ended at the time limit, if any did."""
    if count:
        print(f"{count} {what} were cut short by the time limit, and count with the best so far: raise --time-limit.")


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    json.dump(document, sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def print_table(table: pd.DataFrame) -> None:
    """Print a table for a person."""
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"), flush=True)


def write_files(arguments: argparse.Namespace, files: dict[str, str], instead_of: Collection[str]) -> None:
    """Write the files of an answer into its folder, and tell a person."""
    write_folder(arguments.out, files, instead_of=instead_of)
    if not arguments.json:
        print(f"Written to {arguments.out}: {', '.join(files)}.")


@contextmanager
def finishing() -> Iterator[None]:
    """Put Ctrl-C off until what was found is told and written; a second one is not put off."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def later(*_: object) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        raise KeyboardInterrupt


def exit_code(result: Result) -> int:
    """The exit code that goes with an answer."""
    if result.stopped_by == "interrupt":
        return EXIT_INTERRUPTED
    return {Status.INFEASIBLE: EXIT_INFEASIBLE, Status.UNKNOWN: EXIT_NOTHING_FOUND}.get(result.status, 0)


def describe(problem: Problem, result: Result) -> str:
    """What was found and what is proven, in two lines for a person."""
    return f"{found_line(problem, result)}\n{proven_line(problem, result)}"
