"""One value of a report that holds: it is saved, loaded, checked, and matched with what is to be run.

The design names ``report.certificate``, and there was none: certificates stood alone, without the kernel, the architecture
and the version that they were about, and a proof without one was lost when its report was.
"""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import fields, replace

import pytest

from checkers import Bijective, Computes, Equal, HappensBefore, Injective, prove
from checkers import bundle as bundles
from checkers.bundle import Bundle
from checkers.proved_claim import Proved
from symlayout import SM90, Layout, dim, dims
from symlayout.cli import app
from symlayout.errors import CertificateError
from symlayout.kernels import tma_copy, vector_copy
from symlayout.ops import WaitGroup
from tests.support.command import CliRunner

M, N = dims("M N")
KERNEL = tma_copy(M, N, tile=(16, 64), slots=4, blocks=132).assuming(N.multiple_of(4))
LAYOUTS = (
    Injective(Layout((M, N), (1, M))),
    Bijective(Layout(64), onto=64),
    Equal(Layout((M, N), (1, M)), Layout(M * N)),
)


@pytest.fixture(scope="module")
def certificate():
    return prove(KERNEL, arch=SM90).certificate


def test_a_bundle_says_what_was_proved_and_how(certificate):
    report = prove(KERNEL)

    assert (certificate.kernel, certificate.name, certificate.arch) == (KERNEL.digest, "tma_copy", "sm_90a")
    assert certificate.sizes == ("M, N in 1 .. 2^31 - 1",)
    assert certificate.given == ("N % 4 == 0",)
    assert certificate.assumed == KERNEL.assumed
    assert certificate.tool.startswith("symlayout ")
    assert [v.claim for v in certificate.verdicts] == [str(v.claim) for v in report.verdicts]
    assert [v.certificate is not None for v in certificate.verdicts] == [
        v.certificate is not None for v in report.verdicts
    ]
    assert all(v.method and v.statement for v in certificate.verdicts)
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert certificate == prove(KERNEL).certificate


def test_a_bundle_is_the_same_after_a_round_trip(certificate, tmp_path):
    file = tmp_path / "copy.json"
    for made in (certificate, prove(*LAYOUTS).certificate):
        made.save(file)

        assert Bundle.load(file) == made
        assert Bundle.load(file).to_json() == made.to_json()


def test_a_check_verifies_certificates_and_says_how_the_rest_is_repeated(certificate):
    found = certificate.check()

    assert found
    with_proof = [v for v in certificate.verdicts if v.proof]
    assert len(found.accepted) == len(with_proof) > 0
    assert len(found.repeat) == len(certificate.verdicts) - len(with_proof) > 0
    assert all(" by " in line and "symlayout" in line for line in found.repeat)
    assert prove(*LAYOUTS).certificate.check().problems == ()


def test_a_check_rejects_a_bundle_of_which_anything_was_changed(certificate):
    """Digests, statements, versions: each field, in the bundle and in each of its verdicts."""
    for f in fields(Bundle):
        if f.name == "verdicts":
            continue
        value = getattr(certificate, f.name)
        other = (*value, "M <= 8") if isinstance(value, tuple) else f"{value}0"
        assert not replace(certificate, **{f.name: other}).check(), f.name
        assert not replace(certificate, **{f.name: other}).matches(KERNEL.bind(M=64, N=64), SM90), f.name
    for k, v in enumerate(certificate.verdicts[:3]):
        for f in fields(Proved):
            value = getattr(v, f.name)
            other = (*value, "M <= 8") if isinstance(value, tuple) else f"{value} "
            verdicts = (*certificate.verdicts[:k], replace(v, **{f.name: other}), *certificate.verdicts[k + 1 :])
            assert not replace(certificate, verdicts=verdicts).check(), f.name
    assert not replace(certificate, verdicts=certificate.verdicts[1:]).check()
    assert not replace(certificate, verdicts=()).sealed().check()


def test_a_wrong_certificate_is_rejected_behind_a_new_seal(certificate):
    k = next(k for k, v in enumerate(certificate.verdicts) if v.proof)
    v = certificate.verdicts[k]
    broken = replace(v, proof=json.dumps({**v.certificate, "proof": {}}))
    made = replace(certificate, verdicts=(*certificate.verdicts[:k], broken, *certificate.verdicts[k + 1 :])).sealed()

    found = made.check()
    assert not found
    assert len(found.problems) == 1
    assert found.problems[0].startswith(v.claim)


# -- behind a new seal ------------------------------------------------------------------------------------


def resealed(bundle, k, **changes):
    """The bundle with other fields in one entry, and the seal that goes with them."""
    entry = replace(bundle.verdicts[k], **changes)
    return replace(bundle, verdicts=(*bundle.verdicts[:k], entry, *bundle.verdicts[k + 1 :])).sealed()


@pytest.mark.parametrize("other", [1, 2, "sizes", "given"])
def test_a_certificate_of_another_claim_is_rejected_behind_a_new_seal(other):
    """Each certificate is accepted by itself: the seal alone tied it to its entry, and a seal is computed by anybody."""
    bundle = prove(*LAYOUTS).certificate
    large = dim("M", at_least=2)
    claims = {"sizes": Injective(Layout((large, N), (1, large))), "given": replace(LAYOUTS[0], given=(M >= 8,))}
    entry = bundle.verdicts[other] if type(other) is int else Proved.of(prove(claims[other]).verdicts[0])
    made = resealed(bundle, 0, proof=entry.proof)

    assert entry.statement != bundle.verdicts[0].statement
    assert bundle.check()
    assert resealed(bundle, 0).check()
    (problem,) = made.check().problems
    assert problem.startswith(f"{LAYOUTS[0]}: the certificate is of another claim: expected ")
    assert resealed(bundle, 0, proof=entry.proof, statement=entry.statement).check(), "and its statement is as proved"


def test_a_certificate_of_another_kernel_is_rejected_behind_a_new_seal(certificate):
    other = prove(tma_copy(M, N, tile=(8, 64), slots=4, blocks=132).assuming(N.multiple_of(4))).certificate
    pairs = [(k, v) for k, v in enumerate(other.verdicts) if v.proof and '"digest"' in v.statement]

    assert pairs
    for k, v in pairs:
        assert "is of another claim" in str(resealed(certificate, k, proof=v.proof).check())


def test_a_bundle_is_about_the_kernel_that_its_verdicts_are_about(certificate):
    """Its digest stood in the seal alone, which anybody computes: ``gpu.run`` took it for that of what was proved."""
    other = tma_copy(M, N, tile=(8, 64), slots=4, blocks=132).assuming(N.multiple_of(4))
    assert certificate.check()
    for changes in ({"kernel": other.digest}, {"name": "another"}):
        (problem,) = replace(certificate, **changes).sealed().check().problems
        assert problem.startswith("no verdict is about ")


def test_each_field_of_a_statement_is_compared_behind_a_new_seal(certificate):
    for k, v in enumerate(certificate.verdicts):
        said = json.loads(v.statement)
        for name in said if v.proof else ():
            changed = {**said, name: "changed"}
            assert not resealed(certificate, k, statement=json.dumps(changed)).check(), (v.claim, name)
            del changed[name]
            assert not resealed(certificate, k, statement=json.dumps(changed)).check(), (v.claim, name)
        for text in ("", "[]", "{}", "no statement"):
            assert not resealed(certificate, k, statement=text).check(), (v.claim, text)


def test_a_certificate_without_a_statement_is_rejected_behind_a_new_seal(certificate):
    k = next(k for k, v in enumerate(certificate.verdicts) if v.proof)
    bare = {name: certificate.verdicts[k].certificate[name] for name in ("claim", "proof")}

    assert "it states none" in str(resealed(certificate, k, proof=json.dumps(bare)).check())
    for text in ("null", "[]", "{}", "0", " "):
        assert not resealed(certificate, k, proof=text).check(), text


def test_what_a_new_seal_cannot_hide_of_kernel_and_architecture(certificate):
    """Both are compared with what is to be run: a bundle that was made to say another kernel matches another kernel."""
    bound = KERNEL.bind(M=64, N=64)
    for change in ({"kernel": "0" * 64}, {"arch": "sm_100a"}, {"tool": "symlayout 0"}, {"memory_model": "none"}):
        assert not replace(certificate, **change).sealed().matches(bound, SM90), change
    for change in ({"tool": "symlayout 0"}, {"memory_model": "none"}, {"verdicts": ()}):
        assert not replace(certificate, **change).sealed().check(), change


def test_another_version_has_to_prove_again(certificate, monkeypatch):
    monkeypatch.setattr(bundles, "TOOL", "symlayout 99.0")

    assert "expected the tool symlayout 99.0" in certificate.check().problems[0]
    assert "this is symlayout 99.0" in certificate.matches(KERNEL.bind(M=64, N=64), SM90).reason
    monkeypatch.undo()
    monkeypatch.setattr(bundles, "MODEL", "another subset")
    assert "expected the memory model another subset" in certificate.check().problems[0]


def test_only_a_report_that_holds_has_a_certificate():
    refuted = prove(replace(KERNEL, given=()))
    assert not refuted

    with pytest.raises(CertificateError, match=r"expected a report with nothing but proofs, got .* refuted"):
        _ = refuted.certificate
    with pytest.raises(CertificateError, match="got no claims"):
        _ = prove().certificate
    with pytest.raises(CertificateError, match="got 1 refuted"):
        _ = prove(Bijective(Layout(64), onto=32, expect="refuted")).certificate


# -- what gpu.run asks ------------------------------------------------------------------------------------


def test_a_kernel_bound_from_what_was_proved_matches(certificate):
    for sizes in ({"M": 1, "N": 4}, {"M": 4096, "N": 8192}):
        assert certificate.matches(KERNEL.bind(**sizes), SM90)


@pytest.mark.parametrize(
    "bound, said",
    [
        (
            lambda: replace(KERNEL, given=()).bind(M=64, N=64),
            "another kernel .*; of its assumptions N % 4 == 0 is missing",
        ),
        (lambda: KERNEL.assuming(M >= 8).bind(M=64, N=64), "another kernel .*; of its assumptions M >= 8 is one more"),
        (
            lambda: tma_copy(M, N, tile=(8, 64), slots=4, blocks=132).bind(M=64, N=64),
            "another kernel was proved: expected tma_copy",
        ),
        (lambda: vector_copy(dim("N")).bind(N=64), "another kernel was proved: expected tma_copy .* got vector_copy"),
        (lambda: replace(KERNEL.bind(M=64, N=64), threads=96), "tma_copy was changed after it was bound"),
        (lambda: replace(KERNEL.bind(M=64, N=64), sizes=(("M", 64), ("N", 128))), "was changed after it was bound"),
        (lambda: replace(KERNEL.bind(M=64, N=64), sizes=(("M", 64), ("N", 63))), "not among those that were proved"),
        (lambda: replace(KERNEL.bind(M=64, N=64), origin=None), "does not know what it was bound from"),
        (
            lambda: KERNEL.bind(M=64, N=64).edited(lambda op: () if isinstance(op, WaitGroup) else (op,)),
            "tma_copy was changed after it was bound",
        ),
    ],
)
def test_a_kernel_that_was_not_proved_does_not_match(certificate, bound, said):
    found = certificate.matches(bound(), SM90)

    assert not found
    assert re.search(said, found.reason), found.reason


def test_a_match_is_on_one_architecture(certificate):
    found = certificate.matches(KERNEL.bind(M=64, N=64), replace(SM90, name="sm_100a"))

    assert found.reason == "it was proved on sm_90a, not on sm_100a; prove(kernel, arch=sm_100a)"


def test_certificates_of_claims_match_no_kernel():
    made = prove(HappensBefore(KERNEL), Computes(KERNEL, "dst")).certificate

    assert "of claims, not of a kernel" in made.matches(KERNEL.bind(M=64, N=64), SM90).reason
    with pytest.raises(CertificateError, match="expected a kernel with sizes, as"):
        made.matches(KERNEL, SM90)


def test_a_kernel_without_sizes_is_its_own():
    kernel = tma_copy(64, 256, tile=(16, 64), slots=4, blocks=132)
    made = prove(kernel).certificate

    assert made.matches(kernel, SM90)
    assert "another kernel" in made.matches(tma_copy(64, 256, tile=(8, 64), slots=4, blocks=132), SM90).reason


# -- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda d: d.pop("arch"), "expected kernel, name, arch"),
        (lambda d: d.update(more=1), "expected kernel, name, arch"),
        (lambda d: d.update(schema=99), "expected 'symlayout certificate' of schema 1"),
        (lambda d: d.update(kernel=3), "expected texts"),
        (lambda d: d.update(sizes="M"), "expected lists"),
        (lambda d: d.update(verdicts={}), "expected a list of verdicts"),
        (lambda d: d["verdicts"].append(3), "expected claim, statement"),
        (lambda d: d["verdicts"][0].update(given=[1]), "expected texts"),
    ],
)
def test_what_is_no_bundle_is_refused(certificate, tmp_path, change, said):
    data = json.loads(certificate.to_json())
    change(data)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(data))

    with pytest.raises(CertificateError, match=said):
        Bundle.load(file)


def test_files_that_cannot_be_read_are_told(certificate, tmp_path):
    for text in ("", "[]", "3", "{" * 10):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(CertificateError, match="expected"):
            Bundle.load(tmp_path / "bad.json")
    with pytest.raises(CertificateError, match="expected a file"):
        Bundle.load(tmp_path / "none.json")
    with pytest.raises(CertificateError, match="expected a file that can be written"):
        certificate.save(tmp_path / "no folder" / "x.json")


def test_the_command_checks_a_bundle(certificate, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    certificate.save(good)
    replace(certificate, arch="sm_100a").save(bad)

    said = CliRunner().invoke(app, ["check-certificate", str(good)])
    assert said.exit_code == 0
    assert "kernel    tma_copy " in said.output
    assert "sizes     M, N in 1 .. 2^31 - 1" in said.output
    assert "accepted  shared memory fits" in said.output or "accepted  " in said.output
    assert "repeat    happens before" in said.output
    said = CliRunner().invoke(app, ["check-certificate", str(bad)])
    assert said.exit_code == 1
    assert "rejected  the seal is not that of the content" in said.output
