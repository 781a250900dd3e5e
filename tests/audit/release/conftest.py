"""A hostile set, of texts and of pairs."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.audit.release.hostile import HOSTILE_TABLES


@pytest.fixture(params=HOSTILE_TABLES, ids=["single", "pair"])
def hostile(request: pytest.FixtureRequest) -> pd.DataFrame:
    return request.param.copy()
