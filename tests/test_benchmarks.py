"""The race tool: who wins, who is marked, what is kept"""

import json
import time

import pytest

from benchmarks import report
from benchmarks.race import Race, first_result, run, verdict
from benchmarks.races import all_races


def spin(n, answer):
    """A contestant that counts to n and returns `answer`."""
    return lambda data: lambda: sum(1 for _ in range(n)) * 0 + answer


def missing(data):
    """A contestant whose library is not installed."""
    import no_such_library  # noqa: F401


def broken(data):
    """A contestant that fails when it is called."""
    return lambda: 1 / 0


def race(**contestants):
    """A race whose quality is the answer itself."""
    return Race(
        name="count",
        what="counting",
        make_data=lambda: None,
        contestants=contestants,
        quality=lambda _, answer: answer,
        quality_name="error",
        rtol=0.0,
        atol=0.1,
    )


def test_the_worse_the_missing_and_the_broken_are_marked_and_not_peers():
    r = race(
        mlreplica=spin(1000, 1.0),
        slow=spin(50_000, 1.05),
        hasty=spin(1, 2.0),
        absent=missing,
        broken=broken,
    )
    result = run(r, seconds=0.01, start=False)
    rows = result["contestants"]
    assert result["best_peer"] == "slow"
    assert result["ratio"] == rows["slow"]["best"] / rows["mlreplica"]["best"]
    assert {name for name, row in rows.items() if row.get("worse")} == {"hasty"}
    assert rows["slow"]["rounds"] == rows["mlreplica"]["rounds"] >= 3
    assert rows["absent"]["missing"] == "No module named 'no_such_library'"
    assert rows["broken"]["failed"] == "ZeroDivisionError: division by zero"


def test_who_takes_very_long_is_called_once(monkeypatch):
    monkeypatch.setattr("benchmarks.race.ENOUGH", 0.05)
    called = []

    def patient(data):
        return lambda: called.append(time.sleep(0.1)) or 1.0

    rows = run(race(patient=patient, mlreplica=spin(10, 1.0)), 0.01, start=False)["contestants"]
    assert len(called) == rows["patient"]["rounds"] == 1
    assert rows["patient"]["best"] >= 0.1
    assert rows["mlreplica"]["rounds"] >= 3


def test_a_result_that_is_not_a_number_is_worse_than_any():
    result = run(race(lost=spin(10, float("nan")), mlreplica=spin(10, 1.0)), 0.01, start=False)
    assert result["contestants"]["lost"]["worse"]
    assert not result["contestants"]["mlreplica"]["worse"]
    assert result["best_peer"] is None


def test_a_race_without_us_is_an_error():
    with pytest.raises(RuntimeError, match="mlreplica did not run"):
        run(race(mlreplica=broken, peer=spin(10, 1.0)), 0.01)


def test_our_own_variants_are_no_peers():
    row = {"worse": False}
    rows = {
        "mlreplica": row | {"best": 2.0},
        "mlreplica, svd": row | {"best": 1.0},
        "b": row | {"best": 3.0},
    }
    assert verdict(rows, "mlreplica") == {"best_peer": "b", "ratio": 1.5}


def test_a_result_survives_the_disk_and_makes_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    r = race(mlreplica=spin(10, 1.0), slow=spin(100, 1.0))
    result = report.circumstances(r) | run(r, seconds=0.01, start=False)
    assert json.loads(report.keep(result).read_text("utf-8")) == result
    assert report.kept() == {"count": result}
    text = report.table([result])
    assert f"| counting | {report.time_of(result['contestants']['mlreplica']['best'])} |" in text
    assert result["date"] in text
    assert result["machine"]["cpu"] in text
    assert any("times as fast as slow" in line for line in report.lines(result))


def test_the_readmes_table_is_written_between_its_markers(tmp_path, monkeypatch):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.OPEN}\nold\n{report.CLOSE}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(report, "README", readme)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    report.write_readme({})
    before, inside, after = (
        readme.read_text("utf-8").replace(report.CLOSE, report.OPEN).split(report.OPEN)
    )
    assert (before, after) == ("before\n", "\nafter\n")
    assert "| race |" in inside
    assert "old" not in inside


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.34, "12.3 s"), (2.5e-3, "2.5 ms"), (1e-6, "1 µs"), (3e-8, "30 ns")]
)
def test_times_have_fitting_units(seconds, text):
    assert report.time_of(seconds) == text


def test_races_are_found_and_each_has_us_in_it():
    races = all_races()
    assert "start-import" in races
    assert all(race.ours in race.contestants for race in races.values())
    assert first_result(races["start-import"], "mlreplica") > 0
