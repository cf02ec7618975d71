/* What the loop needs from a board: write these functions for yours. */
#ifndef BOARD_H
#define BOARD_H

#include "arm.h"

void board_wait_for_tick(void);                /* returns each PERIOD, by a timer */
int board_overran(void);                       /* whether a tick came before the loop waited for it */
int board_read(float q[ARM_JOINTS], float qd[ARM_JOINTS], float torque[ARM_JOINTS]);
                                               /* rad, rad/s, N m; returns 0 if a sensor failed */
int board_goal(float goal[ARM_JOINTS]);        /* 1 if a message has come; the goal may be the same */
void board_write(const float torque[ARM_JOINTS]); /* to the current loops; feeds their watchdogs */
void board_brake(void);                        /* brakes on, drives off, until a reset */
int board_runs(void);                          /* 1; a simulated board returns 0 at its end */

#endif
