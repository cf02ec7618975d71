// @mark@: the dynamics as a plugin of inverse_dynamics_solver.
#if __has_include("inverse_dynamics_solver/inverse_dynamics_solver.hpp")
#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"
#else
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"
#endif

#include <stdexcept>
#include <string>

#include "pluginlib/class_list_macros.hpp"

#include "@package@/robot.hpp"

namespace @package@
{

/// Torques of @robot@, whose dynamics are compiled in: a description is not read.
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  using Vector = Eigen::VectorXd;

  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string &,
    const std::string &) override
  {
    if (robot::self_test() != 0) {
      throw std::runtime_error("the dynamics are compiled wrong: their self-test fails");
    }
  }

  Eigen::MatrixXd getInertiaMatrix(const Vector & position) const override
  {
    const Vector none = Vector::Zero(size());
    Eigen::MatrixXd matrix(size(), size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      matrix.col(i) = torques(position, none, Vector::Unit(size(), i), false, false);
    }
    return matrix;
  }

  Vector getCoriolisVector(const Vector & position, const Vector & velocity) const override
  {
    return torques(position, velocity, Vector::Zero(size()), false, false);
  }

  Vector getGravityVector(const Vector & position) const override
  {
    return torques(position, Vector::Zero(size()), Vector::Zero(size()), true, false);
  }

  Vector getFrictionVector(const Vector & velocity) const override
  {
    const Vector none = Vector::Zero(size());
    return torques(none, velocity, none, false, true) - torques(none, velocity, none, false, false);
  }

  Vector getTorques(
    const Vector & position, const Vector & velocity, const Vector & acceleration) const override
  {
    return torques(position, velocity, acceleration, true, false);
  }

private:
  static constexpr Eigen::Index size() {return static_cast<Eigen::Index>(robot::JOINTS);}

  static Vector torques(
    const Vector & position, const Vector & velocity, const Vector & acceleration, bool gravity,
    bool friction)
  {
    double q[5][robot::JOINTS] = {}, torque[3][robot::JOINTS];
    const Vector * const rows[] = {&position, &velocity, &acceleration};
    for (std::size_t k = 0; k < 3; ++k) {
      if (rows[k]->size() != size()) {
        throw std::invalid_argument(
          "expected " + std::to_string(size()) + " joints, got " +
          std::to_string(rows[k]->size()));
      }
      for (std::size_t i = 0; i < robot::JOINTS; ++i) {
        q[k][i] = (*rows[k])[static_cast<Eigen::Index>(i)];
      }
    }
    robot::torques(q, gravity, friction, torque);
    return Eigen::Map<const Vector>(torque[0], size());
  }
};

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(
  @package@::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
