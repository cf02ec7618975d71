// Does what lines on standard input say with reference and output, and prints motion and torque of
// each cycle; the arm is where the reference is.
#include <cmath>
#include <iostream>
#include <limits>
#include <list>
#include <sstream>
#include <string>

#include "@package@/output.hpp"

using namespace @package@;

int main()
{
  Reference reference;
  Output output;
  std::list<Plan> plans;
  Motion sample{};
  const Motion * given = nullptr;  // for the next step
  output.max_effort.fill(std::numeric_limits<double>::infinity());
  output.max_effort_rate = output.max_effort;
  std::cout.precision(17);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "hold") {
      Row row;
      for (double & number : row) {in >> number;}
      reference.hold(row);
      output.start(reference.motion());
    } else if (word == "plan") {
      std::size_t count;
      in >> count;
      std::vector<double> times(count);
      std::vector<Row> positions(count);
      for (std::size_t k = 0; k < count; ++k) {
        in >> times[k];
        for (double & number : positions[k]) {in >> number;}
      }
      plans.emplace_back(times, positions);
      reference.follow(plans.back());
    } else if (word == "stop") {
      reference.come_to_rest();
    } else if (word == "yield") {
      Row row;
      for (double & number : row) {in >> number;}
      reference.yield_to(row);
    } else if (word == "limits") {
      for (Row * row : {&output.max_effort, &output.max_effort_rate}) {
        for (double & number : *row) {in >> number;}
      }
    } else if (word == "sample") {
      for (Row & row : sample) {
        for (double & number : row) {in >> number;}
      }
      given = &sample;
    } else if (word == "step") {
      double dt;
      int count;
      in >> dt >> count;
      for (int k = 0; k < count; ++k) {
        reference.step(dt, given);
        given = nullptr;
        const Motion & motion = reference.motion();
        output.step(motion, {motion[0], motion[1]}, dt);
        std::cout << static_cast<int>(reference.mode());
        for (const Row & row : motion) {
          for (double number : row) {std::cout << " " << number;}
        }
        for (const Row & row : output.feed_forward()) {
          for (double number : row) {std::cout << " " << number;}
        }
        for (double number : output.torque()) {std::cout << " " << number;}
        for (const auto & row : output.motors()) {
          for (double number : row) {std::cout << " " << number;}
        }
        std::cout << "\n";
      }
    }
  }
}
