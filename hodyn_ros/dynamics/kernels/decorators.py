"""How the kernels are compiled: all may contract a + b × c to one fused multiply-add."""
from hodyn_ros.common.jit import njit

kernel = njit(fastmath={'contract'})
"""A function of its own, called from Python or from other kernels."""
step = njit(fastmath={'contract'}, forceinline=True)
"""Part of a kernel: the compiler copies it into its caller, so it costs no call."""
inlined = njit(fastmath={'contract'}, inline='always')
"""The same before types are inferred, so views of arrays that are passed cost nothing either."""
