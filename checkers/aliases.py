"""Tensors in global memory that may begin at one address, as far as claims take tensors to be apart.

>>> from symlayout import Layout, dim
>>> from symlayout.kernel import Builder
>>> N = dim("N")
>>> k = Builder("copy", N, grid=(1,), threads=32)
>>> x = k.registers("x", "f32", 1)
>>> src, dst = k.global_tensor("src", "f32", Layout(N)), k.global_tensor("dst", "f32", Layout(N), may_alias="src")
>>> k.copy("ld.global.4", src(k.thread), x())
>>> k.copy("st.global.4", x(), dst(k.thread))
>>> changed_by(k.kernel(), "src"), met(k.kernel(), "dst")
(('dst',), 'dst and src may be at one address, and the kernel writes dst')
"""

from __future__ import annotations

from symlayout.kernel import Kernel


def changed_by(kernel: Kernel, name: str) -> tuple[str, ...]:
    """The tensors that the kernel writes at the address of one in global memory, as far as is known: itself, others."""
    return tuple(x for x in kernel.written if x == name or x in kernel.aliases(name))


def met(kernel: Kernel, *names: str) -> str:
    """Why the elements of some tensors are not theirs alone; "" where none may be at the address of another in use.

    Without names all tensors are asked about. Two that are only read may be where they like.
    """
    for a in (t.name for t in kernel.tensors if not names or t.name in names):
        for b in kernel.aliases(a):
            changed = [x for x in (a, b) if x in kernel.written]
            if changed and b in kernel.accessed:
                return f"{a} and {b} may be at one address, and the kernel writes {' and '.join(changed)}"
    return ""
