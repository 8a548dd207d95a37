#!/usr/bin/env python3
"""Quantise an f32 ONNX encoder to int8 weights, in operators that every ONNX runtime has.

* Weights of matrix products: int8, one scale per output channel, 7 bits of range. Processors without a dot-product instruction add pairs of
  products in 16 bits. With the eighth bit those sums saturate, and the outputs of one model differ between machines.
* Activations: uint8, one scale per token, computed at run time. The usual dynamic quantisation has one scale per tensor: the output for a text
  then depends on the other texts of its batch.
* Embedding tables: int8, one scale per row; with `--table-bits 4` the tables of words two to a byte. Only gathered rows become floats.

Products of two activations, normalisation, softmax and small last layers (`Gemm`) stay f32.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

# Largest weight: 7 bits with the sign, so that 255 * 63 * 2 fits the 16-bit sums of older processors.
WEIGHT_LIMIT = 63
# Nothing is multiplied with table rows in integers, so these use all of int8.
TABLE_LIMIT = 127
# Activations are centred on this value of uint8 and reach 127 to either side.
ACTIVATION_CENTRE = 128
ACTIVATION_LIMIT = 127
# A power of two, so that multiplying by its reciprocal and dividing by it round alike in every runtime.
ACTIVATION_STEP = 1 / 128
# A token whose activations are all zero must not divide by zero.
SMALLEST_SCALE = 1e-9
# Tables smaller than this are not worth two more operators.
MINIMUM_TABLE_ELEMENTS = 4096
# Tables larger than this hold words, which bear four bits; positions, which are added to every word, keep eight.
MINIMUM_HALVED_ELEMENTS = 1 << 20
# A nibble holds -8 to 7 with this added.
NIBBLE_CENTRE = 8
# Last layers smaller than this stay f32.
MINIMUM_GEMM_ELEMENTS = 1 << 16
# Shares of the largest weight tried as the channel's range; clipping a rare outlier can cost less than coarse steps.
CLIP_SHARES = np.linspace(0.7, 1.0, 16, dtype=np.float32)
# The same for rows of four bits. With 7/8 among them a table that is rounded already comes out as it went in.
ROW_SHARES = np.linspace(0.5, 1.0, 21, dtype=np.float32)


@dataclass
class Rewriter:
    """The graph under work: tensors by name, nodes in order, and what was quantised so far."""

    model: ModelProto
    keep: set[str] = field(default_factory=set)
    table_bits: int = 8
    nodes: list[NodeProto] = field(default_factory=list)
    activations: dict[str, tuple[str, str]] = field(default_factory=dict)
    tensors: dict[str, TensorProto] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = {tensor.name: tensor for tensor in self.model.graph.initializer}

    def constant(self, name: str, value: np.ndarray) -> str:
        """Add an initializer, once, and give its name."""
        if name not in self.tensors:
            self.tensors[name] = numpy_helper.from_array(value, name)
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Append a node with one output and give the output's name."""
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def array(self, name: str) -> np.ndarray | None:
        """The f32 constant called `name`; None for an activation or another type."""
        tensor = self.tensors.get(name)
        if tensor is None or tensor.data_type != TensorProto.FLOAT:
            return None
        return numpy_helper.to_array(tensor)


def quantise_least_squares(weight: np.ndarray, axis: int, low: int, high: int, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`weight` as integers from `low` to `high`, int8, and one scale along `axis`, each with the least squared error."""
    largest = np.maximum(np.abs(weight).max(axis=axis, keepdims=True), SMALLEST_SCALE).astype(np.float32)
    best_error = np.full(largest.shape, np.inf, dtype=np.float32)
    best_scale = largest / high
    for share in shares:
        scale = largest * share / high
        error = np.square(weight - np.clip(np.rint(weight / scale), low, high) * scale).sum(axis=axis, keepdims=True)
        better = error < best_error
        best_error[better], best_scale[better] = error[better], scale[better]
    return np.clip(np.rint(weight / best_scale), low, high).astype(np.int8), best_scale.astype(np.float32)


def quantise_activation(rewriter: Rewriter, name: str) -> tuple[str, str]:
    """Nodes that turn the activation `name` into uint8 and a scale per token; shared by its readers."""
    if name in rewriter.activations:
        return rewriter.activations[name]
    highest = rewriter.node("ReduceMax", [name], f"{name}_highest", axes=[-1], keepdims=1)
    lowest = rewriter.node("ReduceMin", [name], f"{name}_lowest", axes=[-1], keepdims=1)
    negated = rewriter.node("Neg", [lowest], f"{name}_negated")
    smallest = rewriter.constant("quantised_smallest", np.array(SMALLEST_SCALE, dtype=np.float32))
    largest = rewriter.node("Max", [highest, negated, smallest], f"{name}_largest")
    share = rewriter.constant("quantised_share", np.array(1 / (ACTIVATION_LIMIT * ACTIVATION_STEP), dtype=np.float32))
    full_scale = rewriter.node("Mul", [largest, share], f"{name}_full_scale")
    relative = rewriter.node("Div", [name, full_scale], f"{name}_relative")
    step = rewriter.constant("quantised_step", np.array(ACTIVATION_STEP, dtype=np.float32))
    centre = rewriter.constant("quantised_centre", np.array(ACTIVATION_CENTRE, dtype=np.uint8))
    quantised = rewriter.node("QuantizeLinear", [relative, step, centre], f"{name}_quantised")
    rewriter.activations[name] = (quantised, full_scale)
    return quantised, full_scale


def quantise_product(rewriter: Rewriter, node: NodeProto, weight: np.ndarray) -> None:
    """Replace `MatMul(activation, weight)` by an integer product and its scales."""
    name, output = node.input[1], node.output[0]
    integers, scale = quantise_least_squares(weight, 0, -WEIGHT_LIMIT, WEIGHT_LIMIT, CLIP_SHARES)
    quantised, token_scale = quantise_activation(rewriter, node.input[0])
    rewriter.constant(f"{name}_integers", integers)
    # The step of the activations is a constant: it goes into the weights' scale.
    rewriter.constant(f"{name}_scale", scale[0] * np.float32(ACTIVATION_STEP))
    rewriter.constant(f"{name}_zero", np.zeros(weight.shape[1], dtype=np.int8))
    inputs = [quantised, f"{name}_integers", "quantised_centre", f"{name}_zero"]
    product = rewriter.node("MatMulInteger", inputs, f"{output}_product")
    # In this order the runtime fuses product, cast and the scale per channel into one operator.
    cast = rewriter.node("Cast", [product], f"{output}_cast", to=TensorProto.FLOAT)
    scaled = rewriter.node("Mul", [cast, f"{name}_scale"], f"{output}_scaled")
    rewriter.node("Mul", [scaled, token_scale], output)


def quantise_table(rewriter: Rewriter, node: NodeProto, table: np.ndarray) -> None:
    """Replace `Gather(table, ids)` by gathers of int8 rows and their scales."""
    name, indices, output = node.input[0], node.input[1], node.output[0]
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True) / TABLE_LIMIT, SMALLEST_SCALE).astype(np.float32)
    rewriter.constant(f"{name}_integers", np.rint(table / scale).astype(np.int8))
    rewriter.constant(f"{name}_scale", scale)
    rows = rewriter.node("Gather", [f"{name}_integers", indices], f"{output}_rows", axis=0)
    scales = rewriter.node("Gather", [f"{name}_scale", indices], f"{output}_scales", axis=0)
    cast = rewriter.node("Cast", [rows], f"{output}_cast", to=TensorProto.FLOAT)
    rewriter.node("Mul", [cast, scales], output)


def halve_table(rewriter: Rewriter, node: NodeProto, table: np.ndarray) -> None:
    """Replace `Gather(table, ids)` by a gather of bytes that hold two values each: a row's first half low, its second high."""
    name, indices, output = node.input[0], node.input[1], node.output[0]
    integers, scale = quantise_least_squares(table, 1, -NIBBLE_CENTRE, NIBBLE_CENTRE - 1, ROW_SHARES)
    nibbles = (integers + NIBBLE_CENTRE).astype(np.uint8)
    half = table.shape[1] // 2
    rewriter.constant(f"{name}_nibbles", nibbles[:, :half] | (nibbles[:, half:] << 4))
    rewriter.constant(f"{name}_scale", scale)
    for constant, value in (("sixteenth", 1 / 16), ("sixteen", 16), ("centre", NIBBLE_CENTRE)):
        rewriter.constant(f"nibble_{constant}", np.array(value, dtype=np.float32))
    rows = rewriter.node("Gather", [f"{name}_nibbles", indices], f"{output}_rows", axis=0)
    scales = rewriter.node("Gather", [f"{name}_scale", indices], f"{output}_scales", axis=0)
    both = rewriter.node("Cast", [rows], f"{output}_bytes", to=TensorProto.FLOAT)
    shifted = rewriter.node("Mul", [both, "nibble_sixteenth"], f"{output}_shifted")
    high = rewriter.node("Floor", [shifted], f"{output}_high")
    above = rewriter.node("Mul", [high, "nibble_sixteen"], f"{output}_above")
    low = rewriter.node("Sub", [both, above], f"{output}_low")
    joined = rewriter.node("Concat", [low, high], f"{output}_joined", axis=-1)
    centred = rewriter.node("Sub", [joined, "nibble_centre"], f"{output}_centred")
    rewriter.node("Mul", [centred, scales], output)


def quantise_gemm(rewriter: Rewriter, node: NodeProto, weight: np.ndarray) -> None:
    """Replace `Gemm(activation, weight, bias)` by an integer product and a sum."""
    output = node.output[0]
    if attribute(node, "transB", 0):
        weight = np.ascontiguousarray(weight.T)
    product = helper.make_node("MatMul", list(node.input[:2]), [f"{output}_before_bias"])
    quantise_product(rewriter, product, weight)
    rewriter.node("Add", [f"{output}_before_bias", node.input[2]], output)


def attribute(node: NodeProto, name: str, default: int) -> int:
    """An integer attribute of a node; `default` when it does not say."""
    return next((found.i for found in node.attribute if found.name == name), default)


def rewrite(rewriter: Rewriter, node: NodeProto) -> None:
    """Append `node`, or what replaces it."""
    if node.op_type == "MatMul" and node.name not in rewriter.keep:
        weight = rewriter.array(node.input[1])
        if weight is not None and weight.ndim == 2 and node.input[0] not in rewriter.tensors:
            return quantise_product(rewriter, node, weight)
    scaled = any(found.name in ("alpha", "beta") and found.f != 1 for found in node.attribute)
    if node.op_type == "Gemm" and len(node.input) == 3 and not attribute(node, "transA", 0) and not scaled:
        weight = rewriter.array(node.input[1])
        if weight is not None and weight.size >= MINIMUM_GEMM_ELEMENTS:
            return quantise_gemm(rewriter, node, weight)
    if node.op_type == "Gather" and attribute(node, "axis", 0) == 0:
        table = rewriter.array(node.input[0])
        pairs_up = table is not None and table.ndim == 2 and table.shape[1] % 2 == 0
        if rewriter.table_bits == 4 and pairs_up and table.size >= MINIMUM_HALVED_ELEMENTS:
            return halve_table(rewriter, node, table)
        if table is not None and table.ndim == 2 and table.size >= MINIMUM_TABLE_ELEMENTS:
            return quantise_table(rewriter, node, table)
    rewriter.nodes.append(node)
    return None


def quantise(source: Path, target: Path, keep: set[str] | None = None, table_bits: int = 8) -> int:
    """Write the quantised `source` to `target`; gives the number of integer products.

    `keep` names MatMul nodes that stay f32; `table_bits` is 8, or 4 for tables of words two values to a byte.
    """
    model = onnx.load(source)
    rewriter = Rewriter(model, keep or set(), table_bits)
    for node in model.graph.node:
        rewrite(rewriter, node)
    used = {name for node in rewriter.nodes for name in node.input} | {output.name for output in model.graph.output}
    tensors = [tensor for name, tensor in rewriter.tensors.items() if name in used]
    del model.graph.node[:], model.graph.initializer[:], model.graph.value_info[:]
    model.graph.node.extend(rewriter.nodes)
    model.graph.initializer.extend(tensors)
    model.producer_name, model.producer_version = "corroborate", ""
    onnx.checker.check_model(model)
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target)
    return sum(node.op_type == "MatMulInteger" for node in rewriter.nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="f32 ONNX file, as written by export.py")
    parser.add_argument("target", type=Path, help="int8 ONNX file to write")
    parser.add_argument("--keep", nargs="*", default=[], metavar="NODE", help="MatMul nodes that stay f32")
    parser.add_argument("--table-bits", type=int, choices=(4, 8), default=8, help="bits of a word table's values")
    arguments = parser.parse_args()
    products = quantise(arguments.source, arguments.target, set(arguments.keep), arguments.table_bits)
    size = arguments.target.stat().st_size / 1e6
    print(f"{arguments.target}: {products} integer products, {size:.1f} MB")


if __name__ == "__main__":
    main()
