// A ros2_control effort controller around the generated code: a skeleton to be made yours.
//
// Goals come on ~/goal (joint positions in the order of ARM_JOINT_NAMES); from the first one on each
// message is a sign of life too, so that the arm comes to rest when whoever sends them falls silent, and is carried
// there until the controller is deactivated and activated again. A new goal is gone to from rest
// to rest. Written for ROS 2 Jazzy.
#ifndef HODYN_EXAMPLE__EFFORT_CONTROLLER_HPP_
#define HODYN_EXAMPLE__EFFORT_CONTROLLER_HPP_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

#include "guarded_torque.h"
#include "rest_to_rest.h"

namespace hodyn_example
{

class EffortController : public controller_interface::ControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using Goal = std_msgs::msg::Float64MultiArray;

  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  // What differs from robot to robot.
  virtual std::array<double, 3> gravity() const {return {0.0, 0.0, -9.80665};}  // base axes
  virtual bool starts_from_measured_torque() const {return true;}

private:
  bool read(double q[ARM_JOINTS], double qd[ARM_JOINTS], double torque[ARM_JOINTS]) const;
  bool write(const double torque[ARM_JOINTS]);

  std::vector<std::string> joints_;
  guarded_torque guard_{};
  rest_to_rest motion_{};
  double duration_{};
  rclcpp::Subscription<Goal>::SharedPtr subscription_;
  realtime_tools::RealtimeBuffer<std::shared_ptr<Goal>> goal_;
  std::shared_ptr<Goal> last_;
};

}  // namespace hodyn_example

#endif  // HODYN_EXAMPLE__EFFORT_CONTROLLER_HPP_
