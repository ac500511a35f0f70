// Rows of a matrix one after another: where they are in memory, or read from its files into a small buffer. A page that
// is mapped costs several times as much as reading it, and is in memory until somebody lets it go.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/csr.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace xtrellis {

inline void read_file(int file, void* to, std::size_t bytes, Offset at) {
#if defined(__unix__) || defined(__APPLE__)
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
        const auto found = pread(file, out, bytes, static_cast<off_t>(at));
        if (found <= 0) throw std::runtime_error("a file that holds rows cannot be read");
        out += found, at += found, bytes -= static_cast<std::size_t>(found);
    }
#else
    (void)file, (void)to, (void)at;
    if (bytes) throw std::runtime_error("rows cannot be read from files here");
#endif
}

class RowReader {
public:
    explicit RowReader(const Csr& matrix) : matrix_(matrix) {}

    // Both are good until the next call of either.
    std::span<const Id> ids(Offset row) {
        if (matrix_.files.ids < 0) return matrix_[row].ids;
        return ids_.at(matrix_.files.ids, matrix_.files.ids_at, matrix_.offsets[row], matrix_.offsets[row + 1]);
    }
    SparseRow operator[](Offset row) {
        if (matrix_.files.ids < 0) return matrix_[row];
        const Offset begin = matrix_.offsets[row], end = matrix_.offsets[row + 1];
        return {ids_.at(matrix_.files.ids, matrix_.files.ids_at, begin, end),
                values_.at(matrix_.files.values, matrix_.files.values_at, begin, end)};
    }

private:
    // A piece of an array in a file. Whoever goes on close behind the last piece gets a larger one.
    template <class T>
    struct Window {
        static constexpr Offset ahead = 1 << 13;  // entries
        static constexpr Offset skipped = 4;      // rows at most, or what they would be read for is not worth it
        std::vector<T> piece;
        Offset first = 0, last = 0;

        std::span<const T> at(int file, Offset base, Offset begin, Offset end) {
            if (begin < first || end > last) {
                Offset length = end - begin;
                if (begin >= last && begin - last < skipped * length && length < ahead) length = ahead;
                load(file, base, begin, length);
            }
            return {piece.data() + (begin - first), static_cast<std::size_t>(end - begin)};
        }

        void load(int file, Offset base, Offset begin, Offset length) {
            if (piece.size() < static_cast<std::size_t>(length)) piece.resize(static_cast<std::size_t>(length));
            const Offset at = base + begin * static_cast<Offset>(sizeof(T));
            last = first = 0;  // nothing is there if reading fails
            const Offset found = std::min(length, limit - begin);
            read_file(file, piece.data(), static_cast<std::size_t>(found) * sizeof(T), at);
            first = begin, last = begin + found;
        }

        Offset limit = 0;  // entries of the whole array
    };

    const Csr& matrix_;
    Window<Id> ids_{{}, 0, 0, matrix_.offsets ? matrix_.offsets[matrix_.rows] : 0};
    Window<float> values_{{}, 0, 0, matrix_.offsets ? matrix_.offsets[matrix_.rows] : 0};
};

}  // namespace xtrellis
