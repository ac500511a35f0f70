// Decimal text to numbers, without locale and without copying.
//
// The caller guarantees that a byte which is no part of a number (a newline) follows somewhere, so the loops need no
// bound. Values are rounded to float32 exactly as std::from_chars would: the fast path below is used only where it is
// provably right, which is nearly always.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace xtrellis::data {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// An unsigned index; `p` must stand on a digit and is moved behind the last one. Too many digits give a huge number.
inline std::uint64_t parse_index(const char*& p) {
    const char* begin = p;
    std::uint64_t value = 0;
    for (; is_digit(*p); ++p) value = value * 10 + static_cast<std::uint64_t>(*p - '0');
    return p - begin > 18 ? ~std::uint64_t{0} : value;
}

enum class Number { ok, junk, out_of_range };

// Whether an unsigned decimal [p, end), known to be beyond float32, is beyond it on the large side: the place of its
// first non-zero digit decides.
inline bool is_large(const char* p, const char* end) {
    std::int64_t place = 0;
    bool point = false, digit = false;
    for (; p != end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.') {
            point = true;
            continue;
        }
        digit = digit || *p != '0';
        if (digit && !point) ++place;
        if (!digit && point) --place;
    }
    std::int64_t exponent = 0;
    bool negative = false;
    for (; p != end; ++p) {
        if (*p == '-') negative = true;
        if (is_digit(*p) && exponent < (std::int64_t{1} << 40)) exponent = exponent * 10 + (*p - '0');
    }
    return place + (negative ? -exponent : exponent) > 0;
}

// The general case: any decimal, with or without exponent. Refuses nan and inf as junk, overflow as out of range.
inline Number parse_slowly(const char*& p, float& value) {
    const char* end = p;
    while (*end != '\n' && !is_blank(*end) && *end != '#') ++end;
    const char* begin = p;
    const bool minus = *begin == '-';
    if (*begin == '+' || *begin == '-') ++begin;
    if (!is_digit(*begin) && *begin != '.')
        return Number::junk;  // from_chars itself would take "-1", "nan", "infinity"
    const auto read = std::from_chars(begin, end, value);
    if (read.ec == std::errc::invalid_argument || read.ptr == begin) return Number::junk;
    if (read.ec == std::errc::result_out_of_range) {
        // from_chars does not say on which side. Too large is an error; too small is rounding to zero.
        if (is_large(begin, read.ptr)) return Number::out_of_range;
        value = 0;
    }
    if (!std::isfinite(value)) return Number::out_of_range;
    if (minus) value = -value;
    p = read.ptr;
    return Number::ok;
}

// A decimal number at `p`; on success `p` stands behind it.
//
// Fast path: at most 15 digits make an integer m < 2^53, and 10^e for e <= 15 is exact in double, so m / 10^e is the
// double nearest to the truth (Clinger 1990). Rounding that to float is right unless the double lies exactly half way
// between two floats, where the lost part of the truth would have decided: those go the slow way. No subnormal float
// can arise (1e-15 is far above them), so the half-way points are where the low 29 bits are 1 followed by zeros.
inline Number parse_float(const char*& p, float& value) {
    static constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char* q = p;
    const bool minus = *q == '-';
    q += minus;
    std::uint64_t mantissa = 0;
    const char* whole = q;
    for (; is_digit(*q); ++q) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*q - '0');
    auto digits = q - whole;
    std::ptrdiff_t fraction = 0;
    if (*q == '.') {
        const char* begin = ++q;
        for (; is_digit(*q); ++q) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*q - '0');
        fraction = q - begin;
        digits += fraction;
    }
    if (digits == 0 || digits > 15 || *q == 'e' || *q == 'E') return parse_slowly(p, value);
    const double wide = static_cast<double>(mantissa) / powers[fraction];
    if ((std::bit_cast<std::uint64_t>(wide) & 0x1FFFFFFF) == 0x10000000) return parse_slowly(p, value);
    value = static_cast<float>(minus ? -wide : wide);
    p = q;
    return Number::ok;
}

}  // namespace xtrellis::data
