/*
 * A guard between the generated code and a drive: fade-in, watchdog, limits of torque and of its
 * rate. The code comes from
 *     hodyn generate --robot YOURS --prefix arm --gravity-argument
 *
 *     torque = g + w (Q - g) + w K (q_ref - q) + D (w qd_ref - qd)
 *
 * with Q the torque of the reference, g the weight at the measured position, and w from 0 to 1.
 * If signs of life stop, w fades to 0: the weight stays carried, and damping brings the arm to rest.
 */
#ifndef GUARDED_TORQUE_H
#define GUARDED_TORQUE_H

#include "arm.h"

#include <math.h>
#include <string.h>

#ifndef REAL
#define REAL double /* float for code that was generated with --float */
#endif

typedef struct {
    /* Yours to set. */
    REAL gravity[3];             /* m/s^2, base axes; 0 if the robot carries its weight itself */
    REAL stiffness[ARM_JOINTS];  /* K, N m/rad */
    REAL damping[ARM_JOINTS];    /* D, N m s/rad */
    REAL max_torque[ARM_JOINTS]; /* N m */
    REAL max_rate[ARM_JOINTS];   /* N m/s */
    REAL fade;                   /* s from none of the reference to all of it, and back */
    REAL timeout;                /* s without a sign of life */
    /* Read these. */
    REAL torque[ARM_JOINTS];     /* the command, N m */
    int expired;                 /* whether the time ran out; guarded_torque_start resets it */
    /* Internal. */
    REAL progress, silence;
} guarded_torque;

/* Begin with the torque that the drives give now, so that nothing jumps. */
static inline void guarded_torque_start(guarded_torque *guard, const REAL torque[ARM_JOINTS])
{
    memcpy(guard->torque, torque, sizeof guard->torque);
    guard->progress = guard->silence = 0;
    guard->expired = 0;
}

/* Call this at each sign of life from whatever commands the motion. */
static inline void guarded_torque_alive(guarded_torque *guard)
{
    guard->silence = 0;
}

/*
 * One cycle. Returns 1 with the new command in guard->torque, or 0 if a value is not finite, the
 * torque at the start included: then brake; guard->torque is unchanged.
 */
static inline int guarded_torque_step(
    guarded_torque *guard, REAL dt, const REAL q[ARM_JOINTS], const REAL qd[ARM_JOINTS],
    const REAL reference[5][ARM_JOINTS])
{
    REAL still[5][ARM_JOINTS], weight_torque[ARM_ORDER + 1][ARM_JOINTS];
    REAL moving[ARM_ORDER + 1][ARM_JOINTS], wanted[ARM_JOINTS], p, w;
    int i;

    guard->silence += dt;
    guard->expired |= guard->silence > guard->timeout;
    guard->progress += (guard->expired ? -dt : dt) / guard->fade;
    guard->progress = guard->progress < 0 ? 0 : guard->progress > 1 ? 1 : guard->progress;
    p = guard->progress;
    w = p * p * p * (10 + p * (6 * p - 15));

    memset(still, 0, sizeof still);
    memcpy(still[0], q, sizeof still[0]);
    arm_inverse_dynamics(ARM_CONST(still), guard->gravity, weight_torque);
    arm_inverse_dynamics(reference, guard->gravity, moving);
    for (i = 0; i < ARM_JOINTS; ++i) {
        wanted[i] = weight_torque[0][i] + w * (moving[0][i] - weight_torque[0][i])
            + w * guard->stiffness[i] * (reference[0][i] - q[i])
            + guard->damping[i] * (w * reference[1][i] - qd[i]);
        if (!isfinite(wanted[i]) || !isfinite(guard->torque[i])) {
            return 0;
        }
    }
    for (i = 0; i < ARM_JOINTS; ++i) {
        const REAL step = guard->max_rate[i] * dt, most = guard->max_torque[i];
        const REAL bounded = wanted[i] > most ? most : wanted[i] < -most ? -most : wanted[i];
        const REAL change = bounded - guard->torque[i];
        guard->torque[i] += change > step ? step : change < -step ? -step : change;
    }
    return 1;
}

#endif
