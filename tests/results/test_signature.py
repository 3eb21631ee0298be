"""Signatures of results, made and checked by the real ssh-keygen and gpg."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ann_bench.cli import main
from ann_bench.errors import ResultError, UsageError
from ann_bench.results.signature import Signers, sign
from ann_bench.results.store import Store
from tests.results import made

ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen: apt-get install openssh-client")
gpg = pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg: apt-get install gnupg")

ALICE, BOB = "alice@example.org", "bob@example.org"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return Store(tmp_path / "results").write(made.bundle())


def ssh_key(folder: Path, name: str) -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True)
    return path


def fingerprint(key: Path) -> str:
    done = subprocess.run(["ssh-keygen", "-l", "-f", key], check=True, capture_output=True, text=True)
    return done.stdout.split()[1]


def allowed(folder: Path, **keys: Path) -> Path:
    path = folder / "allowed_signers"
    lines = [f"{name}@example.org {key.with_suffix('.pub').read_text()}" for name, key in keys.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


@ssh
def test_an_ssh_signature(tmp_path: Path, bundle: Path) -> None:
    alice, bob = ssh_key(tmp_path, "alice"), ssh_key(tmp_path, "bob")
    before = bundle.read_bytes()
    signature = sign(bundle, str(alice))
    assert signature.name == bundle.name + ".sig"
    assert bundle.read_bytes() == before
    file = allowed(tmp_path, alice=alice, bob=bob)
    assert Signers(str(file)).check(bundle) == ALICE
    assert Signers(ALICE, file).check(bundle) == ALICE
    assert Signers(fingerprint(alice)).check(bundle) == fingerprint(alice)
    for wrong in (Signers(BOB, file), Signers(fingerprint(bob)), Signers(str(allowed(tmp_path, bob=bob)))):
        with pytest.raises(ResultError, match="is signed with the key SHA256:") as error:
            wrong.check(bundle)
        assert "\n" not in str(error.value)


@ssh
def test_names_and_places_with_blanks(tmp_path: Path, bundle: Path) -> None:
    (folder := tmp_path / "my keys").mkdir()
    key = ssh_key(folder, "the key")
    sign(bundle, str(key))
    (folder / "all of us").write_text(f'"Alice B. <{ALICE}>" {key.with_suffix(".pub").read_text()}', encoding="utf-8")
    assert Signers(str(folder / "all of us")).check(bundle) == f"Alice B. <{ALICE}>"
    assert Signers(f"Alice B. <{ALICE}>", folder / "all of us").check(bundle) == f"Alice B. <{ALICE}>"


@ssh
def test_a_changed_bundle_and_a_missing_signature(tmp_path: Path, bundle: Path) -> None:
    alice = ssh_key(tmp_path, "alice")
    who = Signers(str(allowed(tmp_path, alice=alice)))
    with pytest.raises(ResultError, match=r"is not signed: there is no .*\.h5\.sig"):
        who.check(bundle)
    sign(bundle, str(alice))
    Store(tmp_path / "results").write(made.bundle(seed=9))  # measured again: another file under the same name
    for signers in (who, Signers(fingerprint(alice))):
        with pytest.raises(ResultError, match="does not fit its signature"):
            signers.check(bundle)
    with pytest.raises(UsageError, match="--force"):
        sign(bundle, str(alice))
    sign(bundle, str(alice), again=True)
    assert who.check(bundle) == ALICE


@ssh
def test_a_signature_for_another_purpose_does_not_count(tmp_path: Path, bundle: Path) -> None:
    alice = ssh_key(tmp_path, "alice")
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", alice, bundle], check=True, capture_output=True
    )
    with pytest.raises(ResultError):
        Signers(str(allowed(tmp_path, alice=alice))).check(bundle)


@ssh
def test_damaged_results_are_not_signed(tmp_path: Path, bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alice = ssh_key(tmp_path, "alice")
    bundle.write_bytes(bundle.read_bytes()[:-1])
    assert main(["sign", str(bundle), "--key", str(alice)]) == 1
    assert "not signed" in capsys.readouterr().err


@ssh
def test_the_commands(tmp_path: Path, bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alice, results = ssh_key(tmp_path, "alice"), tmp_path / "results"
    file = allowed(tmp_path, alice=alice)
    assert main(["sign", str(results), "--key", str(alice)]) == 0
    assert capsys.readouterr().out == f"{bundle}.sig\n"
    assert main(["export", "--results", str(results)]) == 0  # a signature is no result
    bundle.with_name(bundle.name + ".sig").unlink()
    assert main(["verify", "--results", str(results), "--signed-by", str(file)]) == 1
    assert "is not signed" in capsys.readouterr().err
    assert main(["sign", str(tmp_path / "none"), "--key", str(alice)]) == 2
    assert main(["sign", str(results), "--key", str(tmp_path / "nokey")]) == 2
    assert "there is no such key" in capsys.readouterr().err


def test_a_missing_tool_is_named(tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "key"
    key.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"ssh-keygen is not here; .*openssh-client"):
        sign(bundle, str(key))
    with pytest.raises(UsageError, match=r"gpg is not here; .*gnupg"):
        sign(bundle, ALICE)


@pytest.fixture
def keyring(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A GPG home of its own with the keys of Alice and Bob."""
    home = tmp_path_factory.mktemp("g")
    home.chmod(0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    for name in (ALICE, BOB):
        make = ["--batch", "--passphrase", "", "--quick-generate-key", f"Somebody <{name}>", "ed25519", "sign", "never"]
        subprocess.run(["gpg", *make], check=True, capture_output=True)
    yield
    subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)


def gpg_print(name: str) -> str:
    done = subprocess.run(["gpg", "--with-colons", "--list-keys", name], check=True, capture_output=True, text=True)
    return next(line.split(":")[9] for line in done.stdout.splitlines() if line.startswith("fpr"))


@gpg
@pytest.mark.usefixtures("keyring")
def test_a_gpg_signature(tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = sign(bundle, ALICE)
    assert signature.name == bundle.name + ".asc"
    for who in (ALICE, gpg_print(ALICE), gpg_print(ALICE).lower()):
        assert Signers(who, tmp_path / "none").check(bundle) == f"Somebody <{ALICE}>"
    for who in (BOB, gpg_print(BOB)):
        with pytest.raises(ResultError, match=rf"is signed by Somebody <{ALICE}> .*, not by "):
            Signers(who, tmp_path / "none").check(bundle)
    with pytest.raises(UsageError, match=r"gpg did not sign with nobody@example.org"):
        sign(Store(tmp_path / "other").write(made.bundle()), "nobody@example.org")
    alice = gpg_print(ALICE)
    Store(tmp_path / "results").write(made.bundle(seed=9))
    with pytest.raises(ResultError, match="does not fit its signature"):
        Signers(alice).check(bundle)
    (empty := tmp_path / "e").mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(empty))
    with pytest.raises(ResultError, match=r"the key .* is not known to gpg here"):
        Signers(alice).check(bundle)


@gpg
@pytest.mark.usefixtures("keyring")
def test_a_gpg_key_that_has_expired(tmp_path: Path, bundle: Path) -> None:
    sign(bundle, ALICE)
    subprocess.run(
        ["gpg", "--batch", "--quick-set-expire", gpg_print(ALICE), "seconds=1"], check=True, capture_output=True
    )
    end = time.monotonic() + 20
    for who in (ALICE, gpg_print(ALICE)):
        while True:  # it is good for another second
            try:
                Signers(who, tmp_path / "none").check(bundle)
            except ResultError as error:
                assert str(error).startswith(f"is signed by Somebody <{ALICE}>, and that key has expired: prolong it")
                break
            assert time.monotonic() < end
            time.sleep(0.2)
