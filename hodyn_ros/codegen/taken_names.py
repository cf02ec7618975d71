"""Names, in lower case, that headers, libraries and CMake targets already have."""
# Headers of C and POSIX, and headers that they include: a generated header of the same name would
# be found instead.
_HEADERS = """
    alloca assert complex ctype dirent dlfcn endian errno fcntl features fenv float grp inttypes
    iso646 limits locale malloc math memory netdb poll pthread pwd regex sched search semaphore
    setjmp signal spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio
    stdlib stdnoreturn string strings syslog termios tgmath threads time uchar unistd utime values
    wchar wctype"""
_LIBRARIES = 'c dl gcc m rt util'
# Targets of CMake: some are refused as names of a library, others clash silently.
_TARGETS = """
    all all_build clean codegen depend edit_cache experimental help install
    list_install_components nightly package package_source preinstall rebuild_cache
    run_tests test uninstall zero_check"""
TAKEN = frozenset(f'{_HEADERS} {_LIBRARIES} {_TARGETS}'.split())
