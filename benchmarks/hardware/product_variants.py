"""The matrix instructions that ``product_probe`` asks, and their text in CUDA C++.

A variant is an atom: ``wgmma.m64n64k16.bf16``, ``mma.m16n8k32.i8``; A and B of a type, then the type of the sums where
it is not f32 (i32 of integers), ``.rs`` where A is in registers, and the majors of 16-bit operands in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "i8": 8, "u8": 8, "f32": 32, "i32": 32}
PTX = {"i8": "s8", "i32": "s32"}
SUMS = {"i8": "i32", "u8": "i32"}
TYPES = (
    *(("f16", "f32"), ("bf16", "f32"), ("tf32", "f32"), ("e4m3", "f32"), ("e5m2", "f32"), ("i8", "i32")),
    *(("u8", "i32"), ("f16", "f16"), ("e4m3", "f16"), ("e5m2", "f16")),
)
EVERY_N = range(8, 257, 8)
SOME_N = (8, 16, 24, 40, 64, 72, 96, 128, 136, 192, 248, 256)
INTEGER_N = (8, 16, 24, 32, *range(48, 257, 16))
FEW_N = (8, 64, 128, 256)
MAJOR_N = (8, 16, 24, 32, 64, 72, 96, 128, 192, 256)


@dataclass(frozen=True)
class Variant:
    """An instruction: shape, types of A and B and of the sums, where A is, majors of A and B."""

    name: str  # wgmma or mma
    n: int
    k: int
    dtype: str
    sums: str
    rs: bool = False
    majors: str = "KK"  # of A and B: K, or M for MN

    @property
    def word(self) -> str:
        """That of the atom."""
        sums = "" if self.sums in ("f32", "i32") else f".{self.sums}"
        return f"{self.name}.m{self.m}n{self.n}k{self.k}.{self.dtype}{sums}{'.rs' * self.rs}"

    @property
    def m(self) -> int:
        return 64 if self.name == "wgmma" else 16

    @property
    def threads(self) -> int:
        return 128 if self.name == "wgmma" else 32

    @property
    def words(self) -> tuple[int, int, int]:
        """32-bit words of A, B and C in the registers of a thread."""
        bits = BITS[self.dtype]
        a = self.m * self.k * bits // 32 // self.threads if self.rs or self.name == "mma" else 0
        b = self.n * self.k * bits // 32 // self.threads if self.name == "mma" else 0
        return a, b, self.m * self.n * BITS[self.sums] // 32 // self.threads

    @property
    def ident(self) -> str:
        return f"{self.word.replace('.', '_')}_{self.majors}"

    def text(self) -> str:
        """The struct of the instruction in CUDA C++."""
        a, b, c = self.words
        held = [f'"r"(a[{i}])' for i in range(a)] + [f'"r"(b[{i}])' for i in range(b)]
        d = "{" + ", ".join(f"%{i}" for i in range(c)) + "}"
        of_a = "{" + ", ".join(f"%{c + i}" for i in range(a)) + "}"
        sums, kind = PTX.get(self.sums, self.sums), PTX.get(self.dtype, self.dtype)
        if self.name == "mma":
            of_b = "{" + ", ".join(f"%{c + a + i}" for i in range(b)) + "}"
            body = f"mma.sync.aligned.m16n8k{self.k}.row.col.{sums}.{kind}.{kind}.{sums} {d}, {of_a}, {of_b}, {d};"
        else:
            of_a, at = (of_a, c + a) if self.rs else (f"%{c}", c + 1)
            held += ([] if self.rs else ['"l"(da)']) + ['"l"(db)', '"r"(scale)']
            major = [str(int(x == "M")) for x in (self.majors[1:] if self.rs else self.majors)]
            tail = [] if self.sums == "i32" else ["1", "1"] + major * (BITS[self.dtype] == 16)
            shape = f"m64n{self.n}k{self.k}.{sums}.{kind}.{kind}"
            operands = ", ".join([d, of_a, f"%{at}", "p", *tail])
            body = (
                f"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{at + 1}, 0;\\n"
                f"wgmma.mma_async.sync.aligned.{shape} {operands};\\n}}"
            )
        outs = ", ".join(f'"+r"(d[{i}])' for i in range(c))
        return (
            f"struct {self.ident} {{\n"
            f"    static constexpr int THREADS = {self.threads}, A = {a}, B = {b}, C = {c};\n"
            "    static __device__ __forceinline__ void run(uint32_t (&d)[C], const uint32_t (&a)[A + 1], "
            "const uint32_t (&b)[B + 1],\n"
            "                                               uint64_t da, uint64_t db, int scale) {\n"
            f'        asm volatile("{body}"\n            : {outs}\n            : {", ".join(held)});\n'
            "    }\n};\n"
        )


def _wgmma() -> list[Variant]:
    found = []
    for dtype, sums in TYPES:
        k, integer = 256 // BITS[dtype], sums == "i32"
        every = INTEGER_N if integer else EVERY_N if (dtype, sums) in (("f16", "f32"), ("bf16", "f32")) else SOME_N
        found += [Variant("wgmma", n, k, dtype, sums) for n in every]
        found += [Variant("wgmma", n, k, dtype, sums, rs=True) for n in FEW_N]
        if BITS[dtype] == 16:
            if sums == "f32":
                found += [Variant("wgmma", n, k, dtype, sums, majors=x) for n in MAJOR_N for x in ("KM", "MK", "MM")]
            found += [Variant("wgmma", 64, k, dtype, sums, rs=True, majors="KM")]
    return found


def _mma() -> list[Variant]:
    found = []
    for dtype, sums in TYPES:
        if (dtype, sums) in (("e4m3", "f16"), ("e5m2", "f16")):
            continue
        k = 256 // BITS[dtype]
        shapes = (k,) if dtype in ("e4m3", "e5m2") else (k // 2, k)
        found += [Variant("mma", 8, shape, dtype, sums) for shape in shapes]
    return found


VARIANTS = (*_wgmma(), *_mma())
INDEX = {(v.word, v.majors): i for i, v in enumerate(VARIANTS)}


def sources() -> dict[str, str]:
    """The two headers that the program includes."""
    rows = ",\n".join(f"    row<{v.ident}>()" for v in VARIANTS)
    return {
        "variants.h": "\n".join(v.text() for v in VARIANTS),
        "table.h": f"static const Row TABLE[] = {{\n{rows}}};\n",
    }
