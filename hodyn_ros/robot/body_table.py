"""Columns of `KernelModel.body_table`, whose rows hold the constants of the bodies.

They are module-level integers, which numba compiles into the kernels as constants. A quantity with
several columns has the index of the first; its comment begins with their number. Matrices are
stored row by row, symmetric ones as in `inertia.SYMMETRIC_ENTRIES`.
"""
HOME_ROTATION = 0  # 9: rotation of the kernel frame in the parent's kernel frame at q = 0
HOME_POSITION = 9  # 3: origin of the kernel frame in the parent's kernel frame at q = 0, m
ROTATION = 12  # ρ: rad about z per unit of q
TRANSLATION = 13  # h: m along z per unit of q
MASS = 14  # kg
COM = 15  # 3: centre of mass in the kernel frame, m
COM_INERTIA = 18  # 6: inertia about the centre of mass, kernel axes, kg m²
ORIGIN_INERTIA = 24  # 6: inertia about the kernel frame's origin, kernel axes, kg m²
COLUMNS = 30
