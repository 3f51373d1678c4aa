// Ops of upstream dialects in their own syntax.
module {
  func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = tosa.tanh %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = math.exp %1 : tensor<4x4xf32>
    %3 = arith.addf %2, %1 : tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}
