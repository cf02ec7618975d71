// @mark@: a plan, continuous to the fourth derivative.
#ifndef @PACKAGE@__PLAN_HPP_
#define @PACKAGE@__PLAN_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "@package@/polynomials.hpp"
#include "@package@/robot.hpp"

namespace @package@
{

using Row = std::array<double, robot::JOINTS>;

/// Positions and their derivatives to the fourth, one row each.
using Motion = std::array<Row, 5>;

/// A motion from rest to rest through points: the spline of degree 5 through them, whose first and
/// last pieces have a higher degree, so that jerk and snap are 0 at both ends as well.
class Plan
{
public:
  /// Times (s, increasing) and positions of two points or more.
  Plan(const std::vector<double> & times, const std::vector<Row> & positions)
  : times_(times), pieces_(times.size() - 1)
  {
    const std::vector<Rates> rates = solve(positions);
    const std::size_t last = pieces_.size() - 1;
    for (std::size_t k = 0; k <= last; ++k) {
      for (std::size_t i = 0; i < robot::JOINTS; ++i) {
        const State start{positions[k][i], rates[k][0][i], rates[k][1][i], 0.0, 0.0};
        const State end{positions[k + 1][i], rates[k + 1][0][i], rates[k + 1][1][i], 0.0, 0.0};
        pieces_[k][i] = Polynomial::between(
          start, conditions(k == 0), end, conditions(k == last), times[k + 1] - times[k]);
      }
    }
  }

  /// Return the number, from 1, of the first piece that strays far from its two points, or 0. It
  /// does if its middle is off their centre by more than twice the steps of the five nearest
  /// pieces.
  std::size_t first_overshoot(const std::vector<Row> & positions) const
  {
    const std::size_t last = pieces_.size() - 1;
    for (std::size_t k = 0; k <= last; ++k) {
      const double middle = 0.5 * (times_[k + 1] - times_[k]);
      for (std::size_t i = 0; i < robot::JOINTS; ++i) {
        double steps = 1e-6;  // rad or m
        for (std::size_t j = k > 1 ? k - 2 : 0; j <= std::min(k + 2, last); ++j) {
          steps += std::abs(positions[j + 1][i] - positions[j][i]);
        }
        const double value = pieces_[k][i].at(middle)[0];
        const double centre = 0.5 * (positions[k][i] + positions[k + 1][i]);
        if (!(std::abs(value - centre) <= 2.0 * steps)) {
          return k + 1;
        }
      }
    }
    return 0;
  }

  double duration() const {return times_.back() - times_.front();}

  /// Write the motion at a time since the first point; at rest before and after.
  void at(double time, Motion & motion) const
  {
    const double clamped = std::clamp(time, 0.0, duration()) + times_.front();
    const auto after = std::upper_bound(times_.begin() + 1, times_.end() - 1, clamped);
    const std::size_t k = static_cast<std::size_t>(after - times_.begin()) - 1;
    const bool moves = time > 0.0 && time < duration();
    for (std::size_t i = 0; i < robot::JOINTS; ++i) {
      const State state = pieces_[k][i].at(clamped - times_[k]);
      motion[0][i] = state[0];
      for (std::size_t j = 1; j < state.size(); ++j) {
        motion[j][i] = moves ? state[j] : 0.0;
      }
    }
  }

private:
  using Rates = std::array<Row, 2>;  // velocities and accelerations at a point
  using Block = std::array<std::array<double, 2>, 2>;

  static std::size_t conditions(bool at_rest) {return at_rest ? 5 : 3;}

  /// Return jerk and snap at the start (or end) of a piece.
  static std::array<double, 2> bends(
    const State & start, bool first, const State & end, bool last, double duration, bool at_end)
  {
    const State state = Polynomial::between(
      start, conditions(first), end, conditions(last), duration).at(at_end ? duration : 0.0);
    return {state[3], state[4]};
  }

  /// Return velocities and accelerations at all points from the continuity of jerk and snap.
  std::vector<Rates> solve(const std::vector<Row> & positions) const
  {
    const std::size_t last = pieces_.size() - 1;
    std::vector<Rates> rates(positions.size());
    std::vector<Block> upper(positions.size());
    for (std::size_t k = 1; k <= last; ++k) {  // block elimination, one row per point
      const double before = times_[k] - times_[k - 1], after = times_[k + 1] - times_[k];
      const bool first = k == 1, final = k == last;
      Block lower{}, middle{};
      for (std::size_t c = 0; c < 2; ++c) {
        State one{};
        one[c + 1] = 1.0;
        const auto left = bends(one, first, State{}, false, before, true);
        const auto here = bends(State{}, first, one, false, before, true);
        const auto there = bends(one, false, State{}, final, after, false);
        const auto right = bends(State{}, false, one, final, after, false);
        for (std::size_t r = 0; r < 2; ++r) {
          lower[r][c] = first ? 0.0 : left[r];
          middle[r][c] = here[r] - there[r];
          upper[k][r][c] = final ? 0.0 : -right[r];
        }
      }
      subtract(middle, lower, upper[k - 1]);
      const Block inverse = inverted(middle);
      upper[k] = product(inverse, upper[k]);
      for (std::size_t i = 0; i < robot::JOINTS; ++i) {
        const State a{positions[k - 1][i]}, b{positions[k][i]}, c{positions[k + 1][i]};
        const auto in = bends(a, first, b, false, before, true);
        const auto out = bends(b, false, c, final, after, false);
        std::array<double, 2> rest{out[0] - in[0], out[1] - in[1]};
        for (std::size_t r = 0; r < 2; ++r) {
          rest[r] -= lower[r][0] * rates[k - 1][0][i] + lower[r][1] * rates[k - 1][1][i];
        }
        rates[k][0][i] = inverse[0][0] * rest[0] + inverse[0][1] * rest[1];
        rates[k][1][i] = inverse[1][0] * rest[0] + inverse[1][1] * rest[1];
      }
    }
    for (std::size_t k = last; k-- > 1;) {
      for (std::size_t i = 0; i < robot::JOINTS; ++i) {
        const double v = rates[k + 1][0][i], a = rates[k + 1][1][i];
        rates[k][0][i] -= upper[k][0][0] * v + upper[k][0][1] * a;
        rates[k][1][i] -= upper[k][1][0] * v + upper[k][1][1] * a;
      }
    }
    return rates;
  }

  static Block inverted(const Block & m)
  {
    const double d = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    return {{{m[1][1] / d, -m[0][1] / d}, {-m[1][0] / d, m[0][0] / d}}};
  }

  static Block product(const Block & a, const Block & b)
  {
    Block result{};
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t c = 0; c < 2; ++c) {
        result[r][c] = a[r][0] * b[0][c] + a[r][1] * b[1][c];
      }
    }
    return result;
  }

  static void subtract(Block & from, const Block & a, const Block & b)
  {
    const Block term = product(a, b);
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t c = 0; c < 2; ++c) {
        from[r][c] -= term[r][c];
      }
    }
  }

  std::vector<double> times_;
  std::vector<std::array<Polynomial, robot::JOINTS>> pieces_;
};

}  // namespace @package@

#endif
