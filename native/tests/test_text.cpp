// The text kernels on random bytes, valid UTF-8 or not: no read outside, and what is counted is what is found again.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/rng.hpp"
#include "text/build.hpp"
#include "text/forms.hpp"
#include "text/transform.hpp"

using namespace xtrellis;
using namespace xtrellis::text;

namespace {

// Copied to a block of exactly this size, so that the sanitizer sees the first byte past the end.
struct Blob {
    std::unique_ptr<Byte[]> bytes;
    std::vector<Offset> offsets{0};
    explicit Blob(const std::vector<std::string>& texts) {
        std::string all;
        for (const auto& text : texts) {
            all += text;
            offsets.push_back(static_cast<Offset>(all.size()));
        }
        bytes.reset(new Byte[all.size()]);
        std::copy(all.begin(), all.end(), bytes.get());
    }
    Offset rows() const { return static_cast<Offset>(offsets.size()) - 1; }
};

std::string random_text(Rng& rng) {
    static const std::string parts[] = {"a",
                                        "B",
                                        "ab",
                                        " ",
                                        "\xC3\xA9",
                                        "\xE4\xB8\xAD",
                                        "\xF0\x9F\x98\x80",
                                        "\xCC\x81",
                                        "\xC4\xB0",
                                        "\xEF\xB7\xBA",
                                        "\xED\xA0\x80",
                                        "_",
                                        "9",
                                        ",",
                                        "+",
                                        "#",
                                        ".",
                                        ".NET",
                                        "\xE0\xB8\x81",
                                        "\xE0\xB8\xB4",
                                        "\xE2\x80\x8C",
                                        "\xC2\xAD",
                                        std::string(1, '\0')};
    std::string out;
    const auto length = rng.below(60);
    for (std::uint32_t i = 0; i < length; ++i) {
        if (rng.below(5) == 0) out.push_back(static_cast<char>(rng.below(256)));
        else out += parts[rng.below(std::size(parts))];
    }
    return out;
}

Vocabulary view(const Built& built, const std::vector<float>& idf) {
    Vocabulary out;
    out.words = {built.word_text.data(), built.word_offsets.data(), built.word_table.data(),
                 built.word_table.size() - 1};
    out.word_features = built.word_features.data();
    out.grams = reinterpret_cast<const GramSlot*>(built.gram_table.data());
    out.gram_mask = built.gram_table.size() / 4 - 1;
    out.pieces = {built.name_text.data(), built.name_offsets.data() + built.first_piece, built.piece_table.data(),
                  built.piece_table.size() - 1};
    out.first_piece = built.first_piece;
    out.idf = idf.data();
    return out;
}

// Where every word becomes another, all of them do; where all are dropped, nothing is left.
void check_forms(const Blob& blob, const Built& built, Settings settings) {
    for (const std::string form : {"", "another"}) {
        const auto forms = std::make_shared<Forms>();
        const auto unknown = forms->unknown(blob.bytes.get(), blob.offsets.data(), blob.rows(), settings);
        CHECK(unknown.offsets.size() == built.rows.size() + 1);
        std::string all;
        std::vector<Offset> offsets{0};
        for (std::size_t i = 0; i + 1 < unknown.offsets.size(); ++i) {
            all += form;
            offsets.push_back(static_cast<Offset>(all.size()));
        }
        forms->add(unknown.text.data(), unknown.offsets.data(), reinterpret_cast<const Byte*>(all.data()),
                   offsets.data(), offsets.size() - 1);
        CHECK(forms->size() == built.rows.size());
        CHECK(forms->unknown(blob.bytes.get(), blob.offsets.data(), blob.rows(), settings).text.empty());
        settings.forms = forms;
        Counter counter(settings);
        counter.add(blob.bytes.get(), blob.offsets.data(), blob.rows(), false);
        const auto changed = build(counter, {1, 1e9});
        CHECK(changed.rows.size() == (form.empty() || built.rows.empty() ? 0u : 1u));
        settings.forms.reset();
    }
}

void check_round(Rng& rng, const Settings& settings, const Limits& limits) {
    std::vector<std::string> texts;
    for (int i = 0; i < 20; ++i) texts.push_back(random_text(rng));
    const Blob blob(texts);
    const auto half = blob.rows() / 2;
    Counter counter(settings), other(settings);
    const auto first = counter.add(blob.bytes.get(), blob.offsets.data(), half, true);
    other.add(blob.bytes.get(), blob.offsets.data() + half, blob.rows() - half, false);
    counter.merge(other);
    const auto built = build(counter, limits);
    const auto n = built.rows.size();
    CHECK(built.name_offsets.size() == n + 1);
    CHECK(n <= limits.most_features);
    if (limits.least_rows == 1 && limits.most_features == ~0ull && settings.ngrams == 1 && settings.char_shortest == 0)
        check_forms(blob, built, settings);
    for (const auto rows : built.rows) CHECK(rows >= limits.least_rows && rows <= limits.most_rows);
    const std::vector<float> idf(n, 1.0f);
    const auto vocabulary = view(built, idf);
    const auto rows = transform(blob.bytes.get(), blob.offsets.data(), blob.rows(), vocabulary, settings);
    const auto weighed = weigh(first.offsets.data(), half, first.counts.data(), built.gram_features.data(),
                               built.piece_features.data(), idf.data(), settings);
    CHECK(std::equal(weighed.ids.begin(), weighed.ids.end(), rows.ids.begin()));
    CHECK(std::equal(weighed.values.begin(), weighed.values.end(), rows.values.begin()));

    std::vector<std::uint32_t> seen(n, 0);
    for (const auto id : rows.ids) {
        CHECK(id >= 0 && static_cast<std::size_t>(id) < n);
        ++seen[static_cast<std::size_t>(id)];
    }
    for (std::size_t i = 0; i < n; ++i) CHECK(seen[i] == built.rows[i]);
    for (Offset i = 0; i < blob.rows(); ++i) {
        const auto* begin = blob.bytes.get() + blob.offsets[static_cast<std::size_t>(i)];
        const auto* end = blob.bytes.get() + blob.offsets[static_cast<std::size_t>(i) + 1];
        CHECK(unstable_run(begin, end, 3) <= 3);
        const auto places = explain(begin, end, vocabulary, settings);
        for (std::size_t at = 0; at < places.features.size(); ++at) {
            CHECK(0 <= places.begins[at] && places.begins[at] < places.ends[at] && places.ends[at] <= end - begin);
            CHECK(0 <= places.features[at] && static_cast<std::size_t>(places.features[at]) < n);
        }
        const std::vector<Byte> wanted(n + 1, 0);
        CHECK(explain(begin, end, vocabulary, settings, wanted.data()).features.empty());
    }
}

}  // namespace

int main() {
    Rng rng(11);
    for (int round = 0; round < 300; ++round) {
        Settings settings;
        settings.ngrams = rng.below(4);
        settings.char_shortest = settings.ngrams == 0 ? 1 + rng.below(3) : rng.below(3);
        settings.char_longest = settings.char_shortest + rng.below(3);
        settings.min_points = 1 + rng.below(3);
        settings.lowercase = rng.below(2);
        settings.fold_accents = rng.below(2);
        settings.sublinear_tf = rng.below(2);
        settings.normalize = rng.below(2);
        settings.any_script = rng.below(2);
        check_round(rng, settings, {1.0 + rng.below(3), 20, rng.below(2) ? 1 + rng.below(30) : ~0ull});
    }

    // Every code point: encoding and decoding are inverse, and rewriting stays within its buffer.
    for (const bool lower : {false, true}) {
        for (const bool fold : {false, true}) {
            const auto& rewriting = Rewriting::get(lower, fold);
            for (Point point = 0; point < point_count; ++point) {
                Byte bytes[4];
                Point out[Rewriting::most_points];
                const auto length = encode(point, bytes);
                const auto back = decode(bytes, bytes + length);
                CHECK(back.point == point && back.length == length);
                CHECK(rewriting.apply(point, out) <= Rewriting::most_points);
            }
        }
    }
}
