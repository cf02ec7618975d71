"""A folder as commands write it, and what is in a folder."""
from hodyn_ros.common.output_files import Contents, replacing

REPORT = Contents(
    frozenset({'report.html', 'table.csv'}), {'bag': Contents.of_bag('bag')}, mark='report.html')


def write_report(path, text, *, force=False, table=True):
    """Write a folder with a file, maybe another, and a bag, all of one text."""
    with replacing(path, REPORT, force=force) as folder:
        folder.mkdir()
        (folder / 'report.html').write_text(text)
        if table:
            (folder / 'table.csv').write_text(text)
        (folder / 'bag').mkdir()
        for name in ('metadata.yaml', 'bag.db3'):
            (folder / 'bag' / name).write_text(text)


def tree(folder):
    """Return every file and folder below one, with the files' bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob('*'))}


def report(text, *, table=True):
    """Return what such a folder holds, as `tree` does."""
    files = ['bag/bag.db3', 'bag/metadata.yaml', 'report.html', *['table.csv'] * table]
    return {'bag': None, **dict.fromkeys(files, text)}
