"""The commands, one file each: a module here with a `command` in it is a command."""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

import ann_bench
from ann_bench.errors import AnnBenchError


class _Commands(click.Group):
    """Commands are imported when they are asked for, so that `--help` and typing errors answer at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the modules beside this one."""
        return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command in the module of this name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(ann_bench.__version__, prog_name="ann-bench")
def commands() -> None:
    """Benchmark approximate nearest neighbour search, with numbers that can be trusted.

    \b
    Example: ann-bench run --track filtered
    """


class _Terminated(BaseException):
    """Somebody asked this process to end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code.

    0 done, 1 something failed, 2 wrong usage, 130 interrupted, 143 terminated.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        result: Any = commands.main(args=arguments, prog_name="ann-bench", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: nothing more to say
        return 1
    except (Exception, KeyboardInterrupt, _Terminated) as error:  # noqa: BLE001  what is not explained is raised again
        line, code = _explain(error)
        click.echo(line, err=True)
        return code
    return int(result) if isinstance(result, int) else 0


def _explain(error: BaseException) -> tuple[str, int]:
    """The line and the exit code for an error that a user can understand; any other goes on as it is."""
    if _interrupted(error):
        return "interrupted; results that were finished are kept; run the same command again", 130
    if isinstance(error, _Terminated):
        return "terminated; results that were finished are kept; run the same command again", 143
    if isinstance(error, click.ClickException):
        return _usage(error), 2
    if isinstance(error, AnnBenchError):
        return f"error: {_visible(str(error))}", error.exit_code
    if isinstance(error, OSError) and error.errno in (*_DISK, *_PLACE):
        then = "; make room and run it again" if error.errno in _DISK else ""
        return f"error: {error.filename or 'a file'}: {error.strerror}{then}", 1
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] not in ("", "ann_bench"):
        return f"error: {error}; install it into this environment: python -m pip install -e .", 1
    raise error


def _visible(text: str) -> str:
    """With names from anywhere, which may hold what moves a cursor; the ends of lines are ours."""
    from ann_bench.results.text import visible

    return "\n".join(map(visible, text.split("\n")))


#: What the machine refuses, as against what we do wrong.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_PLACE = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENAMETOOLONG)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: some libraries turn it into an error of their own while they are imported."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
            return True
        error = error.__cause__ or error.__context__
    return False


def script() -> None:
    """`ann-bench`, and `python run.py`, as a process: from here to the end, Ctrl-C is exit code 130."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt
    sys.exit(code)


def _usage(error: click.ClickException) -> str:
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()  # a group without a command: its help
    context = getattr(error, "ctx", None)
    where = f"; see `{context.command_path} --help`" if context else ""
    return "error: " + " ".join(error.format_message().split()).rstrip(".") + where


def _terminate(number: int, frame: object) -> None:
    raise _Terminated
