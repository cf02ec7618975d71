// Prints what the plugin of inverse_dynamics_solver returns for motions on standard input.
#include <iostream>

#include "src/inverse_dynamics_solver.cpp"

int main()
{
  @package@::InverseDynamicsSolver solver;
  solver.initialize(nullptr, "", "");
  constexpr Eigen::Index N = @package@::robot::JOINTS;
  std::cout.precision(17);
  Eigen::VectorXd q(N), qd(N), qdd(N);
  for (Eigen::VectorXd * row : {&q, &qd, &qdd}) {
    for (Eigen::Index i = 0; i < N; ++i) {std::cin >> (*row)[i];}
  }
  std::cout << solver.getTorques(q, qd, qdd).transpose() << "\n"
            << solver.getGravityVector(q).transpose() << "\n"
            << solver.getCoriolisVector(q, qd).transpose() << "\n"
            << solver.getFrictionVector(qd).transpose() << "\n"
            << solver.getInertiaMatrix(q) << "\n";
  try {
    solver.getGravityVector(qd.head(1));
  } catch (const std::invalid_argument & fault) {
    std::cout << fault.what() << "\n";
  }
}
