// Placement of a run's work on its ranks: colocated or split. In a colocated run every rank generates and
// then trains; in a split run the first ranks train and the last ones generate and verify. Plain value;
// thread-safe.
#pragma once
#include <cstdint>

#include "common/error.h"

namespace bicrl {

class Placement {
 public:
  static Placement colocated(int ranks) { return Placement(ranks, 0); }
  // The last `generators` of the ranks generate, the others train.
  static Placement split(int ranks, int generators) {
    BICRL_CHECK(generators > 0 && generators < ranks, generators, " of ", ranks, " ranks generate");
    return Placement(ranks, generators);
  }

  bool is_split() const { return generators_ > 0; }
  int ranks() const { return ranks_; }
  int trainers() const { return ranks_ - generators_; }  // ranks [0, trainers())
  int generators() const { return is_split() ? generators_ : ranks_; }
  bool trains(int rank) const { return rank < trainers(); }
  bool generates(int rank) const { return !is_split() || rank >= trainers(); }

  // Groups of a step, and tasks of an evaluation, belong to ranks as a whole. Where a group is trained
  // depends on the number of trainers alone.
  int generator_of(int64_t group) const {
    return is_split() ? trainers() + static_cast<int>(group % generators_) : trainer_of(group);
  }
  int trainer_of(int64_t group) const { return static_cast<int>(group % trainers()); }

 private:
  Placement(int ranks, int generators) : ranks_(ranks), generators_(generators) {}
  int ranks_;
  int generators_;  // 0: colocated
};

}  // namespace bicrl
