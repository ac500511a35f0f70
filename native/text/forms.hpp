// What words become before they are counted or looked up: a stem, or nothing (a stop word).
//
// Python knows how to find stems, one call a word; here is what it has found so far. The table only grows, and may do
// so while others read it.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <vector>

#include "core/csr.hpp"
#include "text/scan.hpp"
#include "text/settings.hpp"
#include "text/strings.hpp"

namespace xtrellis::text {

// Strings end to end.
struct Joined {
    Roomy<Byte> text;
    Roomy<Offset> offsets{0};
    void add(const Byte* data, std::size_t length) {
        text.insert(text.end(), data, data + length);
        offsets.push_back(static_cast<Offset>(text.size()));
    }
};

class Forms {
public:
    // Word i of `words` becomes form i of `forms`; an empty form drops it. Words that are known stay what they are.
    void add(const Byte* words, const Offset* word_offsets, const Byte* forms, const Offset* form_offsets,
             std::size_t count);
    // The words of some texts that are not known, each once. `settings.forms` must be null.
    Joined unknown(const Byte* bytes, const Offset* offsets, Offset rows, const Settings& settings) const;
    std::size_t size() const;

    // Every word becomes its form; those that are not known stay.
    void apply(Words& words) const;
    // The form of one word (its bytes need slack, as for hashing); {null, 0}: it is dropped.
    struct Form {
        const Byte* data;
        std::size_t length;
    };
    Form find(const Byte* data, std::size_t length) const;

    std::shared_lock<std::shared_mutex> reading() const { return std::shared_lock(mutex_); }

private:
    static constexpr std::uint32_t dropped = none - 1;
    mutable std::shared_mutex mutex_;
    Strings words_;  // a slot's value is the number of its form
    Strings forms_;
};

// To be held while texts are read, so that the table does not move meanwhile.
inline std::shared_lock<std::shared_mutex> reading(const Forms* forms) {
    return forms ? forms->reading() : std::shared_lock<std::shared_mutex>();
}

}  // namespace xtrellis::text
