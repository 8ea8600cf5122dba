"""A report that holds as one value: the verdicts, the kernel, the architecture, the version, and how to repeat them.

    >>> from symlayout import SM90, dim
    >>> from symlayout.kernels import vector_copy
    >>> from checkers import prove
    >>> kernel = vector_copy(dim("N"))
    >>> certificate = prove(kernel, arch=SM90).certificate
    >>> bool(certificate.check()), bool(certificate.matches(kernel.bind(N=1000), SM90))
    (True, True)
    >>> other = certificate.matches(kernel.assuming(dim("N") >= 8).bind(N=1000), SM90)
    >>> print(other.reason.partition("; ")[2])
    of its assumptions N >= 8 is one more

``save`` and ``load`` keep it in a file, ``gpu.run`` asks it whether a bound kernel is what was proved. A seal over
all of it detects a changed file. It is not a signature: it does not show who made the file. Without it ``check``
finds a certificate that does not prove what it states, or states another claim than its entry (``proved_claim``).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import symlayout
from symlayout.answers.report import Report
from symlayout.arch import Arch
from symlayout.canonical import hashed, serial
from symlayout.errors import AssumptionError, CertificateError, unread
from symlayout.kernel import Kernel

from .orders.rules import MODEL
from .proved_claim import Proved

SCHEMA = 1
KIND = "symlayout certificate"


@dataclass(frozen=True)
class Checked:
    """The result of a check: claims whose certificates were *accepted*, those to *repeat* and by what, and *problems*.

    Of the accepted ones *trusting* are those whose certificates prove parts and say what is believed beside them. True
    if there are no problems.
    """

    accepted: tuple[str, ...] = ()
    repeat: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    trusting: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return "\n".join(f"{word:8}  {what}" for word, what in self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """The findings, a word and its subject each: problems first."""
        groups = (("rejected", self.problems), ("accepted", self.accepted), ("repeat", self.repeat))
        told = f"{len(self.trusting)} of {len(self.accepted)} accepted certificates prove parts of a claim, as they say"
        trusted = [("trusts", f"{told}; that these suffice is the prover's word")] if self.trusting else []
        return [(word, x) for word, found in groups for x in found] + trusted


@dataclass(frozen=True)
class Match:
    """Whether a bound kernel is what was proved; *reason* says why it is not."""

    reason: str = ""

    def __bool__(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        return f"no: {self.reason}" if self.reason else "yes"


@dataclass(frozen=True, repr=False)
class Bundle:
    """All that a report with nothing but proofs rests on; see the module.

    *kernel* is the digest of the kernel that was asked about, "" where claims stood alone. The digest covers the
    assumptions about sizes (``given``), since ``bind`` refuses sizes that break them: ``kernel.assuming(fact)`` is
    another kernel, with another certificate. *sizes* are the ranges of the sizes, *assumed* the other assumptions of
    the proofs.
    """

    kernel: str
    name: str
    arch: str
    sizes: tuple[str, ...]
    given: tuple[str, ...]
    assumed: tuple[str, ...]
    tool: str
    memory_model: str
    solver: str
    verdicts: tuple[Proved, ...]
    seal: str = ""

    def __str__(self) -> str:
        proofs = sum(bool(v.proof) for v in self.verdicts)
        count = f"{len(self.verdicts)} claims, {proofs} with a certificate of their own"
        return "\n".join([*self.about(), f"proved    {count}"])

    def __repr__(self) -> str:
        kernel = f" about {self.name} {self.kernel[:16]}" if self.kernel else ""
        return f"<certificate of {len(self.verdicts)} claims{kernel}>"

    # -- files --------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The bundle as JSON text."""
        return json.dumps({"schema": SCHEMA, "kind": KIND, **asdict(self)}, indent=1) + "\n"

    def save(self, path: str | Path) -> None:
        """Write it to a file. Raises CertificateError where that cannot be written."""
        try:
            Path(path).write_text(self.to_json(), encoding="utf-8")
        except OSError as e:
            raise CertificateError(f"expected a file that can be written, got {path}: {e.strerror}") from None

    @classmethod
    def load(cls, path: str | Path) -> Bundle:
        """Read a bundle from a file, without checking it. Raises CertificateError for other contents."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as e:
            raise CertificateError(f"expected a file with a certificate in {path}, got {unread(e)}") from None
        return cls.from_data(data)

    @classmethod
    def from_data(cls, data: Any) -> Bundle:
        """The bundle that JSON data hold. Raises CertificateError for other data."""
        if not isinstance(data, dict) or (data.get("kind"), data.get("schema")) != (KIND, SCHEMA):
            got = f"{data.get('kind')!r} {data.get('schema')!r}" if isinstance(data, dict) else type(data).__name__
            raise CertificateError(f"expected {KIND!r} of schema {SCHEMA}, got {got}")
        verdicts = data.get("verdicts")
        if not isinstance(verdicts, list):
            raise CertificateError("expected a list of verdicts, got something else")
        own = {k: x for k, x in data.items() if k not in ("schema", "kind", "verdicts")}
        return _read(cls, {**own, "verdicts": tuple(_read(Proved, v) for v in verdicts)})

    def about(self) -> list[str]:
        """A summary of the bundle, one line for each part."""
        kernel = f"{self.name} {self.kernel[:16]}" if self.kernel else ""
        rows = {"kernel": kernel, "arch": self.arch, "sizes": "; ".join(self.sizes), "given": " and ".join(self.given)}
        versions = f"{self.tool}, memory model {self.memory_model}, {self.solver}"
        lines = [f"{word:8}  {x}" for word, x in {**rows, "by": versions}.items() if x]
        return [*lines, *(f"assumed   {x}" for x in self.assumed)]

    # -- checks -------------------------------------------------------------------------------------

    def sealed(self) -> Bundle:
        """The bundle with the seal over all else that it holds."""
        return replace(self, seal=hashed(serial(replace(self, seal=""))))

    def check(self) -> Checked:
        """Verify every certificate again, without prover or solver; say by what each other proof would be repeated.

        A certificate counts for its own claim alone: one whose statement is not that of its entry is a problem.
        What was changed since, a digest, a statement or a version, is a problem, and so is a bundle of another version:
        what it does not certify would be repeated by something else.
        """
        accepted: list[str] = []
        repeat: list[str] = []
        problems = [*self._changes()]
        trusting: list[str] = []
        for v in self.verdicts:
            try:
                v.check()
            except (CertificateError, ValueError, RecursionError) as e:
                problems.append(f"{v.claim}: {e}")
                continue
            if v.proof:
                accepted.append(v.claim)
                trusting += [v.claim] if v.trusts else []
            else:
                repeat.append(f"{v.claim}: by {v.method}, {self.tool}")
        return Checked(tuple(accepted), tuple(repeat), tuple(problems), tuple(trusting))

    def _changes(self) -> Iterator[str]:
        if self.seal != self.sealed().seal:
            yield "the seal is not that of the content: the bundle was changed since it was made"
        if not self.verdicts:
            yield "it holds no verdict"
        for what, mine, here in (("tool", self.tool, TOOL), ("memory model", self.memory_model, MODEL)):
            if mine != here:
                yield f"expected the {what} {here}, got a bundle of {mine}; prove again"
        about = [v.kernel for v in self.verdicts]
        if self.kernel and any(about) and (self.name, self.kernel) not in about:
            yield f"no verdict is about {self.name} {self.kernel[:16]}; the bundle names it as its subject"

    def matches(self, bound: Any, arch: Arch) -> Match:
        """Whether a bound kernel, on an architecture, is one of those that were proved.

        It is where it was bound, unchanged since, from the kernel of this digest, assumptions included; a kernel
        without sizes is its own. Raises CertificateError for a value that is not a kernel with numbers for sizes.
        """
        if not isinstance(bound, Kernel) or bound.dims:
            raise CertificateError(f"expected a kernel with sizes, as kernel.bind gives, got {bound!r}")
        return Match(next(self._differences(bound, arch), ""))

    def _differences(self, bound: Kernel, arch: Arch) -> Iterator[str]:
        if self.seal != self.sealed().seal:
            yield "the certificate was changed since it was made"
        if (self.tool, self.memory_model) != (TOOL, MODEL):
            yield f"it was proved by {self.tool}, memory model {self.memory_model}; this is {TOOL}, {MODEL}"
        if not self.kernel:
            yield "the certificate is of claims, not of a kernel; prove(kernel) gives one"
        if self.arch != str(arch):
            yield f"it was proved on {self.arch}, not on {arch}; prove(kernel, arch={arch})"
        source = bound.origin or bound
        if bound.sizes and bound.origin is None:
            yield "the kernel does not know what it was bound from; bind the kernel that was proved"
            return
        if source.digest != self.kernel:
            yield self._other(source)
        try:
            same = source is bound or source.bind(**dict(bound.sizes)) == bound
        except AssumptionError as e:
            yield f"its sizes are not among those that were proved: {e}"
            return
        if not same:
            yield f"{bound.name} was changed after it was bound; change the kernel, prove it and bind that"

    def _other(self, source: Kernel) -> str:
        """The differences between a kernel and the one that was proved."""
        proved, got = f"{self.name} {self.kernel[:16]}", f"{source.name} {source.digest[:16]}"
        mine, its = set(self.given), set(map(str, source.given))
        facts = [f"{f} is one more" for f in sorted(its - mine)] + [f"{f} is missing" for f in sorted(mine - its)]
        told = f"; of its assumptions {', '.join(facts)}" if facts and source.name == self.name else ""
        return f"another kernel was proved: expected {proved}, got {got}{told}"


TOOL = f"symlayout {symlayout.__version__}"


@dataclass(frozen=True, repr=False)
class ProofReport(Report):
    """A report of the prover, which has a certificate where all is proved."""

    name: str = ""  # of the kernel
    spare: Callable[[], tuple[str, ...]] | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def redundant(self) -> tuple[str, ...]:
        """The fences, waits and barriers of the kernel that may each be left out: all is still proved without it.

        Each is tried by a proof of its own when this is first asked. What is not all proved has none.
        """
        return self.spare() if self and self.spare is not None else ()

    @property
    def certificate(self) -> Bundle:
        """The report as one value to save and to run by. Raises CertificateError unless all is proved.

        >>> from symlayout import Layout
        >>> from checkers import Bijective, prove
        >>> prove(Bijective(Layout(64), onto=32)).certificate
        Traceback (most recent call last):
            ...
        symlayout.errors.CertificateError: expected a report with nothing but proofs, got 1 refuted; \
what is not proved has no certificate
        """
        if not self:
            got = self.summary()
            raise CertificateError(
                f"expected a report with nothing but proofs, got {got}; what is not proved has no certificate"
            )
        from . import smt

        verdicts = tuple(map(Proved.of, self.verdicts))
        made = Bundle(
            self.digest,
            self.name,
            self.arch,
            tuple(map(str, self.sizes)),
            self.given,
            self.assumed,
            TOOL,
            MODEL,
            smt.version(),
            verdicts,
        )
        return made.sealed()


def _read(kind: Any, data: Any) -> Any:
    """A dataclass of texts, lists of texts, and what was read already."""
    names = [f.name for f in fields(kind)]
    if not isinstance(data, dict) or sorted(data) != sorted(names):
        got = ", ".join(map(str, data)) if isinstance(data, dict) else repr(data)
        raise CertificateError(f"expected {', '.join(names)} of {kind.__name__}, got {got}")
    parts = {name: tuple(x) if isinstance(x, list) else x for name, x in data.items()}
    texts = [x for name, x in parts.items() if name != "verdicts"]
    if not all(isinstance(y, str) for x in texts for y in (x if isinstance(x, tuple) else (x,))):
        raise CertificateError(f"expected texts and lists of texts in {kind.__name__}, got something else")
    tuples = {f.name for f in fields(kind) if str(f.type).startswith("tuple")}
    if any(isinstance(parts[name], tuple) is not (name in tuples) for name in names):
        raise CertificateError(f"expected lists for {', '.join(sorted(tuples))} of {kind.__name__}, got something else")
    return kind(**parts)
