# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small sources that need most of LLVM's and MLIR's static libraries: the largest links that Debian's packages give."""
import pathlib

LLVM_PROGRAM = r"""
namespace llvm { class PassBuilder; class Module; class LLVMContext; class raw_ostream;
  void initializeCodeGen(class PassRegistry &); struct PassRegistry *p; }
extern "C" { void LLVMInitializeX86Target(); void LLVMInitializeX86TargetInfo(); void LLVMInitializeX86TargetMC();
  void LLVMInitializeX86AsmPrinter(); void LLVMInitializeAArch64Target(); void LLVMInitializeAArch64TargetInfo();
  void LLVMInitializeAArch64TargetMC(); void LLVMInitializeAArch64AsmPrinter(); void LLVMInitializeAMDGPUTarget();
  void LLVMInitializeAMDGPUTargetInfo(); void LLVMInitializeAMDGPUTargetMC(); void LLVMInitializeAMDGPUAsmPrinter();
  void LLVMInitializeNVPTXTarget(); void LLVMInitializeNVPTXTargetInfo(); void LLVMInitializeNVPTXTargetMC();
  void LLVMInitializeNVPTXAsmPrinter(); void *LLVMCreatePassBuilderOptions(); void *LLVMRunPasses(void *, const char *, void *, void *); }
int main() {
  LLVMInitializeX86TargetInfo(); LLVMInitializeX86Target(); LLVMInitializeX86TargetMC(); LLVMInitializeX86AsmPrinter();
  LLVMInitializeAArch64TargetInfo(); LLVMInitializeAArch64Target(); LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter(); LLVMInitializeAMDGPUTargetInfo(); LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC(); LLVMInitializeAMDGPUAsmPrinter(); LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget(); LLVMInitializeNVPTXTargetMC(); LLVMInitializeNVPTXAsmPrinter();
  return LLVMRunPasses(0, "default<O2>", 0, LLVMCreatePassBuilderOptions()) != 0;
}
"""
MLIR_PROGRAM = r"""
namespace mlir { class DialectRegistry; void registerAllDialects(DialectRegistry &);
  void registerAllExtensions(DialectRegistry &); void registerAllPasses(); }
int main(int, char **v) {
  auto &registry = *reinterpret_cast<mlir::DialectRegistry *>(v);
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
}
"""


def archives(project):
    """`project`: LLVM or MLIR."""
    found = sorted(pathlib.Path("/usr/lib/llvm-22/lib").glob(f"lib{project}*.a"))
    return [str(p) for p in found if "CAPI" not in p.name and "Python" not in p.name]
