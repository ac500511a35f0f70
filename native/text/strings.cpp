#include "text/strings.hpp"

#include <stdexcept>

namespace xtrellis::text {

void refuse_more(std::size_t items) {
    constexpr std::size_t most_items = 0x7FFFFFFE;  // numbers fit int32, and leave a bit
    if (items >= most_items) throw std::length_error("more than 2^31 distinct n-grams");
}

Strings::Slot& Strings::find_or_add(std::uint64_t hash, const Byte* data, std::size_t length) {
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    auto mask = slots_.size() - 1;
    auto at = hash & mask;
    for (; slots_[at].id != none; at = (at + 1) & mask) {
        auto& slot = slots_[at];
        if (slot.tag == tag && this->length(slot.id) == length && std::memcmp(this->data(slot.id), data, length) == 0)
            return slot;
    }
    refuse_more(size());
    if (too_full(hashes_.size() + 1, slots_.size())) {
        grow();
        mask = slots_.size() - 1;
        for (at = hash & mask; slots_[at].id != none;) at = (at + 1) & mask;
    }
    slots_[at] = {tag, size(), none, none};
    hashes_.push_back(hash);
    bytes_.insert(bytes_.end(), data, data + length);
    offsets_.push_back(bytes_.size());
    return slots_[at];
}

void Strings::grow() {
    Roomy<Slot> larger(slots_.size() * 2);
    const auto mask = larger.size() - 1;
    for (const auto& slot : slots_) {
        if (slot.id == none) continue;
        auto at = hashes_[slot.id] & mask;
        while (larger[at].id != none) at = (at + 1) & mask;
        larger[at] = slot;
    }
    slots_.swap(larger);
}

}  // namespace xtrellis::text
