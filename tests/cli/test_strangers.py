"""``symlayout prove`` in repositories that nobody prepared: what has no claims is not run, what misbehaves is one error."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from symlayout.finding.python_claims import mentions_us
from tests.cli.test_prove import CLAIMS, HEAD, ROOT, module, run

ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


def command(*args: object, **options):
    """The command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "symlayout", *map(str, args)],
        env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


# -- what is not run ------------------------------------------------------------------------------------------

FOREIGN = {  # what such files do when they are imported; {mark} is a file that must not come to be
    "bench_{i}.py": "import time\nopen({mark!r}, 'w').write('ran')\ntime.sleep(60)\n",
    "setup_{i}.py": "import sys\nopen({mark!r}, 'w').write('ran')\nsys.exit(3)\n",
    "deploy_{i}.py": "import os\nos.system('touch {mark}')\nos._exit(0)\n",
    "loop_{i}.py": "open({mark!r}, 'w').write('ran')\nwhile True:\n    pass\n",
    "old_{i}.py": "print 'Python 2, about symlayout and checkers'\n",
    "words_{i}.py": "# this kernel is checked with symlayout\nopen({mark!r}, 'w').write('symlayout checkers')\n",
    "chess/checkers_{i}.py": "from chess import checkers\nimport draughts.checkers\nopen({mark!r}, 'w')\n",
    "broken_{i}.py": "def f(:\n",
    "latin_{i}.py": "# \xe9\nopen({mark!r}, 'w')\n",
    "model_{i}.py": "import torch_that_is_not_here\nopen({mark!r}, 'w')\n",
}


def foreign(folder: Path, count: int) -> Path:
    """Python files of other people; the file that they would write."""
    mark = folder.parent / "ran.txt"
    for i in range(count):
        name, text = list(FOREIGN.items())[i % len(FOREIGN)]
        path = folder / f"part{i % 7}" / name.format(i=i)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.replace("{mark!r}", repr(str(mark))).replace("{mark}", str(mark)).encode("latin-1"))
    return mark


def test_nothing_of_two_hundred_foreign_files_is_run(tmp_path):
    tree = tmp_path / "tree"
    mark = foreign(tree, 200)
    before = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    module(tree, f"c = {CLAIMS['proved']}\n", "part0/ours.py")

    result = run(tree)

    assert result.exit_code == 0, result.stderr
    assert "1 proved" in result.stdout
    assert result.stderr == ""
    assert not mark.exists()
    assert {p: p.stat().st_mtime_ns for p in before if p.is_file()} == {p: t for p, t in before.items() if p.is_file()}


def test_a_repository_with_a_package_called_checkers(tmp_path):
    """``import checkers`` means theirs, in every file of theirs."""
    mark = tmp_path / "ran.txt"
    tree = tmp_path / "game"
    (tree / "src" / "checkers").mkdir(parents=True)
    (tree / "src" / "checkers" / "__init__.py").write_text(f"open({str(mark)!r}, 'w')\n")
    (tree / "src" / "play.py").write_text(f"import checkers\nopen({str(mark)!r}, 'w')\n")
    module(tree, f"c = {CLAIMS['proved']}\n", "layouts.py")  # imports symlayout too

    result = run(tree)

    assert result.exit_code == 0, result.stderr
    assert not mark.exists()


def test_a_named_module_that_does_not_mention_us_is_not_run(tmp_path):
    mark = tmp_path / "ran.txt"
    path = tmp_path / "tool.py"
    path.write_text(f"open({str(mark)!r}, 'w')\n")

    result = run(path)

    assert result.exit_code == 2
    assert f"expected a module that imports symlayout or checkers, got {path}; to import it anyway" in result.stderr
    assert not mark.exists()


@pytest.mark.parametrize(
    "source, mentioned",
    [
        ("import symlayout", True),
        ("import numpy, symlayout.kernel as k", True),
        ("def f():\n    from checkers import prove", True),
        ("try:\n    import symlayout\nexcept ImportError:\n    pass", True),
        ("import symlayouts", False),
        ("from .checkers import x", False),
        ("from mine.checkers import x", False),
        ("text = '''\nimport symlayout\n'''", False),
        ("# import symlayout", False),
        ("import symlayout\ndef f(:", True),
    ],
)
def test_who_mentions_us(source, mentioned):
    assert mentions_us(source) is mentioned


def test_no_import_reads_text_alone(tmp_path):
    mark = tmp_path / "ran.txt"
    module(tmp_path, f"open({str(mark)!r}, 'w')\nc = {CLAIMS['refuted']}\n# symlayout: bijective 8:1 onto 8\n")

    result = run("--no-import", tmp_path)

    assert result.exit_code == 0
    assert "1 proved" in result.stdout
    assert not mark.exists()
    assert run("--no-import", "json:loads").exit_code == 2


@pytest.mark.parametrize(
    "pattern", ["third_party", "third_party/", "third_party/*", "bad.py", "*d.py", "third_party/bad.py"]
)
def test_what_is_excluded_is_not_read(tmp_path, pattern):
    module(tmp_path, f"c = {CLAIMS['proved']}\n", "good_one.py")
    module(tmp_path, "1 / 0\n", "third_party/bad.py")

    assert run(tmp_path).exit_code == 2
    assert run("--exclude", pattern, tmp_path).exit_code == 0


# -- modules that misbehave in ways that Python cannot catch --------------------------------------------------


ENDS = {  # what a module does to its process, and what is said of it
    "exit": ("import os\nos._exit(0)\n", "got the end of the process, with status 0"),
    "abort": ("import os\nos.abort()\n", "got the end of the process, with signal 6"),
    "exit_in_a_claim": (
        "def claim_f():\n    import os\n    os._exit(7)\n",
        "got the end of the process, with status 7",
    ),
    "killed": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "with signal 9"),
}


def test_each_module_that_ends_its_process_is_one_error_and_the_rest_goes_on(tmp_path):
    module(tmp_path, f"c = {CLAIMS['proved']}\n", "a.py")
    for name, (text, _) in ENDS.items():
        module(tmp_path, text, f"{name}.py")
    module(tmp_path, f"c = {CLAIMS['proved']}\n", "z.py")

    result = run(tmp_path)

    assert result.exit_code == 2
    assert result.stderr.count("error: ") == len(ENDS)
    assert "2 proved" in result.stdout
    errors = {part.partition(".py")[0]: part for part in result.stderr.split(f"{tmp_path}{os.sep}")[1:]}
    for name, (_, message) in ENDS.items():
        assert message in errors[name], result.stderr


def test_a_module_that_hears_no_alarm_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("symlayout.finding.importer.GRACE", 0.1)
    path = tmp_path / "deaf.py"
    path.write_text(
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\ntime.sleep(60)\nimport symlayout\n"
    )

    result = run("--import-seconds", 0.3, path)

    assert result.exit_code == 2
    assert "got no answer within" in result.stderr


def test_a_module_that_reads_its_input_finds_it_empty(tmp_path):
    path = module(
        tmp_path, f"assert input is not None\nimport sys\nassert sys.stdin.read() == ''\nc = {CLAIMS['proved']}\n"
    )

    assert run(path).exit_code == 0


def test_claims_of_classes_of_the_module_travel(tmp_path):
    text = "class Own(Injective):\n    pass\nc = Own(true)\n"

    result = run(module(tmp_path, text))

    assert result.exit_code == 0, result.stderr
    assert "1 proved" in result.stdout


def test_neighbours_of_one_name_in_two_folders(tmp_path):
    for name, n in (("a", 2), ("b", 3)):
        module(tmp_path, f"SHARED = {n}\n", f"{name}/common.py")
        module(tmp_path, "from common import SHARED\nc = Injective(Layout(SHARED))\n", f"{name}/claims.py")

    result = run(tmp_path)

    assert result.exit_code == 0, result.stderr
    assert "injective: 2:1" in result.stdout
    assert "injective: 3:1" in result.stdout


def test_a_shadowed_package_is_named_with_both_paths(tmp_path):
    (tmp_path / "checkers").mkdir()
    (tmp_path / "checkers" / "__init__.py").write_text("class Draughts: pass\n")
    path = tmp_path / "claims.py"
    path.write_text(HEAD + "from checkers import Draughts\n")

    result = run(path)

    assert result.exit_code == 2
    assert f"{tmp_path / 'checkers'} has the name of symlayout's {ROOT / 'checkers'}" in result.stderr


# -- settings of a repository ---------------------------------------------------------------------------------


def test_the_table_of_a_repository(tmp_path, monkeypatch):
    module(tmp_path, f"c = {CLAIMS['proved']}\n", "kernels/good.py")
    module(tmp_path, "1 / 0\n", "kernels/gen/bad.py")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.symlayout]\npaths = ["kernels"]\nexclude = ["gen"]\nbudget = 2\ncache = "verdicts.sqlite"\njobs = 1\n'
    )
    (tmp_path / "kernels" / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "kernels" / "deep")

    result = run()

    assert result.exit_code == 0, result.stderr
    assert "1 proved" in result.stdout
    assert (tmp_path / "verdicts.sqlite").exists()


@pytest.mark.parametrize(
    "table, message",
    [
        ('path = ["a"]', "expected one of paths, exclude, budget, cache, jobs, imports, import-seconds, got 'path'; did you mean paths?"),
        ('paths = "a"', "tool.symlayout.paths: expected a list of texts, got 'a'"),
        ("jobs = 0", "tool.symlayout.jobs: expected a number of processes, or -1 for all cores, got 0"),
        ("budget = true", "tool.symlayout.budget: expected a number of seconds above 0, got True"),
        ("cache = 1", "tool.symlayout.cache: expected the path of a file, got 1"),
        ("paths = [", "expected a TOML file, got"),
    ],
)  # fmt: skip
def test_a_slip_in_the_table_is_bad_input(tmp_path, monkeypatch, table, message):
    (tmp_path / "pyproject.toml").write_text(f"[tool.symlayout]\n{table}\n")
    monkeypatch.chdir(tmp_path)

    result = run()

    assert result.exit_code == 2
    assert "pyproject.toml" in result.stderr
    assert message in result.stderr.replace("\n", "")


def test_no_path_and_no_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = run()

    assert result.exit_code == 2
    assert "expected a PATH, or paths in the table [tool.symlayout]" in result.stderr


# -- workers --------------------------------------------------------------------------------------------------

SLOW = "import time\n" + "".join(
    f"class Slow{i}(Injective):\n    def certify(self, facts):\n        time.sleep({{seconds}})\n"
    f"        return super().certify(facts)\nc{i} = Slow{i}(Layout((M, {i + 2}), (1, M)))\n"
    for i in range(6)
)


def test_cache_and_jobs_work_together(tmp_path):
    path = module(tmp_path, "".join(f"c{i} = {c}\n" for i, c in enumerate(CLAIMS.values())))
    cache = tmp_path / "verdicts.sqlite"

    alone = run(path)
    first = run("--cache", cache, "--jobs", 2, path)
    second = run("--cache", cache, "--jobs", 2, path)
    here = run("--cache", cache, path)

    def told(result):
        timed = ("would close it", "gave up")  # what the time of the machine decides
        return [line for line in result.stdout.splitlines() if not any(word in line for word in timed)]

    assert cache.exists()
    assert told(first)[:-1] == told(second)[:-1] == told(here)[:-1] == told(alone)[:-1]
    assert first.exit_code == second.exit_code == alone.exit_code


def test_an_interrupt_keeps_what_was_proved(tmp_path):
    path = module(tmp_path, SLOW.format(seconds=0.3))
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # jobs of a shell's background ignore it
    process = command("prove", "--jobs", 2, path, start_new_session=True, preexec_fn=heard)
    lines = [process.stdout.readline() for _ in range(2)]  # the file, and the first verdict as soon as it is known
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert "proved" in lines[1]
    assert process.returncode == 130
    assert "interrupted: the report has the" in err
    assert "Traceback" not in err
    assert " proved in" in out


def test_a_kill_leaves_no_process_and_the_cache_whole(tmp_path):
    path = module(tmp_path, SLOW.format(seconds=0.1))
    cache = tmp_path / "verdicts.sqlite"
    process = command("prove", "--jobs", 2, "--cache", cache, path, start_new_session=True)
    process.stdout.readline()
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=20)

    assert _gone(path, 5)
    assert "6 proved" in run("--cache", cache, path).stdout


def _gone(path: Path, seconds: float) -> bool:
    """Whether no process of ours is left within so many seconds."""
    for _ in range(int(10 * seconds)):
        if not list(_mine(path)):
            return True
        time.sleep(0.1)
    return False


def _mine(path: Path):
    """The processes that this test has started: they have its file or its folder among what they were started with."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(path).encode() in told:
            yield entry.name


def test_a_scheduler_that_is_not_there_is_said_within_seconds(tmp_path):
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    path = module(tmp_path, f"c = {CLAIMS['proved']}\n")
    begin = time.monotonic()

    result = run("--scheduler", "tcp://127.0.0.1:9", path)

    assert result.exit_code == 2
    assert "expected a Dask scheduler at tcp://127.0.0.1:9, got" in result.stderr
    assert time.monotonic() - begin < 4


@pytest.mark.filterwarnings("default")
def test_a_cluster_and_the_cache_work_together(tmp_path):
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    from dask import config
    from dask.distributed import LocalCluster

    path = module(tmp_path, f"a = {CLAIMS['proved']}\nb = {CLAIMS['refuted']}\nc = {CLAIMS['known bug']}\n")
    cache = tmp_path / "verdicts.sqlite"
    with (
        config.set({"distributed.worker.daemon": False}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
    ):
        far = run("--scheduler", cluster.scheduler_address, "--cache", cache, path)
        again = run("--scheduler", cluster.scheduler_address, "--cache", cache, path)
    here = run("--cache", cache, path)

    assert far.exit_code == again.exit_code == here.exit_code == 1
    assert far.stdout.splitlines()[:-1] == again.stdout.splitlines()[:-1] == here.stdout.splitlines()[:-1]
