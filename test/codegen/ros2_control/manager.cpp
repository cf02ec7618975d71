// Does what lines on standard input say with the generated controller, as a controller manager
// with an arm that follows its reference exactly would, and prints each command that it sends.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <new>
#include <sstream>

#include "@package@/feedforward_controller.hpp"

using namespace @package@;

static bool watched = false;
static long allocations = 0;

void * operator new(std::size_t size)
{
  allocations += watched;
  if (void * const memory = std::malloc(size)) {return memory;}
  throw std::bad_alloc();
}
void operator delete(void * memory) noexcept {std::free(memory);}
void operator delete(void * memory, std::size_t) noexcept {std::free(memory);}

int main()
{
  constexpr std::size_t N = robot::JOINTS;
  FeedforwardController controller;
  using Goal = FeedforwardController::Goal;
  std::shared_ptr<Goal> goal;
  std::vector<double> sample;
  std::cout.precision(17);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  auto said = [](const char * what, controller_interface::CallbackReturn result) {
      std::cout << what << ": " << (result == controller_interface::CallbackReturn::SUCCESS ?
        "success" : "error") << std::endl;
    };
  auto trajectory = [&](std::istringstream & in) {
      FeedforwardController::Trajectory message;
      std::size_t count;
      in >> count;
      for (std::size_t i = 0; i < N; ++i) {
        std::string name;
        in >> name;
        message.joint_names.push_back(name);
      }
      for (std::size_t k = 0; k < count; ++k) {
        double time;
        in >> time;
        message.points.emplace_back();
        auto & point = message.points.back();
        point.time_from_start.sec = static_cast<int>(time);
        point.time_from_start.nanosec = static_cast<unsigned>(
          std::lround((time - std::floor(time)) * 1e9));
        for (std::size_t i = 0; i < N; ++i) {
          std::string number;
          in >> number;
          point.positions.push_back(std::stod(number));
        }
      }
      return message;
    };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "init") {
      said("init", controller.on_init());
    } else if (word == "set") {
      std::string name;
      in >> name;
      std::vector<double> numbers;
      for (std::string number; in >> number;) {numbers.push_back(std::stod(number));}
      chosen.set(name, numbers);
    } else if (word == "given") {
      for (std::string name; in >> name;) {
        controller.get_node()->parameters.overrides.emplace_back(name, 0);
      }
    } else if (word == "configure") {
      said("configure", controller.on_configure({}));
      controller.claim();
    } else if (word == "activate") {
      said("activate", controller.on_activate({}));
    } else if (word == "deactivate") {
      said("deactivate", controller.on_deactivate({}));
      for (const auto & one : controller.command_interfaces_) {std::cout << *one.value << " ";}
      std::cout << std::endl;
    } else if (word == "names") {
      for (const auto & one : controller.command_interfaces_) {std::cout << one.name << " ";}
      for (const auto & one : controller.state_interfaces_) {std::cout << one.name << " ";}
      for (const auto & one : controller.ordered_exported_reference_interfaces_) {
        std::cout << one->name << " ";
      }
      std::cout << std::endl;
    } else if (word == "state") {
      for (std::size_t k = 0; k < 2 * N; ++k) {
        std::string number;
        in >> number;
        *controller.state_interfaces_[k % N * 2 + k / N].value = std::stod(number);
      }
    } else if (word == "trajectory") {
      controller.node->trajectory->take(
        std::make_shared<const FeedforwardController::Trajectory>(trajectory(in)));
    } else if (word == "goal") {
      auto wish = std::make_shared<FeedforwardController::FollowTrajectory::Goal>();
      wish->trajectory = trajectory(in);
      const auto answer = controller.node->server->goal({}, wish);
      const bool taken = answer == rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
      std::cout << "goal: " << (taken ? "accepted" : "rejected") << std::endl;
      if (taken) {
        goal = std::make_shared<Goal>();
        goal->goal = wish;
        controller.node->server->accepted(goal);
      }
    } else if (word == "cancel") {
      goal->canceling = controller.node->server->cancel(goal) ==
        rclcpp_action::CancelResponse::ACCEPT;
    } else if (word == "hold") {
      auto response = std::make_shared<std_srvs::srv::Trigger::Response>();
      controller.node->hold->call(std::make_shared<std_srvs::srv::Trigger::Request>(), response);
      std::cout << "hold: " << response->success << " " << response->message << std::endl;
    } else if (word == "rate") {
      in >> controller.update_rate;
    } else if (word == "busy") {  // whoever else has the interface of the first command
      in >> controller.command_interfaces_[0].busy;
    } else if (word == "chain") {
      bool flag;
      in >> flag;
      controller.chain(flag);
    } else if (word == "sample") {
      sample.clear();
      for (double number; in >> number;) {sample.push_back(number);}
    } else if (word == "cycle") {
      double dt;
      int count;
      in >> dt >> count;
      for (int k = 0; k < count; ++k) {
        for (std::size_t i = 0; i < sample.size(); ++i) {
          *controller.ordered_exported_reference_interfaces_[i]->value = sample[i];
        }
        sample.clear();
        watched = true;
        const auto result = controller.update(dt);
        watched = false;
        std::cout << "cycle: " << (result == controller_interface::return_type::OK);
        for (const auto & one : controller.command_interfaces_) {std::cout << " " << *one.value;}
        std::cout << std::endl;
        if (k % 10 == 0) {controller.node->timer->run();}
      }
    }
  }
  std::cout << "allocations: " << allocations << std::endl;
}
