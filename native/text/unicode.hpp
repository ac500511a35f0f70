// What the tokeniser knows of Unicode: the class of a code point, and what it becomes when lower-cased or folded.
//
// The committed tables are lists of ranges (small, readable in a diff); look-ups go through two-stage arrays that are
// made from them on first use (a fraction of a millisecond) and never change afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xtrellis::text {

using Byte = std::uint8_t;
using Point = std::uint32_t;

inline constexpr Point point_count = 0x110000;

// Word characters of scripts without spaces between words are `unspaced`; `silent` ones only say how letters are
// joined.
enum class Class : std::uint8_t { other = 0, word = 1, mark = 2, space = 3, unspaced = 4, silent = 5 };
inline bool in_word(Class kind) { return kind == Class::word || kind == Class::unspaced; }

// A value for every code point, 256 to a block; blocks that hold only zeros are shared.
template <class T>
class PointMap {
public:
    PointMap() : blocks_(256), index_(point_count >> 8, 0) {}
    T operator[](Point point) const { return blocks_[(std::size_t{index_[point >> 8]} << 8) | (point & 255)]; }
    void set(Point point, T value) {
        auto& block = index_[point >> 8];
        if (block == 0) {
            block = static_cast<std::uint16_t>(blocks_.size() >> 8);
            blocks_.resize(blocks_.size() + 256);
        }
        blocks_[(std::size_t{block} << 8) | (point & 255)] = value;
    }

private:
    std::vector<T> blocks_;
    std::vector<std::uint16_t> index_;
};

// Of the Unicode standard, as in `unicodedata.unidata_version`.
const char* tables_version();

const PointMap<std::uint8_t>& point_classes();
inline Class class_of(const PointMap<std::uint8_t>& classes, Point point) { return static_cast<Class>(classes[point]); }

// The longest run of code points that NFC may change or combine with the one before; no more than `enough` is counted.
// 0: NFC leaves the text as it is. (Most texts with combining marks have short runs; those are looked at one by one.)
std::size_t unstable_run(const Byte* p, const Byte* end, std::size_t enough);

// How a text is rewritten before it is cut into words: each code point becomes 0, 1 or more others.
class Rewriting {
public:
    static const Rewriting& get(bool lowercase, bool fold_accents);

    // Writes what `point` becomes and returns how many (at most `most_points`).
    std::size_t apply(Point point, Point* out) const {
        const auto entry = entries_[point];
        if (entry == 0) {
            out[0] = point;
            return 1;
        }
        const auto count = entry & 31;
        const auto* from = pool_.data() + (entry >> 5);
        for (std::size_t i = 0; i < count; ++i) out[i] = from[i];
        return count;
    }

    // For the fast path, by byte: 0 ends a word, 1 needs a closer look, else the byte to write.
    const std::array<Byte, 256>& word_bytes() const { return word_bytes_; }
    // The same where signs may be a part of a word (any_script.hpp).
    const std::array<Byte, 256>& sign_bytes() const { return sign_bytes_; }
    // The same for words that end only at white space.
    const std::array<Byte, 256>& dark_bytes() const { return dark_bytes_; }

    static constexpr std::size_t most_points = 24;

private:
    Rewriting(bool lowercase, bool fold_accents);
    PointMap<std::uint32_t> entries_;  // 0: unchanged; else place in pool_ << 5 | count
    std::vector<Point> pool_;
    std::array<Byte, 256> word_bytes_{};
    std::array<Byte, 256> sign_bytes_{};
    std::array<Byte, 256> dark_bytes_{};
};

struct Decoded {
    Point point;
    std::uint32_t length;
};

// The code point at `p` < `end`. Surrogates pass (Python may hand them over); anything that is not UTF-8 is one
// replacement character a byte, and no byte at or past `end` is read.
inline Decoded decode(const Byte* p, const Byte* end) {
    constexpr Decoded bad{0xFFFD, 1};
    const auto left = end - p;
    const Point a = p[0];
    const auto tail = [&](int i) { return (p[i] & 0xC0) == 0x80; };
    if (a < 0x80) return {a, 1};
    if (a < 0xC2) return bad;
    if (a < 0xE0) {
        if (left < 2 || !tail(1)) return bad;
        return {(a & 0x1F) << 6 | (p[1] & 0x3Fu), 2};
    }
    if (a < 0xF0) {
        if (left < 3 || !tail(1) || !tail(2)) return bad;
        const Point point = (a & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        return point < 0x800 ? bad : Decoded{point, 3};
    }
    if (a > 0xF4 || left < 4 || !tail(1) || !tail(2) || !tail(3)) return bad;
    const Point point = (a & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    return point < 0x10000 || point >= point_count ? bad : Decoded{point, 4};
}

// Writes `point` as UTF-8 and returns the number of bytes (at most 4).
inline std::size_t encode(Point point, Byte* out) {
    if (point < 0x80) {
        out[0] = static_cast<Byte>(point);
        return 1;
    }
    if (point < 0x800) {
        out[0] = static_cast<Byte>(0xC0 | point >> 6);
        out[1] = static_cast<Byte>(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = static_cast<Byte>(0xE0 | point >> 12);
        out[1] = static_cast<Byte>(0x80 | (point >> 6 & 0x3F));
        out[2] = static_cast<Byte>(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = static_cast<Byte>(0xF0 | point >> 18);
    out[1] = static_cast<Byte>(0x80 | (point >> 12 & 0x3F));
    out[2] = static_cast<Byte>(0x80 | (point >> 6 & 0x3F));
    out[3] = static_cast<Byte>(0x80 | (point & 0x3F));
    return 4;
}

}  // namespace xtrellis::text
