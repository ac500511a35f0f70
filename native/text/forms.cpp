#include "text/forms.hpp"

#include <cstring>

#include "text/any_script.hpp"

namespace xtrellis::text {

namespace {

constexpr std::size_t slack = 8;  // that hashing reads past the end

}  // namespace

void Forms::add(const Byte* words, const Offset* word_offsets, const Byte* forms, const Offset* form_offsets,
                std::size_t count) {
    const std::unique_lock lock(mutex_);
    std::vector<Byte> room;
    const auto with_slack = [&](const Byte* text, const Offset* offsets, std::size_t i) {
        room.assign(text + offsets[i], text + offsets[i + 1]);
        const auto length = room.size();
        room.insert(room.end(), slack, Byte{0});
        return length;
    };
    for (std::size_t i = 0; i < count; ++i) {
        const auto form_length = with_slack(forms, form_offsets, i);
        const auto form = form_length == 0
                              ? dropped
                              : forms_.find_or_add(hash_bytes(room.data(), form_length), room.data(), form_length).id;
        const auto length = with_slack(words, word_offsets, i);
        auto& slot = words_.find_or_add(hash_bytes(room.data(), length), room.data(), length);
        if (slot.value == none) slot.value = form;
    }
}

Joined Forms::unknown(const Byte* bytes, const Offset* offsets, Offset rows, const Settings& settings) const {
    const auto lock = reading();
    Joined out;
    Strings met;
    Words scanned;
    for (Offset i = 0; i < rows; ++i) {
        scan_words(bytes + offsets[i], bytes + offsets[i + 1], settings, scanned,
                   [&](std::uint64_t hash) { words_.prefetch(hash); });
        for (const auto& word : scanned.words) {
            const auto* data = scanned.at(word);
            if (words_.find(word.hash, data, word.length)) continue;
            const auto known = met.size();
            if (met.find_or_add(word.hash, data, word.length).id == known) out.add(data, word.length);
        }
    }
    return out;
}

std::size_t Forms::size() const {
    const auto lock = reading();
    return words_.size();
}

void Forms::apply(Words& words) const {
    std::size_t kept = 0, at = words.words.empty() ? 0 : words.words.back().begin + words.words.back().length;
    for (const auto word : words.words) {
        const auto* slot = words_.find(word.hash, words.at(word), word.length);
        if (!slot) {
            words.words[kept++] = word;
        } else if (slot->value != dropped) {
            const auto length = forms_.length(slot->value);
            if (words.bytes.size() < at + length + slack) words.bytes.resize(2 * (at + length + slack));
            std::memcpy(words.bytes.data() + at, forms_.data(slot->value), length);
            words.words[kept++] = {forms_.hash(slot->value), at, length};
            at += length;
        }
    }
    words.words.resize(kept);
}

Forms::Form Forms::find(const Byte* data, std::size_t length) const {
    const auto* slot = words_.find(hash_bytes(data, length), data, length);
    if (!slot) return {data, length};
    if (slot->value == dropped) return {nullptr, 0};
    return {forms_.data(slot->value), forms_.length(slot->value)};
}

}  // namespace xtrellis::text
