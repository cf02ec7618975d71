// @mark@: polynomials between states of motion.
#ifndef @PACKAGE@__POLYNOMIALS_HPP_
#define @PACKAGE@__POLYNOMIALS_HPP_

#include <algorithm>
#include <array>
#include <cstddef>

namespace @package@
{

/// One quantity and its derivatives to the fourth.
using State = std::array<double, 5>;

/// A polynomial in time, of degree 9 at most.
class Polynomial
{
public:
  static constexpr std::size_t SIZE = 10;

  /// Return the polynomial that has the first `left` entries of `start` at time 0 and the first
  /// `right` entries of `end` at time `duration`; left + right is SIZE at most.
  static Polynomial between(
    const State & start, std::size_t left, const State & end, std::size_t right, double duration)
  {
    // Newton's divided differences with repeated nodes, in the time u = t / duration.
    const std::size_t count = left + right;
    std::array<double, SIZE> start_terms{}, end_terms{};
    double power = 1.0;
    for (std::size_t k = 0; k < start.size(); ++k) {  // Taylor coefficients in u
      start_terms[k] = start[k] * power;
      end_terms[k] = end[k] * power;
      power *= duration / static_cast<double>(k + 1);
    }
    std::array<double, SIZE> column{}, newton{};
    for (std::size_t i = 0; i < count; ++i) {
      column[i] = i < left ? start_terms[0] : end_terms[0];
    }
    newton[0] = column[0];
    for (std::size_t k = 1; k < count; ++k) {
      for (std::size_t i = 0; i + k < count; ++i) {
        const bool at_start = i + k < left, at_end = i >= left;
        column[i] = at_start ? start_terms[k] : at_end ? end_terms[k] : column[i + 1] - column[i];
      }
      newton[k] = column[0];
    }
    Polynomial result;
    auto & c = result.coefficients_;
    for (std::size_t k = count; k-- > 0;) {  // c ← newton[k] + (u − node k) c
      const double node = k < left ? 0.0 : 1.0;
      for (std::size_t j = SIZE - 1; j > 0; --j) {
        c[j] = c[j - 1] - node * c[j];
      }
      c[0] = newton[k] - node * c[0];
    }
    result.inverse_ = 1.0 / duration;
    return result;
  }

  /// Return the polynomial that continues a state, and whose derivatives are 0 at time `duration`;
  /// its value there is free.
  static Polynomial stopping(const State & start, double duration)
  {
    const State rate{start[1], start[2], start[3], start[4], 0.0};
    const Polynomial speed = between(rate, 4, State{}, 4, duration);
    Polynomial result;
    result.inverse_ = speed.inverse_;
    result.coefficients_[0] = start[0];
    for (std::size_t k = 0; k + 1 < SIZE; ++k) {
      result.coefficients_[k + 1] =
        speed.coefficients_[k] * duration / static_cast<double>(k + 1);
    }
    return result;
  }

  /// Return value and derivatives at a time.
  State at(double time) const
  {
    const double u = time * inverse_;
    State result{};  // Horner's scheme for the Taylor coefficients
    for (std::size_t k = SIZE; k-- > 0;) {
      for (std::size_t j = result.size() - 1; j > 0; --j) {
        result[j] = result[j] * u + result[j - 1];
      }
      result[0] = result[0] * u + coefficients_[k];
    }
    double scale = 1.0;
    for (std::size_t j = 1; j < result.size(); ++j) {
      scale *= inverse_ * static_cast<double>(j);
      result[j] *= scale;
    }
    return result;
  }

private:
  std::array<double, SIZE> coefficients_{};
  double inverse_ = 1.0;  // 1/s
};

/// A quantity that comes to rest from a state. The initial velocity, acceleration and higher
/// derivatives vanish in separate times, so that a jerk is not integrated over the whole stop.
class Settling
{
public:
  /// Come to rest at any value.
  static Settling stopping(const State & start, double duration)
  {
    return Settling(start, duration, [](const State & part, double time) {
        return Polynomial::stopping(part, time);
      });
  }

  /// Come to rest at 0.
  static Settling vanishing(const State & start, double duration)
  {
    return Settling(start, duration, [](const State & part, double time) {
        return Polynomial::between(part, 5, State{}, 5, time);
      });
  }

  Settling() = default;

  /// Return value and derivatives at a time.
  State at(double time) const
  {
    State sum{};
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const bool over = time >= durations_[k];
      const State part = parts_[k].at(over ? durations_[k] : time);
      sum[0] += part[0];
      for (std::size_t j = 1; j < sum.size(); ++j) {
        sum[j] += over ? 0.0 : part[j];
      }
    }
    return sum;
  }

private:
  static constexpr double ACCELERATION_TIME = 0.1, JERK_TIME = 0.02;  // s at most

  template<typename Part>
  Settling(const State & start, double duration, Part part)
  : durations_{duration, std::min(duration, ACCELERATION_TIME), std::min(duration, JERK_TIME)},
    parts_{
      part(State{start[0], start[1], 0.0, 0.0, 0.0}, durations_[0]),
      part(State{0.0, 0.0, start[2], 0.0, 0.0}, durations_[1]),
      part(State{0.0, 0.0, 0.0, start[3], start[4]}, durations_[2])}
  {
  }

  std::array<double, 3> durations_{1.0, 1.0, 1.0};
  std::array<Polynomial, 3> parts_;
};

}  // namespace @package@

#endif
