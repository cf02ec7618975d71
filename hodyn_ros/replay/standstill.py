"""When a joint stands still in a recording, and what is said if all joints do."""
STILL = 1e-3
"""RMS velocity below which a joint stands still, rad/s."""

ARM_STANDS = (
    'The arm stands still: this recording shows nothing of friction, inertia and lags. Record '
    'motion, for example a plan of `hodyn excite`.')
"""Said of a recording in which all joints stand still."""
