// The same for franka_ros2: `joints: [fr3_joint1, …, fr3_joint7]`, `command_interfaces` effort.
//
// The robot adds its own weight and its own friction to the torques of a command, so gravity is 0
// here, and `hodyn generate` is called without --friction; a load is told to the robot (Desk, or
// set_load of franka_ros2) and to the code (--payload LINK KG X Y Z). Commands begin at 0. The
// robot stops itself beyond 1000 N m/s: keep max_torque_rate below that.
#include "effort_controller.hpp"

#include "pluginlib/class_list_macros.hpp"

namespace hodyn_example
{

class FrankaController : public EffortController
{
protected:
  std::array<double, 3> gravity() const override {return {0.0, 0.0, 0.0};}
  bool starts_from_measured_torque() const override {return false;}  // it has the weight in it
};

}  // namespace hodyn_example

PLUGINLIB_EXPORT_CLASS(hodyn_example::FrankaController, controller_interface::ControllerInterface)
