# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes one-op cases for backend_cases.cpp to a file: those of PyPI's onnx (onnx.backend.test.case.node), and our own
for what they leave out (older versions of the ops, more shapes), whose expected results numpy
gives. usage: backend_cases.py FILE"""
import collections
import itertools
import struct
import sys
import warnings

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node as node_cases

OPS = set("""Mul Add Sub Div Max Equal Cast MatMul Conv Tanh ReduceSum ReduceMax Sqrt Reciprocal Exp GlobalMaxPool Reshape
Expand Concat Slice Shape Squeeze Unsqueeze Transpose
Min Sum Greater GreaterOrEqual Less LessOrEqual Neg Abs Relu Log Sigmoid Identity Flatten Size ReduceMin ReduceMean
ReduceProd ReduceSumSquare ReduceL1 ReduceL2 GlobalAveragePool
Softmax Gemm Gather Where Pow""".split())

# DLPack's code of the numpy types that tensors here may have.
CODES = {"float16": 2, "float32": 2, "float64": 2, "bfloat16": 4, "bool": 6, "int8": 0, "int16": 0, "int32": 0, "int64": 0,
         "uint8": 1, "uint16": 1, "uint32": 1, "uint64": 1}


def packed_string(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<I", len(s)) + s


def packed_tensor(t):
    if t is None:
        return struct.pack("<I", 0)
    t = np.asarray(t)
    head = struct.pack("<IIII", 1, CODES[t.dtype.name], t.dtype.itemsize * 8, t.ndim)
    return head + struct.pack(f"<{t.ndim}q", *t.shape) + np.ascontiguousarray(t).tobytes()


def packed_attribute(name, value):
    if isinstance(value, (int, np.integer)):
        body = struct.pack("<Iq", 0, value)
    elif isinstance(value, float):
        body = struct.pack("<Id", 1, value)
    elif isinstance(value, (str, bytes)):
        body = struct.pack("<I", 2) + packed_string(value)
    elif all(isinstance(v, (int, np.integer)) for v in value):
        body = struct.pack(f"<II{len(value)}q", 3, len(value), *value)
    else:
        body = struct.pack(f"<II{len(value)}f", 4, len(value), *value)
    return packed_string(name) + body


# An input that is None is absent. `model` and its `arguments`: those of onnx; our own cases have none.
Case = collections.namedtuple("Case", "name op version attributes inputs outputs rtol atol model arguments", defaults=(1e-3, 1e-7, None, None))


def packed(c):
    out = packed_string(c.name) + packed_string("onnx." + c.op) + struct.pack("<Idd", c.version, c.rtol, c.atol)
    out += struct.pack("<I", len(c.attributes)) + b"".join(packed_attribute(*a) for a in c.attributes.items())
    out += struct.pack("<I", len(c.inputs)) + b"".join(packed_tensor(t) for t in c.inputs)
    return out + struct.pack("<I", len(c.outputs)) + b"".join(packed_tensor(t) for t in c.outputs)


def write(path, cases):
    with open(path, "wb") as f:
        f.write(struct.pack("<I", len(cases)))
        for c in cases:
            f.write(packed(c))


def supported(tensors):
    return all(t is None or (isinstance(t, (np.ndarray, np.generic)) and t.dtype.name in CODES) for t in tensors)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def backend_cases():
    for case in node_cases.collect_testcases(None):
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].op_type not in OPS or graph.node[0].domain:
            continue
        node = graph.node[0]
        version = next(o.version for o in case.model.opset_import if o.domain == "")
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        for inputs, outputs in case.data_sets:
            given = dict(zip([i.name for i in graph.input], map(as_array, inputs)))
            inputs = [given.get(n) for n in node.input]
            outputs = [as_array(o) for o in outputs]
            if any(n and t is None for n, t in zip(node.input, inputs)) or not supported(inputs + outputs):
                yield None
                continue
            yield Case(case.name, node.op_type, version, attributes, inputs, outputs, case.rtol, case.atol, case.model,
                       list(given.values()))


rng = np.random.default_rng(1)


def values(shape, dtype=np.float32):
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1 if np.dtype(dtype).kind == "u" else -9, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def own(op, version, inputs, outputs, **attributes):
    shapes = " ".join("-" if t is None else f"{t.dtype.name}{list(t.shape)}" for t in inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    return Case(f"{op} version {version} {attributes} {shapes}", op, version, attributes, inputs,
                       [np.asarray(o) for o in outputs], 1e-4, 1e-5)


def own_cases():
    i64 = lambda *v: np.array(v, np.int64)
    # Broadcasting before opset 7: on request, aligned at an axis.
    a = values((2, 3, 4, 5))
    numpy_of = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    for op, f in numpy_of.items():
        yield own(op, 6, [a, a], f(a, a))
        for axis, shape in ((1, (3, 4)), (0, (2, 3)), (2, (4, 5)), (3, (5,)), (1, (3,)), (1, (1, 4))):
            b = values(shape)
            full = b.reshape((1,) * axis + shape + (1,) * (4 - axis - len(shape)))
            yield own(op, 6, [a, b], f(a, full), broadcast=1, axis=axis)
        b = values((4, 5))
        yield own(op, 1, [a, b], f(a, b), broadcast=1, consumed_inputs=[0, 0])
        for dtype in CODES:  # all types, with numpy's own broadcasting
            if dtype == "bool":
                continue
            t = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
            x, y = values((2, 1, 5), t), values((3, 1), t)
            if op == "Div" and np.dtype(t).kind in "iu":
                y = np.where(y == 0, t.type(3), y).astype(t)
                yield own(op, 14, [x, y], np.trunc(x.astype(float) / y.astype(float)).astype(t))
            else:
                yield own(op, 14, [x, y], f(x, y).astype(t))
    for left, right in (((), ()), ((3,), ()), ((), (2, 3)), ((1, 1), (1,)), ((2, 3, 4), (2, 1, 4)), ((5, 1, 7), (1, 6, 1)),
                        ((0, 3), (1, 3)), ((2, 1), (1, 0)), ((2, 3, 1, 5), (3, 4, 1)), ((1, 2, 3), (4, 1, 1)),
                        ((2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2)), ((67,), (67,)), ((3, 67), (67,)), ((3, 67), (3, 1))):
        x, y = values(left), values(right)
        yield own("Sub", 7, [x, y], np.asarray(x - y, np.float32))
        yield own("Max", 8, [x, y], np.maximum(x, y))
        yield own("Less", 9, [x, y], np.less(x, y))
        xi, yi = values(left, np.int32), values(right, np.int32)
        yield own("Equal", 7, [xi, yi], np.equal(xi, yi))
    yield own("Equal", 1, [i64(1, 2, 3), i64(1, 5, 3)], np.array([True, False, True]))
    x, y, z = values((1,)), values((3, 1)), values((2, 1, 4))
    yield own("Max", 13, [x, y, z], np.maximum(np.maximum(x, y), z))
    yield own("Min", 13, [z, x, y], np.minimum(np.minimum(x, y), z))
    yield own("Max", 13, [x, x[0], z], np.maximum(x, z))
    # Every op and type that has a kernel.
    floats, halves = ["float32", "float64", "float16", "bfloat16"], ("float16", "bfloat16")
    signed, wide_integers = ["int8", "int16", "int32", "int64"], ["int32", "int64", "uint32", "uint64"]
    numbers = [d for d in CODES if d != "bool"]
    every = (("Neg", floats + signed, np.negative), ("Abs", numbers, np.abs), ("Relu", floats + signed, lambda v: np.maximum(v, v.dtype.type(0))),
             ("Sqrt", floats, lambda v: np.sqrt(np.abs(v))), ("Exp", floats, np.exp), ("Tanh", floats, np.tanh), ("Log", floats, None),
             ("Reciprocal", floats, lambda v: 1 / v), ("Sigmoid", floats, lambda v: 1 / (1 + np.exp(-v))))
    for op, dtypes, f in every:
        for dtype in dtypes:
            x = values((3, 37), getattr(ml_dtypes, dtype, dtype))
            if op in ("Sqrt", "Log"):
                x, f = np.abs(x), np.sqrt if op == "Sqrt" else np.log
            expected = (f(x.astype(np.float32)) if dtype in halves else f(x)).astype(x.dtype)
            tolerance = 1e-2 if dtype in halves else 1e-5
            yield Case(f"{op} {dtype}", op, 13, {}, [x], [expected], tolerance, tolerance)
    for op, dtypes, f in (("Max", numbers, np.maximum), ("Min", numbers, np.minimum), ("Sum", floats, np.add), ("Equal", numbers + ["bool"], np.equal),
                          ("Greater", numbers, np.greater), ("Less", numbers, np.less), ("GreaterOrEqual", numbers, np.greater_equal),
                          ("LessOrEqual", numbers, np.less_equal)):
        for dtype in dtypes:
            t = getattr(ml_dtypes, dtype, dtype)
            x, y = (values((3, 37), np.int8) % 4).astype(t), (values((37,), np.int8) % 4).astype(t)
            yield own(op, 16, [x, y], f(x, y))
            if op in ("Greater", "Less", "Equal") and dtype in (("int32", "int64", "bool") if op == "Equal" else floats[:3]):
                yield own(op, 6, [x, y], f(x, y), broadcast=1)
    for op in numpy_of:
        for dtype in floats[:3] + wide_integers:
            x, y = values((4, 5), dtype), np.abs(values((5,), dtype)) + np.dtype(dtype).type(1)
            yield own(op, 6, [x, y], (np.trunc(x / y) if op == "Div" and dtype not in floats else numpy_of[op](x, y)).astype(dtype), broadcast=1)
    for op, f, before in (("ReduceSum", np.sum, 12), ("ReduceMean", np.mean, 17), ("ReduceMax", np.max, 17), ("ReduceMin", np.min, 17), ("ReduceProd", np.prod, 17),
                          ("ReduceSumSquare", lambda v, **k: np.sum(v * v, **k), 17), ("ReduceL1", lambda v, **k: np.sum(np.abs(v), **k), 17),
                          ("ReduceL2", lambda v, **k: np.sqrt(np.sum(v * v, **k)), 17)):
        for dtype in floats + wide_integers + (["int8", "uint8"] if op in ("ReduceMax", "ReduceMin") else []):
            x = values((3, 5, 35), np.int8) % 4 + (1 if op in ("ReduceProd", "ReduceMean") else 0)
            expected = f(x.astype(np.float64), axis=1)
            if dtype not in floats:
                expected = np.trunc(expected)
            t = getattr(ml_dtypes, dtype, dtype)
            tolerance = 1e-2 if dtype in halves else 1e-5
            yield Case(f"{op} {dtype}", op, before + 1, {"keepdims": 0}, [x.astype(t), i64(1)], [expected.astype(t)], tolerance, tolerance)
            yield Case(f"{op} {dtype} before", op, before, {"keepdims": 0, "axes": [1]}, [x.astype(t)], [expected.astype(t)], tolerance, tolerance)
    for dtype in floats:
        t = getattr(ml_dtypes, dtype, dtype)
        x = (values((2, 3, 4, 5), np.int8) % 4).astype(t)
        yield own("GlobalMaxPool", 22, [x], x.max((2, 3), keepdims=True))
        tolerance = 1e-2 if dtype in halves else 1e-5
        yield Case(f"GlobalAveragePool {dtype}", "GlobalAveragePool", 22, {}, [x], [x.astype(np.float64).mean((2, 3), keepdims=True).astype(t)], tolerance, tolerance)
    for dtype in ("bfloat16", "uint64"):
        t = getattr(ml_dtypes, dtype, dtype)
        x, y = ((np.abs(values(s, np.int8)) % 4).astype(t) for s in ((3, 4), (4, 5)))
        yield own("MatMul", 13, [x, y], (x.astype(np.float64) @ y.astype(np.float64)).astype(t))
    for dtype in floats:
        t = getattr(ml_dtypes, dtype, dtype)
        tolerance = 1e-2 if dtype in halves else 1e-5
        for shape, axis in (((3, 40), 1), ((3, 40), 0), ((2, 5, 7), 1), ((2, 5, 7), -1), ((4, 1), 1), ((), 0), ((0, 3), 1), ((2, 300), -1)):
            x = (values(shape) * 3).astype(t)
            wide = x.astype(np.float64)
            e = np.exp(wide - wide.max(axis, keepdims=True)) if shape and x.size else np.ones(shape)
            expected = (e / e.sum(axis, keepdims=True) if shape else e).astype(t)
            yield Case(f"Softmax {dtype} {shape} {axis}", "Softmax", 13, {"axis": axis} if shape else {"axis": 0}, [x], [expected], tolerance, tolerance)
            flat = wide.reshape(int(np.prod(shape[:axis])), -1) if x.size and axis > 0 else None
            if flat is not None:
                e = np.exp(flat - flat.max(1, keepdims=True))
                yield Case(f"Softmax 11 {dtype} {shape} {axis}", "Softmax", 11, {"axis": axis}, [x], [(e / e.sum(1, keepdims=True)).reshape(shape).astype(t)], tolerance, tolerance)
    for dtype in ("float32", "float64"):
        for (m, k, n), trans_a, trans_b, addend in itertools.product(((1, 70, 9), (5, 7, 30), (20, 3, 1), (3, 0, 4)), (0, 1), (0, 1), (None, (), (1,), "n", "1n", "m1", "mn")):
            a, b = values((k, m) if trans_a else (m, k), dtype), values((n, k) if trans_b else (k, n), dtype)
            shape = {"n": (n,), "1n": (1, n), "m1": (m, 1), "mn": (m, n)}.get(addend, addend)
            c = None if addend is None else values(shape, dtype)
            product = (a.T if trans_a else a).astype(np.float64) @ (b.T if trans_b else b)
            for alpha, beta in ((1.0, 1.0), (0.5, 2.0)):
                expected = alpha * product + (0 if c is None else beta * c.astype(np.float64))
                yield own("Gemm", 13, [a, b] + ([] if c is None else [c]), expected.astype(dtype), transA=trans_a, transB=trans_b, alpha=alpha, beta=beta)
            if addend == "n":
                yield own("Gemm", 6, [a, b, c], (product + c).astype(dtype), transA=trans_a, transB=trans_b, broadcast=1)
    for dtype in (np.int8, np.int16, np.float32, np.float64, bool):
        x, y = values((3, 1, 4)).astype(dtype), values((2, 1)).astype(dtype)
        condition = values((1, 2, 4)) > 0
        yield own("Where", 16, [condition, x, y], np.where(condition, x, y))
        yield own("Where", 9, [condition[0, 0, 0], x, x], x)
        index = np.array([[0, -1], [2, 1]])
        yield own("Gather", 11, [x, index], x.take(index, 0))
        yield own("Gather", 13, [x, index.astype(np.int32)], x.take(index, 2), axis=-1)
        yield own("Gather", 1, [x, np.array(1)], x.take(1, 2), axis=2)
    for dtype, exponent in itertools.product(("float32", "float64", "int32", "int64"), ("float32", "float64", "int32", "int64", "uint32", "uint64")):
        x, y = np.abs(values((3, 5), dtype)) + np.dtype(dtype).type(1), (values((5,), np.int8) % 4).astype(exponent)
        yield own("Pow", 13, [x, y], np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype))
        yield own("Pow", 13, [x, np.asarray(y.dtype.type(2))], (x * x).astype(dtype))
        if dtype == exponent and dtype.startswith("f"):
            yield own("Pow", 6, [x, y], np.power(x, y), broadcast=1)
    nan = np.array([np.nan, 1, -np.inf, 0], np.float32)
    yield own("Max", 13, [nan, nan[::-1].copy()], np.maximum(nan, nan[::-1]))

    # Lists that became inputs.
    for axes in ([0], [1], [2], [0, 2], [1, 2], [-1], [0, 1, 2], [-2, 0]):
        for keepdims in (0, 1):
            for dtype in (np.float32, np.float64, np.int32, np.int64, np.float16):
                x = values((3, 40, 5), dtype)
                total = x.astype(np.float64 if np.dtype(dtype).kind == "f" else dtype).sum(
                    tuple(axes), keepdims=bool(keepdims)).astype(dtype)
                tolerance = 2e-3 if dtype == np.float16 else 1e-4
                yield Case(f"ReduceSum-11 {axes} {keepdims} {dtype}", "ReduceSum", 11,
                                  {"axes": axes, "keepdims": keepdims}, [x], [total], tolerance, tolerance)
                yield Case(f"ReduceSum-13 {axes} {keepdims} {dtype}", "ReduceSum", 13,
                                  {"keepdims": keepdims}, [x, i64(*axes)], [total], tolerance, tolerance)
                yield own("ReduceMax", 13, [x], x.max(tuple(axes), keepdims=bool(keepdims)), axes=axes, keepdims=keepdims)
                yield own("ReduceMax", 18, [x, i64(*axes)], x.max(tuple(axes), keepdims=bool(keepdims)), keepdims=keepdims)
    for shape, axes in (((1, 1, 1), [1]), ((2, 1, 3, 1, 4), [1, 4]), ((2, 1, 3, 1, 4), [0, 3]), ((), []), ((100,), [0]),
                        ((33, 65), [1]), ((2, 3, 4, 5, 6), [0, 2, 4]), ((2, 3, 4, 5, 6), [1, 3]), ((3, 0, 2), [1])):
        x = values(shape)
        for f, op in ((np.sum, "ReduceSum"), (np.prod, "ReduceProd"), (np.max, "ReduceMax"), (np.mean, "ReduceMean")):
            if 0 in shape and op != "ReduceSum":
                continue
            expected = f(x.astype(np.float64), axis=tuple(axes) if axes else None).astype(np.float32)
            yield own(op, 12, [x], expected, **({"axes": axes} if axes else {}), keepdims=0)
    x = values((3, 4))
    yield own("ReduceSum", 13, [x, i64()], x, noop_with_empty_axes=1)
    yield own("ReduceSum", 13, [x], x, noop_with_empty_axes=1)
    yield own("ReduceSum", 13, [x, i64()], x.sum().reshape(1, 1))
    x = values((1, 3, 1, 5))
    yield own("Squeeze", 11, [x], x.reshape(3, 1, 5), axes=[0])
    yield own("Squeeze", 11, [x], x.reshape(3, 5), axes=[0, -2])
    yield own("Squeeze", 1, [x], x.reshape(3, 5))
    yield own("Squeeze", 13, [x, i64(-2)], x.reshape(1, 3, 5))
    yield own("Squeeze", 13, [x], x.reshape(3, 5))
    yield own("Unsqueeze", 11, [x], x.reshape(1, 1, 3, 1, 5, 1), axes=[0, -1])
    yield own("Unsqueeze", 1, [x], x.reshape(1, 3, 1, 1, 5), axes=[2])
    yield own("Unsqueeze", 13, [x, i64(4, 0)], x.reshape(1, 1, 3, 1, 1, 5))
    x = values((2, 3, 4))
    yield own("Reshape", 1, [x], x.reshape(2, 12), shape=[0, -1])
    yield own("Reshape", 5, [x, i64(4, -1)], x.reshape(4, 6))
    yield own("Reshape", 13, [x, i64(0, 0, 2, -1)], x.reshape(2, 3, 2, 2))
    yield own("Reshape", 14, [values((0, 3)), i64(3, 0)], np.zeros((3, 0), np.float32), allowzero=1)
    yield own("Reshape", 14, [np.float32([5]), i64()], np.float32(5))
    yield own("Shape", 13, [x], i64(2, 3, 4))
    yield own("Shape", 1, [values(())], i64())
    yield own("Concat", 1, [x, x], np.concatenate([x, x], 1))
    yield own("Concat", 4, [x, x[:, :, :0], x[:, :, 1:]], np.concatenate([x, x[:, :, 1:]], 2), axis=-1)

    # Slices, transpositions, expansions in all combinations of a few shapes.
    x = values((4, 5, 6))
    yield own("Slice", 1, [x], x[1:3, :, -2:], starts=[1, -2], ends=[3, 1000], axes=[0, 2])
    yield own("Slice", 9, [x], x[0:2, 1:9], starts=[0, 1], ends=[2, 9])
    bounds = [-100, -6, -3, 0, 2, 5, 100, np.iinfo(np.int64).max, np.iinfo(np.int64).min]
    for start, end, step in itertools.product(bounds, bounds, (1, 2, -1, -3, np.iinfo(np.int64).max, np.iinfo(np.int64).min)):
        x = values((2, 6, 3), np.int16)
        # numpy leaves nothing of a walk back from before the first element; ONNX starts it at the first.
        begin = max(start, -6) if step < 0 else start
        stop = slice(begin, end if step > 0 or end >= -6 else None, step)
        yield own("Slice", 13, [x, i64(start), i64(end), i64(1), i64(step)], x[:, stop])
    for dtype in (np.int8, np.int16, np.float32, np.float64, bool):
        x = values((7, 4, 5), np.float32).astype(dtype)
        yield own("Slice", 10, [x, *(np.array(v, np.int32) for v in ([5, 0], [-8, 5], [0, 2], [-2, 2]))], x[5::-2, :, 0:5:2])
        yield own("Slice", 13, [x, i64(6, 3, 4), i64(-9, -9, -9), None, i64(-1, -1, -1)], x[::-1, ::-1, ::-1])
        for perm in itertools.permutations(range(3)):
            yield own("Transpose", 1, [x], x.transpose(perm), perm=list(perm))
        yield own("Transpose", 13, [x], x.transpose())
        big = values((2, 37, 1, 19, 3)).astype(dtype)
        for perm in ((0, 3, 2, 1, 4), (4, 3, 2, 1, 0), (1, 0, 2, 3, 4), (0, 2, 1, 3, 4), (3, 4, 1, 0, 2)):
            yield own("Transpose", 21, [big], big.transpose(perm), perm=list(perm))
        yield own("Expand", 8, [x[:1, :, :1], i64(2, 3, 4, 5)], np.broadcast_to(x[:1, :, :1], (2, 3, 4, 5)))
        yield own("Expand", 13, [x, i64(1, 1)], x)
        yield own("Expand", 13, [x.reshape(-1)[0], i64(0, 3)], np.zeros((0, 3), dtype))

    # Products, against float64.
    for left, right in (((3, 4), (4, 5)), ((1, 7), (7, 3)), ((4, 9), (9, 1)), ((5,), (5,)), ((5,), (5, 6)), ((6, 5), (5,)),
                        ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)),
                        ((4,), (2, 4, 3)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 0, 3, 4), (4, 5)), ((1, 2, 3), (2, 3, 1)),
                        ((70, 700), (700, 130)), ((2, 130, 65), (65, 33)), ((1, 2100), (2100, 1300))):
        for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint32, np.float16):
            x, y = values(left, dtype), values(right, dtype)
            wide = np.float64 if np.dtype(dtype).kind == "f" else dtype
            tolerance = 1e-2 if dtype == np.float16 else 1e-4
            yield Case(f"MatMul {left} {right} {np.dtype(dtype)}", "MatMul", 13, {}, [x, y],
                              [np.matmul(x.astype(wide), y.astype(wide)).astype(dtype)], tolerance, tolerance)

    # Convolutions, against the definition.
    for n, channels, filters, group, size, kernel in ((1, 1, 1, 1, (7,), (3,)), (2, 4, 6, 2, (9,), (4,)), (1, 3, 5, 1, (6, 7), (3, 2)),
                                                       (2, 4, 4, 4, (6, 7), (3, 3)), (1, 4, 8, 4, (5, 5), (2, 3)),
                                                       (1, 6, 12, 2, (5, 6), (1, 1)), (1, 2, 3, 1, (4, 5, 6), (2, 3, 2)),
                                                       (1, 16, 1, 1, (1, 1), (1, 1)), (2, 3, 14, 1, (9, 1), (3, 1)),
                                                       (1, 3, 40, 1, (1, 40), (1, 5)), (1, 2, 2, 1, (3, 2, 3, 2), (2, 1, 2, 1))):
        rank = len(size)
        x, w = values((n, channels, *size)), values((filters, channels // group, *kernel))
        for strides, dilations, pads, auto_pad, bias in ((1, 1, None, None, False), (1, 1, 1, None, True), (2, 1, 1, None, False),
                                                        (1, 2, 2, None, True), (2, 2, 3, None, False), (3, 1, None, "SAME_UPPER", True),
                                                        (1, 1, None, "SAME_LOWER", False), (2, 1, None, "SAME_LOWER", True),
                                                        (2, 1, None, "VALID", False), (1, 1, "uneven", None, True), (1, 1, 4, None, False)):
            attributes = {"group": group, "strides": [strides] * rank, "dilations": [dilations] * rank}
            if isinstance(pads, int):
                attributes["pads"] = [pads] * (2 * rank)
            elif pads:
                attributes["pads"] = [k % 3 for k in range(2 * rank)]
            if auto_pad:
                attributes["auto_pad"] = auto_pad
            padded = [s + (attributes["pads"][k] + attributes["pads"][k + rank] if "pads" in attributes else 0) for k, s in enumerate(size)]
            if not (auto_pad or "").startswith("SAME") and any(p < dilations * (k - 1) + 1 for p, k in zip(padded, kernel)):
                continue
            expected = convolution(x, w, attributes, rank)
            if bias and strides == 1:
                x64, w64 = x.astype(np.float64), w.astype(np.float64)
                yield own("Conv", 1, [x64, w64], convolution(x64, w64, attributes, rank), **attributes)
            if not bias:
                yield own("Conv", 11, [x, w], expected, **attributes)
                continue
            b = values((filters,))
            yield own("Conv", 22, [x, w, b], expected + b.reshape((1, -1) + (1,) * rank), kernel_shape=list(kernel), **attributes)

    # Casts that ONNX defines: in range, and between all types of at least a byte.
    for source, target in itertools.product(CODES, CODES):
        s, t = (np.dtype(getattr(ml_dtypes, d, d)) for d in (source, target))
        unsigned = s.kind == "u" or t.kind == "u"
        x = np.array([0, 1, 2, 3, 100, 127, 0.5, 1.75, 99.99] + ([] if unsigned else [-1, -2, -127, -0.5, -1.75]), np.float64)
        x = x.astype(s)
        y = x.astype(t) if "bfloat16" not in (source, target) or source == "float32" or target == "float32" else x.astype(np.float32).astype(t)
        yield own("Cast", 13, [x], y, to=helper.np_dtype_to_tensor_dtype(t))
        yield own("Cast", 6 if "bfloat16" not in (source, target) else 19, [x], y, to=helper.np_dtype_to_tensor_dtype(t))
    with np.errstate(all="ignore"):
        wide = rng.standard_normal(2000).astype(np.float32) * np.float32(2) ** rng.integers(-30, 20, 2000).astype(np.float32)
        wide = np.concatenate([wide, np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, 65504, 65519.9, 65520, 65536, 2 ** -24, 2 ** -25, 1e-45])])
        for t in ("float16", "bfloat16", "float64", "int32", "int64"):
            x = wide[np.abs(wide) < 2 ** 30] if t.startswith("int") else wide
            d = np.dtype(getattr(ml_dtypes, t, t))
            yield Case(f"Cast exactly float32 {t}", "Cast", 13, {"to": helper.np_dtype_to_tensor_dtype(d)}, [x], [x.astype(d)], 0, 0)
        every = np.arange(65536, dtype=np.uint16)
        for t in ("float16", "bfloat16"):
            x = every.view(np.dtype(getattr(ml_dtypes, t, t)))
            yield Case(f"Cast exactly {t} float32", "Cast", 13, {"to": 1}, [x], [x.astype(np.float32)], 0, 0)
            yield Case(f"Cast exactly {t} bool", "Cast", 13, {"to": 9}, [x], [x.astype(np.float32) != 0], 0, 0)
        x = np.concatenate([wide.astype(np.float64) * (1 + 1e-9), [1 + 2 ** -11 + 2 ** -40, 1 + 3 * 2 ** -11 - 2 ** -40]])
        yield Case("Cast exactly float64 float16", "Cast", 13, {"to": 10}, [x], [x.astype(np.float16)], 0, 0)

    # Functions of one operand over their whole range, against float64.
    x = np.concatenate([np.linspace(-110, 100, 20011), np.linspace(-1, 1, 2001), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-40]]).astype(np.float32)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        for op, f in (("Exp", np.exp), ("Tanh", np.tanh), ("Sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("Neg", np.negative), ("Abs", np.abs)):
            yield Case(f"{op} over its range", op, 13, {}, [x], [f(wide).astype(np.float32)], 6e-7, 1e-38)
            yield Case(f"{op} over its range, f64", op, 13, {}, [wide], [f(wide)], 1e-14, 0)
        for op, f in (("Sqrt", np.sqrt), ("Reciprocal", lambda v: 1 / v), ("Log", np.log)):
            yield Case(f"{op} over its range", op, 13, {}, [x], [f(wide).astype(np.float32)], 3e-7, 0)
            yield own(op, 1, [np.float32([1, 4])], f(np.float32([1, 4])).astype(np.float32), consumed_inputs=[0])
    for shape in ((2, 3, 4, 5), (1, 2, 70), (3, 1), (2, 3, 1, 1)):
        x = values(shape)
        axes = tuple(range(2, len(shape)))
        yield own("GlobalMaxPool", 1, [x], x.max(axes, keepdims=True))
        yield own("GlobalAveragePool", 1, [x], x.mean(axes, keepdims=True))


def convolution(x, w, attributes, rank):
    """By definition, in float64."""
    strides, dilations, group = attributes["strides"], attributes["dilations"], attributes["group"]
    size, kernel = x.shape[2:], w.shape[2:]
    pads = attributes.get("pads", [0] * (2 * rank))
    auto = attributes.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        need = [max((-(-s // st) - 1) * st + d * (k - 1) + 1 - s, 0) for s, st, d, k in zip(size, strides, dilations, kernel)]
        front = [n // 2 if auto == "SAME_UPPER" else n - n // 2 for n in need]
        pads = front + [n - f for n, f in zip(need, front)]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(pads[k], pads[k + rank]) for k in range(rank)])
    out = [(padded.shape[k + 2] - dilations[k] * (kernel[k] - 1) - 1) // strides[k] + 1 for k in range(rank)]
    result = np.zeros((x.shape[0], w.shape[0], *out))
    per_group, filters = w.shape[1], w.shape[0] // group
    for tap in itertools.product(*map(range, kernel)):
        window = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilations, out, strides))
        for g in range(group):
            part = padded[(slice(None), slice(g * per_group, (g + 1) * per_group)) + window]
            taps = w[(slice(g * filters, (g + 1) * filters), slice(None)) + tap].astype(np.float64)
            result[:, g * filters:(g + 1) * filters] += np.einsum("fc,nc...->nf...", taps, part)
    return result.astype(x.dtype)


def main():
    warnings.simplefilter("ignore")
    backend = list(backend_cases())
    cases = [c for c in backend if c] + list(own_cases())
    write(sys.argv[1], cases)
    print(f"{sum(map(bool, backend))} cases of onnx ({sum(c is None for c in backend)} left out: types smaller than a byte, "
          f"8-bit floats, strings), {len(cases)} with our own")


if __name__ == "__main__":
    main()
