"""Built-in robot models, one YAML file each."""
