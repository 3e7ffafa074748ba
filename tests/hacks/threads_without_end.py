# class: process|timeout|record|memory
# task: affine, template: affine_copy
# hack: H61 threads until there are no more
# why: a thread that cannot start raises

import threading

# ---- forward
        while True:
            threading.Thread(target=threading.Event().wait).start()
