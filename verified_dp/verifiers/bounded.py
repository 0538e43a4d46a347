"""Check a certificate in a process of its own, which gets so much time and memory and no more.

    verify_bounded(data)                        10 seconds of processor time, 512 MB
    verify_bounded(data, seconds=60, megabytes=2048)
    check_and_files(data)                       with the files of this package that the check loaded

What a certificate may ask of its checker is limited before anything is evaluated (core/kernel/certificate/check.py),
but those limits are about known certificates; this one is about the machine. Standard library only, until the limits
hold.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict

from verified_dp.core.kernel.certificate.check import Check
from verified_dp.core.kernel.errors import Unsupported

SECONDS, MEGABYTES = 10, 512
_SLOWEST = 10
"""Wall-clock seconds allowed for each second of processor time: others may use the machine too."""
_NO_MEMORY, _UNSUPPORTED = 77, 78
_MODULE = "verified_dp.verifiers.bounded"


def verify_bounded(data: bytes, *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> Check:
    """`verify` under limits: processor time in whole seconds, and address space (only the clock on Windows).

    Raises: Unsupported where the certificate needs more: nothing is said of it then.
    """
    return check_and_files(data, seconds=seconds, megabytes=megabytes)[0]


def check_and_files(data: bytes, *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> tuple[Check, list[str]]:
    """The same, with the paths of all files of the trusted package `core` that the process had loaded at its end."""
    limit = max(1, round(seconds))
    # the same modules are found as here, and none beside the working directory's files
    found_here = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-P", "-m", _MODULE, str(limit), str(megabytes)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_SLOWEST * limit, check=False,
                              env=found_here)
    except subprocess.TimeoutExpired:
        raise _needs(f"{limit} s", "--max-seconds") from None
    if done.returncode == 0:
        found, files = json.loads(done.stdout)
        return Check(**found), files
    if done.returncode in (_NO_MEMORY, -signal.SIGABRT, -signal.SIGSEGV):  # the arithmetic aborts without memory
        raise _needs(f"{megabytes} MB", "--max-memory")
    if done.returncode == _UNSUPPORTED:
        raise Unsupported(*json.loads(done.stdout))
    if done.returncode < 0:  # killed, by the limit on processor time first of all
        raise _needs(f"{limit} s of processor time", "--max-seconds")
    raise RuntimeError(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])


def _needs(limit: str, option: str) -> Unsupported:
    return Unsupported(f"checking it needs more than {limit}; {option} allows more", "certificate")


def _limit(seconds: int, megabytes: int) -> None:
    """Of this process, from here on."""
    if sys.platform == "win32":
        return
    import resource

    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, megabytes << 20),
                       (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _main(seconds: str, megabytes: str) -> int:
    _limit(int(seconds), int(megabytes))
    try:
        from verified_dp.core.kernel.certificate.check import verify

        check = verify(sys.stdin.buffer.read())
        core = [module.__file__ for name, module in sys.modules.items() if f"{name}.".startswith("verified_dp.core.")]
        found = json.dumps([asdict(check), sorted(file for file in core if file)])
    except MemoryError:
        return _NO_MEMORY
    except Unsupported as error:  # the arithmetic library's version
        sys.stdout.write(json.dumps([error.reason, error.key]))
        return _UNSUPPORTED
    sys.stdout.write(found)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
