// The 16-bit float of IEEE 754, as the compiler calls it: GCC knows `_Float16` in C++ on ARM from version 13 on only,
// but has a type of the same bits, widened and rounded alike.
#pragma once

namespace xtrellis {

#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
using Half = __fp16;
#else
using Half = _Float16;
#endif

}  // namespace xtrellis
