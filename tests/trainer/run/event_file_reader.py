"""Reads an event file independently of ours (frames and CRC-32C here, messages by Google's protobuf with descriptors
made below) and compares it with what the test says it wrote. Usage: event_file_reader.py FILE EXPECTED.json"""
import json
import struct
import sys
import time

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    print("google.protobuf is not installed")
    sys.exit(77)


def crc32c(data):
    """Bit by bit, by the polynomial 0x1EDC6F41 on reflected input: no table shared with the writer's."""
    remainder = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            top = (remainder >> 31) & 1
            remainder = (remainder << 1) & 0xFFFFFFFF
            if top ^ ((byte >> bit) & 1):
                remainder ^= 0x1EDC6F41
    remainder ^= 0xFFFFFFFF
    return int(f"{remainder:032b}"[::-1], 2)


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def event_class():
    F = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, label, kind, field in fields:
            added = made.field.add(name=field, number=number,
                                   label=F.LABEL_REPEATED if label == "repeated" else F.LABEL_OPTIONAL)
            if isinstance(kind, str):
                added.type, added.type_name = F.TYPE_MESSAGE, f".t.{kind}"
            else:
                added.type = kind

    message("Dim", (1, "", F.TYPE_INT64, "size"))
    message("Shape", (2, "repeated", "Dim", "dim"))
    message("Tensor", (1, "", F.TYPE_INT32, "dtype"), (2, "", "Shape", "tensor_shape"),
            (8, "repeated", F.TYPE_BYTES, "string_val"))
    message("Plugin", (1, "", F.TYPE_STRING, "plugin_name"), (2, "", F.TYPE_BYTES, "content"))
    message("Metadata", (1, "", "Plugin", "plugin_data"), (4, "", F.TYPE_INT32, "data_class"))
    message("Histogram", *((number, "", F.TYPE_DOUBLE, name) for number, name in enumerate(("min", "max", "num", "sum", "sum_squares"), 1)),
            (6, "repeated", F.TYPE_DOUBLE, "bucket_limit"), (7, "repeated", F.TYPE_DOUBLE, "bucket"))
    message("Value", (1, "", F.TYPE_STRING, "tag"), (2, "", F.TYPE_FLOAT, "simple_value"), (5, "", "Histogram", "histo"),
            (8, "", "Tensor", "tensor"), (9, "", "Metadata", "metadata"))
    value = file.message_type[-1]
    value.oneof_decl.add(name="value")  # a member of it keeps a value of zero
    for field in value.field:
        if field.name in ("simple_value", "tensor", "histo"):
            field.oneof_index = 0
    message("Summary", (1, "repeated", "Value", "value"))
    message("Event", (1, "", F.TYPE_DOUBLE, "wall_time"), (2, "", F.TYPE_INT64, "step"),
            (3, "", F.TYPE_STRING, "file_version"), (5, "", "Summary", "summary"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Event"))


def known_only(message):
    """Google's parser keeps fields it does not know: writing what it does know must give every byte back."""
    made = type(message)()
    made.CopyFrom(message)
    made.DiscardUnknownFields()
    return made.ByteSize()


def read(path):
    Event = event_class()
    data, at, events = open(path, "rb").read(), 0, []
    while at < len(data):
        header = data[at:at + 8]
        (length,) = struct.unpack("<Q", header)
        (crc,) = struct.unpack_from("<I", data, at + 8)
        assert crc == masked(header), f"checksum of the length at {at}"
        payload = data[at + 12:at + 12 + length]
        assert len(payload) == length, "cut off"
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert crc == masked(payload), f"checksum of the message at {at}"
        event = Event.FromString(payload)
        written_zero = 2 if event.HasField("summary") and event.step == 0 else 0  # Google's leaves a zero step out
        assert known_only(event) == length - written_zero, f"{known_only(event)} of {length} bytes are known fields"
        events.append(event)
        at += 12 + length + 4
    return events


def check_histogram(histogram, values):
    """The bars hold the values: each between the limit below it and its own."""
    assert (histogram.min, histogram.max, histogram.num) == (min(values), max(values), len(values)), histogram
    assert (histogram.sum, histogram.sum_squares) == (sum(values), sum(v * v for v in values)), histogram
    limits = list(histogram.bucket_limit)
    assert limits == sorted(limits) and limits[-1] >= max(values), limits
    below, heights = float("-inf"), []
    for limit in limits:
        heights.append(sum(below < value <= limit for value in values))
        below = limit
    assert sum(histogram.bucket) == len(values), histogram
    # A value on a limit may count on either side of it.
    assert sum(abs(a - b) for a, b in zip(heights, histogram.bucket)) <= 2, (heights, histogram)


assert crc32c(b"123456789") == 0xE3069283 and crc32c(b"") == 0
path, expected_path = sys.argv[1:3]
events = read(path)
assert events[0].file_version == "brain.Event:2" and not events[0].HasField("summary")
found = []
for event in events[1:]:
    assert abs(event.wall_time - time.time()) < 600, event.wall_time
    for value in event.summary.value:
        if value.HasField("tensor"):
            assert value.metadata.plugin_data.plugin_name == "text" and value.metadata.data_class == 2
            assert value.tensor.dtype == 7 and [d.size for d in value.tensor.tensor_shape.dim] == [1]
            (text,) = value.tensor.string_val
            found.append([event.step, value.tag, text.decode("utf-8")])
        elif value.HasField("histo"):
            found.append([event.step, value.tag, value.histo])
        else:
            found.append([event.step, value.tag, repr(value.simple_value)])
f32 = lambda x: repr(struct.unpack("<f", struct.pack("<f", float(x)))[0])
listed = json.load(open(expected_path))
assert len(found) == len(listed), f"{found}\n!=\n{listed}"
for entry, (kind, step, tag, value) in zip(found, listed):
    if kind != "histogram": continue
    assert entry[:2] == [step, tag], entry
    check_histogram(entry[2], value)
    entry[2] = value
expected = [[step, tag, f32(value) if kind == "scalar" else value] for kind, step, tag, value in listed]
assert found == expected, f"{found}\n!=\n{expected}"

try:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    assert len(list(EventFileLoader(path).Load())) == len(events), "TensorBoard's own loader"
except ImportError:
    pass
print(len(events), "records")
