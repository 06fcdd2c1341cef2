"""A file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from durable_lint.source.write import FileChangedError, write_atomically

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "handler.py"
    path.write_bytes(b"old\r\n")
    return path


def strays(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir() if entry != path)


def test_the_content_is_replaced_to_the_byte_and_the_mode_stays(file: Path) -> None:
    file.chmod(0o751)
    assert write_atomically(file, b"new\r\n\xff", expected=b"old\r\n")
    assert file.read_bytes() == b"new\r\n\xff"
    assert file.stat().st_mode & 0o7777 == 0o751
    assert strays(file) == []


def test_a_file_with_the_same_content_is_not_touched(file: Path) -> None:
    before = file.stat()
    assert not write_atomically(file, b"old\r\n")
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_stays_and_its_target_changes(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to("handler.py")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_file_that_changed_since_it_was_read_is_left_alone(file: Path) -> None:
    file.write_bytes(b"edited meanwhile")
    with pytest.raises(FileChangedError, match="changed since it was read"):
        write_atomically(file, b"new", expected=b"old\r\n")
    assert file.read_bytes() == b"edited meanwhile"
    assert strays(file) == []


def test_a_file_that_is_gone_is_not_brought_back(file: Path) -> None:
    file.unlink()
    with pytest.raises(FileChangedError):
        write_atomically(file, b"new", expected=b"old\r\n")
    assert not file.exists()


def test_a_new_file_is_made_with_the_usual_mode(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    path = tmp_path / "new.json"
    assert write_atomically(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_read_only_file_stays(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old\r\n"
    assert strays(file) == []


def test_a_device_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"report")
    reader.join(10)
    assert got == [b"report"]


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop.py"
    loop.symlink_to("loop.py")
    with pytest.raises(OSError, match=r"."):
        write_atomically(loop, b"new")
    assert loop.is_symlink()


def test_a_full_disk_leaves_the_old_content_and_no_stray(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old\r\n"
    assert strays(file) == []


@pytest.mark.parametrize("function", ["open", "fdopen", "fsync"])
def test_an_interrupt_at_any_point_leaves_the_old_content_and_no_stray(
    file: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    original = getattr(os, function)
    calls = 0

    def interrupted(*arguments: object) -> object:
        nonlocal calls
        result = original(*arguments)
        calls += 1
        if function != "open" or calls == 2:  # the first one locks
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(os, function, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old\r\n"
    assert strays(file) == []


def test_a_reader_never_sees_a_torn_file(file: Path) -> None:
    contents = [bytes([letter]) * 500_000 for letter in b"ab"]
    file.write_bytes(contents[0])
    stop = threading.Event()
    torn: list[bytes] = []

    def read() -> None:
        while not stop.is_set():
            seen = file.read_bytes()
            if seen not in contents:
                torn.append(seen[:10])

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(30):
        write_atomically(file, contents[number % 2])
    stop.set()
    reader.join(10)
    assert torn == []


def test_of_two_writers_who_read_the_same_content_one_is_refused(file: Path) -> None:
    outcomes: list[str] = []
    start = threading.Barrier(2)

    def run(content: bytes) -> None:
        start.wait()
        try:
            write_atomically(file, content, expected=b"old\r\n")
            outcomes.append("written")
        except FileChangedError:
            outcomes.append("refused")

    writers = [threading.Thread(target=run, args=(bytes([letter]),)) for letter in b"ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert sorted(outcomes) == ["refused", "written"]


def test_a_process_killed_while_writing_leaves_the_old_or_the_new_content(file: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from durable_lint.source.write import write_atomically\n"
        f"path = Path({str(file)!r}); print('ready', flush=True)\n"
        "for number in range(100000): write_atomically(path, bytes([97 + number % 2]) * 300_000)\n"
    )
    for pause in (0.02, 0.05, 0.1):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        threading.Event().wait(pause)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
        assert file.read_bytes() in (b"old\r\n", b"a" * 300_000, b"b" * 300_000)
