"""A URDF of an arm with a gripper, whose second finger follows the first."""


def gripper_urdf(
    finger_velocity: float = 0.2, *, largest_inertia: float = 0.1, centre: str = '0.2 0 0',
) -> str:
    """Return it: one revolute joint and two fingers, links of 1 kg."""
    links = ''.join(
        f'<link name="l{i}"><inertial><origin xyz="{centre}"/><mass value="1"/><inertia '
        f'ixx="0.1" iyy="0.1" izz="{largest_inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for i in (1, 2, 3))
    fingers = ''.join(
        f'<joint name="finger{i}" type="prismatic"><parent link="l1"/><child link="l{i + 1}"/>'
        '<axis xyz="0 1 0"/>'
        f'<limit lower="0" upper="0.04" velocity="{finger_velocity}" effort="20"/>{mimic}</joint>'
        for i, mimic in ((1, ''), (2, '<mimic joint="finger1"/>')))
    return (
        f'<robot name="arm"><link name="base"/>{links}'
        '<joint name="arm_j1" type="revolute"><parent link="base"/><child link="l1"/>'
        '<axis xyz="1 0 0"/>'
        f'<limit lower="-1" upper="1" velocity="2" effort="30"/></joint>{fingers}</robot>')
