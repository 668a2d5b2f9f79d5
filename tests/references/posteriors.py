"""Published posteriors: writes posteriors.json beside this file

Data and moments are those of posteriordb (https://github.com/stan-dev/posteriordb, commit 28f8d3d):
Magnusson and others, posteriordb: testing, benchmarking and developing Bayesian inference
algorithms (2024), arXiv:2407.04967. Run: python posteriors.py FOLDER, that of a checkout
"""

import json
import sys
import zipfile
from pathlib import Path

SOURCE = [
    "posteriordb, https://github.com/stan-dev/posteriordb, commit 28f8d3d:",
    "data/data and reference_posteriors/summary_statistics, mean_value and mean_squared_value.",
    "Each mean of 10,000 draws by Stan stands with its Monte Carlo error.",
]
POSTERIORS = {
    "eight_schools": "eight_schools-eight_schools_noncentered",
    "gp_pois_regr": "gp_pois_regr-gp_pois_regr",
    "kilpisjarvi_mod": "kilpisjarvi_mod-kilpisjarvi",
}


def data_of(folder, name):
    """The data of a posterior."""
    with zipfile.ZipFile(folder / "data" / "data" / f"{name}.json.zip") as file:
        return json.loads(file.read(file.namelist()[0]))


def moment(folder, kind, name):
    """Names, means and their errors of one kind of moment."""
    place = folder / "reference_posteriors" / "summary_statistics" / kind / kind / f"{name}.json"
    found = json.loads(place.read_text(encoding="utf-8"))
    return found["names"], found[kind], found["mcse_mean"]


def main(folder):
    """Read the checkout and write the file."""
    found = {"source": SOURCE}
    for name, posterior in POSTERIORS.items():
        names, mean, mean_error = moment(folder, "mean_value", posterior)
        again, square, square_error = moment(folder, "mean_squared_value", posterior)
        assert names == again
        found[name] = {
            "data": data_of(folder, name), "names": names, "mean": mean, "mean_error": mean_error,
            "square": square, "square_error": square_error,
        }  # fmt: skip
    text = json.dumps(found, indent=1)
    Path(__file__).with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "posterior_database")
