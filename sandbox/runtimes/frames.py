"""Framed messages over a stream socket: u32 little-endian JSON length | JSON | blobs, the JSON's "blobs" giving sizes. A lone
surrogate, which no reader of JSON takes, is sent as a question mark."""
import json
import struct


def receive(channel):
    """(header, blobs); raises EOFError when the other side is gone."""
    header = json.loads(_exactly(channel, struct.unpack("<I", _exactly(channel, 4))[0]))
    return header, [_exactly(channel, size) for size in header.get("blobs", ())]


def say(channel, header, blobs=()):
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}, ensure_ascii=False).encode(errors="replace")
    channel.sendall(struct.pack("<I", len(text)) + text)
    for blob in blobs:
        channel.sendall(blob)


def _exactly(channel, count):
    data = bytearray(count)
    view, done = memoryview(data), 0
    while done < count:
        got = channel.recv_into(view[done:])
        if not got:
            raise EOFError("the channel was closed")
        done += got
    return bytes(data)
