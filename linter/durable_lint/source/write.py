"""Writes files so that every reader, and every crash, finds the old content or the new."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


_LOCK_ATTEMPTS = 100
_LOCK_PAUSE = 0.05


class FileChangedError(OSError):
    """The file is not what was read any more, so what was made of it is not written."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EBUSY, "it has changed since it was read; run again", os.fspath(path))


def write_atomically(path: Path, content: bytes, *, expected: bytes | None = None) -> bool:
    """Make `content` the content of the file, at once or not at all. Return whether anything was written.

    A link stays, what it leads to is replaced. The file keeps its mode and, where allowed, its owner; a hard
    link to it keeps the old content. With `expected` the file must still hold those bytes (or already the new
    ones), else `FileChangedError`. A file that is not writable is left alone, though its directory would allow
    to replace it. What is not a regular file (a device, a pipe) is written to. Raises `OSError` with the
    system's reason; no temporary file is left behind, whatever interrupts.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return True
    with _locked(target):
        status = target.stat() if target.exists() else None
        if status is None:
            if expected is not None:
                raise FileChangedError(path)
        else:
            current = target.read_bytes()
            if current == content:
                return False
            if expected is not None and current != expected:
                raise FileChangedError(path)
            if not (status.st_mode & 0o222 and os.access(target, os.W_OK)):
                raise PermissionError(errno.EACCES, "it is read-only", os.fspath(path))
        _replace(target, content, status)
    return True


def _replace(target: Path, content: bytes, status: os.stat_result | None) -> None:
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
    # The name is known before the file is, so that an interrupt at any point finds it to remove.
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(temporary, flags, 0o666 if status is None else 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if status is not None:
                _take_over(stream.fileno(), temporary, status)
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_directory(target.parent)


def _take_over(descriptor: int, temporary: Path, status: os.stat_result) -> None:
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    temporary.chmod(stat.S_IMODE(status.st_mode))


def _sync_directory(directory: Path) -> None:
    # The new content is in place; that its name is on disk too is worth trying, and no reason to fail.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Keep other runs of this program from replacing the same file between check and replacement."""
    try:
        descriptor = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        yield
        return
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    # Whoever else holds a lock (an editor, say) for long does not know of this program: go on without.
    for _ in range(_LOCK_ATTEMPTS if fcntl is not None else 0):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
        except OSError:
            return
        else:
            return
