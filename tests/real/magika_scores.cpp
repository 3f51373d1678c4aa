// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the network says, unrounded: reads int32[2048] tokens from the standard input until it ends, writes float[214]
// scores for each. An argument is the number of inputs a run (default 1).
#include <coppice/coppice.h>
#include <cstdio>
#include <cstdlib>

COPPICE_IMPORT_GRAPH(magika, void(coppice::in<int32_t, 2>, coppice::out<float, 2>));

int main(int argc, char **argv) {
  constexpr int most = 64, n_tokens = 2048, n_scores = 214;
  static int32_t tokens[most * n_tokens];
  static float scores[most * n_scores];
  int batch = argc > 1 ? atoi(argv[1]) : 1;
  if (batch < 1 || batch > most) return fprintf(stderr, "usage: magika_scores [1 to %d]\n", most), 2;
  coppice::context context(magika);
  while (size_t n = fread(tokens, sizeof *tokens * n_tokens, size_t(batch), stdin)) {
    coppice::status s =
        magika(context, coppice::borrow(tokens, int64_t(n), n_tokens), coppice::borrow(scores, int64_t(n), n_scores));
    if (s != coppice::status::ok) return fprintf(stderr, "magika_scores: %s\n", coppice::last_error()), 1;
    if (fwrite(scores, sizeof *scores * n_scores, n, stdout) != n) return perror("magika_scores"), 1;
  }
  return fflush(stdout) != 0;
}
