// From what is known of a match to a score: a sum of piecewise linear functions, one for each feature, is the logarithm
// of the odds. Functions are given by their values at knots, apart for whole names and for parts of them.
#pragma once

#include <cmath>

#include "names/match.hpp"

namespace xtrellis::names {

// What is known of the label, after the features of the match.
enum LabelFeature : std::size_t { prior = form_features, matched, rows, unseen, all_features };
constexpr std::size_t label_feature_count = std::size_t{all_features} - std::size_t{form_features};

struct Curves {
    std::size_t knots = 0;               // room for each function
    const double* at = nullptr;          // kinds × features × knots, rising
    const double* values = nullptr;      // the same
    const std::int32_t* used = nullptr;  // kinds × features: how many of the knots count, at least 1
    const double* bias = nullptr;        // kinds

    double operator()(std::size_t kind, std::size_t feature, double x) const {
        const auto place = kind * all_features + feature;
        const auto n = static_cast<std::size_t>(used[place]);
        const auto* k = at + place * knots;
        const auto* v = values + place * knots;
        if (!(x > k[0])) return v[0];
        for (std::size_t i = 1; i < n; ++i)
            if (x < k[i]) return v[i - 1] + (v[i] - v[i - 1]) * ((x - k[i - 1]) / (k[i] - k[i - 1]));
        return v[n - 1];
    }
};

struct LabelFacts {
    const Id* rows = nullptr;     // that have the label
    const Id* matches = nullptr;  // kinds × labels: rows in which its name is found
    const Id* hits = nullptr;     // kinds × labels: those of them that have the label
    Id n_labels = 0;
    const double* general = nullptr;  // kinds: how often a match is right
    double smoothing = 1;             // matches that the general estimate counts as
};

struct Scorer {
    Curves curves;
    LabelFacts facts;

    // `left_out`: as if this row had not been counted; `has` then says whether it has the label.
    std::array<double, label_feature_count> label_features(std::size_t kind, Id label, bool left_out, bool has) const {
        const auto at = kind * static_cast<std::size_t>(facts.n_labels) + static_cast<std::size_t>(label);
        const auto count = [&](Id all, bool own) {
            return std::max(0.0, static_cast<double>(all) - (left_out && own ? 1 : 0));
        };
        const auto n_rows = count(facts.rows[label], has);
        // Nobody could give a label that was not there: its name in a text says nothing against it.
        const bool known = n_rows > 0;
        const auto n_matches = known ? count(facts.matches[at], true) : 0.0;
        const auto n_hits = known ? std::min(count(facts.hits[at], has), n_matches) : 0.0;
        const auto p = (n_hits + facts.smoothing * facts.general[kind]) / (n_matches + facts.smoothing);
        return {std::log(p / (1 - p)), std::log1p(n_matches), std::log1p(n_rows), known ? 0.0 : 1.0};
    }

    // What the last match had, and what that was worth: of names that are found by the same word, most is alike.
    struct Told {
        float feature = NAN;  // nothing equals it
        double worth = 0;
    };
    using LastMatch = std::array<std::array<Told, form_features>, 2>;  // by kind

    double match_log_odds(const Match& match, LastMatch& last) const {
        double sum = curves.bias[match.kind];
        for (std::size_t f = 0; f < form_features; ++f) {
            Told& told = last[match.kind][f];
            if (told.feature != match.features[f]) told = {match.features[f], curves(match.kind, f, match.features[f])};
            sum += told.worth;
        }
        return sum;
    }
    // Of every label as it is, by kind: what a plain prediction looks up.
    std::vector<double> plain_label_odds() const {
        std::vector<double> out;
        for (std::size_t kind = 0; kind < 2; ++kind)
            for (Id label = 0; label < facts.n_labels; ++label) out.push_back(computed_odds(kind, label, false, false));
        return out;
    }
    const double* plain = nullptr;
    double label_log_odds(std::size_t kind, Id label, bool left_out, bool has) const {
        if (!left_out && plain)
            return plain[kind * static_cast<std::size_t>(facts.n_labels) + static_cast<std::size_t>(label)];
        return computed_odds(kind, label, left_out, has);
    }
    double computed_odds(std::size_t kind, Id label, bool left_out, bool has) const {
        const auto features = label_features(kind, label, left_out, has);
        double sum = 0;
        for (std::size_t f = 0; f < features.size(); ++f) sum += curves(kind, form_features + f, features[f]);
        return sum;
    }
};

inline float probability(double log_odds) { return static_cast<float>(1 / (1 + std::exp(-log_odds))); }

}  // namespace xtrellis::names
