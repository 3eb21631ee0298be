"""Signatures of bundles by the ordinary tools: ssh-keygen and gpg. A signature is a file beside the bundle.

`ssh-keygen -Y sign -n ann-bench` writes `<bundle>.sig`, `gpg --detach-sign --armor` writes `<bundle>.asc`; anybody can
check them without this program. A bundle itself is never changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ann_bench.errors import ResultError, UsageError
from ann_bench.results.atomic import write_atomically
from ann_bench.results.bundle import check_seal

#: The namespace of ssh signatures: one made for another purpose does not count.
NAMESPACE = "ann-bench"
SSH, GPG = ".sig", ".asc"

_SSH_PRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_GPG_PRINT = re.compile(r"[0-9A-F]{40}")
#: What gpg says of a signature that fits, by a key that does not count any more.
_GPG_REFUSED = {
    "EXPKEYSIG": "that key has expired: prolong it with `gpg --quick-set-expire`, or sign again with another",
    "REVKEYSIG": "that key was revoked: sign again with another",
    "EXPSIG": "that signature has expired: sign again",
}
_TRUSTED = ("TRUST_FULLY", "TRUST_ULTIMATE")


def signature_path(bundle: Path, suffix: str) -> Path:
    """Where a signature of a bundle lies: beside it, under its whole name with SSH or GPG behind."""
    return bundle.with_name(bundle.name + suffix)


def sign(bundle: Path, key: str, *, again: bool = False) -> Path:
    """Sign a bundle, and return the path of the signature.

    `key` is the file of an ssh key (private, or the public one where an agent has the other half); anything else is the
    name of a GPG key. Raises ResultError where the bundle is damaged, UsageError where there is a signature already
    (unless `again`), or no such key, or the tool is missing.
    """
    check_seal(bundle)
    is_file = Path(key).expanduser().is_file()
    target = signature_path(bundle, SSH if is_file else GPG)
    if target.exists() and not again:
        raise UsageError(f"{target}: there is a signature already; --force makes it anew")
    with bundle.open("rb") as content:
        if is_file:
            command = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(Path(key).expanduser())]
        elif os.sep in key:
            raise UsageError(f"{key}: there is no such key; make one with `ssh-keygen -t ed25519 -f {key}`")
        else:
            command = ["gpg", "--batch", "--armor", "--local-user", key, "--output", "-", "--detach-sign"]
        done = _run(command, content)
    if done.returncode or not done.stdout:
        raise UsageError(f"{command[0]} did not sign with {key}: {_last(done.stderr)}")
    write_atomically(target, (done.stdout,))
    return target


@dataclass(frozen=True)
class Signers:
    """Whose signature counts: `who` is an allowed-signers file of ssh, a fingerprint, or the address of a person.

    An address is looked up in `allowed` (ssh's allowed-signers file), or among the GPG keys of this user, where only a
    key that this user trusts fully counts.
    """

    who: str
    allowed: Path = Path("~/.ssh/allowed_signers")

    def check(self, bundle: Path) -> str:
        """The signer of a bundle; ResultError where it is not signed by any of them, or was changed since."""
        own = {suffix: signature_path(bundle, suffix) for suffix in (SSH, GPG)}
        there = {suffix: path for suffix, path in own.items() if path.is_file()}
        if not there:
            raise ResultError(f"is not signed: there is no {own[SSH].name} or {own[GPG].name} beside it")
        wanted = self._wanted_kind(there)
        if wanted not in there:
            raise ResultError(f"has no signature of that kind: there is no {own[wanted].name} beside it")
        return (self._ssh if wanted == SSH else self._gpg)(bundle, there[wanted])

    def _wanted_kind(self, there: dict[str, Path]) -> str:
        if Path(self.who).expanduser().is_file() or _SSH_PRINT.fullmatch(self.who):
            return SSH
        if _GPG_PRINT.fullmatch(self._gpg_print()):
            return GPG
        return GPG if GPG in there and (SSH not in there or not self.allowed.expanduser().is_file()) else SSH

    def _gpg_print(self) -> str:
        return self.who.replace(" ", "").upper().removeprefix("0X")

    def _ssh(self, bundle: Path, signature: Path) -> str:
        if _SSH_PRINT.fullmatch(self.who):
            done = _on(bundle, ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)])
            if done.returncode:
                raise ResultError(_does_not_fit(signature, done))
            found = _SSH_PRINT.search(done.stdout.decode("utf-8", "replace"))
            if found is None or found[0] != self.who:
                raise ResultError(f"is signed with the key {found[0] if found else '?'}, not with {self.who}")
            return self.who
        is_file = Path(self.who).expanduser().is_file()
        allowed = (Path(self.who) if is_file else self.allowed).expanduser()
        if not allowed.is_file():
            raise UsageError(
                f"{self.who}: no file of allowed signers, and {allowed} is not there; name one with --allowed-signers"
            )
        for name in [self.who] if not is_file else _principals(bundle, signature, allowed):
            more = ["-f", str(allowed), "-I", name, "-s", str(signature)]
            done = _on(bundle, ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, *more])
            if done.returncode == 0:
                return name
        return self._why_not(bundle, signature, allowed)

    def _why_not(self, bundle: Path, signature: Path, allowed: Path) -> str:
        """Raise: either the signature does not fit the file, or it is somebody else's."""
        done = _on(bundle, ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)])
        if done.returncode:
            raise ResultError(_does_not_fit(signature, done))
        found = _SSH_PRINT.search(done.stdout.decode("utf-8", "replace"))
        key = found[0] if found else "of nobody known"
        whom = "" if Path(self.who).expanduser() == allowed else f" for {self.who}"
        raise ResultError(f"is signed with the key {key}, which {allowed} does not allow{whom}")

    def _gpg(self, bundle: Path, signature: Path) -> str:
        with tempfile.TemporaryFile() as nothing:
            done = _run(["gpg", "--batch", "--status-fd", "1", "--verify", str(signature), str(bundle)], nothing)
        status = [line[9:].split(" ") for line in done.stdout.decode("utf-8", "replace").splitlines()]
        said = {words[0]: words[1:] for words in status if words}
        if "VALIDSIG" not in said:
            reason = f"the key {said['NO_PUBKEY'][0]} is not known to gpg here" if "NO_PUBKEY" in said else ""
            raise ResultError(reason or _does_not_fit(signature, done))
        for word, why in _GPG_REFUSED.items():
            if word in said:
                raise ResultError(f"is signed by {' '.join(said[word][1:])}, and {why}")
        prints = {said["VALIDSIG"][0], said["VALIDSIG"][-1]}  # of the key, and of the main key that it belongs to
        name = " ".join(said.get("GOODSIG", ["", "?"])[1:])
        if _GPG_PRINT.fullmatch(self._gpg_print()):
            if self._gpg_print() in prints:
                return name
        elif f"<{self.who}>" in name or self.who == name:
            if any(trust in said for trust in _TRUSTED):
                return name
            raise ResultError(f"is signed by {name}, but this user does not trust that key; name its fingerprint")
        raise ResultError(f"is signed by {name} ({said['VALIDSIG'][-1]}), not by {self.who}")


def _principals(bundle: Path, signature: Path, allowed: Path) -> list[str]:
    """The names that a file of allowed signers has for the key of a signature."""
    done = _on(bundle, ["ssh-keygen", "-Y", "find-principals", "-s", str(signature), "-f", str(allowed)])
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []


def _does_not_fit(signature: Path, done: subprocess.CompletedProcess[bytes]) -> str:
    return f"does not fit its signature {signature.name}: one of them was changed ({_last(done.stderr)})"


def _on(bundle: Path, command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    with bundle.open("rb") as content:
        return _run(command, content)


def _run(command: Sequence[str], content: object) -> subprocess.CompletedProcess[bytes]:
    """Run a tool with a file as its input; UsageError where it is not there."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(command, stdin=content, capture_output=True, check=False, env=environment)  # type: ignore[call-overload, no-any-return]
    except FileNotFoundError as error:
        package = {"ssh-keygen": "openssh-client", "gpg": "gnupg"}[command[0]]
        raise UsageError(f"{command[0]} is not here; install it, such as with `apt-get install {package}`") from error


def _last(text: bytes) -> str:
    """The last line that a tool said."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip().rstrip(".") if lines else "it said nothing"
