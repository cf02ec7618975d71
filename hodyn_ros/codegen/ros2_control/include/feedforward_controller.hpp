// @mark@: the controller.
#ifndef @PACKAGE@__FEEDFORWARD_CONTROLLER_HPP_
#define @PACKAGE@__FEEDFORWARD_CONTROLLER_HPP_

#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "@package@/feedforward_parameters.hpp"
#include "@package@/output.hpp"
#include "@package@/reference.hpp"

namespace @package@
{

/// Feed-forward of @robot@, whose dynamics are compiled in. README.md names the manual.
///
/// `update_and_write_commands` runs in the control loop and allocates nothing. The
/// callbacks run in the node's thread, and share only atomic values with the loop.
class FeedforwardController : public controller_interface::ChainableControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using Trajectory = trajectory_msgs::msg::JointTrajectory;
  using FollowTrajectory = control_msgs::action::FollowJointTrajectory;
  using Goal = rclcpp_action::ServerGoalHandle<FollowTrajectory>;

  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;

private:
  /// Events of the loop, in the order of WORDS in `speak`; from DEPARTED on, they name a joint.
  enum Event {
    NOTHING, TOO_FAR, DROPPED, SILENT, LIMITED, CHAIN_TOO_FAR, NOT_FINITE, UNWRITTEN, DEPARTED,
    STUCK, NO_STATE, EVENTS};

  bool read();
  bool write();
  bool set_to_rest();
  const Motion * sample();
  void take_requests();
  void note_ends();
  void say(Event event, std::size_t joint = 0);
  void watch();
  void speak();
  std::string accept(const Trajectory & trajectory);
  std::optional<Plan> plan_of(const Trajectory & trajectory, std::string & fault) const;
  enum class End {SUCCEEDED, CANCELED, STOPPED, NOT_BEGUN, RESTARTED};
  void finish_goal(End end);

  std::shared_ptr<ParamListener> listener_;
  Params params_;
  Reference reference_;
  Output output_;
  Measured measured_;
  Motion sample_{};
  Row tolerance_{};
  double stateless_ = 0.0, unwritten_ = 0.0;  // s since the last complete read and write
  double longest_step_ = 0.01;                // largest step of one cycle, s
  std::chrono::steady_clock::time_point ended_{};  // end of the last activation

  // Shared with the loop. A plan is wanted, then followed, and finally arrived or dropped.
  std::atomic<const Plan *> wanted_{nullptr}, followed_{nullptr}, arrived_{nullptr},
    dropped_{nullptr};
  std::atomic<bool> stop_wanted_{false}, active_{false};
  std::atomic<std::size_t> activation_{0};
  std::atomic<Mode> mode_{Mode::HOLDING};
  std::array<std::atomic<std::size_t>, EVENTS> counts_{}, joints_{};

  // Used by the node's callbacks and by clean-up (perhaps in another thread), never by the loop.
  std::mutex mutex_;
  std::array<std::size_t, EVENTS> said_{};
  std::array<std::chrono::steady_clock::time_point, EVENTS> said_at_{};
  std::list<Plan> plans_;
  std::shared_ptr<Goal> goal_;
  const Plan * goal_plan_ = nullptr;
  std::size_t goal_activation_ = 0;
  bool goal_began_ = false;
  rclcpp::Subscription<Trajectory>::SharedPtr subscription_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr hold_;
  rclcpp_action::Server<FollowTrajectory>::SharedPtr server_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace @package@

#endif
