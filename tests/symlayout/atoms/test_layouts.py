"""Thread-value layouts of the matrix instructions: CUTLASS's tables, PTX's figures, and what must hold of every row."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import Partition, prove
from symlayout import Layout, LayoutError
from symlayout.atoms import ATOMS, Atom, MatrixCopy, MemorySpace, MmaAtom, add_atoms, atom
from symlayout.dtype import i32, u32

C = "((4,8),(2,2)):((32,1),(16,8))"
C8 = "((4,8),2):((16,1),8)"
X4 = "(32,8):(8,1)"
# word, A, B, C: CUTLASS mma_traits_sm80.hpp, mma_traits_sm90.hpp and mma_traits_sm90_gmma.hpp
PRODUCTS = [
    ("mma.m16n8k8.f16", "((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", C),
    ("mma.m16n8k8.bf16", "((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", C),
    ("mma.m16n8k16.f16", "((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))", C),
    ("mma.m16n8k16.bf16", "((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))", C),
    ("mma.m16n8k4.tf32", "((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", C),
    ("mma.m16n8k8.tf32", "((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", C),
    *(
        (
            f"wgmma.m64n{n}k16.{dtype}",
            "(128,(64,16)):(0,(1,64))",
            f"(128,({n},16)):(0,(1,{n}))",
            f"((4,8,4),(2,2,{n // 8})):((128,1,16),(64,8,512))",
        )
        for dtype in ("f16", "bf16")
        for n in (8, 64, 136, 256)
    ),
    (
        "wgmma.m64n8k16.bf16.rs",
        "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
        "(128,(8,16)):(0,(1,8))",
        "((4,8,4),(2,2,1)):((128,1,16),(64,8,512))",
    ),
    (
        "wgmma.m64n8k8.tf32.rs",
        "((4,8,4),(2,2)):((64,1,16),(8,256))",
        "(128,(8,8)):(0,(1,8))",
        "((4,8,4),(2,2,1)):((128,1,16),(64,8,512))",
    ),
    *(
        (
            f"wgmma.m64n16k32.{kinds}.rs",
            "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))",
            "(128,(16,32)):(0,(1,16))",
            "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
        )
        for kinds in ("e4m3", "e5m2.f16", "i8")
    ),
    *(
        (f"mma.m16n8k32.{kind}", "((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", C)
        for kind in ("e4m3", "i8", "u8")
    ),
    ("mma.m16n8k16.i8", "((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)", C),
    *((f"mma.m8n8k16.{kind}", "((4,8),4):((32,1),8)", "((4,8),4):((32,1),8)", C8) for kind in ("i8", "u8")),
    ("mma.m8n8k4.f64", "((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", C8),
    ("mma.m16n8k4.f64", "((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", C),
    ("mma.m16n8k8.f64", "((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", C),
    ("mma.m16n8k16.f64", "((4,8),(2,4)):((16,1),(8,64))", "((4,8),4):((8,1),32)", C),
    *(
        (f"mma.m16n8k64.{kind}", "((4,8),(8,2,2)):((128,1),(16,8,512))", "((4,8),(8,2)):((64,1),(8,256))", C)
        for kind in ("i4", "i4.u4", "u4.i4", "u4")
    ),
    ("mma.m16n8k32.u4", "((4,8),(8,2)):((128,1),(16,8))", "((4,8),8):((64,1),8)", C),
    ("mma.m8n8k32.i4", "((4,8),8):((64,1),8)", "((4,8),8):((64,1),8)", C8),
    *(
        row
        for way in ("and", "xor")
        for row in (
            (
                f"mma.m16n8k256.b1.{way}",
                "((4,8),(32,2,2)):((512,1),(16,8,2048))",
                "((4,8),(32,2)):((256,1),(8,1024))",
                C,
            ),
            (f"mma.m16n8k128.b1.{way}", "((4,8),(32,2)):((512,1),(16,8))", "((4,8),32):((256,1),8)", C),
            (f"mma.m8n8k128.b1.{way}", "((4,8),32):((256,1),8)", "((4,8),32):((256,1),8)", C8),
        )
    ),
    ("mma.m16n8k32.i8.u8", "((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", C),
    ("mma.m16n8k32.e5m2.e4m3", "((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", C),
]
# word, source, target: CUTLASS copy_traits_sm75.hpp and copy_traits_sm90.hpp, recast to 16-bit elements
COPIES = [
    ("ldmatrix.x1", "((8,4),8):((8,0),1)", "(32,2):(2,1)"),
    ("ldmatrix.x2", "((16,2),8):((8,0),1)", "(32,(2,2)):(2,(1,64))"),
    ("ldmatrix.x4", X4, "(32,(2,4)):(2,(1,64))"),
    ("ldmatrix.x1.trans", "((8,4),8):((8,0),1)", "((4,8),(1,2)):((16,1),(1,8))"),
    ("ldmatrix.x2.trans", "((16,2),8):((8,0),1)", "((4,8),(1,2,2)):((16,1),(1,8,64))"),
    ("ldmatrix.x4.trans", X4, "((4,8),(1,2,4)):((16,1),(1,8,64))"),
]
ALL_PRODUCTS = [a.word for a in ATOMS.values() if isinstance(a, MmaAtom)]


@pytest.mark.parametrize("word, a, b, c", PRODUCTS)
def test_products(word, a, b, c):
    row = atom(word)

    assert [str(x) for x in (row.tv_a, row.tv_b, row.tv_c)] == [a, b, c]


@pytest.mark.parametrize("word, source, target", COPIES)
def test_copies_and_the_stores_that_mirror_them(word, source, target):
    load, store = atom(word), atom(word.replace("ld", "st"))

    assert (str(load.src_tv), str(load.dst_tv)) == (source, target)
    assert (store.src_tv, store.dst_tv) == (load.dst_tv, load.src_tv)
    assert load.align_bytes == store.align_bytes == 16


def test_words_are_dealt_as_elements_of_32_bits():
    """Elements of less than a byte are neighbours along k in registers of 32 bits."""
    for word, like in (("mma.m16n8k64.i4", "mma.m16n8k8.tf32"), ("mma.m16n8k128.b1.xor", "mma.m16n8k4.tf32")):
        row = atom(word)
        assert (row.words, row.held) == ((*atom(like).words[:2], row.tv_c), (u32, u32, i32))
    small = [r for r in ATOMS.values() if isinstance(r, MmaAtom) and r.packed > 1]
    assert len(small) == 18
    for row in small:
        for table, words in zip(row.tables[:2], row.words, strict=False):
            rows, each = table.tile[0], row.packed
            places = words.offsets().reshape(words[1].size(), 1, 32)
            split = places % rows + rows * (each * (places // rows) + np.arange(each)[:, None])
            assert (table.tv.offsets() == split.reshape(-1)).all()


def test_which_chips_have_a_product_and_which_make_it_of_others():
    since = {w: atom(w).since for w in ("mma.m16n8k64.i4", "mma.m16n8k32.e4m3.e5m2", "mma.m8n8k128.b1.and")}

    assert since == {"mma.m16n8k64.i4": (8, 0), "mma.m16n8k32.e4m3.e5m2": (8, 9), "mma.m8n8k128.b1.and": (8, 0)}
    assert dict(atom("mma.m16n8k64.i4").made_of)[9, 0] == "2 IMMA of 8 bits"
    assert (9, 0) not in dict(atom("mma.m16n8k256.b1.and").made_of)
    assert dict(atom("mma.m16n8k256.b1.xor").made_of)[9, 0] == "2 BMMA by and"


TABLES = {table: row for row in ATOMS.values() if isinstance(row, MmaAtom | MatrixCopy) for table in row.tables}


def test_every_table_is_proved_a_partition():
    """Each element of a tile has so many owners; all threads see a tile of shared memory, one has a register."""
    unproved = [str(t) for t in TABLES if not prove(Partition(t.tv, t.tile[0] * t.tile[1], t.copies))]

    assert unproved == []
    assert len(TABLES) > 150


def test_tables_have_the_threads_of_their_instruction_and_registers_have_one_owner():
    for table, row in TABLES.items():
        assert table.tv[0].size() == row.threads, row.word
        assert table.copies == 1 or table.space is MemorySpace.SHARED, row.word


def test_a_table_that_deals_an_element_twice_is_refuted():
    wrong = Layout(((4, 8), (2, 2)), ((16, 1), (16, 8)))

    assert "refuted" in str(prove(Partition(wrong, 128))).lower()


def test_an_accumulator_as_ptx_draws_it():
    """PTX ISA, fragment D of wgmma: row = thread/4 % 8 + 16 warp + 8 (v/2 % 2), column = 8 (v/4) + 2 (thread % 4) + v % 2."""
    tv = atom("wgmma.m64n64k16.bf16").tv_c

    for t in range(128):
        for v in range(32):
            row = t // 4 % 8 + 16 * (t // 32) + 8 * (v // 2 % 2)
            column = 8 * (v // 4) + 2 * (t % 4) + v % 2
            assert tv(t, v) == row + 64 * column
    assert tv(37, 5) == 17 + 64 * 11
    assert tv(127, 31) == 63 + 64 * 63


def test_mma_fragments_as_ptx_draws_them():
    """PTX ISA, matrix fragments of mma.m16n8k16: A, B and C of lane t = 4 group + i."""
    row = atom("mma.m16n8k16.bf16")

    for t in range(32):
        group, i = divmod(t, 4)
        for v in range(8):
            r = group + 8 * (v // 2 % 2)
            c = 2 * i + v % 2 + 8 * (v // 4)
            assert row.tv_a(t, v) == r + 16 * c
        for v in range(4):
            assert row.tv_b(t, v) == group + 8 * (2 * i + v % 2 + 8 * (v // 2))
            assert row.tv_c(t, v) == group + 8 * (v // 2) + 16 * (2 * i + v % 2)


def test_how_many_rows_there_are():
    words = {w.split(".")[0] for w in ATOMS}

    assert {"ldmatrix", "stmatrix", "mma", "wgmma"} <= words
    assert sum(w.startswith("wgmma.") for w in ATOMS) == 2 * (
        8 * 32 + 2 * 18
    )  # types of floats at every N, of integers at 18
    assert sum(isinstance(a, MatrixCopy) for a in ATOMS.values()) == 12


def test_a_row_reads_well():
    assert str(atom("stmatrix.x4")) == "stmatrix.x4: register -> shared, by 32 threads"
    assert str(atom("wgmma.m64n8k16.bf16.rs")) == (
        "wgmma.m64n8k16.bf16.rs: register, shared -> register, by 128 threads, asynchronous, completes on wgmma groups"
    )


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda: atom("wgmma.m64n260k16.bf16"), "expected an atom .*did you mean"),
        (lambda: atom(5), "expected an atom"),
        (
            lambda: add_atoms([Atom("tma.load", MemorySpace.SHARED, MemorySpace.GLOBAL)]),
            "expected a new word for an atom, got 'tma.load'",
        ),
    ],
)
def test_bad_input(ask, message):
    with pytest.raises(LayoutError, match=message):
        ask()


def test_positions_of_a_row_of_addresses():
    """Lanes behind the last matrix repeat the first: their addresses are not read."""
    tv = atom("ldmatrix.x2").src_tv

    assert np.array_equal(tv.offsets().reshape(8, 32)[0], np.tile(np.arange(16) * 8, 2))
    assert isinstance(tv, Layout)
