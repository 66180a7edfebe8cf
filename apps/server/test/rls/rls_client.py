"""A client of the rate limit service that shares no code with it.

It encodes and decodes messages by hand and uses Debian's python3-grpcio. Each line of standard input is a JSON object with
a request, each line of standard output the response.
"""

import argparse
import base64
import json
import sys

import grpc

SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
HEALTH_CHECK = "/grpc.health.v1.Health/Check"
HEALTH_WATCH = "/grpc.health.v1.Health/Watch"
CODES = {0: "UNKNOWN", 1: "OK", 2: "OVER_LIMIT"}
UNITS = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"]
HEALTH = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def whole(field, number):
    return b"" if number == 0 else varint(field << 3) + varint(number)


def chunk(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def text(field, value):
    return b"" if value == "" else chunk(field, value.encode())


def encode_descriptor(descriptor):
    out = b"".join(chunk(1, text(1, key) + text(2, value)) for key, value in descriptor["entries"])
    if "limit" in descriptor:
        requests, unit = descriptor["limit"]
        number = unit if isinstance(unit, int) else UNITS.index(unit)
        out += chunk(2, whole(1, requests) + whole(2, number))
    if "hits" in descriptor:
        out += chunk(3, whole(1, descriptor["hits"]))
    if descriptor.get("negative"):
        out += whole(4, 1)
    return out


def encode_request(request):
    out = text(1, request.get("domain", ""))
    out += b"".join(chunk(2, encode_descriptor(one)) for one in request.get("descriptors", []))
    return out + whole(3, request.get("hits", 0))


def fields(data):
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, number()
        elif kind == 1:
            yield tag >> 3, data[at : at + 8]
            at += 8
        elif kind == 2:
            length = number()
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {kind}")


def decode_limit(data):
    limit = {"requests": 0, "unit": "UNKNOWN"}
    for field, value in fields(data):
        if field == 1:
            limit["requests"] = value
        elif field == 2:
            limit["unit"] = UNITS[value]
        elif field == 3:
            limit["name"] = value.decode()
    return limit


def decode_status(data):
    status = {"code": "UNKNOWN", "remaining": 0}
    for field, value in fields(data):
        if field == 1:
            status["code"] = CODES[value]
        elif field == 2:
            status["limit"] = decode_limit(value)
        elif field == 3:
            status["remaining"] = value
        elif field == 4:
            status["reset"] = dict(fields(value)).get(1, 0)
    return status


def decode_struct(data):
    out = {}
    for _, entry in fields(data):
        pair = dict(fields(entry))
        out[pair[1].decode()] = decode_value(pair[2])
    return out


def decode_value(data):
    import struct

    for field, value in fields(data):
        if field == 1:
            return None
        if field == 2:
            return struct.unpack("<d", value)[0]
        if field == 3:
            return value.decode()
        if field == 4:
            return value == 1
        if field == 5:
            return decode_struct(value)
        if field == 6:
            return [decode_value(one) for _, one in fields(value)]
    return None


def decode_response(data):
    response = {"code": "UNKNOWN", "statuses": []}
    for field, value in fields(data):
        if field == 1:
            response["code"] = CODES[value]
        elif field == 2:
            response["statuses"].append(decode_status(value))
        elif field == 3:
            pair = dict(fields(value))
            response.setdefault("headers", {})[pair[1].decode()] = pair.get(2, b"").decode()
        elif field == 6:
            response["metadata"] = decode_struct(value)
    return response


def decode_health(data):
    return {"health": HEALTH[dict(fields(data)).get(1, 0)]}


def run(channel, line):
    """Sends one line. `times` sends the same request many times at once and counts the codes."""
    if "health" in line:
        call = channel.unary_unary(HEALTH_CHECK)
        return decode_health(call(text(1, line["health"]), timeout=10))
    if "watch" in line:
        stream = channel.unary_stream(HEALTH_WATCH)(text(1, line["watch"]), timeout=10)
        first = decode_health(next(stream))
        stream.cancel()
        return first
    data = base64.b64decode(line["raw"]) if "raw" in line else encode_request(line)
    call = channel.unary_unary(line.get("path", SHOULD_RATE_LIMIT))
    if "times" not in line:
        return decode_response(call(data, timeout=line.get("timeout", 20)))
    futures = [call.future(data, timeout=20) for _ in range(line["times"])]
    counts = {}
    for future in futures:
        code = decode_response(future.result())["code"]
        counts[code] = counts.get(code, 0) + 1
    return counts


def connect(options):
    settings = [("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0)]
    if options.ca is None:
        return grpc.insecure_channel(options.address, settings)

    def read(name):
        if name is None:
            return None
        with open(name, "rb") as file:
            return file.read()

    credentials = grpc.ssl_channel_credentials(read(options.ca), read(options.key), read(options.cert))
    return grpc.secure_channel(options.address, credentials, settings + [("grpc.ssl_target_name_override", "localhost")])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    for name in ("--ca", "--cert", "--key"):
        parser.add_argument(name)
    channel = connect(parser.parse_args())
    for line in sys.stdin:
        try:
            answer = run(channel, json.loads(line))
        except grpc.RpcError as error:
            answer = {"error": error.code().name, "details": error.details()}
        print(json.dumps(answer), flush=True)


main()
