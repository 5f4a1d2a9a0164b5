"""Mixed requests for as long as you like: is every answer right, and does nothing grow or stay behind?

    python bench/soak.py [--minutes 10] [--workers 8] [--rate 3] [--seed 1] [--json FILE]

Starts a server with the demo model. Workers send random requests of every kind (`soak_requests.py`), well-formed and
not, read them or leave in the middle; each answer is checked. Every ten seconds memory, descriptors and gauges are
sampled. Ends with status 1 where an answer was wrong, the log tells of a fault, or blocks or sockets stayed behind.
"""

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from soak_requests import KINDS, WrongAnswerError

from serve.server import Server, serving

SAMPLE_S = 10.0
SETTLE_S = 30.0
"""Most time that the server may take to come to rest at the end."""
GAUGES = ("running", "waiting", "blocks")
METRICS = ("overt:requests_running", "overt:requests_waiting", "overt:kv_blocks_used")
FAULTS = ("Traceback", "panicked", "ERROR")
ROOM = ("--max-model-len", "256", "--max-num-seqs", "16", "--num-gpu-blocks-override", "20")
"""Little room, so that requests wait, are preempted and take each other's cached prefixes."""


@dataclass(frozen=True)
class Sample:
    """What one process holds."""

    rss_kib: int
    descriptors: int
    sockets: int
    threads: int


@dataclass
class Ledger:
    """What was asked, and what went wrong, over all workers."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, kind: str, fault: str | None) -> None:
        """Counts a request; `fault` says what was wrong with its answer."""
        with self.lock:
            self.counts[kind] += 1
            if fault is not None:
                self.wrong.append(f"{kind}: {fault}")
                print(f"WRONG {kind}: {fault}", flush=True)


def sample(pid: int) -> Sample:
    """Looks at process `pid`. Raises OSError where it is gone."""
    proc = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    targets = []
    for entry in (proc / "fd").iterdir():
        try:
            targets.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return Sample(
        rss_kib=int(status["VmRSS"].split()[0]),
        descriptors=len(targets),
        sockets=sum(target.startswith("socket:") for target in targets),
        threads=int(status["Threads"]),
    )


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Growth of `values` a minute over the second half of `times` (seconds), by least squares; 0 for one value."""
    half = len(times) // 2
    xs, ys = [at / 60 for at in times[half:]], values[half:]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


def work(server: Server, ledger: Ledger, rng: random.Random, interval_s: float, deadline: float) -> None:
    """One worker: a request about every `interval_s` seconds, later where answers take longer."""
    kinds, weights = list(KINDS), [weight for weight, _ in KINDS.values()]
    with httpx.Client(base_url=server.url, timeout=120) as client:
        while time.monotonic() < deadline:
            due = time.monotonic() + rng.expovariate(1 / interval_s)
            (kind,) = rng.choices(kinds, weights)
            fault = None
            try:
                KINDS[kind][1](client, rng)
            except WrongAnswerError as error:
                fault = str(error)
            except (httpx.HTTPError, LookupError, TypeError, ValueError) as error:
                fault = f"{type(error).__name__}: {error}"
            ledger.note(kind, fault)
            time.sleep(max(0.0, min(due, deadline) - time.monotonic()))


def gauges(server: Server) -> list[int]:
    """What runs, what waits, and the blocks held."""
    metrics = server.metrics()
    return [int(metrics[name]) for name in METRICS]


def settle(server: Server, pids: Sequence[int], before: Sequence[Sample]) -> list[Sample]:
    """Waits until nothing runs and the sockets of before are left, or for SETTLE_S; returns what is held then."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        at_rest = not any(gauges(server))
        after = [sample(pid) for pid in pids]
        fewer = all(now.sockets <= then.sockets for now, then in zip(after, before, strict=True))
        if (at_rest and fewer) or time.monotonic() > deadline:
            return after
        time.sleep(0.2)


def soak(server: Server, args: argparse.Namespace) -> dict[str, Any]:
    """The whole run; returns its report."""
    names, pids = ("api", "engine"), (server.process.pid, server.engine_pid())
    ledger = Ledger()
    warm = {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2}
    server.post("/v1/chat/completions", warm).raise_for_status()
    server.wait_idle()
    before = [sample(pid) for pid in pids]
    start = time.monotonic()
    deadline = start + args.minutes * 60
    rngs = [random.Random(f"{args.seed} {index}") for index in range(args.workers)]
    workers = [
        threading.Thread(target=work, args=(server, ledger, rng, args.workers / args.rate, deadline)) for rng in rngs
    ]
    for worker in workers:
        worker.start()
    times: list[float] = []
    samples: list[list[Sample]] = []
    while time.monotonic() < deadline and server.process.poll() is None:
        time.sleep(max(0.0, min(start + SAMPLE_S * (len(times) + 1), deadline) - time.monotonic()))
        times.append(time.monotonic() - start)
        samples.append([sample(pid) for pid in pids])
        seen = " ".join(f"{name} {value}" for name, value in zip(GAUGES, gauges(server), strict=True))
        held = "; ".join(
            f"{name} {now.rss_kib} KiB, {now.descriptors} fds, {now.sockets} sockets, {now.threads} threads"
            for name, now in zip(names, samples[-1], strict=True)
        )
        print(f"{times[-1]:5.0f} s: {ledger.counts.total()} asked; {seen}; {held}", flush=True)
    for worker in workers:
        worker.join()
    after = settle(server, pids, before)
    metrics = server.metrics()
    return {
        "seconds": round(times[-1]),
        "requests": dict(sorted(ledger.counts.items())),
        "wrong": ledger.wrong,
        "log_faults": [line for line in server.log.splitlines() if any(word in line for word in FAULTS)],
        "preemptions": int(metrics["overt:preemptions_total"]),
        "aborted": int(metrics["overt:requests_aborted_total"]),
        "generated_tokens": int(metrics["overt:generation_tokens_total"]),
        "left": dict(zip(GAUGES, gauges(server), strict=True)),
        "processes": {
            name: {
                "before": asdict(before[index]),
                "after": asdict(after[index]),
                "rss_slope_kib_per_min": round(slope(times, [now[index].rss_kib for now in samples]), 1),
                "leaked_sockets": after[index].sockets - before[index].sockets,
                "leaked_descriptors": after[index].descriptors - before[index].descriptors,
            }
            for index, name in enumerate(names)
        },
    }


def failures(report: dict[str, Any]) -> list[str]:
    """Why the run was not a good one."""
    found = [f"{len(report['wrong'])} wrong answers"] if report["wrong"] else []
    found += [f"the log tells of {len(report['log_faults'])} faults"] if report["log_faults"] else []
    found += [f"{value} {name} left" for name, value in report["left"].items() if value]
    for name, process in report["processes"].items():
        for what in ("sockets", "descriptors"):
            if process[f"leaked_{what}"] > 0:
                found.append(f"{name}: {process[f'leaked_{what}']} {what} left open")
    return found


def main() -> None:
    """Runs it and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--rate", type=float, default=3.0, help="requests a second, of all workers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with serving("demo", *ROOM, "--tool-call-parser", "hermes") as server:
        report = soak(server, args)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))
    print(json.dumps(report, indent=1))
    found = failures(report)
    print("; ".join(found) or "nothing wrong, nothing left behind")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
