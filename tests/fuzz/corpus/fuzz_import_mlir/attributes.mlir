// One attribute of each kind.
#map = affine_map<(d0, d1) -> (d1, d0 floordiv 2)>
#set = affine_set<(d0) : (d0 >= 0)>
func.func @f() {
  "my.op"() {a = #map, b = #set, c = [1, "x", unit], d = {k = true}, e = @f, f = dense<1.0> : tensor<2xf64>,
             g = sparse<[[0, 1]], [3]> : tensor<2x3xi32>, h = loc("x"), i = array<f32: 1.0>, j = 0x7FC00000 : f32,
             k = strided<[1, 2], offset: ?>, l = !my.type<3>, m = #my.attr<"x">, n = distinct[0]<unit>,
             o = dense<(1.0, 2.0)> : tensor<complex<f32>>, p = index, q = vector<4xf32>, r = dense<"s"> : tensor<!my.string>} : () -> ()
  return
}
