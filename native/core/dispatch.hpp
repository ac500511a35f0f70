// Hot loops compiled for several instruction sets in one portable binary; the loader picks at start-up.
//
// Put XTRELLIS_CLONES before a free function (not a template): everything inlined into it is compiled once a target.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(XTRELLIS_NO_DISPATCH)
#define XTRELLIS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define XTRELLIS_CLONES
#endif

#if defined(__GNUC__)
#define XTRELLIS_INLINE inline __attribute__((always_inline))
#define XTRELLIS_INLINED __attribute__((always_inline))  // of a lambda, after its parameters
#else
#define XTRELLIS_INLINE inline
#define XTRELLIS_INLINED
#endif
