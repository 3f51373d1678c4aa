// Constants as elements and as resources, dynamic and static dimensions, several functions.
func.func @f(%a: tensor<?x4xf32>, %b: tensor<*xi64>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  %0 = arith.constant dense_resource<w> : tensor<4xf32>
  %1 = arith.constant dense<[1, 2]> : tensor<2xi64>
  %2 = "my.op"(%a, %0, %1) {k = 1 : i64, f = 2.5 : f32, s = "text", l = array<i64: 1, 2>, t = tensor<?xf32>} : (tensor<?x4xf32>, tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %3 = func.call @g(%2, %0) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %3, %0 : tensor<?x4xf32>, tensor<4xf32>
}
func.func private @g(%a: tensor<?x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = "my.if"(%a) ({
    "my.yield"(%b) : (tensor<4xf32>) -> ()
  }, {
  ^bb0(%x: tensor<f32>):
    "my.yield"(%x) : (tensor<f32>) -> ()
  }) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
