"""C and formulas for one robot: kernels run on expressions, which are written as C99 or SymPy."""
from hodyn_ros.codegen.generate import GeneratedCode, generate_c, generated_contents
from hodyn_ros.codegen.symbolic import SymbolicTorques, symbolic_torques

__all__ = [
    'GeneratedCode', 'SymbolicTorques', 'generate_c', 'generated_contents', 'symbolic_torques']
