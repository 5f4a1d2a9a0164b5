"""What reading an answer costs by format: prose, 20 KB of arguments, 1 MB of arguments.

    python bench/parse.py [--rounds 5]

Runs the example `parse_cost` of overt-parse optimised as a release is. A token is four bytes; every format writes
its own call, three quarters of whose arguments are one string. Times are medians of the rounds. The budget is 1 us a
token, 20 ms for 20 KB and 1 s for 1 MB.
"""

import argparse
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = ["cargo", "run", "-q", "--profile", "bench", "-p", "overt-parse", "--example", "parse_cost", "--"]
SMALL, LARGE = 20_000, 1_000_000


def measured(rounds: int) -> list[tuple[str, float, float, float]]:
    """A format's name with microseconds a token: prose, small and large arguments."""
    done = subprocess.run([*COMMAND, str(rounds)], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    rows = []
    for line in done.stdout.splitlines():
        name, prose, small, large = line.split("\t")
        rows.append((name, float(prose), float(small), float(large)))
    return rows


def table(head: list[str], rows: list[list[str]]) -> None:
    """Prints Markdown."""
    for row in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(row)} |")


def main() -> None:
    """Prints the table, and the format that costs most."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    words = parser.parse_args()
    rows = measured(words.rounds)
    head = ["format", "prose us/token", "20 KB us/token", "1 MB us/token", "20 KB ms", "1 MB ms"]
    cells = []
    for name, prose, small, large in rows:
        in_all = (small * SMALL / 4000, large * LARGE / 4000)
        cells.append([name, *(f"{cost:.3f}" for cost in (prose, small, large)), *(f"{time:.2f}" for time in in_all)])
    table(head, cells)
    name, *costs = max(rows, key=lambda row: max(row[1:]))
    print(f"\n{len(rows)} formats; the most costly is {name} with {max(costs):.3f} us a token.")


if __name__ == "__main__":
    main()
