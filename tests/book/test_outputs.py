"""Outputs of a page's cells are used again, and only if nothing they depend on has changed."""

from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"

pytestmark = pytest.mark.book


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """The module, with its folders below `tmp_path` and one file of a library."""
    monkeypatch.syspath_prepend(BOOK / "_ext")
    from bookkit import outputs

    for name in ("CELLS", "STATIC", "ROOT"):
        monkeypatch.setattr(outputs, name, tmp_path / name)
    (tmp_path / "ROOT" / "src").mkdir(parents=True)
    (tmp_path / "ROOT" / "src" / "library.py").write_text("ONE = 1", encoding="utf-8")
    (tmp_path / "STATIC").mkdir()
    outputs.hash_of.cache_clear()
    yield outputs
    outputs.hash_of.cache_clear()


def kept(outputs, files):
    """Keep the outputs of a notebook of one cell that wrote one file; return its place."""
    import nbformat  # the book's environment has it, that of the other tests need not

    cell = nbformat.v4.new_code_cell("1 + 1", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", text="2")]
    (outputs.STATIC / "long.js").write_text("[0]", encoding="utf-8")
    folder = outputs.place(nbformat.v4.new_notebook(cells=[cell]))
    outputs.keep(folder, [cell], {"name": "python"}, files, ["long.js"])
    (outputs.STATIC / "long.js").unlink()
    return folder


@pytest.mark.parametrize("files", [["src/library.py"], ["*"]])
def test_outputs_come_back_until_a_file_changes(outputs, files):
    folder = kept(outputs, files)
    known = outputs.kept_outputs(folder)
    assert known["outputs"][0][1][0]["text"] == "2"
    assert (outputs.STATIC / "long.js").read_text(encoding="utf-8") == "[0]"
    (outputs.ROOT / "src" / "library.py").write_text("ONE = 2", encoding="utf-8")
    outputs.hash_of.cache_clear()
    assert outputs.kept_outputs(folder) is None


def test_other_code_has_another_place(outputs):
    import nbformat

    one, two = (
        outputs.place(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]))
        for code in ("1 + 1", "1 + 2")
    )
    assert one != two
    assert outputs.kept_outputs(two) is None


def test_what_was_imported_read_or_started_is_known(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(BOOK / "_ext")
    import used_files

    monkeypatch.setattr(used_files, "read", set())
    data, module = tmp_path / "data.csv", tmp_path / "some_module_of_a_test.py"
    data.write_text("1", encoding="utf-8")
    module.write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import some_module_of_a_test  # noqa: F401

    data.read_text(encoding="utf-8")
    assert used_files.used(tmp_path) == ["data.csv", "some_module_of_a_test.py"]
    used_files.hear("subprocess.Popen", ())
    assert used_files.EVERYTHING in used_files.used(tmp_path)
