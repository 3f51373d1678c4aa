// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/import.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shape/IR/Shape.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

std::unique_ptr<mlir::MLIRContext> coppice::makeGraphContext() {
  // What graphs of tensors are written in, by the size that it adds to the linker: arith and func 2.0 MB (with MLIR
  // itself), tensor, scf, cf, math, complex, index 2.2 MB, linalg 2.0 MB, tosa and quant 1.1 MB, shape and ml_program
  // 0.5 MB, memref and bufferization 0.2 MB more since linalg needs them anyway. The vector dialect (0.7 MB) is left
  // out: it is what kernels are lowered to, not what graphs say.
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect, mlir::complex::ComplexDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::index::IndexDialect,
                  mlir::linalg::LinalgDialect, mlir::ml_program::MLProgramDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::quant::QuantDialect, mlir::scf::SCFDialect,
                  mlir::shape::ShapeDialect, mlir::tensor::TensorDialect, mlir::tosa::TosaDialect>();
  // Starting threads takes longer than reading a graph.
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->allowUnregisteredDialects();
  context->printOpOnDiagnostic(false); // places have their own line, see analysis/diagnostic.h
  return context;
}
