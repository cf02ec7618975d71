// @mark@: the reference motion of the arm: holding, a plan, a chain, or coming to rest.
#ifndef @PACKAGE@__REFERENCE_HPP_
#define @PACKAGE@__REFERENCE_HPP_

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "@package@/plan.hpp"

namespace @package@
{

enum class Mode {HOLDING, PLAN, CHAIN, STOPPING};

constexpr double AT_REST = 0.01;  // rad/s or m/s

/// The reference, continuous to the fourth derivative whatever is requested; samples of a chain of
/// controllers are passed on as they come. To each new motion a lead is added: it starts as the
/// current motion minus the new one, and goes to 0 in `transition`.
class Reference
{
public:
  double start_tolerance = 0.01;  // largest distance of a plan's or chain's start, rad or m
  double transition = 0.5;        // time in which this distance goes to 0, s
  double stop = 0.5;              // duration of a stop, s
  double silence = 0.02;          // longest time without a sample of the chain, s

  Mode mode() const {return mode_;}

  const Motion & motion() const {return motion_;}

  /// The plan that ended in the last step, or nullptr.
  const Plan * arrived() const {return arrived_;}

  /// Hold these positions.
  void hold(const Row & positions)
  {
    motion_ = Motion{};
    motion_[0] = positions;
    mode_ = Mode::HOLDING;
    plan_ = nullptr;
    quiet_ = 0.0;
  }

  /// Begin with an arm that may move: hold it, or bring it to rest.
  void start(const Row & positions, const Row & velocities)
  {
    hold(positions);
    latched_ = false;
    for (const double velocity : velocities) {
      if (std::abs(velocity) > AT_REST) {
        motion_[1] = velocities;
        come_to_rest_from_here();
        return;
      }
    }
  }

  /// Come to rest at the positions to which the arm was pushed.
  void yield_to(const Row & positions)
  {
    Motion target{};
    target[0] = positions;
    lead_from(target);
    plan_ = nullptr;
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      rest_[i] = Settling::stopping({positions[i], 0.0, 0.0, 0.0, 0.0}, stop);
    }
    begin_to_stop();
    latched_ = true;
  }

  /// Begin a plan, which must outlive its motion. Return whether it starts where the arm is held.
  bool follow(const Plan & plan)
  {
    Motion first;
    plan.at(0.0, first);
    if (mode_ != Mode::HOLDING || !lead_to(first)) {
      return false;
    }
    plan_ = &plan;
    passed_ = 0.0;
    mode_ = Mode::PLAN;
    return true;
  }

  /// Come to rest: along the path of a plan, otherwise each joint by itself.
  void come_to_rest()
  {
    latched_ = true;
    if (mode_ == Mode::HOLDING || mode_ == Mode::STOPPING) {
      return;
    }
    if (mode_ == Mode::PLAN) {
      pace_ = Polynomial::stopping(State{passed_, 1.0, 0.0, 0.0, 0.0}, stop);
      begin_to_stop();
    } else {
      come_to_rest_from_here();
    }
  }

  /// Advance by dt, s, with the sample that the chain sent in this cycle, or nullptr.
  void step(double dt, const Motion * sample)
  {
    lead_time_ += dt;
    arrived_ = nullptr;
    switch (mode_) {
      case Mode::HOLDING:
        // If latched, a chain must pause for longer than `silence` before it is followed again.
        quiet_ = sample == nullptr ? quiet_ + dt : 0.0;
        latched_ = latched_ && quiet_ <= silence;
        if (sample != nullptr && !latched_ && lead_to(*sample)) {
          mode_ = Mode::CHAIN;
          silent_ = 0.0;
          take_over(*sample);
        }
        break;
      case Mode::CHAIN:
        follow_sample(dt, sample);
        break;
      case Mode::PLAN:
        passed_ += dt;
        plan_->at(passed_, motion_);
        add_lead();
        if (passed_ >= plan_->duration() && lead_time_ >= transition) {
          arrived_ = plan_;
          hold(Row(motion_[0]));
        }
        break;
      case Mode::STOPPING:
        stopping_ += dt;
        come_nearer_to_rest();
        break;
    }
  }

private:
  /// Lead from the current motion to a new one; return false if it starts too far away.
  bool lead_to(const Motion & other)
  {
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      if (!(std::abs(other[0][i] - motion_[0][i]) <= start_tolerance)) {
        return false;
      }
    }
    lead_from(other);
    return true;
  }

  /// Lead from the current motion to another, with a difference that vanishes in `transition`.
  void lead_from(const Motion & other)
  {
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      State difference;
      for (std::size_t j = 0; j < difference.size(); ++j) {
        difference[j] = motion_[j][i] - other[j][i];
      }
      lead_[i] = Settling::vanishing(difference, transition);
    }
    lead_time_ = 0.0;
  }

  void add_lead()
  {
    if (lead_time_ >= transition) {
      return;
    }
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      const State state = lead_[i].at(lead_time_);
      for (std::size_t j = 0; j < state.size(); ++j) {
        motion_[j][i] += state[j];
      }
    }
  }

  /// Follow a sample, or extrapolate for up to `silence`; a sample that jumps is ignored.
  void follow_sample(double dt, const Motion * sample)
  {
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      for (std::size_t j = 0; j + 1 < motion_.size(); ++j) {  // Taylor series
        double term = 1.0;
        for (std::size_t k = 1; j + k < motion_.size(); ++k) {
          term *= dt / static_cast<double>(k);
          motion_[j][i] += term * motion_[j + k][i];
        }
      }
    }
    if (sample != nullptr && goes_on(*sample)) {
      silent_ = 0.0;
      take_over(*sample);
      return;
    }
    silent_ += dt;
    if (silent_ > silence) {
      come_to_rest_from_here();
    }
  }

  void take_over(const Motion & sample)
  {
    motion_ = sample;
    add_lead();
  }

  /// Whether a sample continues the motion, within start_tolerance.
  bool goes_on(const Motion & sample) const
  {
    Motion led = sample;
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      if (lead_time_ < transition) {
        led[0][i] += lead_[i].at(lead_time_)[0];
      }
      if (!(std::abs(led[0][i] - motion_[0][i]) <= start_tolerance)) {
        return false;
      }
    }
    return true;
  }

  void come_to_rest_from_here()
  {
    plan_ = nullptr;
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      rest_[i] = Settling::stopping(
        {motion_[0][i], motion_[1][i], motion_[2][i], motion_[3][i], motion_[4][i]}, stop);
    }
    lead_time_ = transition;  // the motion that stops contains the lead
    begin_to_stop();
  }

  void begin_to_stop()
  {
    stopping_ = 0.0;
    mode_ = Mode::STOPPING;
  }

  void come_nearer_to_rest()
  {
    const bool at_rest = stopping_ >= stop;
    const double time = std::min(stopping_, stop);
    if (plan_ != nullptr) {
      along_the_path(pace_.at(time));
    } else {
      for (std::size_t i = 0; i < robot::JOINTS; ++i) {
        const State state = rest_[i].at(time);
        for (std::size_t j = 0; j < state.size(); ++j) {
          motion_[j][i] = state[j];
        }
      }
    }
    add_lead();
    if (at_rest && lead_time_ >= transition) {
      hold(Row(motion_[0]));
    }
  }

  /// Write the motion along the plan for this state of its time, by Faà di Bruno's formula.
  void along_the_path(const State & time)
  {
    Motion path;
    plan_->at(time[0], path);
    const double s1 = time[1], s2 = time[2], s3 = time[3], s4 = time[4];
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      const double p1 = path[1][i], p2 = path[2][i], p3 = path[3][i], p4 = path[4][i];
      motion_[0][i] = path[0][i];
      motion_[1][i] = p1 * s1;
      motion_[2][i] = p2 * s1 * s1 + p1 * s2;
      motion_[3][i] = p3 * s1 * s1 * s1 + 3.0 * p2 * s1 * s2 + p1 * s3;
      motion_[4][i] = p4 * s1 * s1 * s1 * s1 + 6.0 * p3 * s1 * s1 * s2 +
        p2 * (4.0 * s1 * s3 + 3.0 * s2 * s2) + p1 * s4;
    }
  }

  Mode mode_ = Mode::HOLDING;
  Motion motion_{};
  const Plan * plan_ = nullptr;
  double passed_ = 0.0;
  Polynomial pace_;
  std::array<Settling, robot::JOINTS> rest_, lead_;
  double stopping_ = 0.0, lead_time_ = 1e9, silent_ = 0.0, quiet_ = 0.0;
  const Plan * arrived_ = nullptr;
  bool latched_ = false;  // whether a chain must pause before it is followed: after a stop
};

}  // namespace @package@

#endif
