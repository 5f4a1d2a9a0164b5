"""Structured outputs: what compiling a grammar and filling a token mask cost at a vocabulary of 128,256 tokens.

    python bench/grammar.py [--tokenizer tokenizer.json]

It builds and runs `rust/overt-grammar/examples/grammar_bench.rs` over the schemas of that crate's tests, random outputs
under each, plus reasoning before JSON and prose between tool calls. Masks are timed by the thread's own clock, so that
a busy machine does not count; compiling, which uses a thread of its own, by the best of three on the wall.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "rust/overt-grammar/tests/schemas/keywords.jsonl"
TOKENIZER = ROOT / "tests/text/node_modules/llama-3.json"
# Milliseconds at the 99th percentile; for the slowest row, at most.
BUDGETS = {"compile": 20.0, "fill, 32 rows": 1.0, "slowest row": 5.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tokenizer", type=Path, default=TOKENIZER, help="tokenizer.json of a model")
    tokenizer: Path = parser.parse_args().tokenizer
    if not tokenizer.is_file():
        sys.exit(f"{tokenizer} is not there: run `pytest tests/text/test_encoding.py` once, which fetches it")
    run = ["cargo", "run", "--quiet", "--profile", "bench", "-p", "overt-grammar", "--example", "grammar_bench", "--"]
    done = subprocess.run([*run, str(tokenizer), str(SCHEMAS)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    print(f"{'':18}{'mean':>10}{'p50':>10}{'p99':>10}{'most':>10}   ms")
    for line in done.stdout.splitlines():
        row = json.loads(line)
        name = row["figure"]
        budget = f"   budget {BUDGETS[name]:g}" if name in BUDGETS else ""
        if name == "vocabulary":
            print(f"{name:18}{row['tokens']:>10} tokens")
        elif name == "slowest row":
            print(f"{name:18}{'':30}{row['ms']:>10.3f}{budget}   {row['where'][:60]}")
        else:
            figures = "".join(f"{row[key]:>10.3f}" for key in ("mean_ms", "p50_ms", "p99_ms", "max_ms"))
            print(f"{name:18}{figures}{budget}")


if __name__ == "__main__":
    main()
