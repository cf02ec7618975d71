"""C for one robot: its kernels run on expressions, written as C99."""
from hodyn_ros.codegen.generate import GeneratedCode, generate_c, generated_contents

__all__ = ['GeneratedCode', 'generate_c', 'generated_contents']
