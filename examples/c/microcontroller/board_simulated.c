/*
 * A board with a simulated arm, with the dynamics of the generated code itself: M from the torques
 * of unit accelerations. Goals come for 4 s, then none, as when a cable breaks. Prints the results.
 */
#include "board.h"

#include <math.h>
#include <stdio.h>

#define PERIOD 0.001f
#define STEPS 10 /* of the simulation, in one period */

static const float GRAVITY[3] = {0.0f, -9.81f, 0.0f};
static float position[ARM_JOINTS], velocity[ARM_JOINTS], command[ARM_JOINTS];
static float error, speed, jump; /* largest error at rest at the goal, speed now, change of a command */
static long tick;

static void torque_of(const float acceleration[ARM_JOINTS], float torque[ARM_JOINTS])
{
    float q[5][ARM_JOINTS] = {{0}}, out[ARM_ORDER + 1][ARM_JOINTS];
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        q[0][i] = position[i];
        q[1][i] = velocity[i];
        q[2][i] = acceleration[i];
    }
    arm_inverse_dynamics(ARM_CONST(q), GRAVITY, out);
    for (i = 0; i < ARM_JOINTS; ++i) {
        torque[i] = out[0][i];
    }
}

/* M a = command - bias, by elimination: M is positive definite. */
static void accelerations(float a[ARM_JOINTS])
{
    float none[ARM_JOINTS] = {0}, bias[ARM_JOINTS], m[ARM_JOINTS][ARM_JOINTS], column[ARM_JOINTS];
    int i, j, k;
    torque_of(none, bias);
    for (j = 0; j < ARM_JOINTS; ++j) {
        float unit[ARM_JOINTS] = {0};
        unit[j] = 1.0f;
        torque_of(unit, column);
        for (i = 0; i < ARM_JOINTS; ++i) {
            m[i][j] = column[i] - bias[i];
        }
        a[j] = command[j] - bias[j];
    }
    for (k = 0; k < ARM_JOINTS; ++k) {
        for (i = k + 1; i < ARM_JOINTS; ++i) {
            const float part = m[i][k] / m[k][k];
            for (j = k; j < ARM_JOINTS; ++j) {
                m[i][j] -= part * m[k][j];
            }
            a[i] -= part * a[k];
        }
    }
    for (k = ARM_JOINTS - 1; k >= 0; --k) {
        for (j = k + 1; j < ARM_JOINTS; ++j) {
            a[k] -= m[k][j] * a[j];
        }
        a[k] /= m[k][k];
    }
}

static float goal_at(long when)
{
    return when < 500 ? 0.0f : when < 3000 ? 1.0f : -0.5f;
}

void board_wait_for_tick(void)
{
    int i, step;
    for (step = 0; step < STEPS; ++step) {
        float a[ARM_JOINTS];
        accelerations(a);
        for (i = 0; i < ARM_JOINTS; ++i) {
            velocity[i] += PERIOD / STEPS * a[i];
            position[i] += PERIOD / STEPS * velocity[i];
        }
    }
    speed = 0.0f;
    for (i = 0; i < ARM_JOINTS; ++i) {
        const float off = fabsf(position[i] - 1.0f);
        error = tick == 2900 && off > error ? off : error;
        speed = fabsf(velocity[i]) > speed ? fabsf(velocity[i]) : speed;
    }
    ++tick;
}

int board_overran(void)
{
    return 0;
}

int board_read(float q[ARM_JOINTS], float qd[ARM_JOINTS], float torque[ARM_JOINTS])
{
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        q[i] = position[i];
        qd[i] = velocity[i];
        torque[i] = command[i];
    }
    return 1;
}

int board_goal(float goal[ARM_JOINTS])
{
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        goal[i] = goal_at(tick);
    }
    return tick < 4000 && tick % 20 == 0;
}

void board_write(const float torque[ARM_JOINTS])
{
    int i;
    for (i = 0; i < ARM_JOINTS; ++i) {
        const float change = fabsf(torque[i] - command[i]);
        jump = change > jump ? change : jump;
        command[i] = torque[i];
    }
}

void board_brake(void)
{
    printf("off the goal by %.1e rad after the motion\n", (double)error);
    printf("largest change of a torque in a cycle: %.3f N m\n", (double)jump);
    printf("speed 6 s after messages ended in mid-motion: %.1e rad/s\n", (double)speed);
}

int board_runs(void)
{
    return tick < 10000;
}
