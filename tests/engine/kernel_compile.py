"""Compiles every kernel for sm_90 with Triton's own assembler, and prints the names of those that compiled."""

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from overt.kernels import gumbel, paged_attention

TARGET = GPUTarget("cuda", 90, 32)
SIZES = {"KEY_DIM": 64, "VALUE_DIM": 64, "KEY_TILE": 64, "VALUE_TILE": 64}
FLOATS = {"sinks", "query", "key", "value", "key_cache", "value_cache", "output", "logits"}
FLOAT32 = {"partial", "maxima", "totals", "best", "temperature", "scores"}
INT32 = {"tables", "lengths", "tiles", "keys_1", "keys_2", "words"}
INT64 = {"slots", "tokens"}


def argument(name: str) -> str:
    """Type of a kernel's argument, by its name."""
    if name in FLOATS:
        return "*bf16"
    if name in FLOAT32:
        return "*fp32"
    if name in INT32:
        return "*i32"
    if name in INT64:
        return "*i64"
    return "fp32" if name in ("scale", "softcap") else "i32"


def compile_kernel(kernel: Any, constants: dict[str, int]) -> None:
    """Compiles down to machine code; raises where that is not possible."""
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else argument(name) for name in names}
    source = ASTSource(kernel, signature, constexprs={(names.index(name),): constants[name] for name in constants})
    compiled = triton.compile(source, target=TARGET)
    assert compiled.asm["cubin"]
    print(kernel.fn.__name__)


compile_kernel(paged_attention._write_kv, {"KEY_DIM": 64, "VALUE_DIM": 64, "TILE": 64})
for capped, sinks in ((False, False), (True, True)):
    group = SIZES | {"CAPPED": capped, "GROUP": 3, "WINDOW": 128}
    compile_kernel(paged_attention._decode, group | {"QUERIES": 16, "TILE": 64})
    compile_kernel(paged_attention._combine, {"SINKS": sinks, "SPLITS": 16, "VALUE_DIM": 64, "VALUE_TILE": 64})
    compile_kernel(paged_attention._prefill, group | {"SINKS": sinks, "QUERIES": 64, "TILE": 32})
compile_kernel(gumbel._draw, {"TILE": 4096})
