"""What docs/ten-minutes.md says is typed here as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ann_bench.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ten-minutes.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    new, check, run = (line.split()[1:] for line in blocks("sh"))
    (wrapper,), (config,) = blocks("python"), blocks("yaml")
    assert main(new) == 0
    assert main([*check, "--no-recall"]) == 0, "as it is made"
    Path("my-hnsw/wrapper.py").write_text(wrapper, encoding="utf-8")
    Path("my-hnsw/config.yaml").write_text(config, encoding="utf-8")
    assert main(check) == 0, capsys.readouterr().out
    assert main([*run, "--runs", "1"]) == 0
    assert "my-hnsw" in capsys.readouterr().out
    assert Path("plots/dense-debian-20k.png").is_file()
