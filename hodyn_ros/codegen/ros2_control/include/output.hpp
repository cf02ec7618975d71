// @mark@: the torque of a motion, with feedback and within limits.
#ifndef @PACKAGE@__OUTPUT_HPP_
#define @PACKAGE@__OUTPUT_HPP_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "@package@/reference.hpp"

namespace @package@
{

/// Measured positions and velocities.
struct Measured
{
  Row position{}, velocity{};
};

/// View rows as an array of C.
template<std::size_t K>
auto rows(const std::array<Row, K> & values)
{
  static_assert(sizeof(values) == sizeof(double[K][robot::JOINTS]), "rows follow each other");
  return reinterpret_cast<const double (*)[robot::JOINTS]>(values.data());
}

template<std::size_t K>
auto rows(std::array<Row, K> & values)
{
  return const_cast<double (*)[robot::JOINTS]>(rows(std::as_const(values)));
}

/// The commands of each cycle: torques, or the reference of motors.
class Output
{
public:
  bool gravity = true;   // whether the torque contains gravity
  bool friction = true;  // whether it contains the friction of the robot file
  Row stiffness{}, damping{};            // of the feedback, N m/rad and N m s/rad
  Row max_effort{}, max_effort_rate{};   // N m, N m/s; infinite for none
  double fade = 0.5;                     // time in which the feedback fades in, s

  const Row & torque() const {return torque_;}

  /// Q, Q̇, Q̈ of the reference, without feedback.
  const std::array<Row, 3> & feed_forward() const {return feed_forward_;}

  /// Position, velocity, acceleration and torque of the motors behind springs.
  const robot::Motors & motors() const {return motors_;}

  /// Number, from 1, of the first joint whose spring cannot give the torque, or 0.
  int stuck() const {return stuck_;}

  /// Whether a limit cut the torque in the last cycle.
  bool is_limited() const {return limited_;}

  /// Begin with the feed-forward torque, and fade the feedback in. If the controller was only
  /// restarted (`goes_on`), continue from the last torque with the whole feedback instead.
  void start(const Motion & motion, bool goes_on = false)
  {
    time_ = goes_on ? fade : 0.0;
    compute(motion);
    stuck_ = robot::start_motors(rows(motion), rows(feed_forward_), motors_);
    for (std::size_t i = 0; i < robot::JOINTS && !goes_on; ++i) {
      torque_[i] = std::clamp(feed_forward_[0][i], -max_effort[i], max_effort[i]);
    }
  }

  /// Compute the torque of the next cycle, dt later. Return whether it is finite.
  bool step(const Motion & motion, const Measured & measured, double dt)
  {
    time_ += dt;
    compute(motion);
    stuck_ = robot::move_motors(rows(motion), rows(feed_forward_), motors_);
    const double u = std::min(time_ / fade, 1.0);
    const double weight = u * u * u * (10.0 + u * (6.0 * u - 15.0));
    limited_ = false;
    Row next;
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      const double feedback = stiffness[i] * (motion[0][i] - measured.position[i]) +
        damping[i] * (motion[1][i] - measured.velocity[i]);
      const double wanted = feed_forward_[0][i] + weight * feedback;
      if (!std::isfinite(wanted)) {
        return false;
      }
      const double step = max_effort_rate[i] * dt;
      next[i] = std::clamp(
        std::clamp(wanted, torque_[i] - step, torque_[i] + step), -max_effort[i], max_effort[i]);
      limited_ = limited_ || next[i] != wanted;
    }
    torque_ = next;
    return true;
  }

private:
  void compute(const Motion & motion)
  {
    robot::torques(rows(motion), gravity, friction, rows(feed_forward_));
  }

  Row torque_{};
  std::array<Row, 3> feed_forward_{};
  robot::Motors motors_{};
  int stuck_ = 0;
  double time_ = 0.0;
  bool limited_ = false;
};

}  // namespace @package@

#endif
