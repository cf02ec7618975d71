"""Generated C against the library: robots, options, compilers, sanitizers, times. By hand.

``python tools/c_acceptance.py --motions 10000`` compiles each variant without a warning, runs
its self-test, compares it with the kernels on random motions, and at order 2 and with motors runs
it under the address and undefined-behaviour sanitizers. Prints a line for each variant; exit code
1 when one is further off than it may be.
"""
import argparse
from dataclasses import replace
import itertools
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
import time

from compiled_c import STRICT, compiled, furthest
import numpy as np
from random_robots import random_mapping

import hodyn_ros as hd
from hodyn_ros.actuators import CubicSpring, TabulatedSpring
from hodyn_ros.codegen.self_test import samples
from hodyn_ros.simulation.examples import with_example_actuators

BOUNDS = {False: 1e-12, True: 1e-4}
SANITIZERS = (
    '-g', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all',
    '-fno-omit-frame-pointer')
SIZES = np.array([1.5, 1.0, 5.0, 30.0, 200.0, 1e3, 1e4])
DRIVER = """\
#include "{prefix}.h"
#include <stdio.h>
#include <time.h>

int main(int count, char **unused)
{{
    static {number} q[{rows}][{upper}_JOINTS], torque[{upper}_ORDER + 1][{upper}_JOINTS];
    const clock_t start = clock();
    long i, calls = count > 1 ? 200000 : 0;
    (void)unused;
    if ({prefix}_self_test() != 0) {{
        return 1;
    }}
    while (fread(q, sizeof q, 1, stdin) == 1) {{
        {prefix}_inverse_dynamics({upper}_CONST(q), torque);
        if (calls == 0 && fwrite(torque, sizeof torque, 1, stdout) != 1) {{
            return 2;
        }}
    }}
    for (i = 0; i < calls; ++i) {{
        q[0][0] += torque[0][0] > 1e9f ? 1 : 0;
        {prefix}_inverse_dynamics({upper}_CONST(q), torque);
    }}
    if (calls > 0) {{
        printf("%f\\n", 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / (double)calls);
    }}
    return 0;
}}
"""


def robots():
    """Return the robots by name."""
    rng = np.random.default_rng(3)
    tree = hd.load_robot(random_mapping(
        rng, 9, kinds=('revolute', 'prismatic', 'helical'), serial=False))
    return {
        **{name: hd.load_robot(name) for name in (
            'twolink', 'panda', 'iiwa14', 'fr3', 'aerial_manipulator')},
        'tree': tree}


def elastic(robot):
    """Return a robot with springs in its joints, by law."""
    made = {law: with_example_actuators(robot, law) for law in ('sea', 'vsa')}
    springs = made['sea'].actuators
    hard = [CubicSpring(joint.law.stiffness, 1e3) for joint in springs.joints]
    rng, tables = np.random.default_rng(4), []
    for law, points in zip(hard, np.geomspace(500, 5, robot.n).astype(int), strict=True):
        x = np.linspace(-0.2, 0.3, points)
        x[1:-1] += rng.uniform(-0.2, 0.2, points - 2) * 0.5 / points
        tables.append(TabulatedSpring(x, (law.stiffness * x + 2.0 * law.cubic * x**3).round(3)))
    for name, laws in (('cubic', hard), ('table', tables)):
        joints = tuple(
            replace(joint, law=law) for joint, law in zip(springs.joints, laws, strict=True))
        made[name] = replace(robot, actuators=type(springs)(springs.names, joints))
    return made


def build(folder, code, compiler, flags):
    """Return the driver of generated code."""
    prefix = code.settings.prefix
    source = folder / 'driver.c'
    source.write_text(DRIVER.format(
        prefix=prefix, upper=prefix.upper(), rows=code.settings.order + 3,
        number='float' if code.settings.single else 'double'))
    program = folder / 'driver'
    subprocess.run(
        [compiler, *STRICT, *flags, '-o', program, source, folder / f'{prefix}.c', '-lm'],
        check=True)
    return program


class Acceptance:
    def __init__(self, motions):
        self.motions = motions
        self.failed = 0

    def judge(self, what, errors, single):
        right = all(error < BOUNDS[single] for error in errors.values())
        self.failed += not right
        print(f'{"ok  " if right else "FAIL"} {what}: ' + ', '.join(
            f'{name} {error:.1e}' for name, error in errors.items()), flush=True)

    def try_variant(self, what, robot, motions, compiler, **settings):
        """Compare every function."""
        with tempfile.TemporaryDirectory() as name:
            code = compiled(Path(name), robot, compiler=compiler, **settings)
            single, order = code.settings.single, code.settings.order
            given = samples(code.settings, motions, seed=11)
            arguments = [given.q]
            if robot.floating:
                arguments += [given.base_pose, given.base_twist]
            if code.settings.gravity_argument:
                arguments.append(given.gravity)
            if code.settings.payload_link is not None:
                arguments.append(given.payload)
            out = np.zeros((motions, order + 1, robot.n))
            wrench = (given.base_wrench,) if robot.floating else ()
            errors = {'self-test': float(code.self_test())}
            for function, inputs, right in (
                    ('inverse_dynamics', arguments, (given.torque, *wrench)),
                    ('friction', [given.q], (given.friction,)),
                    ('feed_forward', arguments, (given.feed_forward, *wrench))):
                if function in code.functions:
                    found, _ = code.call(
                        function, *inputs, out=(out, *map(np.zeros_like, right[1:])))
                    errors[function] = max(map(furthest, found, right))
            if 'motor_reference' in code.functions:
                errors['motors'] = self.motors(code, given)
                program = build(Path(name), code, compiler, SANITIZERS)
                done = subprocess.run([program], input=b'', capture_output=True)
                sys.stderr.write(done.stderr.decode())
                errors['exit code under sanitizers'] = float(done.returncode)
            operations = '+'.join(str(one.operations) for one in code.functions.values())
            self.judge(f'{what} {Path(compiler).name} ({operations})', errors, single)

    def motors(self, code, given):
        inputs = [given.q, given.load]
        if code.settings.has_stiffness:
            inputs.append(given.stiffness)
        one, found = np.zeros((1, *given.motor.shape[1:])), np.empty_like(given.motor)
        for t in range(len(found)):
            start = t == 0 and code.settings.has_start
            one, (stuck,) = code.call(
                'motor_start' if start else 'motor_reference',
                *(array[t:t + 1] for array in inputs), out=one)
            assert stuck == given.stuck[t]
            found[t] = one[0]
        return furthest(found, given.motor)

    def try_many(self, what, robot, compiler, single):
        """Compare many motions, plain and under the sanitizers, and take the time."""
        rng = np.random.default_rng(12)
        q = rng.normal(size=(self.motions, 5, robot.n)) * SIZES[:5, np.newaxis]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            code = compiled(folder, robot, compiler=compiler, flags=('-O3',), single=single)
            q = q.astype(code.number).astype(float)
            right = hd.inverse_dynamics(robot, q)
            found, _ = code.call('inverse_dynamics', q, out=np.zeros_like(right))
            errors = {'torque': furthest(found, right)}
            motions = q.astype(code.number).tobytes()
            program = build(folder, code, compiler, SANITIZERS)
            done = subprocess.run([program], input=motions, capture_output=True)
            sys.stderr.write(done.stderr.decode())
            errors['exit code under sanitizers'] = float(done.returncode)
            errors['under sanitizers'] = furthest(
                np.frombuffer(done.stdout, code.number).reshape(right.shape).astype(float), right)
            program = build(folder, code, compiler, ('-O3',))
            times = [float(subprocess.run(
                [program, 'time'], input=motions[:q[0].nbytes], capture_output=True,
                check=True).stdout) for _ in range(3)]
            operations = code.functions['inverse_dynamics'].operations
            self.judge(
                f'{what} {Path(compiler).name} -O3, {operations} operations, {min(times):.2f} µs',
                errors, single)


def kernel_time(robot):
    """Return the time of a call of the library's kernels, single and in a batch, µs."""
    handle = hd.InverseDynamics(robot)
    q, out = np.ones((1000, 5, robot.n)), np.empty((1000, 3, robot.n))
    one, result = q[0].copy(), out[0].copy()
    single, batch = [], []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(1000):
            handle(one, result)
        middle = time.perf_counter()
        handle.batch(q, out)
        single.append(middle - start)
        batch.append(time.perf_counter() - middle)
    return 1e3 * min(single), 1e3 * min(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--motions', type=int, default=10_000)
    parser.add_argument('--robots', nargs='+', default=list(robots()))
    parser.add_argument('--compilers', nargs='+', default=['gcc', 'clang'])
    options = parser.parse_args()
    compilers = [found for found in map(shutil.which, options.compilers) if found]
    acceptance = Acceptance(options.motions)
    chosen = {name: robots()[name] for name in options.robots}
    fixed = {name: robot for name, robot in chosen.items() if not robot.floating}
    for name, robot in fixed.items():
        print('{}: the kernel takes {:.2f} µs a call, {:.2f} µs in a batch'.format(
            name, *kernel_time(robot)), flush=True)
        for single, compiler in itertools.product((False, True), compilers):
            acceptance.try_many(
                f'{name} {"float" if single else "double"}', robot, compiler, single)
    for name, robot in chosen.items():
        link = robot.bodies[-1].name
        variants = itertools.product((0, 1, 2, 3, 4), (False, True), (False, True), (None, link))
        for i, (order, single, gravity, payload) in enumerate(variants):
            what = (f'{name} order {order}{" float" * single}{" gravity" * gravity}'
                    f'{" payload" * (payload is not None)}')
            acceptance.try_variant(
                what, robot, 200, compilers[i % len(compilers)], order=order, single=single,
                gravity_argument=gravity, payload_link=payload,
                friction=robot.friction is not None and order <= 2, flags=('-O1',))
        springs = elastic(robot) if name in fixed else {}
        for (law, arm), single in itertools.product(springs.items(), (False, True)):
            for compiler in compilers:
                acceptance.try_variant(
                    f'{name} {law}{" float" * single}', arm, 1000, compiler, actuators=True,
                    single=single, flags=('-O1',))
    print(f'{acceptance.failed} failed')
    return int(acceptance.failed > 0)


if __name__ == '__main__':
    sys.exit(main())
