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
from benchmarks.referee import CALM

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


def is_fair(result: dict[str, Any]) -> bool:
    """Whether a race was held by today's rules, not in one process, and on a calm machine."""
    return "shapes" in result and all(s["busy"] <= CALM for s in result["shapes"].values())


def time_of(seconds: float) -> str:
    """Three digits with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def lines(result: dict[str, Any]) -> list[str]:
    """A result as text for the terminal, shape by shape, the fastest first."""
    text = []
    for shape, found in result["shapes"].items():
        rows = found["contestants"]
        text.append(f"{result['race']}: {shape}{marked(found)}")
        for name in sorted(rows, key=lambda name: rows[name].get("median", float("inf"))):
            row = rows[name]
            if "median" not in row:
                why = "missing" if "missing" in row else "failed"
                text.append(f"  {name:32} {why}: {row[why]}")
                continue
            line = f"  {name:32} {time_of(row['median']):>9} (best {time_of(row['best'])}"
            line += f" of {row['rounds']})  {result['quality']} {row['quality']:.6g}"
            line += " WORSE" if row["worse"] else ""
            if first := row.get("first"):
                line += f"  first {time_of(first['cold'])} cold, {time_of(first['warm'])} warm"
            text.append(line)
        if found["ratio"] is not None:
            text.append(f"  {ratio_of(found)} times as fast as {found['best_peer']}")
    return text


def ratio_of(found: dict[str, Any]) -> str:
    """The ratio and its interval."""
    low, high = found["interval"]
    return f"{found['ratio']:.2f} ({low:.2f} to {high:.2f})"


def marked(found: dict[str, Any], ours: str = "mlreplica") -> str:
    """A warning if other programs ran meanwhile, or if our own result is the worse one."""
    busy, mine = found["busy"], found["contestants"][ours]
    text = f" [other programs used {busy:.2g} cores: not to be trusted]" if busy > CALM else ""
    return text + (" [ours is WORSE]" if mine["worse"] else "")


def summary(results: list[dict[str, Any]], every: bool = False) -> list[str]:
    """The worst case of all races, the slowest first, or `every` shape; also by processor time."""
    cases = [
        (r["race"], shape, found)
        for r in results
        for shape, found in r["shapes"].items()
        if every or shape == r["shape"]
    ]
    text = []
    for race, shape, found in sorted(cases, key=lambda case: case[2]["ratio"] or 0.0):
        if found["ratio"] is None:
            text.append(f"{'no equal peer':36} {race:32} {shape}{marked(found)}")
            continue
        mine, theirs = (found["contestants"][n]["cpu"] for n in ("mlreplica", found["best_peer"]))
        cpu = f"CPU {theirs / mine:.2f}" if mine else ""
        text.append(f"{ratio_of(found):24} {cpu:11} {race:32} {shape}{marked(found)}")
    return text


def table(results: list[dict[str, Any]]) -> str:
    """A Markdown table with one row per race, and when and where it was held."""
    rows = ["| race | mlreplica | best peer | times as fast |", "|---|---|---|---|"]
    for result in results:
        if (peer := result["best_peer"]) is None:
            continue
        contestants = result["contestants"]
        ours, theirs = (time_of(contestants[name]["median"]) for name in (result["ours"], peer))
        rows.append(f"| {result['what']} | {ours} | {peer}, {theirs} | {result['ratio']:.1f} |")
    held = {(r["date"], r["machine"]["cpu"], r["threads"]) for r in results}
    rows += ["", *(f"Held {d} on {m}, {t} threads." for d, m, t in sorted(held))]
    return "\n".join(rows)


def write_readme(races: dict[str, Race]) -> None:
    """Put the table of the fair races marked `readme` between the markers of the README."""
    results = {name: result for name, result in kept().items() if is_fair(result)}
    shown = [results[name] for name, race in races.items() if race.readme and name in results]
    text = README.read_text("utf-8")
    before, rest = text.split(OPEN)
    after = rest.split(CLOSE)[1]
    README.write_text(f"{before}{OPEN}\n{table(shown)}\n{CLOSE}{after}", encoding="utf-8")
