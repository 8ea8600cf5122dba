"""Every device function of generated kernels compiles: each is called once, in a kernel of its kind.

Which names there are follows from the rows: of ``gpu.ptx``, of the atoms, and of the cache policies that these take.
Products of warpgroups are compiled for a few numbers of columns of each type.
"""

import re

import pytest

import gpu
from gpu import ptx
from gpu.ptx.rows import FIXED
from symlayout.atoms import ATOMS, CachePolicy, MatrixCopy, MmaAtom
from symlayout.errors import LayoutError
from tests.support.compilers import NEEDS_COMPILER, can_read

COLUMNS = (8, 96, 256)  # of products of warpgroups: the least, one that is no power of two, the most
WAYS = ("load", "store", "prefetch", "reduce_add", "reduce_min", "reduce_max")

# Arguments by the type of a parameter, and of templates by their name.
ARGUMENTS = {
    "void* ": "memory",
    "const void* ": "memory",
    "uint64_t* ": "barrier",
    "const CUtensorMap& ": "map",
    "uint32_t ": "1u",
    "uint16_t ": "uint16_t(3)",
    "uint64_t ": "1ull",
    "int ": "0",
    "float ": "1.0f",
    "double ": "1.0",
    "T ": "7",
    "bool ": "true",
}
TEMPLATES = {"PENDING": "<1>", "REGISTERS": "<240>", "SHAPE": "<1>", "BYTES": "<16>"}
SAMPLES = {
    "boxes": "UTMA",
    "products": "[HIQ]?GMMA",
    "products of warps": "[BDHI]MMA",
}  # opcodes of which each call is at least one
CLASSES = {"settled": "{ float sums[4] = {}; settled(sums); }"}  # which take arrays


def c_name(word):
    return word.replace(".", "_")


def boxes():
    for way in WAYS:
        for rank in range(1, 6):
            for hint in ("", "hint_"):
                yield f"tma_{way}_{hint}{rank}d"
                if way == "load":
                    yield f"tma_{way}_multicast_{hint}{rank}d"


def accesses():
    for word, row in ATOMS.items():
        if word.startswith(("ld.global.", "st.global.", "cp.async.")):
            zeros = [c_name(word).replace("cp_async", "cp_async_or_zero")] * word.startswith("cp.async.")
            yield from (ptx.named(name, policy) for name in (c_name(word), *zeros) for policy in row.caching.policies())
        if word.startswith("red."):
            yield from (c_name(word), f"{c_name(word)}_hint")


def products(threads):
    for word, row in ATOMS.items():
        if isinstance(row, MmaAtom) and row.threads == threads and (threads == 32 or row.mnk[1] in COLUMNS):
            yield c_name(word)


GROUPS = {
    "fixed": lambda: [f.name for f in FIXED],
    "boxes": lambda: list(boxes()),
    "accesses": lambda: list(dict.fromkeys(accesses())),
    "matrices": lambda: [c_name(w) for w, row in ATOMS.items() if isinstance(row, MatrixCopy)],
    "products": lambda: list(products(128)),
    "products of warps": lambda: list(products(32)),
}


def call(name):
    """A statement that calls a function, with arguments of the types that it takes."""
    if name in CLASSES:
        return CLASSES[name]
    text = ptx.function(name).text
    [parameters] = re.findall(rf"\b{name}\(([^{{]*)\) {{", text)[:1]
    given, before, after = [], [], []
    for i, parameter in enumerate(filter(None, re.split(r",\s+", parameters))):
        if array := re.match(r"(\w+) \(&\w+\)\[(\d+)\]", parameter):
            before.append(f"{array[1]} x{i}[{array[2]}] = {{}};")
            after.append(f"static_cast<{array[1]}*>(memory)[8 * __LINE__] = x{i}[0];")
            given.append(f"x{i}")
        elif pointer := re.match(r"(?:const )?(u?int32_t|float|double)\* ", parameter):
            before.append(f"{pointer[1]} x{i}[16] = {{}};")
            after += [f"static_cast<{pointer[1]}*>(memory)[8 * __LINE__] = x{i}[0];"] * (
                not parameter.startswith("const")
            )
            given.append(f"x{i}")
        else:
            kind = next(k for k in sorted(ARGUMENTS, key=len, reverse=True) if parameter.startswith(k))
            given.append(ARGUMENTS[kind])
    template = next((value for word, value in TEMPLATES.items() if re.search(rf"template <\w+ {word}>", text)), "")
    return f"{{ {' '.join(before)} {name}{template}({', '.join(given)}); {' '.join(after)} }}"


def kernel(names):
    """A kernel that calls all of them."""
    functions = "\n".join(f.text for f in ptx.with_needs(names))
    body = "\n".join(f"    {call(name)}" for name in names)
    head = 'extern "C" __global__ void __launch_bounds__(128, 1) every(const __grid_constant__ CUtensorMap map, void* memory) {\n'
    start = "    extern __shared__ uint64_t barrier[];\n"
    return f"#include <cuda.h>\n#include <cstdint>\n{functions}\n{head}{start}{body}\n}}\n"


@NEEDS_COMPILER
@pytest.mark.parametrize("group", GROUPS)
def test_every_function_compiles(group):
    names = GROUPS[group]()
    cubin = gpu.compile(kernel(names), allow=("spills", "stack", "wgmma-serialized", "wgmma-wait-injected"))

    assert cubin.kernel("every").parameters
    assert len(names) == len(set(names)) > 0
    if group in SAMPLES and can_read():
        opcodes = [i.opcode for i in cubin.instructions("every").every]
        assert sum(bool(re.match(SAMPLES[group], opcode)) for opcode in opcodes) >= len(names)


@pytest.mark.parametrize("group", GROUPS)
def test_a_name_is_that_of_its_function(group):
    for name in GROUPS[group]():
        assert name == ptx.function(name).name
        assert [f.name for f in ptx.called_in(f"    {name}(x);")][-1] == name


def test_a_row_takes_the_policies_of_its_instruction_alone():
    for word, row in ATOMS.items():
        for policy in row.caching.policies():
            assert row.caching.refusal(policy) == ""
            assert CachePolicy.of(str(policy)) == policy
        assert bool(row.caching.refusal(CachePolicy(nc=True))) is not word.startswith("ld.global.")


@pytest.mark.parametrize(
    "name", ["ld_global_16_wb", "st_global_4_nc", "cp_async_8_cg", "tma_load_6d", "ld_global_3_cs"]
)
def test_a_name_that_no_instruction_has_is_refused(name):
    with pytest.raises(LayoutError, match="expected an instruction that has a device function"):
        ptx.function(name)
