/*
 * The torque on a drive's own processor: one loop, no operating system, single precision.
 *
 * Each message carries a goal and is a sign of life; the arm moves to a new goal from rest to rest.
 * The Makefile builds it for this machine, with a simulated arm, or for a Cortex-M4F.
 */
#define REAL float
#include "../guarded_torque.h"
#include "../rest_to_rest.h"
#include "board.h"

#define PERIOD 0.001f   /* s */
#define DURATION 2.0f   /* s of a motion; plan it so that it is within your limits */

static guarded_torque guard = {
    .gravity = {0.0f, -9.81f, 0.0f}, /* twolink moves in a vertical x-y plane */
    .fade = 0.25f,
    .timeout = 0.1f,
};
static rest_to_rest motion;

int main(void)
{
    float q[ARM_JOINTS], qd[ARM_JOINTS], torque[ARM_JOINTS], goal[ARM_JOINTS];
    float reference[5][ARM_JOINTS];
    int i;

#ifndef ARM_NO_SELF_TEST
    if (arm_self_test() != 0) { /* tests compiler, flags and processor, once at the start */
        board_brake();
        return 1;
    }
#endif
    for (i = 0; i < ARM_JOINTS; ++i) {
        guard.stiffness[i] = 100.0f;
        guard.damping[i] = 10.0f;
        guard.max_torque[i] = 50.0f;
        guard.max_rate[i] = 1000.0f;
    }
    if (!board_read(q, qd, torque)) {
        board_brake();
        return 1;
    }
    guarded_torque_start(&guard, torque);
    for (i = 0; i < ARM_JOINTS; ++i) {
        motion.from[i] = motion.to[i] = q[i];
    }
    motion.duration = DURATION;
    motion.time = DURATION;

    while (board_runs()) {
        board_wait_for_tick();
        if (!board_read(q, qd, torque) || board_overran()) {
            break;
        }
        if (board_goal(goal)) {
            guarded_torque_alive(&guard);
            /* A goal that comes in motion waits until the arm rests; plan better if you can. */
            if (motion.time >= motion.duration && memcmp(goal, motion.to, sizeof goal) != 0) {
                memcpy(motion.from, motion.to, sizeof motion.from);
                memcpy(motion.to, goal, sizeof motion.to);
                motion.time = 0.0f;
            }
        }
        rest_to_rest_step(&motion, PERIOD, reference);
        if (!guarded_torque_step(&guard, PERIOD, q, qd, ARM_CONST(reference))) {
            break;
        }
        board_write(guard.torque);
    }
    board_brake();
    return 0;
}
