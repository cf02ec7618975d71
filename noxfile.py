"""The library on each Python that is there: ``nox``, or ``nox -s tests-3.13 -- -k urdf``."""
import nox

nox.options.sessions = ['tests']
nox.options.reuse_existing_virtualenvs = True


@nox.session(python=['3.10', '3.11', '3.12', '3.13', '3.14'])
def tests(session: nox.Session) -> None:
    """Install the package as a user does, without ROS, and run what is fast, or asked for."""
    session.install('.[sim,cluster,test]')
    session.run(
        'pytest', '-n', '2', *(session.posargs or ('-m', 'fast', '--ignore', 'test/ros')),
        env={'PYTHONSAFEPATH': '1', 'NUMBA_CACHE_DIR': f'{session.create_tmp()}/kernels'})


@nox.session(python=['3.10', '3.11', '3.12', '3.13', '3.14'])
def demo(session: nox.Session) -> None:
    """Install the package with ROS 2 from the package index, and run the demo."""
    session.install('.[ros,sim]')
    session.chdir(session.create_tmp())
    session.run('hodyn', 'demo', '--force')
