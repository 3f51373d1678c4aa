#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes labels.inc, the table of content types that labels.cpp includes, from the configuration in magika's wheel.
usage: make_labels.py WHEEL_DIR labels.inc"""
import json
import pathlib
import sys

wheel, out = map(pathlib.Path, sys.argv[1:])
config = json.loads((wheel / "magika/models/standard_v3_3/config.min.json").read_text())
about = json.loads((wheel / "magika/config/content_types_kb.min.json").read_text())

# What content.cpp does is what this configuration says.
expected = {"beg_size": 1024, "mid_size": 0, "end_size": 1024, "use_inputs_at_offsets": False, "block_size": 4096,
            "padding_token": 256, "min_file_size_for_dl": 8}
for key, value in expected.items():
    if config[key] != value:
        sys.exit(f"make_labels.py: {wheel}: {key} is {config[key]}, but content.cpp was written for {value}")

model = config["target_labels_space"]
overwrite = config["overwrite_map"]
names = list(model)
names += [name for name in ["txt", "unknown", "empty", "directory", *overwrite.values()] if name not in names]


def text(s):
    return json.dumps(s, ensure_ascii=False)  # the escapes of JSON strings without control characters are those of C


rows = []
for name in names:
    type = about[name]
    threshold = config["thresholds"].get(name, config["medium_confidence_threshold"])
    rows.append(f'{{{text(name)}, {text(type["description"] or name)}, {text(type["group"] or "unknown")}, {threshold}f, '
                f'{names.index(overwrite.get(name, name))}, {"true" if type["is_text"] else "false"}}},')
ids = {name: names.index(name) for name in ["txt", "unknown", "empty", "directory"]}
out.write_text(f"// Written by make_labels.py: the {len(model)} types that the network tells apart, in its order, and "
               f"{len(names) - len(model)} that it does not.\n"
               + f"static const content_type types[] = {{\n" + "\n".join(rows) + "\n};\n"
               + f"constexpr int n_scores = {len(model)};\n"
               + "".join(f"const content_type &{name}_type = types[{i}];\n" for name, i in ids.items()))
