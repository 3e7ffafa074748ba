// The ranks of a run: how they talk, and which of them does what.
#pragma once
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/measured_tensors.h"
#include "trainer/ranks/placement.h"

namespace bicrl {

// In a split run the trainers' planes are among those alone, and null on the others; in a colocated one they
// are the same as those of all ranks.
struct RunRanks {
  Placement placement;
  ControlPlane& control;
  MeasuredTensors& tensors;
  ControlPlane* trainer_control = nullptr;
  MeasuredTensors* trainer_tensors = nullptr;

  // What this rank's planes moved since the last call.
  CollectiveAccount take_account() const;
};

}  // namespace bicrl
