"""`ann-bench doctor`: is this machine fit to measure?"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._options import CpuSet

if TYPE_CHECKING:
    from ann_bench.doctor.calibrate import Calibration
    from ann_bench.doctor.finding import Finding

_COLOURS = {"good": "green", "mind": "yellow", "bad": "red", "unknown": "bright_black"}


@click.command("doctor")
@click.option("--cpuset", type=CpuSet(), default=(), help="Calibrate on these CPUs, such as 0-7. Default: all.")
@click.option("--rounds", type=click.IntRange(10, 10_000), default=40, show_default=True,
              help="Batches of each of the two indexes of the calibration.")  # fmt: skip
@click.option("--checks-only", is_flag=True, help="Leave the calibration out.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(cpuset: tuple[int, ...], rounds: int, checks_only: bool, as_json: bool) -> int:
    """Say what disturbs measurements on this machine, and how small a difference it can show.

    Each line is a check: what was found, and below it why that matters and the command that mends it. Then the
    same index is measured twice, in turn, through the process sandbox; how much the two differ is what no
    comparison here can resolve. Nothing is changed. What this machine does not say (in containers, in virtual
    machines, without rights) is unknown, and the other checks go on. Exit code 1 where a finding is bad.

    \b
    Example: ann-bench doctor
             ann-bench doctor --checks-only --json
    """
    from ann_bench.doctor.examine import examine
    from ann_bench.doctor.system import System
    from ann_bench.sandbox import machine

    cpus = list(cpuset) or machine.cpus()
    findings = []
    for finding in examine(System(), len(cpus)):
        findings.append(finding)
        if not as_json:
            _show(finding)
    calibration = None if checks_only else _calibrate(cpus, rounds)
    if as_json:
        click.echo(json.dumps(_plain(findings, calibration), indent=2))
    elif calibration is not None:
        click.echo(calibration.sentence)
    return 1 if any(one.verdict == "bad" for one in findings) else 0


def _calibrate(cpus: list[int], rounds: int) -> Calibration:
    from ann_bench.doctor.calibrate import calibrate
    from ann_bench.errors import UsageError
    from ann_bench.judge.failure import EntryFailure
    from ann_bench.sandbox.process import ProcessSandbox
    from ann_bench.workload import Limits

    limits = Limits(cpus=len(cpus), memory_bytes=2**30, build_seconds=60, operation_seconds=60)
    try:
        return calibrate(ProcessSandbox(), limits, rounds=rounds, cpus=cpus)
    except EntryFailure as failure:
        raise UsageError(f"the calibration cannot run here: {failure}; --checks-only leaves it out") from failure


def _show(finding: Finding) -> None:
    head = click.style(f"{finding.verdict.value:<8}", fg=_COLOURS[finding.verdict.value])
    click.echo(f"{head} {finding.check:<17} {finding.found}")
    if finding.verdict != "good":
        click.echo(f"{'':<26} {finding.why}")
        if finding.remedy:
            click.echo(f"{'':<26} -> {finding.remedy}")


def _plain(findings: list[Finding], calibration: Calibration | None) -> dict[str, Any]:
    found: dict[str, Any] = {"findings": [dataclasses.asdict(one) for one in findings]}
    if calibration is not None:
        found |= {
            "resolution": calibration.resolution,
            "sentence": calibration.sentence,
            "seconds": calibration.seconds.tolist(),
        }
    return found
