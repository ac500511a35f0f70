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
    static XTRELLIS_INLINE float at(Floats v, int lane) { return v[lane]; }
    static XTRELLIS_INLINE bool is_true(Ints truth, int lane) { return truth[lane] != 0; }
    static XTRELLIS_INLINE void set(Floats& v, int lane, float x) { v[lane] = x; }
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

// One lane alone: plain numbers, which no vector type would keep in a register of their own.
template <>
struct Lanes<1> {
    using Floats = float;
    using Ints = std::int32_t;

    static XTRELLIS_INLINE float all(float x) { return x; }
    static XTRELLIS_INLINE float load(const float* p) { return *p; }
    static XTRELLIS_INLINE void store(float* p, float v) { *p = v; }
    static XTRELLIS_INLINE float min(float a, float b) { return a < b ? a : b; }
    static XTRELLIS_INLINE float max(float a, float b) { return a > b ? a : b; }
    static XTRELLIS_INLINE float at(float v, int) { return v; }
    static XTRELLIS_INLINE bool is_true(Ints truth, int) { return truth != 0; }
    static XTRELLIS_INLINE void set(float& v, int, float x) { v = x; }
    static XTRELLIS_INLINE Ints spread(std::uint32_t mask) { return (mask & 1u) != 0; }
    static XTRELLIS_INLINE bool any(Ints truth) { return truth != 0; }
};

}  // namespace xtrellis
