// As much of rclcpp, rclcpp_action and ros2_control as the generated controller uses, in one
// process without threads: callbacks run when the test calls them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace builtin_interfaces::msg
{
struct Duration {std::int32_t sec = 0; std::uint32_t nanosec = 0;};
}

namespace trajectory_msgs::msg
{
struct JointTrajectoryPoint
{
  std::vector<double> positions;
  builtin_interfaces::msg::Duration time_from_start;
};
struct JointTrajectory
{
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};
}  // namespace trajectory_msgs::msg

namespace std_srvs::srv
{
struct Trigger
{
  struct Request {};
  struct Response {bool success = false; std::string message;};
};
}  // namespace std_srvs::srv

namespace control_msgs::action
{
struct FollowJointTrajectory
{
  struct Goal {trajectory_msgs::msg::JointTrajectory trajectory;};
  struct Result
  {
    static constexpr int SUCCESSFUL = 0, INVALID_GOAL = -1, PATH_TOLERANCE_VIOLATED = -4;
    int error_code = 0;
    std::string error_string;
  };
};
}  // namespace control_msgs::action

namespace rclcpp
{

struct Time {};

struct Duration
{
  explicit Duration(double seconds) : seconds_(seconds) {}
  explicit Duration(const builtin_interfaces::msg::Duration & message)
  : seconds_(message.sec + 1e-9 * message.nanosec) {}
  double seconds() const {return seconds_;}
  double seconds_;
};

struct Logger {};
struct SystemDefaultsQoS {};
struct TimerBase {using SharedPtr = std::shared_ptr<TimerBase>; std::function<void()> run;};

template<typename Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(std::shared_ptr<const Message>)> take;
};

template<typename Type>
struct Service
{
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(
      std::shared_ptr<typename Type::Request>, std::shared_ptr<typename Type::Response>)> call;
};

}  // namespace rclcpp

#define RCLCPP_WARN(logger, ...) (static_cast<void>(logger), log_line("warning", __VA_ARGS__))
#define RCLCPP_ERROR(logger, ...) (static_cast<void>(logger), log_line("error", __VA_ARGS__))
#define RCLCPP_INFO(logger, ...) (static_cast<void>(logger), log_line("info", __VA_ARGS__))

template<typename ... Arguments>
void log_line(const char * level, const char * format, Arguments... arguments)
{
  std::printf("%s: ", level);
  if constexpr (sizeof...(arguments) == 0) {
    std::fputs(format, stdout);
  } else {
    std::printf(format, arguments ...);
  }
  std::printf("\n");
}

namespace rclcpp_action
{

using GoalUUID = std::array<std::uint8_t, 16>;
enum class GoalResponse {REJECT, ACCEPT_AND_EXECUTE};
enum class CancelResponse {REJECT, ACCEPT};

template<typename Action>
struct ServerGoalHandle
{
  using Result = std::shared_ptr<typename Action::Result>;
  std::shared_ptr<const typename Action::Goal> get_goal() const {return goal;}
  bool is_canceling() const {return canceling;}
  void succeed(Result result) {end("succeeded", result);}
  void abort(Result result) {end("aborted", result);}
  void canceled(Result result) {end("canceled", result);}
  void end(const char * how, Result result)
  {
    if (ended) {throw std::logic_error("a goal ended twice");}
    ended = true;
    std::printf("goal: %s %d %s\n", how, result->error_code, result->error_string.c_str());
  }
  std::shared_ptr<const typename Action::Goal> goal;
  bool canceling = false, ended = false;
};

template<typename Action>
struct Server
{
  using SharedPtr = std::shared_ptr<Server>;
  std::function<GoalResponse(const GoalUUID &, std::shared_ptr<const typename Action::Goal>)> goal;
  std::function<CancelResponse(std::shared_ptr<ServerGoalHandle<Action>>)> cancel;
  std::function<void(std::shared_ptr<ServerGoalHandle<Action>>)> accepted;
};

template<typename Action, typename Node, typename Goal, typename Cancel, typename Accepted>
typename Server<Action>::SharedPtr create_server(
  Node node, const std::string &, Goal goal, Cancel cancel, Accepted accepted)
{
  auto server = std::make_shared<Server<Action>>(Server<Action>{goal, cancel, accepted});
  node->server = server;
  return server;
}

}  // namespace rclcpp_action

/// What callbacks of a node are registered with.
struct StandInNode
{
  using Trajectory = trajectory_msgs::msg::JointTrajectory;
  using Trigger = std_srvs::srv::Trigger;
  template<typename Message, typename Callback>
  auto create_subscription(const std::string &, rclcpp::SystemDefaultsQoS, Callback callback)
  {
    return trajectory = std::make_shared<rclcpp::Subscription<Message>>(
      rclcpp::Subscription<Message>{callback});
  }
  template<typename Type, typename Callback>
  auto create_service(const std::string &, Callback callback)
  {
    return hold = std::make_shared<rclcpp::Service<Type>>(rclcpp::Service<Type>{callback});
  }
  template<typename Callback>
  auto create_wall_timer(std::chrono::milliseconds, Callback callback)
  {
    return timer = std::make_shared<rclcpp::TimerBase>(rclcpp::TimerBase{callback});
  }
  struct Parameters
  {
    const std::vector<std::pair<std::string, int>> & get_parameter_overrides() const {return overrides;}
    std::vector<std::pair<std::string, int>> overrides;
  };
  const Parameters * get_node_parameters_interface() const {return &parameters;}
  rclcpp::Logger get_logger() const {return {};}
  const char * get_name() const {return "feedforward_controller";}

  Parameters parameters;
  rclcpp::Subscription<Trajectory>::SharedPtr trajectory;
  rclcpp::Service<Trigger>::SharedPtr hold;
  rclcpp::TimerBase::SharedPtr timer;
  std::shared_ptr<rclcpp_action::Server<control_msgs::action::FollowJointTrajectory>> server;
};

namespace rclcpp_lifecycle {struct State {};}

namespace hardware_interface
{

constexpr char HW_IF_POSITION[] = "position";
constexpr char HW_IF_VELOCITY[] = "velocity";
constexpr char HW_IF_EFFORT[] = "effort";

/// A value that several hold.
struct Handle
{
  using SharedPtr = std::shared_ptr<Handle>;
  Handle(const std::string & prefix, const std::string & quantity)
  : name(prefix + "/" + quantity), value(std::make_shared<double>(0.0)) {}
  template<typename T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned = 10) const {return *value;}
  template<typename T = double>
  [[nodiscard]] bool set_value(const T & number, unsigned = 10)
  {
    if (busy) {return false;}
    *value = number;
    return true;
  }
  std::string name;
  std::shared_ptr<double> value;
  bool busy = false;
};
using CommandInterface = Handle;
using LoanedCommandInterface = Handle;
using LoanedStateInterface = Handle;

}  // namespace hardware_interface

namespace controller_interface
{

enum class CallbackReturn {SUCCESS, FAILURE, ERROR};
enum class return_type {OK, ERROR};
enum class interface_configuration_type {ALL, INDIVIDUAL, NONE};
struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};

class ChainableControllerInterface
{
public:
  virtual ~ChainableControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;

  /// As the manager does.
  return_type update(double dt)
  {
    const rclcpp::Duration period(dt);
    if (!in_chain && update_reference_from_subscribers({}, period) != return_type::OK) {
      return return_type::ERROR;
    }
    return update_and_write_commands({}, period);
  }
  std::shared_ptr<StandInNode> get_node() const {return node;}
  bool is_in_chained_mode() const {return in_chain;}
  unsigned get_update_rate() const {return update_rate;}
  void claim()
  {
    for (const auto & name : command_interface_configuration().names) {
      command_interfaces_.emplace_back("arm", name);
    }
    for (const auto & name : state_interface_configuration().names) {
      state_interfaces_.emplace_back("arm", name);
    }
    ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
  }
  /// As the manager does, which restarts a controller for that.
  void chain(bool flag)
  {
    on_deactivate({});
    in_chain = flag;
    on_activate({});
  }

  std::shared_ptr<StandInNode> node = std::make_shared<StandInNode>();
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  ordered_exported_reference_interfaces_;
  bool in_chain = false;
  unsigned update_rate = 1000;

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() = 0;
};

}  // namespace controller_interface

#define PLUGINLIB_EXPORT_CLASS(type, base) static_assert(std::is_base_of_v<base, type>);
