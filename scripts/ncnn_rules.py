#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules `implies` of bindings/ncnn.yaml, from ncnn's source: which layers make other layers by themselves.

usage: ncnn_rules.py NCNN                    prints the rules
       ncnn_rules.py NCNN --check FILE.yaml  are they the ones in the file, between the lines "rules: begin" and "rules: end"?
       ncnn_rules.py NCNN --update FILE.yaml puts them there

A layer makes another one where its code, for any architecture, with the headers that it includes,
  - calls create_layer*(LayerType::X), or a function of mat.h that does (copy_make_border() makes a Padding);
  - calls create_activation_layer(), for the activations that its parameter asks for.
What happens only with some values of the layer's parameters has a condition; the three that are known:
  - quantization: in layers with a parameter int8_scale_term, what quantizes works only if that is not 0;
  - weights that are inputs: forward() of several blobs, in layers with a parameter dynamic_weight;
  - Convolution of a vector, which is an InnerProduct, needs a kernel of 1x1.
"""
import argparse
import collections
import pathlib
import re
import sys

# Functions of mat.cpp that make a layer. What ncnn::Net itself calls of them is `always` in the binding.
MAKES = {
    "Padding": ["copy_make_border", "copy_make_border_3d"],
    "Crop": ["copy_cut_border", "copy_cut_border_3d"],
    "Interp": ["resize_nearest", "resize_bilinear", "resize_bicubic"],
    "Packing": ["convert_packing"],
    "Flatten": ["flatten"],
    "Cast": ["cast_float32_to_float16", "cast_float16_to_float32", "cast_int8_to_float32", "cast_float32_to_bfloat16",
             "cast_bfloat16_to_float32"],
    "Quantize": ["quantize_to_int8"],
    "Dequantize": ["dequantize_from_int32"],
    "Requantize": ["requantize_from_int32_to_int8"],
    "Bias": ["substract_mean_normalize"],
    "Scale": ["substract_mean_normalize"],
}
ALWAYS = {"Packing", "Cast"}
QUANTIZATION = {"Quantize", "Dequantize", "Requantize"}
ACTIVATIONS = {"ReLU": "[1, 2]", "Clip": 3, "Sigmoid": 4, "Mish": 5, "HardSwish": 6}  # fused_activation.h
KERNEL_OF_ONE = {("Convolution", "InnerProduct"), ("Convolution", "Reshape")}
# The layers of a group are made with the parameters of the layer that the conditions ask for.
SAME_ATTRIBUTES = {("ConvolutionDepthWise", "Convolution"), ("DeconvolutionDepthWise", "Deconvolution")}


def code_of(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(errors="replace"), flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def with_includes(path, layers, seen):
    if path in seen:
        return
    seen.add(path)
    for include in re.findall(r'#include "([\w./]+)"', code_of(path)):
        for folder in (path.parent, layers):
            if (folder / include).is_file():
                with_includes(folder / include, layers, seen)
                break


def functions(code):
    """Signature and body of each function in namespace ncnn, or in no namespace."""
    begin = re.search(r"namespace ncnn\s*\{", code)
    if begin:
        code = code[begin.end() : code.rindex("}")]
    depth = last = start = 0
    for brace in re.finditer(r"[{}]", code):
        if brace.group() == "{":
            if depth == 0:
                start = brace.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield " ".join(code[last:start].split()), code[start : brace.end()]
                last = brace.end()
    yield "", code[last:]  # where a brace stands twice for the preprocessor to choose: one function, without conditions


class Rules:
    def __init__(self, source):
        self.layers = source / "src" / "layer"
        self.types = re.findall(r"ncnn_add_layer\((\w+)", (source / "src" / "CMakeLists.txt").read_text())
        self.rules = collections.defaultdict(set)  # (key, condition) -> layers
        self.problems = []
        for layer in self.types:
            self.read(layer)
        self.check_mat(code_of(source / "src" / "mat.cpp"))
        self.check_activations()

    def parameter(self, layer, name):
        """The number of a parameter, or None. A default other than 0 would need another condition."""
        found = re.search(rf"\b{name} = pd\.get\((\d+), 0\)", code_of(self.layers / f"{layer.lower()}.cpp"))
        return found and int(found.group(1))

    def read(self, layer):
        name = layer.lower()
        files = set()
        for file in [self.layers / f"{name}.cpp", *sorted(self.layers.glob(f"*/{name}_*.cpp"))]:
            with_includes(file, self.layers, files)
        for file in files:
            if file.name == "fused_activation.h":
                continue
            for signature, body in functions(code_of(file)):
                self.read_function(layer, signature, body, file)

    def read_function(self, layer, signature, body, file):
        made = set(re.findall(r"create_layer\w*\(\s*(?:ncnn::)?LayerType::(\w+)", body))
        calls = re.findall(r"\bcreate_layer\w*\(([^)]*)\)", body)
        if any("LayerType::" not in call for call in calls):
            self.problems.append(f"{file}: {signature}: makes a layer whose type is not a constant")
        for key, names in MAKES.items():
            if re.search(rf"(?<![\w.>:])(?:ncnn::)?(?:{'|'.join(names)})\(", body) and "Mat& src" not in signature:
                made.add(key)
        dynamic = self.parameter(layer, "dynamic_weight")
        is_dynamic = dynamic and re.search(r"::forward\(const std::vector<Mat>& bottom_blobs", signature)
        # What a layer makes of its own type needs nothing more: a Convolution with dilation makes one without activation, and
        # those whose weights are inputs make one with the same parameters, but for the size of the kernel.
        for key in made - ALWAYS - {layer}:
            condition = ""
            if is_dynamic:
                condition = self.is_not_zero(dynamic)
            elif key in QUANTIZATION and (number := self.parameter(layer, "int8_scale_term")):
                condition = self.is_not_zero(number)
            elif (layer, key) in KERNEL_OF_ONE:
                condition = "{attribute: 1, is: 1, absent: 0}"
                self.rules[key, self.is_not_zero(dynamic)].add(layer)  # the kernel is an input, too
            if (layer, key) in SAME_ATTRIBUTES:
                condition += "same"
            self.rules[key, condition].add(layer)
        if layer in made and not is_dynamic and not re.search(r"\bConvolution_\w+::create_pipeline\(", signature):
            self.problems.append(f"{file}: {signature}: {layer} makes itself: is there more that it needs then?")
        if "create_activation_layer(" in body:
            number = self.parameter(layer, "activation_type")
            if number is None:
                self.problems.append(f"{file}: {signature}: an activation without a parameter")
            for key, value in ACTIVATIONS.items():
                self.rules[key, f"{{attribute: {number}, is: {value}, absent: 0}}"].add(layer)

    @staticmethod
    def is_not_zero(number):
        return f"{{attribute: {number}, not: 0, absent: 0}}"

    def check_mat(self, code):
        """MAKES is what mat.cpp does."""
        found = collections.defaultdict(set)
        for signature, body in functions(code):
            for key in re.findall(r"create_layer\w*\(LayerType::(\w+)\)", body):
                found[key].add(re.search(r"(\w+)\s*\($", signature.split("(")[0] + "(").group(1))
        if {key: set(names) for key, names in MAKES.items()} != dict(found):
            self.problems.append(f"mat.cpp makes other layers: {dict(found)}")

    def check_activations(self):
        """ACTIVATIONS is what fused_activation.h does."""
        code = code_of(self.layers / "fused_activation.h")
        made = dict(re.findall(r"activation_type == (\d+)\)\s*\{\s*activation = ncnn::create_layer_cpu\(ncnn::LayerType::(\w+)\)", code))
        known = {str(n): key for key, value in ACTIVATIONS.items() for n in re.findall(r"\d+", str(value))}
        if made != known or code.count("create_layer") != len(known):
            self.problems.append(f"fused_activation.h makes other layers: {made}")

    def text(self):
        lines = []
        for (key, condition), layers in sorted(self.rules.items()):
            if condition:
                layers = layers - self.rules.get((key, ""), set())
            if not layers:
                continue
            layers = sorted(layers)
            ops = layers[0] if len(layers) == 1 else f"[{', '.join(layers)}]"
            same = condition.endswith("same")
            condition = condition.removesuffix("same")
            tail = (f", when: {condition}" if condition else "") + (", attributes: same" if same else "")
            line = f"  - {{op: {ops}, brings: {key}{tail}}}"
            while len(line) > 120:
                cut = line.rindex(", ", 0, 120) + 1
                lines.append(line[:cut])
                line = "     " + line[cut:]
            lines.append(line)
        return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ncnn", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--update", type=pathlib.Path)
    arguments = parser.parse_args()
    if not (arguments.ncnn / "src" / "layer").is_dir():
        print(f"skipped: no source of ncnn in {arguments.ncnn}")
        return 0
    rules = Rules(arguments.ncnn)
    for problem in rules.problems:
        print(f"ncnn_rules: {problem}", file=sys.stderr)
    if rules.problems:
        return 1
    if not (file := arguments.check or arguments.update):
        print(rules.text(), end="")
        return 0
    old = file.read_text()
    new = re.sub(r"(rules: begin[^\n]*\n).*?( *# rules: end)", lambda m: m.group(1) + rules.text() + m.group(2), old, flags=re.S)
    if arguments.update:
        file.write_text(new)
        return 0
    print(f"{file.name}: {'as the source says' if old == new else 'not what ncnn_rules.py finds; see --update'}")
    return old != new


sys.exit(main())
