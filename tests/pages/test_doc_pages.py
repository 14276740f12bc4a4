"""The examples of the docs run, and show what comes."""

import doctest
import shlex
import warnings
from pathlib import Path

import pytest
from doc_pages import PAGES, ROOT, blocks, run_python
from matplotlib import pyplot as plt

from mdqr._backend.host.backend import extension


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def run_console(text, run):
    """Run the commands of a terminal; a file that ``cat`` shows is made."""
    for part in ("\n" + text).split("\n$ ")[1:]:
        line, _, shown = part.partition("\n")
        program, *arguments = shlex.split(line)
        if program == "cat":
            Path(arguments[0]).write_text(shown)
            continue
        assert program == "mdqr", f"{line}: only mdqr and cat run here"
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        same = doctest.OutputChecker().check_output(shown, out, doctest.ELLIPSIS)
        assert same, f"{line} shows\n{out}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_examples_of_the_docs_run(page, tmp_path, monkeypatch, run, capsys):
    """The blocks of a page share their names, as in one session; files are read from the root."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names = {}
    threads = extension().num_threads()
    with warnings.catch_warnings():
        for kind, text in blocks(page):
            if kind == "python":
                run_python(text, names, name_of(page))
                capsys.readouterr()  # so that the next command shows its own output
            else:
                run_console(text, run)
    plt.close("all")
    extension().set_num_threads(threads)


def test_the_docs_were_searched_for_examples():
    assert sum(len(blocks(page)) for page in PAGES) > 90


def test_every_howto_has_one_place_in_the_list():
    folder = ROOT / "docs" / "howto"
    listed = [
        line
        for line in (folder / "index.md").read_text().splitlines()
        if (folder / f"{line}.md").is_file()
    ]
    assert sorted(listed) == sorted(
        path.stem for path in folder.glob("*.md") if path.stem != "index"
    )
