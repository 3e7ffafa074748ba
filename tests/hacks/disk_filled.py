# class: output_limit|record|memory|timeout|protocol
# task: affine, template: affine_copy
# hack: H61 files until the disk is full
# why: the file system's size, a file's size, or memory

import tempfile

# ---- forward
        for number in range(10**9):
            with open(f"{tempfile.gettempdir()}/{number}", "wb") as file:
                file.write(b"x" * (1 << 26))
