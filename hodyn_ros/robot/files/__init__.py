"""Robot files: YAML and mappings, URDF, DH parameters, actuators."""
