-- Redis runs Lua 5.1. The files of lua/ are concatenated into one script (scripts/embed-lua.mjs), so a file uses functions
-- that an earlier file defines.
std = {
  read_globals = {
    'ARGV', 'KEYS', 'error', 'ipairs', 'math', 'pcall', 'redis', 'string', 'struct', 'table', 'tonumber', 'tostring', 'type',
    'unpack',
  },
}
max_line_length = 120

local shared = {
  'mul_div', 'block_duration', 'prefix_functions', 'keys', 'read_state', 'unpack_state', 'write_state',
  'assert_slot_is_stable', 'px_ttl', 'written', 'convert_level', 'log_functions', 'deciding', 'add_block',
  'decide_limits', 'take_up_to', 'reservations', 'fixed_window', 'sliding_window_log', 'sliding_window_counter',
  'token_bucket', 'leaky_bucket', 'concurrency',
}
read_globals = shared
globals = { 'stored', 'block_end', 'block_left', 'state_room' }
ignore = {
  '211/stored', '211/block_end', '211/block_left', '211/state_room', '231/keys', '231/deciding', '231/written',
  '231/block_end', '231/block_left', '231/block_duration',
}
for _, name in ipairs(shared) do ignore[#ignore + 1] = '211/' .. name end
