"""python -m benchmarks: hold races, keep their results, write the README's table."""

import argparse
import os
import sys


def main() -> int:
    """Parse the command line and hold the races that it names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the races")
    parser.add_argument("--only", action="append", help="races whose name contains this text")
    parser.add_argument("--readme", action="store_true", help="write the table of the README")
    parser.add_argument("--threads", type=int, help="threads for everyone; all cores by default")
    parser.add_argument("--seconds", type=float, default=10.0, help="time a race (10)")
    parser.add_argument("--no-start", action="store_true", help="do not time first results")
    parser.add_argument("--dry", action="store_true", help="do not write results/")
    parser.add_argument("--first", nargs=2, metavar=("RACE", "CONTESTANT"), help=argparse.SUPPRESS)
    args = parser.parse_args()

    # Before NumPy is imported: its threads, and waiting threads that do not burn the other's core.
    count = args.threads or int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS"):
        os.environ[f"{name}_NUM_THREADS"] = str(count)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if hasattr(os, "sched_setaffinity"):  # for those who count cores and read no variable
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])

    from benchmarks import race, report
    from benchmarks.races import all_races

    races = all_races()
    if args.first:
        sys.stdout.write(f"{race.first_result(races[args.first[0]], args.first[1])}\n")
        return 0
    if args.readme:
        report.write_readme(races)
        return 0
    chosen = [
        r for r in races.values() if not args.only or any(text in r.name for text in args.only)
    ]
    if not chosen:
        parser.error("no race has such a name; see --list")
    if args.list:
        sys.stdout.writelines(f"{r.name:28} {r.what}\n" for r in chosen)
        return 0
    for r in chosen:
        about = report.circumstances(r)
        if about["load"] > 0.5:
            sys.stderr.write(f"load {about['load']}: another program runs; do not trust ratios\n")
        result = about | race.run(r, args.seconds, start=not args.no_start)
        sys.stdout.write("\n".join(report.lines(result)) + "\n")
        sys.stdout.flush()
        if not args.dry:
            report.keep(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
