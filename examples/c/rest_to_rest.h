/*
 * A motion from rest to rest, with all derivatives that the torque and its two rates need: the
 * polynomial of degree 9 whose first four derivatives are 0 at both ends. Put your own reference in
 * its place.
 */
#ifndef REST_TO_REST_H
#define REST_TO_REST_H

#include "arm.h"

#ifndef REAL
#define REAL double
#endif

typedef struct {
    REAL from[ARM_JOINTS], to[ARM_JOINTS]; /* rad or m */
    REAL duration;                         /* s */
    REAL time;                             /* s since it began */
} rest_to_rest;

/* Writes position, velocity, acceleration, jerk and snap, and advances by dt. */
static inline void rest_to_rest_step(rest_to_rest *motion, REAL dt, REAL q[5][ARM_JOINTS])
{
    static const REAL coefficients[10] = {0, 0, 0, 0, 0, 126, -420, 540, -315, 70};
    const REAL s = motion->time < motion->duration ? motion->time / motion->duration : (REAL)1;
    REAL scale = 1;
    int i, j, k;
    for (k = 0; k < 5; ++k) {
        REAL part = 0; /* the k-th derivative of the polynomial, by Horner's scheme */
        for (j = 9; j >= k; --j) {
            REAL factor = coefficients[j];
            for (i = 0; i < k; ++i) {
                factor *= (REAL)(j - i);
            }
            part = part * s + factor;
        }
        for (i = 0; i < ARM_JOINTS; ++i) {
            q[k][i] = (k == 0 ? motion->from[i] : (REAL)0)
                + (motion->to[i] - motion->from[i]) * part * scale;
        }
        scale /= motion->duration;
    }
    motion->time += dt;
}

#endif
