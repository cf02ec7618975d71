/* A board that does nothing: put yours in its place. It shows the memory that the loop takes. */
#include "board.h"

static volatile float sensors[3][ARM_JOINTS], drives[ARM_JOINTS];

void board_wait_for_tick(void)
{
}

int board_overran(void)
{
    return 0;
}

int board_read(float q[ARM_JOINTS], float qd[ARM_JOINTS], float torque[ARM_JOINTS])
{
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        q[i] = sensors[0][i];
        qd[i] = sensors[1][i];
        torque[i] = sensors[2][i];
    }
    return 1;
}

int board_goal(float goal[ARM_JOINTS])
{
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        goal[i] = 0.0f;
    }
    return 1;
}

void board_write(const float torque[ARM_JOINTS])
{
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        drives[i] = torque[i];
    }
}

void board_brake(void)
{
}

int board_runs(void)
{
    return 1;
}
