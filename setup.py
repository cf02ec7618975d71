"""The ament_python build of hodyn_ros; serves both ``colcon build`` and ``pip install``."""
from pathlib import Path
import sys
from xml.etree import ElementTree

from setuptools import find_packages, setup

# Resolved: `colcon build --symlink-install` runs a link to this file, elsewhere.
HERE = Path(__file__).resolve().parent
PACKAGE = 'hodyn_ros'
MANIFEST = ElementTree.parse(HERE / 'package.xml').getroot()


def manifest(tag: str) -> str:
    """Return a field of package.xml, so that it and the wheel cannot disagree."""
    return ' '.join(MANIFEST.findtext(tag, '').split())


def urls() -> dict[str, str]:
    """Return the addresses of package.xml by their types."""
    return {
        url.attrib['type'].capitalize(): url.text.strip() for url in MANIFEST.iterfind('url')}


def files(pattern: str) -> list[str]:
    """Return the files that match, relative to the package root as data_files wants them."""
    return sorted(str(path.relative_to(HERE)) for path in HERE.glob(pattern) if path.is_file())


data_files = [
    ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
    (f'share/{PACKAGE}', ['package.xml']),
    (f'share/{PACKAGE}/config', files('config/*.yaml')),
    (f'share/{PACKAGE}/config/sros2', files('config/sros2/*.xml')),
    (f'share/{PACKAGE}/launch', files('launch/*.launch.py')),
]
if 'bdist_wheel' in sys.argv:
    # colcon installs the console scripts in lib/<package> (setup.cfg); pip installs them in bin,
    # where launch_ros does not look, so a wheel brings wrappers.
    data_files.append((f'lib/{PACKAGE}', files('libexec/*')))

ROS = [
    'ros-rclpy[fastrtps]>=7.1.6,<10',
    'ros-lifecycle-msgs',
    'ros-sensor-msgs',
    'ros-trajectory-msgs',
    'ros-std-msgs',
    'ros-std-srvs',
    'ros-geometry-msgs',
    'ros-nav-msgs',
    'ros-diagnostic-msgs',
    'ros-rosgraph-msgs',
]
SIMULATION = ['mujoco>=3.2']
DOCS = [
    *SIMULATION, 'sphinx>=8', 'myst-parser>=4', 'furo', 'sphinx-gallery>=0.18',
    'sphinx-copybutton',
]
TEST = [
    'pytest>=8', 'pytest-timeout', 'pytest-xdist', 'pytest-rerunfailures', 'hypothesis', 'mpmath',
    'pin', 'sympy',
]
# Pinned: a new release finds new faults, which is no fault of the change at hand.
LINT = [
    'ruff==0.17.6',
    'mypy==2.4.1',
    'codespell==2.4.3',
    'types-PyYAML==6.0.12.20261113',
    'scipy-stubs==1.17.1.5',
]

setup(
    name=PACKAGE,
    version=manifest('version'),
    description=manifest('description'),
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author=manifest('author'),
    maintainer=manifest('maintainer'),
    maintainer_email=MANIFEST.find('maintainer').attrib['email'],
    project_urls=urls(),
    license=manifest('license'),
    keywords=['ROS', 'robotics', 'dynamics', 'inverse dynamics', 'feed-forward'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Environment :: Console',
        'Intended Audience :: Science/Research',
        'Intended Audience :: Manufacturing',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 15)),
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: [
        'py.typed', 'robot/builtin/*.yaml', 'codegen/ros2_control/*',
        'codegen/ros2_control/[cils]*/*']},
    data_files=data_files,
    python_requires='>=3.10',
    install_requires=[
        'setuptools',
        'numpy>=1.26',
        'scipy>=1.11',
        'numba>=0.59,<0.69',  # its internals are used: oldest and newest are tested
        'PyYAML',
        'ruckig>=0.19',
        'rosbags>=0.11',
        'lz4',  # this and the next come with rosbags, too
        'backports.zstd; python_version < "3.14"',
        'matplotlib>=3.6',
        'rich>=12',
        'argcomplete>=2',
    ],
    extras_require={
        'ros': ROS,
        'sim': SIMULATION,
        'cluster': ['pyarrow>=14', 'dask', 'distributed', 'cryptography'],
        'symbolic': ['sympy'],
        'test': TEST,
        'docs': DOCS,
        'bench': ['pin', 'casadi', 'toppra'],
        'lint': LINT,
    },
    entry_points={
        'console_scripts': [
            'hodyn = hodyn_ros.cli:main',
            'feedforward = hodyn_ros.ros.executables:feedforward',
            'simulated_driver = hodyn_ros.ros.executables:simulated_driver',
        ],
    },
    zip_safe=False,
)
