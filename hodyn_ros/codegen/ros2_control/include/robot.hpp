// @mark@: the dynamics and motors of @robot@.
#ifndef @PACKAGE@__ROBOT_HPP_
#define @PACKAGE@__ROBOT_HPP_

#include <array>
#include <cstddef>

#include "@package@/@prefix@.h"

namespace @package@
{
namespace robot
{

constexpr std::size_t JOINTS = @PREFIX@_JOINTS;
constexpr std::size_t MOTORS = @m@;

/// Position, velocity, acceleration and torque of the motors, one row each.
using Motors = std::array<std::array<double, MOTORS>, 4>;

/// Return 0 if the compiled dynamics pass their self-test.
inline int self_test() {return @prefix@_self_test();}

/// Write Q, Q̇ and Q̈ of a motion.
inline void torques(
  const double (*q)[JOINTS], bool gravity, bool friction, double (*torque)[JOINTS])
{
  const double down[3] = {@down@}, none[3] = {0.0, 0.0, 0.0};
@torques@
}

/// Write the reference of the motors at the first instant; return the number, from 1, of the first
/// joint that cannot do the motion, or 0.
inline int start_motors(
  const double (*q)[JOINTS], const double (*torque)[JOINTS], Motors & motors)
{
@start_motors@
}

/// Do the same at a later instant.
inline int move_motors(
  const double (*q)[JOINTS], const double (*torque)[JOINTS], Motors & motors)
{
@move_motors@
}

}  // namespace robot
}  // namespace @package@

#endif
