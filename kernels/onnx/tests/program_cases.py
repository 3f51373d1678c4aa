# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of backend_cases.py as models to link: writes to DIRECTORY a model each, `flags` for the link, the
declarations for program_cases.cpp, `cases.inc`, and the data, `cases`. usage: program_cases.py DIRECTORY"""
import pathlib
import sys
import warnings

import numpy as np
from backend_cases import backend_cases, own_cases, write
from onnx import TensorProto, helper, numpy_helper

CPP = {"FLOAT16": "f16", "FLOAT": "float", "DOUBLE": "double", "BFLOAT16": "bf16", "BOOL": "bool"} | {
    f"{u.upper()}INT{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}


def value_info(name, t):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(t.dtype), t.shape)


def model_of(case, constants):
    """With `constants` all operands but the first are initializers, as the shapes and axes of real models are."""
    inputs = {f"x{i}": np.asarray(t) for i, t in enumerate(case.inputs) if t is not None}
    outputs = {f"y{i}": np.asarray(t) for i, t in enumerate(case.outputs)}
    arguments = {n: t for i, (n, t) in enumerate(inputs.items()) if i == 0 or not constants}
    operands = [f"x{i}" if t is not None else "" for i, t in enumerate(case.inputs)]
    node = helper.make_node(case.op, operands, list(outputs), name="the_node", **case.attributes)
    graph = helper.make_graph([node], "g", [value_info(*a) for a in arguments.items()], [value_info(*o) for o in outputs.items()],
                              [numpy_helper.from_array(t, n) for n, t in inputs.items() if n not in arguments])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.version)], ir_version=10)
    return model, case._replace(inputs=list(arguments.values()))


def parameter(direction, value):
    tensor = value.type.tensor_type
    return f"{direction}<{CPP[TensorProto.DataType.Name(tensor.elem_type)]}, {len(tensor.shape.dim)}>"


def main():
    warnings.simplefilter("ignore")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [(c.model, c._replace(inputs=c.arguments)) for c in backend_cases() if c]
    pairs += [model_of(c, i % 2 == 1) for i, c in enumerate(own_cases())]
    flags, declarations = "", ""
    for i, (model, _) in enumerate(pairs):
        path = folder / f"c{i}.onnx"
        path.write_bytes(model.SerializeToString())
        flags += f"-Wl,--graph=c{i}={path}\n"
        types = [parameter("in", v) for v in model.graph.input] + [parameter("out", v) for v in model.graph.output]
        declarations += f"CASE(c{i}, {', '.join(types)})\n"
    (folder / "flags").write_text(flags)
    (folder / "cases.inc").write_text(declarations)
    write(folder / "cases", [case for _, case in pairs])
    print(len(pairs), "models")


main()
