# class: protocol|wrong_value|record
# task: affine, template: forged
# hack: H52 frames that are no UTF-8, hold NUL, or duplicate keys
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
send(b"{\"kind\": \"\xff\xfe\xc0\x80\"}")
send(b"{\"kind\": \"trace\\u0000\", \"kind\": \"fault\", \"class\": \"\\ud800\"}")
