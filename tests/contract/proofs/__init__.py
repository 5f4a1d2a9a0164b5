"""For every field of the table a proof: requests that differ in that field alone, and what their answers must show."""

import pytest

THEMES = (
    "sampling",
    "stopping",
    "answer",
    "prompt",
    "options",
    "scheduling",
    "headers",
    "constraints",
    "calls",
    "reasoning",
    "parsing",
)

for _name in (*THEMES, "trial", "talk", "refused", "inert", "adapted"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")
