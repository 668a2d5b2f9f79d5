"""What is kept of a race: JSON with its circumstances, lines on the terminal, the README's table"""

from __future__ import annotations

import datetime
import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.race import Race, threads

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parent.parent / "README.md"
OPEN, CLOSE = "<!-- races: written by `python -m benchmarks --readme` -->", "<!-- /races -->"


def circumstances(race: Race) -> dict[str, Any]:
    """Everything about a result that is not a time."""
    names = {name.split(",")[0] for name in race.contestants} | {"numpy", "scipy", "numba"}
    return {
        "race": race.name,
        "what": race.what,
        "ours": race.ours,
        "quality": race.quality_name,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"cpu": cpu(), "cores": os.cpu_count(), "system": platform.system()},
        "threads": threads(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
        "versions": {"python": platform.python_version()}
        | {name: v for name in sorted(names) if (v := version(name))},
    }


def version(distribution: str) -> str | None:
    """The version that is installed, if any."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def cpu() -> str:
    """The processor's model name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def keep(result: dict[str, Any]) -> Path:
    """Write one race to `results/`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{result['race']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return path


def kept() -> dict[str, dict[str, Any]]:
    """Every result in `results/`, by race."""
    return {
        path.stem: json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("*.json"))
    }


def time_of(seconds: float) -> str:
    """Three digits with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def lines(result: dict[str, Any]) -> list[str]:
    """A result as text for the terminal, the fastest first."""
    rows = result["contestants"]
    text = [f"{result['race']}: {result['what']}"]
    for name in sorted(rows, key=lambda name: rows[name].get("best", float("inf"))):
        row = rows[name]
        if "best" not in row:
            why = "missing" if "missing" in row else "failed"
            text.append(f"  {name:32} {why}: {row[why]}")
            continue
        line = f"  {name:32} {time_of(row['best']):>9} (median {time_of(row['median'])})"
        line += f"  {result['quality']} {row['quality']:.6g}{' WORSE' if row['worse'] else ''}"
        if first := row.get("first"):
            line += f"  first {time_of(first['cold'])} cold, {time_of(first['warm'])} warm"
        text.append(line)
    if result["ratio"] is not None:
        text.append(f"  {result['ratio']:.2f} times as fast as {result['best_peer']}")
    return text


def table(results: list[dict[str, Any]]) -> str:
    """A Markdown table with one row a race, and when and where it was held."""
    rows = ["| race | mlreplica | best peer | times as fast |", "|---|---|---|---|"]
    for result in results:
        if (peer := result["best_peer"]) is None:
            continue
        contestants = result["contestants"]
        ours, theirs = (time_of(contestants[name]["best"]) for name in (result["ours"], peer))
        rows.append(f"| {result['what']} | {ours} | {peer}, {theirs} | {result['ratio']:.1f} |")
    held = {(r["date"], r["machine"]["cpu"], r["threads"]) for r in results}
    rows += ["", *(f"Held {d} on {m}, {t} threads." for d, m, t in sorted(held))]
    return "\n".join(rows)


def write_readme(races: dict[str, Race]) -> None:
    """Put the table of the races marked `readme` between the markers of the README."""
    results = kept()
    shown = [results[name] for name, race in races.items() if race.readme and name in results]
    text = README.read_text("utf-8")
    before, rest = text.split(OPEN)
    after = rest.split(CLOSE)[1]
    README.write_text(f"{before}{OPEN}\n{table(shown)}\n{CLOSE}{after}", encoding="utf-8")
