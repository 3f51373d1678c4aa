func.func @scale(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "my.scale"(%x) {factor = 3.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
