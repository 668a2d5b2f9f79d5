"""Write conformance.json: how other libraries' own tests fare with our classes in place of theirs

    python book/_data/conformance.py RESULT.json …

A RESULT holds the verdicts of a run: `suite`, `version` and `tests`, a list of {id, file, verdict};
where several hold the same test, the last counts. Chapters that no RESULT touches stay as they are.
`why` is written by hand, one reason per test, and the page does not build where one is missing.
"""

import json
import sys
from collections import Counter
from datetime import date
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
LIBRARIES = {"sklearn": "scikit-learn", "crfsuite": "sklearn-crfsuite"}


def chapter_of(library, file):
    """The module of scikit-learn whose tests a file holds; else the name of the library."""
    top, *_, name = Path(file).parts
    if library != "scikit-learn":
        return library
    return Path(name).stem.removeprefix("test_") if top == "tests" else top


def numbers(verdicts):
    """How many tests pass, how many use private names, and which fail, with their cases."""
    count = Counter(verdicts.values())
    failed = Counter(
        test.rpartition("/")[2].partition("[")[0]
        for test, verdict in verdicts.items()
        if verdict == "failed"
    )
    return {"passed": count["passed"], "private": count["private"], "failed": failed}


if __name__ == "__main__":
    found, chapters = json.loads(FILE.read_text(encoding="utf-8")), {}
    for path in sys.argv[1:]:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
        library = LIBRARIES.get(run["suite"], run["suite"])
        found["versions"][library] = run["version"]
        for test in run["tests"]:
            verdicts = chapters.setdefault(chapter_of(library, test["file"]), {})
            verdicts[test["id"]] = test["verdict"]
    new = {chapter: numbers(verdicts) for chapter, verdicts in chapters.items()}
    found["chapters"] = dict(sorted((found["chapters"] | new).items()))
    failed = {test for row in found["chapters"].values() for test in row["failed"]}
    found["why"] = {test: found["why"].get(test, "") for test in sorted(failed)}
    found["date"] = f"{date.today():%B %Y}"
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("Without a reason:", *(test for test, why in found["why"].items() if not why))
