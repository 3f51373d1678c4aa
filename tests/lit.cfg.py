# What a user sees: programs that are compiled, linked and run. See https://llvm.org/docs/CommandGuide/lit.html
import os
import shutil

import lit.formats

config.name = "coppice"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test", ".cpp", ".c", ".mlir", ".s"]
config.excludes = ["Inputs", "unit", "fuzz", "real", "abi", "consumer"]
config.test_source_root = os.path.join(config.source_dir, "tests")
config.test_exec_root = os.path.join(config.build_dir, "tests")

path = [os.path.join(config.build_dir, "bin"), config.llvm_bin, os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
for name in ("HOME", "CCACHE_DIR", "ASAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if config.sanitize:
    # lld leaves its arenas to the end of the process.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0"
    config.available_features.add("sanitize")

# `lit -D quick` leaves out the tests that take long.
if "quick" not in lit_config.params:
    config.available_features.add("slow")

# NVIDIA's compiler and their disassembler of fatbins are on few machines; what only they can make is tested where they are.
for tool in ("nvcc", "cuobjdump"):
    if shutil.which(tool):
        config.available_features.add(tool)

# What the CPU can run, for tests of kernels that need it.
with open("/proc/cpuinfo") as cpuinfo:
    cpu = set(cpuinfo.read().split())
if {"avx2", "fma", "bmi2"} <= cpu:
    config.available_features.add("avx2")
if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= cpu:
    config.available_features.add("avx512")

include = os.path.join(config.source_dir, "runtime-stub", "include")
flags = f"-I{include} -ffunction-sections -fdata-sections"
config.substitutions += [
    ("%clangxx", f"clang++-22 -std=c++20 {flags} -fuse-ld=coppice"),
    ("%gxx", f"g++ -std=c++20 {flags} -B{config.build_dir}/libexec/coppice -fuse-ld=lld"),
    ("%cxx", f"clang++-22 -std=c++20 {flags} -c"),
    ("%cc", f"clang-22 -std=c11 {flags} -c"),
    ("%python", os.path.join(os.path.dirname(config.data_dir), "venv", "bin", "python3")),
    ("%onnx", f"protoc -I{config.data_dir} --encode=onnx.ModelProto {config.data_dir}/onnx-ml.proto"),
    ("%source", config.source_dir),
    ("%build", config.build_dir),
    ("%data", config.data_dir),
]
