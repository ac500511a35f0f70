// A fixed number of floats that move together: one lane a classifier. Compiles to whatever registers a target has.
#pragma once

#include <cstdint>

#include "core/dispatch.hpp"

namespace xtrellis {

// The compiler's vector types must not depend on a template parameter: GCC 12 would read them as plain floats.
template <int N>
struct Vectors;
template <>
struct Vectors<4> {
    typedef float Floats __attribute__((vector_size(16)));
    typedef std::int32_t Ints __attribute__((vector_size(16)));
};
template <>
struct Vectors<8> {
    typedef float Floats __attribute__((vector_size(32)));
    typedef std::int32_t Ints __attribute__((vector_size(32)));
};
template <>
struct Vectors<16> {
    typedef float Floats __attribute__((vector_size(64)));
    typedef std::int32_t Ints __attribute__((vector_size(64)));
};

template <int N>
struct Lanes {
    using Floats = typename Vectors<N>::Floats;
    using Ints = typename Vectors<N>::Ints;  // comparison results: -1 true, 0 false

    static XTRELLIS_INLINE Floats all(float x) { return Floats{} + x; }
    static XTRELLIS_INLINE Floats load(const float* p) {
        Floats out;
        __builtin_memcpy(&out, p, sizeof out);
        return out;
    }
    static XTRELLIS_INLINE void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
    static XTRELLIS_INLINE Floats min(Floats a, Floats b) { return a < b ? a : b; }
    static XTRELLIS_INLINE Floats max(Floats a, Floats b) { return a > b ? a : b; }
    // Bit l of `mask` spread to lane l.
    static XTRELLIS_INLINE Ints spread(std::uint32_t mask) {
        Ints bits;
        for (int l = 0; l < N; ++l) bits[l] = static_cast<std::int32_t>(1u << l);
        return ((Ints{} + static_cast<std::int32_t>(mask)) & bits) != 0;
    }
    // In halves: a loop over lanes would take them out one by one.
    static XTRELLIS_INLINE bool any(Ints truth) {
        typedef std::int64_t Quarter __attribute__((vector_size(16)));
        Quarter parts[N / 4];
        __builtin_memcpy(parts, &truth, sizeof parts);
        Quarter seen = parts[0];
        for (int i = 1; i < N / 4; ++i) seen |= parts[i];
        return (seen[0] | seen[1]) != 0;
    }
};

}  // namespace xtrellis
