// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// zstd's decoder as one translation unit, of the sources that scripts/setup puts into build/data/zstd: nothing of
// compression, dictionaries or streams is referenced, and --gc-sections drops it. No allocation: the loader gives the
// decoder its memory.
#define ZSTD_DEPS_MALLOC // below, instead of those of zstd_deps.h
#include <stddef.h>
static inline void *noMemory(void) { return NULL; }
#define ZSTD_malloc(size) ((void)(size), noMemory())
#define ZSTD_calloc(count, size) ((void)(count), (void)(size), noMemory())
#define ZSTD_free(pointer) ((void)(pointer))
#define ZSTD_DISABLE_ASM 1
#define ZSTD_LEGACY_SUPPORT 0
#define ZSTD_TRACE 0
#define ZSTD_STRIP_ERROR_STRINGS 1
#define ZSTDLIB_VISIBLE
#define ZSTD_STATIC_LINKING_ONLY
#define XXH_NO_STDLIB
#define XXH_PRIVATE_API // XXH64, below
#include "lib/common/entropy_common.c"
#include "lib/common/error_private.c"
#include "lib/common/fse_decompress.c"
#include "lib/common/zstd_common.c"
#include "lib/decompress/huf_decompress.c"
#include "lib/decompress/zstd_ddict.c"
#include "lib/decompress/zstd_decompress.c"
#include "lib/decompress/zstd_decompress_block.c"

unsigned long long loaderHash(const void *data, size_t size) { return XXH64(data, size, 0); }
