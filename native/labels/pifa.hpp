// Positive instance feature aggregation: a label's vector is the sum of the rows that have it, at unit length.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/row_reader.hpp"

namespace xtrellis::labels {

struct Vectors {
    std::vector<Offset> offsets;
    std::vector<Id> ids;  // ascending within a label
    std::vector<float> values;
};

// An array of zeros. In a large one, what is never touched takes no memory; a thread keeps none of it afterwards.
template <class T>
class Zeros {
public:
    explicit Zeros(Offset size) : values_(static_cast<T*>(std::calloc(static_cast<std::size_t>(size) + 1, sizeof(T)))) {
        if (!values_) throw std::bad_alloc();
    }
    T& operator[](Id i) { return values_.get()[i]; }

private:
    struct Free {
        void operator()(T* values) const { std::free(values); }
    };
    std::unique_ptr<T, Free> values_;
};

// Labels first .. last. `rows` lists the rows of each label, with the weight a row gives to the label.
inline Vectors pifa(const Csr& rows, const Csr& X, Offset first, Offset last) {
    Vectors out;
    out.offsets.push_back(0);
    Zeros<float> sums(X.columns);
    Zeros<char> known(X.columns);
    std::vector<Id> seen;
    RowReader reader(X);
    for (Offset label = first; label < last; ++label) {
        const SparseRow members = rows[label];
        seen.clear();
        for (std::size_t m = 0; m < members.size(); ++m) {
            const SparseRow x = reader[members.ids[m]];
            for (std::size_t i = 0; i < x.size(); ++i) {
                const Id f = x.ids[i];
                if (!known[f]) {
                    known[f] = 1;
                    seen.push_back(f);
                }
                sums[f] += members.values[m] * x.values[i];
            }
        }
        if (members.size() > 1) std::sort(seen.begin(), seen.end());
        float square = 0;
        for (const Id f : seen) square += sums[f] * sums[f];
        const float scale = square > 0 ? 1 / std::sqrt(square) : 0;
        for (const Id f : seen) {
            out.ids.push_back(f);
            out.values.push_back(sums[f] * scale);
            sums[f] = 0;
            known[f] = 0;
        }
        out.offsets.push_back(static_cast<Offset>(out.ids.size()));
    }
    return out;
}

}  // namespace xtrellis::labels
