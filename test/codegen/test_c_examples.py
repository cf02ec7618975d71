"""The skeletons of controllers: the microcontroller's runs here, with a simulated arm."""
from pathlib import Path
import re
import shutil
import subprocess

from compiled_c import CC, STRICT
import numpy as np
import pytest

import hodyn_ros as hd

EXAMPLES = Path(__file__).parents[2] / 'examples' / 'c'
pytestmark = pytest.mark.skipif(CC is None, reason='no C compiler here')


@pytest.fixture
def built(tmp_path):
    """Return a function that compiles sources with generated code of twolink, and runs them."""
    hd.generate_c(
        hd.load_robot('twolink'), tmp_path / 'arm', prefix='arm', single_precision=True,
        gravity_argument=True)

    def run(*sources):
        subprocess.run(
            [CC, *STRICT, '-Wdouble-promotion', '-O1', '-I', tmp_path / 'arm', '-I', EXAMPLES,
             '-o', tmp_path / 'program', *sources, tmp_path / 'arm' / 'arm.c', '-lm'], check=True)
        return subprocess.run(
            [tmp_path / 'program'], capture_output=True, text=True, check=True, timeout=60).stdout

    return run


def test_the_loop_goes_to_its_goal_and_rests_when_messages_cease_in_motion(built):
    loop = EXAMPLES / 'microcontroller'
    printed = built(loop / 'main.c', loop / 'board_simulated.c')
    error, jump, speed = map(float, re.findall(r'\d+\.\d+(?:e[+-]\d+)?', printed))
    assert error < 1e-3
    assert jump <= 1.001  # N m in a millisecond, of 1000 N m/s; the weight comes in by it
    assert speed < 1e-3


def test_what_is_not_finite_ends_the_loop_and_leaves_the_command(built, tmp_path):
    program = tmp_path / 'guard.c'
    program.write_text("""\
#define REAL float
#include "guarded_torque.h"
#include <stdio.h>
int main(void)
{
    guarded_torque guard = {{0, -9.81f, 0}, {100, 100}, {1, 1}, {50, 0.5f}, {1e3f, 1e3f},
                            0.1f, 0.05f, {0, 0}, 0, 0, 0};
    const float start[2] = {3, 0}, still[2] = {0, 0}, wrong[2] = {0, NAN};
    const float reference[5][2] = {{0}}, unreal[5][2] = {{INFINITY}};
    int i;
    guarded_torque_start(&guard, start);
    for (i = 0; i < 40; ++i) {
        printf("%d ", guarded_torque_step(&guard, 0.001f, still, still, reference));
    }
    printf("| %g %g %d ", (double)guard.torque[0], (double)guard.torque[1], guard.expired);
    printf("| %d", guarded_torque_step(&guard, 0.001f, wrong, still, reference));
    printf("%d", guarded_torque_step(&guard, 0.001f, still, wrong, reference));
    printf("%d ", guarded_torque_step(&guard, 0.001f, still, still, unreal));
    printf("| %g %g ", (double)guard.torque[0], (double)guard.torque[1]);
    for (i = 0; i < 40; ++i) {
        guarded_torque_step(&guard, 0.001f, still, still, reference);
    }
    guarded_torque_alive(&guard);
    guarded_torque_step(&guard, 0.001f, still, still, reference);
    printf("| %d", guard.expired);
    guarded_torque_start(&guard, wrong);
    printf("| %d", guarded_torque_step(&guard, 0.001f, still, still, reference));
    printf(" %g", (double)guard.torque[0]);
    return 0;
}
""")
    steps, command, wrong, left, expired, started = built(program).split('|')
    assert set(steps.split()) == {'1'}
    first, second, early = map(float, command.split())
    weight = hd.inverse_dynamics(hd.load_robot('twolink'), np.zeros((3, 2)))[0]
    assert first == pytest.approx(weight[0], rel=1e-5)
    assert second == 0.5 < weight[1]
    assert not early
    assert wrong.strip() == '000'
    assert tuple(map(float, left.split())) == (first, second)
    assert expired.strip() == '1'  # and stays so, whatever is heard later
    assert started.split() == ['0', '0']  # a torque that was never measured is not gone on from


@pytest.mark.skipif(shutil.which('make') is None, reason='no make here')
def test_another_robot_gets_code_of_its_own(tmp_path):
    folder = tmp_path / 'microcontroller'
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / 'hodyn').write_text(
        'for folder; do :; done\nmkdir -p "$folder" && touch "$folder/arm.c"\n')

    def make(*arguments):
        return subprocess.run(
            ['make', '-C', folder, 'HODYN=sh ../hodyn', 'CC=true', *arguments],
            capture_output=True, text=True, timeout=60).stdout

    assert '--robot twolink' in make('run')
    assert '--robot' not in make('--dry-run', 'size')
    assert '--robot panda' in make('--dry-run', 'size', 'ROBOT=panda')
    assert '--robot ../my.yaml' in make('--dry-run', 'size', 'ROBOT=../my.yaml')
