// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says what type a file is, as the command `magika` does, with the model of that project inside the executable.
//   magika [-l] FILE...      `-` is the standard input
#include "content.h"
#include "labels.h"
#include <cerrno>
#include <coppice/coppice.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

// The function that model.onnx becomes: -Wl,--graph=magika=model.onnx.
COPPICE_IMPORT_GRAPH(magika, void(coppice::in<int32_t, 2>, coppice::out<float, 2>));

namespace {
constexpr const char *usage = "usage: magika [-l|--label] FILE...\n"
                              "Says what type each FILE is; `-` is the standard input.\n"
                              "  -l, --label   a short label instead of a description\n";

struct answer {
  verdict is;
  int error = 0; // errno, when the file cannot be read
  bool done = false;
};

// The files and what is known about them. Each worker takes the next file; answers are printed in the order of the
// files.
struct work {
  char **paths;
  answer *answers;
  int n, taken = 0, printed = 0;
  bool labels = false, failed = false;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
};

int read_content(const char *path, content &c, bool &is_directory) {
  if (!strcmp(path, "-")) return read_stream(STDIN_FILENO, c);
  struct stat s;
  if (stat(path, &s)) return errno;
  if ((is_directory = S_ISDIR(s.st_mode))) return 0;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // does not wait for a writer of a pipe
  if (file < 0) return errno;
  int error = fstat(file, &s) ? errno : read_ends(file, S_ISREG(s.st_mode) ? s.st_size : 0, c);
  close(file);
  return error;
}

verdict run_network(const char *path, const int32_t *tokens, coppice::context &context, int &error) {
  float scores[scores_per_file];
  coppice::status s =
      magika(context, coppice::borrow(tokens, 1, tokens_per_file), coppice::borrow(scores, 1, scores_per_file));
  if (s == coppice::status::ok) return judge(scores);
  fprintf(stderr, "magika: %s: %s\n", path, coppice::last_error());
  error = EIO;
  return {};
}

answer classify(const char *path, coppice::context &context) {
  answer a;
  content c;
  bool is_directory = false;
  if ((a.error = read_content(path, c, is_directory))) return a;
  int32_t tokens[tokens_per_file];
  if (is_directory)
    a.is = {&directory_type};
  else if (c.size == 0)
    a.is = {&empty_type};
  else if (make_tokens(c, tokens))
    a.is = run_network(path, tokens, context, a.error);
  else
    a.is = {starts_as_utf8(c) ? &txt_type : &unknown_type};
  return a;
}

void print(const char *path, const answer &a, bool label) {
  if (a.error && label) {
    fprintf(stderr, "magika: %s: %s\n", path, strerror(a.error));
    printf("%s: error\n", path);
    return;
  }
  if (a.error) {
    printf("%s: %s (os error %d) (error)\n", path, strerror(a.error), a.error);
    return;
  }
  if (label)
    printf("%s: %s", path, a.is.type->name);
  else
    printf("%s: %s (%s)", path, a.is.type->description, a.is.type->group);
  if (const content_type *guess = a.is.guess)
    printf(" [Low-confidence model best-guess: %s (%s), score=%.3f]", guess->description, guess->group,
           double(a.is.score));
  putchar('\n');
}

void *take_files(void *argument) {
  work &w = *static_cast<work *>(argument);
  coppice::context context(magika);
  pthread_mutex_lock(&w.lock);
  while (w.taken < w.n) {
    int i = w.taken++;
    pthread_mutex_unlock(&w.lock);
    answer a = classify(w.paths[i], context);
    pthread_mutex_lock(&w.lock);
    w.answers[i] = a;
    w.answers[i].done = true;
    w.failed |= a.error != 0;
    for (; w.printed < w.n && w.answers[w.printed].done; ++w.printed)
      print(w.paths[w.printed], w.answers[w.printed], w.labels);
  }
  pthread_mutex_unlock(&w.lock);
  return nullptr;
}

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
}
} // namespace

int main(int argc, char **argv) {
  work w = {};
  w.paths = argv; // what is not an option moves to the front
  int n_stdin = 0;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    char *s = argv[i];
    bool is_option = options && s[0] == '-' && s[1];
    if (!is_option) {
      n_stdin += !strcmp(s, "-");
      w.paths[w.n++] = s;
    } else if (!strcmp(s, "--")) {
      options = false;
    } else if (!strcmp(s, "-l") || !strcmp(s, "--label")) {
      w.labels = true;
    } else if (!strcmp(s, "-h") || !strcmp(s, "--help")) {
      return fputs(usage, stdout) < 0;
    } else {
      fprintf(stderr, "magika: unknown option %s\n%s", s, usage);
      return 2;
    }
  }
  if (argc == 1) return fputs(usage, stderr), 2;
  if (n_stdin > 1) return fputs("magika: only one path can be the standard input\n", stderr), 1;
  w.answers = static_cast<answer *>(calloc(size_t(w.n) + 1, sizeof(answer)));
  if (!w.answers) return perror("magika"), 1;

  enum { most_threads = 64 };
  pthread_t threads[most_threads];
  int n_threads = 0, wanted = w.n > 1 ? processors() : 1;
  if (wanted > w.n) wanted = w.n;
  while (n_threads + 1 < wanted && n_threads < most_threads && // the main thread is a worker too
         !pthread_create(&threads[n_threads], nullptr, take_files, &w))
    ++n_threads;
  take_files(&w);
  for (int i = 0; i < n_threads; ++i) pthread_join(threads[i], nullptr);
  free(w.answers);

  if (fflush(stdout) || ferror(stdout)) return perror("magika: standard output"), 1;
  return w.failed;
}
