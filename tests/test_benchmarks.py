"""The race tool: who wins, who is marked, what is kept"""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.utils

from benchmarks import data, referee, report
from benchmarks.data import Data, Rows
from benchmarks.race import all_races, races_of
from benchmarks.referee import Team, hold, verdict
from mlreplica.discovery import all_estimators

MODULE = """
import os, time

from benchmarks.data import Data
from benchmarks.race import Race


def spin(seconds, answer):
    def call():
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
        return answer
    return lambda data: call

def grows(data):
    return lambda: time.sleep(data.X) or 1.0

def missing(data):
    import no_such_library

def broken(data):
    return lambda: 1 / 0

def dies(data):
    return lambda: os._exit(3)

def hangs(data):
    return lambda: time.sleep(60)

def tuned(data):
    return lambda: sum(name.startswith(("OMP_", "MKL_")) for name in os.environ)

def path(data):
    return lambda: os.environ["PYTHONPATH"].split(os.pathsep).index("here")

def race(name, shapes={"": lambda: Data(0.0)}, atol=0.1, **contestants):
    return Race(name=name, what="counting", shapes=shapes, contestants=contestants,
                quality=lambda _, answer: answer, quality_name="error", rtol=0.0, atol=atol)

SIZES = {f"size {k}": lambda k=k: Data(k / 100) for k in (1, 5, 3)}
RACES = [
    race("many", mlreplica=spin(1e-3, 1.0), slow=spin(9e-3, 1.05), hasty=spin(1e-4, 2.0),
         absent=missing, broken=broken, dying=dies, lost=spin(1e-4, float("nan"))),
    race("shapes", SIZES, mlreplica=grows, peer=spin(0.02, 1.0)),
    race("alone", mlreplica=broken, peer=spin(1e-3, 1.0)),
    race("stuck", mlreplica=spin(1e-3, 1.0), peer=hangs),
    race("tuned", mlreplica=tuned),
    race("path", mlreplica=path, atol=2.0),
]
"""


@pytest.fixture
def race(tmp_path, monkeypatch):
    """A race of the module above by its name; workers find it."""
    (tmp_path / "counting.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"here:{tmp_path}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(referee, "PATIENCE", 0.0)
    return races_of("counting").__getitem__


def held(race, seconds=0.05, **options):
    """The result of a race."""
    with Team(**options) as team:
        return hold(race, team, seconds)


def test_the_worse_the_missing_and_the_broken_are_marked_and_not_peers(race):
    result = held(race("many"))
    rows = result["contestants"]
    assert result["best_peer"] == "slow"
    assert result["ratio"] == rows["slow"]["median"] / rows["mlreplica"]["median"]
    assert result["interval"][0] <= result["ratio"] <= result["interval"][1]
    assert {name for name, row in rows.items() if row.get("worse")} == {"hasty", "lost"}
    assert rows["slow"]["rounds"] == rows["mlreplica"]["rounds"] >= 3
    assert rows["slow"]["median"] >= rows["slow"]["best"] >= 9e-3
    assert rows["absent"]["missing"] == "No module named 'no_such_library'"
    assert rows["broken"]["failed"] == "ZeroDivisionError: division by zero"
    assert rows["dying"]["failed"].startswith("ended with 3")
    assert result["busy"] >= 0


def test_the_worst_shape_is_published(race, monkeypatch):
    found = iter({"ratio": ratio} for ratio in (2.0, 0.5, None))
    monkeypatch.setattr(referee, "one_shape", lambda *_: next(found))
    result = hold(race("shapes"), Team())
    assert result["what"] == "counting, size 5"
    assert (result["shape"], result["ratio"]) == ("size 5", 0.5)
    assert [*result["shapes"]] == ["size 1", "size 5", "size 3"]


def test_a_race_without_us_is_an_error(race):
    with pytest.raises(RuntimeError, match="mlreplica did not run"):
        held(race("alone"))


def test_who_hangs_is_stopped(race, tmp_path):
    stuck, rows = race("stuck"), tmp_path / "rows"
    data.save(Data(0.0), rows)
    with Team() as team:
        team.of(stuck)
        workers = team.workers
        answer = workers["peer"].ask(limit=3.0, race="stuck", data=str(rows))
        assert answer == {"failed": "took more than 3 s"}
        assert workers["peer"].process.wait(60) != 0
        team.of(stuck)  # starts another
        assert workers["peer"].process.poll() is None


def test_nobody_is_tuned(race, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    assert held(race("tuned"))["contestants"]["mlreplica"]["quality"] == 0


def test_our_old_code_races_from_a_folder_of_its_own(race):
    result = held(race("path"), against="there")
    rows = result["contestants"]
    assert {name: row["quality"] for name, row in rows.items()} == {"mlreplica": 0, "before": 1}
    assert result["best_peer"] == "before"


def test_our_own_variants_are_no_peers():
    rows = {
        name: {"worse": False, "median": median}
        for name, median in {"mlreplica": 2.0, "mlreplica, svd": 1.0, "b": 3.0}.items()
    }
    walls = {"mlreplica": [1.0, 2.0, 2.0], "b": [3.0, 3.0, 3.0, 3.0]}
    found = verdict(rows, walls, "mlreplica")
    assert found == {"best_peer": "b", "ratio": 1.5, "interval": [1.5, 3.0]}


@pytest.mark.parametrize(
    ("seconds", "counted", "during"),
    [(3.0, [0.4, 0.2, 0.1], 0.0), (0.1, [0.4, 0.3, 0.2], 2.0 / 3)],
    ids=["held again", "no time: all count, and are marked"],
)
def test_rounds_that_others_disturb(seconds, counted, during, monkeypatch):
    class Still:
        """A worker without a process."""

        def ask(self, repeat):
            return {"times": [len(busy) / 10, 1.0]}

        def settle(self):
            """It always sleeps."""

    busy, ticks = [0.0, 0.0, 2.0, 0.0], iter(range(99))
    monkeypatch.setattr(referee.Watch, "__init__", lambda self, team: None)
    monkeypatch.setattr(referee.Watch, "busy", lambda self: busy.pop())
    monkeypatch.setattr(referee.time, "perf_counter", lambda: next(ticks))
    team = Team()
    team.workers = {"mlreplica": Still()}
    times, found = referee.take_turns(team, {"mlreplica": [0.1, 0.1]}, seconds)
    assert [turn["times"][0] for turn in times["mlreplica"]] == counted
    assert found == pytest.approx(during)


def test_data_survive_the_file(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((20, 5), density=0.3, format="csr", rng=rng)
    given = Data(X, rng.normal(size=20), np.asfortranarray(rng.normal(size=(4, 3))), more={"C": 2})
    data.save(given, tmp_path / "data")
    found = data.load(tmp_path / "data")
    np.testing.assert_array_equal(found.X.toarray(), X.toarray())
    np.testing.assert_array_equal(found.y, given.y)
    assert found.X_new.flags.f_contiguous
    assert found.y.flags.writeable
    assert found.more == {"C": 2}


@pytest.mark.parametrize("kind", ["normal", "few", "skewed", "correlated", "offset", "words"])
def test_recipes_make_what_they_say(kind):
    rows = Rows(2000, 12, kind, classes=2, rare=0.1, bent=kind != "words", new=100)
    first, second = rows(), rows()
    assert first.X.shape == (2000, 12)
    assert first.X_new.shape == (100, 12)
    np.testing.assert_array_equal(first.y, second.y)
    assert abs(np.append(first.y, first.y_new).mean() - 0.1) < 0.01
    if kind == "few":
        assert len(np.unique(first.X)) < 20
    assert str(rows).startswith("2,000 × 12")
    assert (kind in str(rows)) == (kind != "normal")


def test_recipes_with_gaps_categories_and_classes():
    made = Rows(3000, 6, classes=4, bent=True, missing=0.2, categories=2)()
    assert set(np.unique(made.y)) == {0, 1, 2, 3}
    assert np.isnan(made.X[:, :4]).mean() == pytest.approx(0.2, abs=0.02)
    assert not np.isnan(made.X[:, 4:]).any()
    assert made.X[:, 4:].max() == 39


def test_a_result_survives_the_disk_and_makes_a_table(race, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    result = report.circumstances(race("shapes")) | held(race("shapes"))
    assert json.loads(report.keep(result).read_text("utf-8")) == result
    assert report.kept() == {"shapes": result}
    text = report.table([result])
    ours = report.time_of(result["contestants"]["mlreplica"]["median"])
    assert f"| counting, {result['shape']} | {ours} |" in text
    assert result["date"] in text
    assert result["machine"]["cpu"] in text
    assert sum("times as fast as peer" in line for line in report.lines(result)) == 3
    assert "shapes" in report.summary([result])[0]
    assert len(report.summary([result], every=True)) == 3
    rows = {"mlreplica": {"worse": True}}
    for mark in ("not to be trusted", "ours is WORSE"):
        assert mark in report.marked({"busy": 1.0, "contestants": rows})


def test_the_readmes_table_is_written_between_its_markers(tmp_path, monkeypatch):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.OPEN}\nold\n{report.CLOSE}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(report, "README", readme)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    circumstances = {"what": "held fairly", "date": "", "threads": 2, "machine": {"cpu": ""}}
    times = {"mlreplica": {"median": 1.0}, "peer": {"median": 2.0}}
    fair = circumstances | {"ours": "mlreplica", "best_peer": "peer", "ratio": 2.0}
    fair |= {"shapes": {"": {"busy": 0.0}}}
    old = {key: value for key, value in fair.items() if key != "shapes"} | {"what": "one process"}
    busy = fair | {"what": "beside others", "shapes": {"": {"busy": 1.0}}}
    for name, result in {"fair": fair, "old": old, "busy": busy}.items():
        report.keep(result | {"race": name, "contestants": times})
    races = dict.fromkeys(("fair", "old", "busy"), SimpleNamespace(readme=True))
    report.write_readme(races)
    before, inside, after = (
        readme.read_text("utf-8").replace(report.CLOSE, report.OPEN).split(report.OPEN)
    )
    assert (before, after) == ("before\n", "\nafter\n")
    assert "| race |" in inside
    assert "old" not in inside
    assert "| held fairly | 1 s | peer, 2 s | 2.0 |" in inside
    assert "one process" not in inside
    assert "beside others" not in inside


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.34, "12.3 s"), (2.5e-3, "2.5 ms"), (1e-6, "1 µs"), (3e-8, "30 ns")]
)
def test_times_have_fitting_units(seconds, text):
    assert report.time_of(seconds) == text


def test_races_are_found_and_each_has_us_in_it():
    races = all_races()
    assert "start-import" in races
    assert all(race.ours in race.contestants and race.shapes for race in races.values())


def test_the_small_races_miss_no_estimator():
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401

    from benchmarks.races.small import ESTIMATORS

    listed = {name for names in ESTIMATORS.values() for name in names}
    theirs = {name for name, _ in sklearn.utils.all_estimators()}
    assert listed == {name for name, _ in all_estimators()} & theirs
