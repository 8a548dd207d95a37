"""Whether a quantised encoder answers a text alike where its weights differ in their last bit.

Rounding has edges, and in an encoder this small one value on the other side of an edge moves an answer by hundredths:
then the reference does not agree with itself, and nothing can be told about another runtime. Texts are therefore drawn
until the reference is steady. Only the reference is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

# Relative: up to about two times the last bit of a 32-bit float, as two runtimes' orders of adding come to.
LAST_BIT = 2e-7
VARIANTS = 16
# Half of what the tests allow between runtimes.
STEADY = 5e-4

Answer = Callable[[ModelProto], Callable[[dict[str, np.ndarray]], np.ndarray]]


def varied(model: ModelProto, seed: int) -> ModelProto:
    """A copy whose floating-point tensors are moved at random by their last bit, single numbers apart."""
    generator = np.random.default_rng(seed)
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        values = numpy_helper.to_array(tensor)
        # Those are constants of the graph: halves, counts, the steps of the quantisation.
        if tensor.data_type == TensorProto.FLOAT and values.size > 1:
            moved = values * (1 + LAST_BIT * generator.uniform(-1, 1, values.shape))
            tensor.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), tensor.name))
    return copy


class Steadiness:
    """Asks a model and its variants."""

    def __init__(self, path: Path, answer: Answer) -> None:
        model = onnx.load(path)
        self.answers = [answer(model), *(answer(varied(model, seed)) for seed in range(VARIANTS))]

    def keeps(self, arrays: dict[str, np.ndarray]) -> bool:
        """Whether all variants give what the model gives, to `STEADY`."""
        first, *others = self.answers
        given = first(arrays)
        return all(float(np.abs(other(arrays) - given).max()) <= STEADY for other in others)
