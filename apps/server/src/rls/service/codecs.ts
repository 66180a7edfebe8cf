import protobuf from 'protobufjs'

/*
 * The messages of Envoy's rate limit service v3 and of gRPC health checking, as far as they are used here. Unknown fields
 * of a request are skipped. Names and numbers are those of the public protocol.
 */
const PROTO = `
syntax = "proto3";

package tidegate.rls;

message Request {
  string domain = 1;
  repeated Descriptor descriptors = 2;
  uint32 hits_addend = 3;
}

message Descriptor {
  repeated Entry entries = 1;
  Override limit = 2;
  Hits hits_addend = 3;
  bool is_negative_hits = 4;
}

message Entry {
  string key = 1;
  string value = 2;
}

message Override {
  uint32 requests_per_unit = 1;
  int32 unit = 2;
}

message Hits {
  uint64 value = 1;
}

message Response {
  int32 overall_code = 1;
  repeated Status statuses = 2;
  repeated Header response_headers_to_add = 3;
  Struct dynamic_metadata = 6;
}

message Status {
  int32 code = 1;
  Limit current_limit = 2;
  uint32 limit_remaining = 3;
  Duration duration_until_reset = 4;
}

message Limit {
  uint32 requests_per_unit = 1;
  int32 unit = 2;
  string name = 3;
}

message Duration {
  int64 seconds = 1;
}

message Header {
  string key = 1;
  string value = 2;
}

message Struct {
  map<string, Value> fields = 1;
}

message List {
  repeated Value values = 1;
}

message Value {
  oneof kind {
    int32 null_value = 1;
    double number_value = 2;
    string string_value = 3;
    bool bool_value = 4;
    Struct struct_value = 5;
    List list_value = 6;
  }
}

message HealthRequest {
  string service = 1;
}

message HealthResponse {
  int32 status = 1;
}
`

const { root } = protobuf.parse(PROTO)

function codec(name: string) {
  const type = root.lookupType(`tidegate.rls.${name}`)
  return {
    encode: (message: object): Buffer => type.encode(message).finish() as Buffer,
    // Not the reader for buffers, which accepts a truncated string.
    decode: (bytes: Buffer): unknown => type.decode(new protobuf.Reader(bytes)),
  }
}

export const requestCodec = codec('Request')
export const responseCodec = codec('Response')
export const healthRequestCodec = codec('HealthRequest')
export const healthResponseCodec = codec('HealthResponse')
