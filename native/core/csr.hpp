// Views of arrays that somebody else owns and has checked. Ids are int32 (-1 is "none" in answers), offsets int64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace xtrellis {

using Id = std::int32_t;
using Offset = std::int64_t;

// One sparse row: `ids[i]` ascending, `values[i]` beside it.
struct SparseRow {
    std::span<const Id> ids;
    std::span<const float> values;
    std::size_t size() const { return ids.size(); }
};

// Descriptors of the files that ids and values lie in, and where in them, in bytes: if they shall be read, and not
// looked at through mapped pages, which count as memory. -1: there are none.
struct CsrFiles {
    int ids = -1;
    Offset ids_at = 0;
    int values = -1;
    Offset values_at = 0;
};

// A sparse matrix by rows. `offsets` has rows + 1 entries.
struct Csr {
    Offset rows = 0;
    Offset columns = 0;
    const Offset* offsets = nullptr;
    const Id* ids = nullptr;
    const float* values = nullptr;
    CsrFiles files = {};

    Offset length(Offset row) const { return offsets[row + 1] - offsets[row]; }
    SparseRow operator[](Offset row) const {
        const auto begin = offsets[row];
        const auto count = static_cast<std::size_t>(offsets[row + 1] - begin);
        return {{ids + begin, count}, {values + begin, count}};
    }
};

}  // namespace xtrellis
