"""The starting kit is a notebook that runs from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "starting-kit.ipynb"

nbformat = pytest.importorskip("nbformat", reason="the notebook needs: python -m pip install -e '.[notebook]'")
nbclient = pytest.importorskip("nbclient", reason="the notebook needs: python -m pip install -e '.[notebook]'")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the notebook's machinery
def test_it_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [data for cell in notebook.cells for out in cell.get("outputs", ()) for data in out.get("data", {})]
    assert "image/png" in shown
    printed = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", ()))
    assert "my-ivf" in printed and "exact" in printed


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)
