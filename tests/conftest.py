"""Fixtures that every test file may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data files, which are not part of the project."""
    folder = os.environ.get("DICTSENT_TEST_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set DICTSENT_TEST_DATA")
    return Path(folder)
