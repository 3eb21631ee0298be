"""What docs/own-data.md says is typed here as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ann_bench.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-data.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (write,), (manifest,), (describe, run) = blocks("python"), blocks("yaml"), blocks("sh")
    exec(compile(write, str(PAGE), "exec"), {})
    Path("my-set.yaml").write_text(manifest, encoding="utf-8")
    assert main(describe.split()[1:]) == 0
    assert "5,000" in capsys.readouterr().out
    assert main([*run.split()[1:], "--algorithm", "exact", "--runs", "1"]) == 0
    assert "1.0000" in capsys.readouterr().out
    assert Path("plots/filtered-my-set.png").is_file()
