"""``symlayout run KERNEL``: a kernel on a device, with arrays of files or random ones, and what it writes as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..answers import console
from ..answers.report import Outcome
from ..atoms import MemorySpace
from ..errors import SymlayoutError
from ..expr import Symbol
from ..kernel import Kernel, KernelTensor
from ..strides import as_modes
from .chosen import KERNEL_HELP, PAIRS_HELP, Chosen, chosen
from .exits import BAD_INPUT, NO_DEVICE, UNDECIDED, UNEXPECTED, fail
from .verify import repaired

if TYPE_CHECKING:
    from checkers import Bundle

SHOWN = 4  # elements of an output


def run(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help=KERNEL_HELP)],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE...]", help=PAIRS_HELP)] = None,
    dims: Annotated[list[str] | None, typer.Option("--dims", metavar="NAME=VALUE", help="A size.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option.")] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=FILE|NUMBER", help="A tensor as a .npy file, or a scalar."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write each output to DIR/NAME.npy.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers in tensors without a file.")] = 0,
    unproved: Annotated[bool, typer.Option("--unproved", help="Run what was not proved too.")] = False,
) -> None:
    """Run a kernel on a device, after it was proved. Sizes may follow from the shapes of the arrays.

    Exit status 1: refuted, or the kernel faults; 2: bad input; 3: undecided; 4: no device, or no compiler.
    """
    one = chosen(kernel, [*(pairs or ()), *(dims or ()), *(set_ or ())], partly=True)
    tensors = {t.name: t for t in one.kernel.tensors if t.space is MemorySpace.GLOBAL}
    arrays, scalars = _given(one.kernel, tensors, given or [])
    sizes = {**_sizes_of(tensors, arrays), **one.sizes}
    if output is not None and not output.is_dir():
        fail(f"expected a folder that exists for --output, got {output}")
    proved, certificate = (one.kernel, None) if unproved else _proved(one)
    try:
        found = _ran(proved, certificate, sizes, {**arrays, **scalars}, seed)
    except SymlayoutError as e:
        from gpu.errors import DeviceError, NoCompilerError, NoDeviceError, RunError

        here = isinstance(e, NoCompilerError | NoDeviceError)
        fail(str(e), NO_DEVICE if here else UNEXPECTED if isinstance(e, DeviceError | RunError) else BAD_INPUT)
        raise
    for name, x in found.items():
        told = f"{name}: {x.dtype} {'x'.join(map(str, x.shape))}, begins {_shown(x)}"
        if output is not None:
            np.save(output / f"{name}.npy", x)
            told += f"; written to {output / f'{name}.npy'}"
        console.out.print(told, markup=False, highlight=False, soft_wrap=True)


def _ran(
    kernel: Kernel, certificate: Bundle | None, sizes: dict[str, int], given: dict[str, Any], seed: int
) -> dict[str, Any]:
    import gpu
    from gpu.errors import NoDeviceError
    from gpu.filling import bind, launch_sizes

    there = gpu.availability()
    filled = {s.name for s in launch_sizes(kernel)}
    missing = [s.name for s in kernel.dims if s.name not in sizes and s.name not in filled]
    if missing:
        fail(f"expected all sizes of {kernel.name}, or arrays that tell them, got none for {', '.join(missing)}")
    if not there.ok:
        raise NoDeviceError(there.reason)
    with gpu.Device() as device:
        bound = bind(kernel, device, **sizes)
        inputs = _filled(bound, given, seed)
        if certificate is None:
            return gpu.run_unproved(bound, inputs, device)
        return gpu.run(bound, certificate, inputs, device)


def _proved(one: Chosen) -> tuple[Kernel, Bundle]:
    """The kernel with its certificate; of a family under the conditions that make all hold. Ends without a proof."""
    kernel, report, _ = repaired(one.kernel, one.shipped)
    if not report:
        console.show_report(report)
        refuted = any(v.outcome is Outcome.REFUTED for v in report.verdicts)
        fail(
            f"expected proofs of all claims, got {report.summary()}; --unproved runs it all the same",
            UNEXPECTED if refuted else UNDECIDED,
        )
    return kernel, report.certificate


# -- arrays ---------------------------------------------------------------------------------------------------


def _given(
    kernel: Kernel, tensors: Mapping[str, KernelTensor], pairs: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(arrays, scalars) by name, as the command line gives them. Ends for a name that the kernel does not have."""
    arrays, scalars = dict[str, Any](), dict[str, Any]()
    parameters = {p.name for p in kernel.parameters}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not (sign and value and name in {*tensors, *parameters}):
            known = ", ".join((*tensors, *sorted(parameters)))
            fail(f"expected NAME=FILE or NAME=NUMBER of {known}, got {pair!r}")
        if name in tensors:
            arrays[name] = _loaded(tensors[name], Path(value))
        else:
            try:
                scalars[name] = float(value)
            except ValueError:
                fail(f"expected a number for {name}, got {value!r}")
    return arrays, scalars


def _loaded(tensor: KernelTensor, file: Path) -> Any:
    """The array of a .npy file, in the type of its tensor; types that NumPy does not know are kept as their bytes."""
    try:
        x = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as e:
        fail(f"expected a .npy file for {tensor.name}, got {file}: {e}")
        raise
    wanted = np.dtype(tensor.dtype.numpy())
    if x.dtype.kind == "V" and x.dtype.itemsize == wanted.itemsize:
        x = x.view(wanted)
    if x.dtype != wanted:
        fail(f"expected {wanted} in {file}, as {tensor.name} is {tensor.dtype}, got {x.dtype}")
    return x


def _sizes_of(tensors: Mapping[str, KernelTensor], arrays: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that shapes of arrays tell: those that are a mode of a tensor. Ends for another number of modes."""
    found: dict[str, int] = {}
    for name, x in arrays.items():
        shape = as_modes(tensors[name].layout.shape)
        if len(shape) != x.ndim:
            fail(f"expected {len(shape)} modes of {name}, {_by(shape)}, got an array of {_by(x.shape)}")
        for mode, n in zip(shape, x.shape, strict=True):
            if isinstance(mode, Symbol) and found.setdefault(mode.name, n) != n:
                fail(f"expected {mode} = {found[mode.name]}, as of another array, got {n} in {name} of {_by(x.shape)}")
    return found


def _filled(bound: Kernel, given: dict[str, Any], seed: int) -> dict[str, Any]:
    """All arrays and scalars of a run: those that are given, and numbers of a seed. Ends for another shape."""
    from gpu.differential.data import data_sets

    draw = np.random.default_rng(seed)
    _, out = next(iter(data_sets(bound, seed)))
    for t in bound.tensors:
        if t.name in out and t.dtype.kind == "float":  # integers may be indices, with a contract
            out[t.name] = draw.standard_normal(out[t.name].shape, np.float32).astype(t.dtype.numpy())
        if t.name in given and given[t.name].shape != tuple(map(int, as_modes(t.layout.shape))):
            fail(f"expected {t.name} of {_by(as_modes(t.layout.shape))}, got {_by(given[t.name].shape)}")
    return {**out, **given}


def _by(shape: Iterable[Any]) -> str:
    return " x ".join(map(str, shape))


def _shown(x: Any) -> str:
    first = ", ".join(str(v) for v in x.reshape(-1)[:SHOWN])
    return f"{first}{', ..' if x.size > SHOWN else ''}"
