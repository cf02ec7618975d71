#include "effort_controller.hpp"

#include <algorithm>
#include <cmath>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace hodyn_example
{

using Config = controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

EffortController::CallbackReturn EffortController::on_init()
{
  auto_declare<std::vector<std::string>>("joints", {});  // in the order of ARM_JOINT_NAMES
  auto_declare<std::vector<double>>("stiffness", {});    // N m/rad
  auto_declare<std::vector<double>>("damping", {});      // N m s/rad
  auto_declare<std::vector<double>>("max_torque", {});   // N m
  auto_declare<std::vector<double>>("max_torque_rate", {});  // N m/s
  auto_declare<double>("fade", 0.5);                     // s
  auto_declare<double>("timeout", 0.2);                  // s
  auto_declare<double>("duration", 3.0);                 // s of a motion
  return CallbackReturn::SUCCESS;
}

EffortController::CallbackReturn EffortController::on_configure(const rclcpp_lifecycle::State &)
{
  const char * const names[] = ARM_JOINT_NAMES;
  joints_ = get_node()->get_parameter("joints").as_string_array();
  if (joints_.size() != ARM_JOINTS) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "joints: expected %d, the first of them %s", ARM_JOINTS, names[0]);
    return CallbackReturn::ERROR;
  }
  const struct {const char * name; double * into;} lists[] = {
    {"stiffness", guard_.stiffness}, {"damping", guard_.damping},
    {"max_torque", guard_.max_torque}, {"max_torque_rate", guard_.max_rate}};
  for (const auto & list : lists) {
    const auto values = get_node()->get_parameter(list.name).as_double_array();
    const bool usable = values.size() == ARM_JOINTS && std::all_of(
      values.begin(), values.end(), [](double one) {return std::isfinite(one) && one >= 0.0;});
    if (!usable) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "%s: expected %d numbers, none below 0", list.name, ARM_JOINTS);
      return CallbackReturn::ERROR;
    }
    std::copy(values.begin(), values.end(), list.into);
  }
  guard_.fade = get_node()->get_parameter("fade").as_double();
  guard_.timeout = get_node()->get_parameter("timeout").as_double();
  duration_ = get_node()->get_parameter("duration").as_double();
  if (!(guard_.fade > 0.0 && guard_.timeout > 0.0 && duration_ > 0.0)) {
    RCLCPP_ERROR(get_node()->get_logger(), "fade, timeout and duration must be above 0 s");
    return CallbackReturn::ERROR;
  }
  const auto down = gravity();
  std::copy(down.begin(), down.end(), guard_.gravity);
  if (arm_self_test() != 0) {  // this compiler, these flags, this processor
    RCLCPP_ERROR(get_node()->get_logger(), "the generated code fails its self-test");
    return CallbackReturn::ERROR;
  }
  subscription_ = get_node()->create_subscription<Goal>(
    "~/goal", rclcpp::SystemDefaultsQoS(), [this](const std::shared_ptr<Goal> message) {
      const bool usable = message->data.size() == ARM_JOINTS && std::all_of(
        message->data.begin(), message->data.end(), [](double one) {return std::isfinite(one);});
      if (usable) {
        goal_.writeFromNonRT(message);
      } else {
        RCLCPP_WARN(
          get_node()->get_logger(), "goal left out: expected %d finite numbers", ARM_JOINTS);
      }
    });
  return CallbackReturn::SUCCESS;
}

Config EffortController::command_interface_configuration() const
{
  Config config{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & joint : joints_) {
    config.names.push_back(joint + "/" + hardware_interface::HW_IF_EFFORT);
  }
  return config;
}

Config EffortController::state_interface_configuration() const
{
  Config config{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & joint : joints_) {
    for (const char * quantity : {hardware_interface::HW_IF_POSITION,
        hardware_interface::HW_IF_VELOCITY, hardware_interface::HW_IF_EFFORT})
    {
      config.names.push_back(joint + "/" + quantity);
    }
  }
  return config;
}

bool EffortController::read(
  double q[ARM_JOINTS], double qd[ARM_JOINTS], double torque[ARM_JOINTS]) const
{
  for (std::size_t i = 0; i < ARM_JOINTS; ++i) {
    double * const into[] = {&q[i], &qd[i], &torque[i]};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto value = state_interfaces_[3 * i + k].get_optional();
      if (!value || !std::isfinite(*value)) {
        return false;
      }
      *into[k] = *value;
    }
  }
  return true;
}

bool EffortController::write(const double torque[ARM_JOINTS])
{
  bool written = true;
  for (std::size_t i = 0; i < ARM_JOINTS; ++i) {
    written = command_interfaces_[i].set_value(torque[i]) && written;
  }
  return written;
}

EffortController::CallbackReturn EffortController::on_activate(const rclcpp_lifecycle::State &)
{
  double q[ARM_JOINTS], qd[ARM_JOINTS], torque[ARM_JOINTS];
  if (!read(q, qd, torque)) {
    RCLCPP_ERROR(get_node()->get_logger(), "a joint state is missing or not finite");
    return CallbackReturn::ERROR;
  }
  if (!starts_from_measured_torque()) {
    std::fill(torque, torque + ARM_JOINTS, 0.0);
  }
  guarded_torque_start(&guard_, torque);
  std::copy(q, q + ARM_JOINTS, motion_.from);
  std::copy(q, q + ARM_JOINTS, motion_.to);
  motion_.duration = motion_.time = duration_;
  goal_.writeFromNonRT(nullptr);  // what was asked for before is not gone to
  last_ = nullptr;
  return CallbackReturn::SUCCESS;
}

EffortController::CallbackReturn EffortController::on_deactivate(const rclcpp_lifecycle::State &)
{
  return CallbackReturn::SUCCESS;  // the hardware or the next controller takes the joints over
}

return_type EffortController::update(const rclcpp::Time &, const rclcpp::Duration & period)
{
  // A cycle that comes late goes on from where it was, in steps that are not larger than usual.
  const double dt = std::clamp(period.seconds(), 0.0, 0.005);
  double q[ARM_JOINTS], qd[ARM_JOINTS], torque[ARM_JOINTS], reference[5][ARM_JOINTS];
  if (!read(q, qd, torque)) {
    return return_type::ERROR;
  }
  const auto goal = *goal_.readFromRT();
  if (goal && goal != last_) {
    last_ = goal;
    guarded_torque_alive(&guard_);
    const bool at_rest = motion_.time >= motion_.duration;
    if (at_rest && !std::equal(goal->data.begin(), goal->data.end(), motion_.to)) {
      std::copy(motion_.to, motion_.to + ARM_JOINTS, motion_.from);
      std::copy(goal->data.begin(), goal->data.end(), motion_.to);
      motion_.time = 0.0;
    }
  }
  if (!last_) {  // it rests where it was activated: the watchdog counts from the first goal
    guarded_torque_alive(&guard_);
  }
  rest_to_rest_step(&motion_, dt, reference);
  if (!guarded_torque_step(&guard_, dt, q, qd, ARM_CONST(reference))) {
    return return_type::ERROR;
  }
  return write(guard_.torque) ? return_type::OK : return_type::ERROR;
}

}  // namespace hodyn_example

PLUGINLIB_EXPORT_CLASS(hodyn_example::EffortController, controller_interface::ControllerInterface)
