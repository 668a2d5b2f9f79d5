"""python -m benchmarks: hold races, keep their results, compare two source trees."""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks import data, report
from benchmarks.race import all_races
from benchmarks.referee import Team, hold

START = 2.5  # seconds of a contestant: process, import, data, rehearsal


def chosen(races, texts):
    """The races whose names begin with a text; where none does, those that contain it."""
    found = {}
    for text in texts or [""]:
        begin = [name for name in races if name.startswith(text)]
        found |= dict.fromkeys(begin or [name for name in races if text in name])
    return [races[name] for name in found]


def seconds_for(races, args):
    """Estimated seconds of all races, when a shape gets `args.seconds`."""
    shapes = sum(race.share * len(race.shapes) for race in races)
    living = {(race.home, name) for race in races for name in race.contestants}
    start = START * (2 * len({race.home for race in races}) if args.against else len(living))
    return start, shapes * (2 + (0 if args.quick else args.seconds))


def main() -> int:
    """Parse the command line and hold the races that it names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("races", nargs="*", help="names or their beginnings; all by default")
    parser.add_argument("--list", action="store_true", help="name the races, estimate their time")
    parser.add_argument("--readme", action="store_true", help="write the table of the README")
    parser.add_argument("--threads", type=int, help="cores for everyone; all by default")
    parser.add_argument("--seconds", type=float, default=10.0, help="of turns a shape (10)")
    parser.add_argument("--minutes", type=float, help="of everything: fewer seconds a shape")
    parser.add_argument(
        "--quick", action="store_true", help="a call each on few rows; keep nothing"
    )
    parser.add_argument("--against", metavar="SRC", help="race our code in SRC only; keep nothing")
    parser.add_argument("--no-start", action="store_true", help="do not time first results")
    parser.add_argument("--dry", action="store_true", help="do not write results/")
    args = parser.parse_args()
    races = all_races()
    if args.readme:
        report.write_readme(races)
        return 0
    named = chosen(races, args.races)
    if not named:
        parser.error("no race has such a name; see --list")
    start, turns = seconds_for(named, args)
    if args.minutes and not args.quick:
        args.seconds *= max(0.05, min(1.0, (60 * args.minutes - start) / turns))
        turns = seconds_for(named, args)[1]
    if args.list:
        sys.stdout.writelines(f"{r.name:32} {r.what}: {'; '.join(r.shapes)}\n" for r in named)
    shapes = sum(len(race.shapes) for race in named)
    about = f"{len(named)} races, {shapes} shapes, {args.seconds:.2g} s each: "
    sys.stderr.write(f"{about}about {(start + turns) / 60:.0f} minutes\n")
    if args.list:
        return 0
    if args.quick:
        data.cut_down()
    end = time.monotonic() + 60 * (args.minutes or 1e9)
    results, left = [], []
    if args.threads:  # the workers inherit it
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    with Team(args.against and str(Path(args.against).resolve())) as team:
        for race in named:
            if time.monotonic() > end:
                left.append(race.name)
                continue
            try:
                result = report.circumstances(race) | hold(
                    race, team, args.seconds, quick=args.quick, start=not args.no_start
                )
            except Exception as error:  # noqa: BLE001 - the other races are held all the same
                sys.stdout.write(f"{race.name}: {type(error).__name__}: {error}\n")
                left.append(race.name)
                continue
            results.append(result)
            sys.stdout.write("\n".join(report.lines(result)) + "\n")
            sys.stdout.flush()
            if not (args.dry or args.quick or args.against):
                report.keep(result)
    if not args.quick:
        sys.stdout.write("\n".join(report.summary(results, every=bool(args.against))) + "\n")
    if left:
        sys.stdout.write(f"not held: {' '.join(left)}\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
