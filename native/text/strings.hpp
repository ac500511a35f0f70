// A set of byte strings that grows.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/roomy.hpp"
#include "text/hash.hpp"

namespace xtrellis::text {

// Throws if a table has as many items as numbers can tell apart.
void refuse_more(std::size_t items);

// Distinct byte strings, numbered as they come.
class Strings {
public:
    struct Slot {
        std::uint32_t tag = 0;  // high half of the hash
        std::uint32_t id = none;
        std::uint32_t value = none;  // for the owner, kept where the probe has just been
        std::uint32_t place = none;
    };
    Strings() : slots_(1024), offsets_{0} {}
    std::uint32_t size() const { return static_cast<std::uint32_t>(hashes_.size()); }
    std::uint64_t hash(std::uint32_t i) const { return hashes_[i]; }
    const Byte* data(std::uint32_t i) const { return bytes_.data() + offsets_[i]; }
    std::size_t length(std::uint32_t i) const { return offsets_[i + 1] - offsets_[i]; }
    // The slot of a string; a new one gets the next number. Valid until the next call.
    Slot& find_or_add(std::uint64_t hash, const Byte* data, std::size_t length);
    // Its slot if it is there, else null.
    const Slot* find(std::uint64_t hash, const Byte* data, std::size_t length) const {
        const auto tag = static_cast<std::uint32_t>(hash >> 32);
        const auto mask = slots_.size() - 1;
        for (auto at = hash & mask; slots_[at].id != none; at = (at + 1) & mask) {
            const auto& slot = slots_[at];
            if (slot.tag == tag && this->length(slot.id) == length &&
                std::memcmp(this->data(slot.id), data, length) == 0)
                return &slot;
        }
        return nullptr;
    }
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

private:
    void grow();
    Roomy<Slot> slots_;
    Roomy<std::uint64_t> hashes_;
    Roomy<std::size_t> offsets_;
    Roomy<Byte> bytes_;
};

}  // namespace xtrellis::text
