// @mark@: the controller.
#include "@package@/feedforward_controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace @package@
{

using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

namespace
{

constexpr double SHORTEST_PIECE = 1e-4;  // shortest time between points of a plan, s
constexpr int TRIES = 100;               // attempts to write at deactivation
constexpr auto RESTART = std::chrono::milliseconds(50);  // longest pause of a restart
constexpr auto REPEAT = std::chrono::seconds(1);  // between equal lines of the log
constexpr const char * QUANTITIES[] = {"position", "velocity", "acceleration", "jerk", "snap"};
constexpr const char * MOTOR_QUANTITIES[] = {"position", "velocity", "effort"};
constexpr const char * PARAMETERS[] = {@parameters@};
constexpr double TRACKING[] = {@tracking_row@};  // defaults of tracking_tolerance
constexpr std::size_t MOTOR_ROWS[] = {0, 1, 3};  // rows of robot::Motors that are commanded

/// Copy a parameter whose length has been checked; with `zero_is_none`, 0 means no limit.
/// Return whether all its values are finite.
bool copy(const std::vector<double> & values, Row & into, bool zero_is_none = false)
{
  for (std::size_t i = 0; i < robot::JOINTS; ++i) {
    const bool none = zero_is_none && values[i] == 0.0;
    into[i] = none ? std::numeric_limits<double>::infinity() : values[i];
  }
  return std::all_of(
    values.begin(), values.end(), [](double value) {return std::isfinite(value);});
}

/// Return how many letters must change to turn one word into another.
std::size_t distance(const std::string & a, const std::string & b)
{
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = corner + (a[i] != b[j]);
      corner = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, corner + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

FeedforwardController::CallbackReturn FeedforwardController::on_init()
{
  try {
    listener_ = std::make_shared<ParamListener>(get_node());
    params_ = listener_->get_params();
  } catch (const std::exception & fault) {
    RCLCPP_ERROR(get_node()->get_logger(), "parameters: %s", fault.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

FeedforwardController::CallbackReturn FeedforwardController::on_configure(
  const rclcpp_lifecycle::State &)
{
  params_ = listener_->get_params();
  if (const int test = robot::self_test()) {  // depends on compiler, flags and processor
    RCLCPP_ERROR(
      get_node()->get_logger(), "the dynamics are compiled wrong: their self-test fails at instant "
      "%d", test);
    return CallbackReturn::FAILURE;
  }
  const auto parameters = get_node()->get_node_parameters_interface();
  for (const auto & given : parameters->get_parameter_overrides()) {
    const std::string & name = given.first;
    const auto near = std::min_element(
      std::begin(PARAMETERS), std::end(PARAMETERS), [&name](const char * a, const char * b) {
        return distance(name, a) < distance(name, b);
      });
    if (name != *near && distance(name, *near) <= 2) {
      RCLCPP_WARN(
        get_node()->get_logger(), "parameter '%s' is unknown and has no effect; did you mean "
        "'%s'?", name.c_str(), *near);
    }
  }
  reference_.start_tolerance = params_.start_tolerance;
  reference_.transition = params_.transition_time;
  reference_.stop = params_.stop_time;
  reference_.silence = params_.reference_timeout;
  // Springs carry gravity and friction, even if the robot adds these to its torques.
  output_.gravity = params_.gravity || robot::MOTORS > 0;
  output_.friction = params_.friction || robot::MOTORS > 0;
  output_.fade = params_.fade_time;
  const bool finite = copy(params_.stiffness, output_.stiffness) &&
    copy(params_.damping, output_.damping) &&
    copy(params_.max_effort, output_.max_effort, true) &&
    copy(params_.max_effort_rate, output_.max_effort_rate, true);
  if (!finite) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "stiffness, damping, max_effort and max_effort_rate must be "
      "finite; 0 means no limit");
    return CallbackReturn::FAILURE;
  }
  // The bounds in parameters.yaml do not exclude NaN, since comparisons with it are false.
  const std::pair<const char *, double> scalars[] = {
    {"start_tolerance", params_.start_tolerance}, {"transition_time", params_.transition_time},
    {"stop_time", params_.stop_time}, {"fade_time", params_.fade_time},
    {"reference_timeout", params_.reference_timeout}};
  for (const auto & [name, value] : scalars) {
    if (!std::isfinite(value)) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s is %g; expected a finite number", name, value);
      return CallbackReturn::FAILURE;
    }
  }
  for (std::size_t i = 0; i < robot::JOINTS; ++i) {
    const double given = params_.tracking_tolerance[i];
    if (!std::isfinite(given) || (given < 0.0 && given != -1.0)) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "tracking_tolerance of %s is %g; expected -1 (no check), 0 (the "
        "default) or a finite number above 0", params_.joints[i].c_str(), given);
      return CallbackReturn::FAILURE;
    }
    tolerance_[i] = given > 0.0 ? given : given == 0.0 ? TRACKING[i] :
      std::numeric_limits<double>::infinity();
  }
  longest_step_ = std::max(0.01, 3.0 / std::max(1u, get_update_rate()));

  subscription_ = get_node()->create_subscription<Trajectory>(
    "~/joint_trajectory", rclcpp::SystemDefaultsQoS(),
    [this](const std::shared_ptr<const Trajectory> message) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const std::string fault = accept(*message);
      if (!fault.empty()) {
        RCLCPP_ERROR(get_node()->get_logger(), "joint_trajectory rejected: %s", fault.c_str());
      }
    });
  hold_ = get_node()->create_service<std_srvs::srv::Trigger>(
    "~/hold", [this](
      const std::shared_ptr<std_srvs::srv::Trigger::Request>,
      std::shared_ptr<std_srvs::srv::Trigger::Response> response) {
      response->success = active_;
      response->message = active_ ? "stopping" : "the controller is not active";
      stop_wanted_ = active_.load();
    });
  server_ = rclcpp_action::create_server<FollowTrajectory>(
    get_node(), "~/follow_joint_trajectory",
    [this](const rclcpp_action::GoalUUID &, std::shared_ptr<const FollowTrajectory::Goal> goal) {
      const std::lock_guard<std::mutex> lock(mutex_);
      watch();
      std::string fault;
      if (!active_ || goal_ || mode_ != Mode::HOLDING || is_in_chained_mode()) {
        fault = "the controller is not active, or the arm moves";
      } else {
        plan_of(goal->trajectory, fault);
      }
      if (fault.empty()) {
        return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
      }
      RCLCPP_ERROR(get_node()->get_logger(), "goal rejected: %s", fault.c_str());
      return rclcpp_action::GoalResponse::REJECT;
    },
    [this](const std::shared_ptr<Goal>) {
      stop_wanted_ = true;
      return rclcpp_action::CancelResponse::ACCEPT;
    },
    [this](const std::shared_ptr<Goal> goal) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const std::size_t activation = activation_;
      const std::string fault = accept(goal->get_goal()->trajectory);
      if (!fault.empty()) {
        auto result = std::make_shared<FollowTrajectory::Result>();
        result->error_code = FollowTrajectory::Result::INVALID_GOAL;
        result->error_string = fault;
        goal->abort(result);
        return;
      }
      goal_ = goal;
      goal_plan_ = &plans_.back();
      goal_activation_ = activation;
      goal_began_ = false;
    });
  timer_ = get_node()->create_wall_timer(
    std::chrono::milliseconds(10), [this]() {
      const std::lock_guard<std::mutex> lock(mutex_);
      watch();
    });
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration FeedforwardController::command_interface_configuration() const
{
  InterfaceConfiguration config{interface_configuration_type::INDIVIDUAL, {}};
  if (robot::MOTORS > 0) {
    for (const auto & motor : params_.motors) {
      for (const char * quantity : MOTOR_QUANTITIES) {
        config.names.push_back(params_.command_prefix + motor + "/" + quantity);
      }
    }
    return config;
  }
  for (const auto & joint : params_.joints) {
    config.names.push_back(
      params_.command_prefix + joint + "/" + hardware_interface::HW_IF_EFFORT);
  }
  return config;
}

InterfaceConfiguration FeedforwardController::state_interface_configuration() const
{
  InterfaceConfiguration config{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & joint : params_.joints) {
    config.names.push_back(joint + "/" + hardware_interface::HW_IF_POSITION);
    config.names.push_back(joint + "/" + hardware_interface::HW_IF_VELOCITY);
  }
  return config;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
FeedforwardController::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> list;
  for (std::int64_t row = 0; row <= params_.reference_order; ++row) {
    for (const auto & joint : params_.joints) {
      list.push_back(
        std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + joint, QUANTITIES[row]));
      (void)list.back()->set_value(std::numeric_limits<double>::quiet_NaN());
    }
  }
  return list;
}

FeedforwardController::CallbackReturn FeedforwardController::on_activate(
  const rclcpp_lifecycle::State &)
{
  if (!read()) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "a position or velocity of %s is missing or not finite: is the "
      "hardware active?", params_.joints[joints_[NO_STATE]].c_str());
    return CallbackReturn::FAILURE;
  }
  for (auto & one : ordered_exported_reference_interfaces_) {
    (void)one->set_value(std::numeric_limits<double>::quiet_NaN());
  }
  // A manager that puts this controller into a chain, or takes it out, restarts it, even in motion.
  const bool goes_on = std::chrono::steady_clock::now() - ended_ < RESTART;
  ++activation_;
  note_ends();
  if (const Plan * const plan = wanted_.exchange(nullptr)) {
    dropped_ = plan;
  }
  reference_.start(measured_.position, measured_.velocity);
  output_.start(reference_.motion(), goes_on);
  stateless_ = unwritten_ = 0.0;
  stop_wanted_ = false;
  mode_ = reference_.mode();
  active_ = true;
  (void)write();
  return CallbackReturn::SUCCESS;
}

FeedforwardController::CallbackReturn FeedforwardController::on_deactivate(
  const rclcpp_lifecycle::State &)
{
  active_ = false;
  ended_ = std::chrono::steady_clock::now();
  for (int k = 0; k < TRIES; ++k) {
    if (set_to_rest()) {
      return CallbackReturn::SUCCESS;
    }
  }
  RCLCPP_ERROR(get_node()->get_logger(), "a command stays as it was: its interface is in use");
  return CallbackReturn::ERROR;
}

/// Set torques to 0, since nothing supervises them any more. Motors hold the reference.
bool FeedforwardController::set_to_rest()
{
  bool written = true;
  if (robot::MOTORS > 0) {
    Motion still{};
    still[0] = reference_.motion()[0];
    output_.start(still);
    return write();
  }
  for (auto & command : command_interfaces_) {
    written = command.set_value(0.0) && written;
  }
  return written;
}

FeedforwardController::CallbackReturn FeedforwardController::on_cleanup(
  const rclcpp_lifecycle::State &)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  timer_.reset();
  finish_goal(End::RESTARTED);
  server_.reset();
  hold_.reset();
  subscription_.reset();
  for (auto * plan : {&wanted_, &followed_, &arrived_, &dropped_}) {
    *plan = nullptr;
  }
  plans_.clear();
  return CallbackReturn::SUCCESS;
}

bool FeedforwardController::read()
{
  Measured now;
  for (std::size_t i = 0; i < robot::JOINTS; ++i) {
    double * const into[] = {&now.position[i], &now.velocity[i]};
    for (std::size_t k = 0; k < 2; ++k) {
      const auto value = state_interfaces_[2 * i + k].get_optional();
      if (!value || !std::isfinite(*value)) {
        joints_[NO_STATE] = i;
        return false;
      }
      *into[k] = *value;
    }
  }
  measured_ = now;
  return true;
}

bool FeedforwardController::write()
{
  bool written = true;
  if (robot::MOTORS > 0) {
    std::size_t next = 0;
    for (std::size_t motor = 0; motor < robot::MOTORS; ++motor) {
      for (const std::size_t row : MOTOR_ROWS) {
        written = command_interfaces_[next++].set_value(output_.motors()[row][motor]) && written;
      }
    }
    return written;
  }
  for (std::size_t i = 0; i < robot::JOINTS; ++i) {
    written = command_interfaces_[i].set_value(output_.torque()[i]) && written;
  }
  return written;
}

/// Return the whole sample that the preceding controller sent in this cycle, or nullptr.
const Motion * FeedforwardController::sample()
{
  bool whole = true;
  for (std::size_t k = 0; k < ordered_exported_reference_interfaces_.size(); ++k) {
    auto & one = *ordered_exported_reference_interfaces_[k];
    const auto value = one.get_optional<double>();
    const double number = value.value_or(std::numeric_limits<double>::quiet_NaN());
    whole = whole && std::isfinite(number);
    sample_[k / robot::JOINTS][k % robot::JOINTS] = number;
    // NaN remains if the preceding controller sends no value in the next cycle.
    (void)one.set_value(std::numeric_limits<double>::quiet_NaN());
  }
  return whole ? &sample_ : nullptr;
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;
}

/// Stop, or begin a plan. A stop also drops the plan that waits.
void FeedforwardController::take_requests()
{
  const bool stop = stop_wanted_.exchange(false);
  const Plan * const plan = wanted_;
  if (stop) {
    reference_.come_to_rest();
  }
  if (plan == nullptr) {
    return;
  }
  if (!stop && !is_in_chained_mode() && reference_.follow(*plan)) {
    followed_ = plan;  // before `wanted_` is cleared, so that the plan is never forgotten
    mode_ = reference_.mode();
  } else {
    say(stop || is_in_chained_mode() ? DROPPED : TOO_FAR);
    dropped_ = plan;
  }
  wanted_ = nullptr;
}

/// Note that the followed plan is over: it has arrived, or was dropped.
void FeedforwardController::note_ends()
{
  if (const Plan * const plan = followed_) {
    (reference_.arrived() == plan ? arrived_ : dropped_) = plan;
    followed_ = nullptr;
  }
}

return_type FeedforwardController::update_and_write_commands(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  const double dt = std::clamp(period.seconds(), 0.0, longest_step_);
  stateless_ = read() ? 0.0 : stateless_ + dt;
  if (stateless_ > params_.reference_timeout) {
    say(NO_STATE, joints_[NO_STATE]);
    return return_type::ERROR;
  }
  take_requests();
  const Mode before = reference_.mode();
  const Motion * const now = is_in_chained_mode() ? sample() : nullptr;
  reference_.step(dt, now);
  if (now != nullptr && before == Mode::HOLDING && reference_.mode() == Mode::HOLDING) {
    say(CHAIN_TOO_FAR);
  }
  if (before == Mode::CHAIN && reference_.mode() == Mode::STOPPING) {
    say(SILENT);
  }
  for (std::size_t i = 0; i < robot::JOINTS; ++i) {
    const double distance = std::abs(reference_.motion()[0][i] - measured_.position[i]);
    if (distance > tolerance_[i] &&
      (reference_.mode() == Mode::PLAN || reference_.mode() == Mode::CHAIN))
    {
      say(DEPARTED, i);
      reference_.yield_to(measured_.position);
    }
  }
  if (!output_.step(reference_.motion(), measured_, dt)) {
    say(NOT_FINITE);
    return return_type::ERROR;
  }
  if (robot::MOTORS == 0 && output_.is_limited()) {
    say(LIMITED);
  }
  if (output_.stuck() != 0) {
    say(STUCK, static_cast<std::size_t>(output_.stuck()) - 1);
    reference_.come_to_rest();
  }
  mode_ = reference_.mode();
  if (reference_.mode() == Mode::HOLDING) {
    note_ends();
  }
  unwritten_ = write() ? 0.0 : unwritten_ + dt;
  if (unwritten_ > params_.reference_timeout) {
    say(UNWRITTEN);
    return return_type::ERROR;
  }
  return return_type::OK;
}

/// Count an event for the node's thread to log: the loop does not log.
void FeedforwardController::say(Event event, std::size_t joint)
{
  joints_[event] = joint;
  counts_[event].fetch_add(1);
}

/// Log the events of the loop, end goals, and forget plans that are over.
void FeedforwardController::watch()
{
  speak();
  if (goal_) {
    const bool active = active_ && activation_ == goal_activation_;
    goal_began_ = goal_began_ || followed_ == goal_plan_;
    if (arrived_ == goal_plan_) {
      finish_goal(End::SUCCEEDED);
    } else if (!active) {
      finish_goal(End::RESTARTED);
    } else if (dropped_ == goal_plan_) {
      finish_goal(
        goal_->is_canceling() ? End::CANCELED : goal_began_ ? End::STOPPED : End::NOT_BEGUN);
    }
  }
  plans_.remove_if(
    [this](const Plan & plan) {
      return &plan != wanted_ && &plan != followed_ && &plan != goal_plan_;
    });
}

/// Log the events of the loop, each at most once a second.
void FeedforwardController::speak()
{
  static constexpr const char * WORDS[] = {
    "",
    "the plan is not followed: it does not start where the arm is held, within start_tolerance",
    "the plan is not followed: a stop was requested, or the preceding controller is followed",
    "the preceding controller sends no sample that continues its motion: stopping",
    "the torque is cut by max_effort or max_effort_rate",
    "the preceding controller is not followed: its motion does not start where the arm is held, "
    "within start_tolerance, or has not paused since the stop",
    "the torque is not finite",
    "commands cannot be written: their interfaces are in use",
    " departed from the reference by more than tracking_tolerance: the arm is held where it is",
    ": its spring cannot give the torque of this motion: stopping",
    ": its position or velocity is missing or not finite"};
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t k = 1; k < EVENTS; ++k) {
    const std::size_t count = counts_[k];
    if (count != said_[k] && now - said_at_[k] > REPEAT) {
      said_[k] = count;
      said_at_[k] = now;
      RCLCPP_ERROR(
        get_node()->get_logger(), "%s%s", k < DEPARTED ? "" : params_.joints[joints_[k]].c_str(),
        WORDS[k]);
    }
  }
}

void FeedforwardController::finish_goal(End end)
{
  if (!goal_) {
    return;
  }
  auto result = std::make_shared<FollowTrajectory::Result>();
  if (end == End::SUCCEEDED) {
    result->error_code = FollowTrajectory::Result::SUCCESSFUL;
    goal_->succeed(result);
  } else if (end == End::CANCELED) {
    goal_->canceled(result);
  } else {
    const bool stopped = end == End::STOPPED;
    result->error_code = stopped ?
      FollowTrajectory::Result::PATH_TOLERANCE_VIOLATED : FollowTrajectory::Result::INVALID_GOAL;
    result->error_string = stopped ? "the plan was stopped: the log says why" :
      end == End::NOT_BEGUN ? "the plan was not begun: the log says why" :
      "the controller was deactivated";
    goal_->abort(result);
  }
  goal_.reset();
  goal_plan_ = nullptr;
}

/// Give a plan to the loop; return its fault, or an empty string.
std::string FeedforwardController::accept(const Trajectory & trajectory)
{
  if (trajectory.points.empty()) {
    stop_wanted_ = true;
    return "";
  }
  if (!active_) {
    return "the controller is not active";
  }
  if (is_in_chained_mode()) {
    return "the preceding controller is followed";
  }
  watch();
  if (mode_ != Mode::HOLDING || wanted_ != nullptr || goal_) {
    return "the arm moves: wait until it is at rest, or stop it by ~/hold";
  }
  const std::size_t activation = activation_;
  std::string fault;
  if (auto plan = plan_of(trajectory, fault)) {
    if (!active_ || activation != activation_) {
      return "the controller was restarted meanwhile";
    }
    plans_.push_back(std::move(*plan));
    const Plan * wish = &plans_.back();
    arrived_ = nullptr;
    dropped_ = nullptr;  // an earlier plan may have had this address
    wanted_ = wish;
    if (activation != activation_ && wanted_.compare_exchange_strong(wish, nullptr)) {
      return "the controller was restarted meanwhile";
    }
  }
  return fault;
}

std::optional<Plan> FeedforwardController::plan_of(
  const Trajectory & trajectory, std::string & fault) const
{
  std::array<std::size_t, robot::JOINTS> columns;
  for (std::size_t i = 0; i < robot::JOINTS; ++i) {
    const auto & names = trajectory.joint_names;
    const auto place = std::find(names.begin(), names.end(), params_.joints[i]);
    if (place == names.end() || names.size() != robot::JOINTS) {
      fault = "its joints must be exactly the controller's, which include " + params_.joints[i];
      return std::nullopt;
    }
    columns[i] = static_cast<std::size_t>(place - names.begin());
  }
  std::vector<double> times;
  std::vector<Row> positions;
  for (const auto & point : trajectory.points) {
    const double time = rclcpp::Duration(point.time_from_start).seconds();
    const std::string name = "point " + std::to_string(times.size());
    if (point.positions.size() != robot::JOINTS) {
      fault = name + ": " + std::to_string(point.positions.size()) + " positions";
      return std::nullopt;
    }
    Row row;
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      row[i] = point.positions[columns[i]];
      if (!std::isfinite(row[i])) {
        fault = name + ": the position of " + params_.joints[i] + " is not finite";
        return std::nullopt;
      }
    }
    if (!times.empty() && !(time >= times.back() + SHORTEST_PIECE)) {
      fault = name + ": its time is less than 0.1 ms after the time of the point before";
      return std::nullopt;
    }
    times.push_back(time);
    positions.push_back(row);
  }
  if (times.size() < 2) {
    fault = "expected two points or more, the first where the arm is held";
    return std::nullopt;
  }
  Plan plan(times, positions);
  if (const std::size_t piece = plan.first_overshoot(positions)) {
    fault = "between points " + std::to_string(piece - 1) + " and " + std::to_string(piece) +
      " the smooth curve through all points strays far from them: their times are too uneven for "
      "the digits of their positions; give fewer points, or more digits";
    return std::nullopt;
  }
  return plan;
}

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(
  @package@::FeedforwardController, controller_interface::ChainableControllerInterface)
