-- Redis runs Lua 5.1. The files of lua/ are concatenated into one script (scripts/embed-lua.mjs), so a file uses functions
-- that an earlier file defines.
std = {
  read_globals = {
    'ARGV', 'KEYS', 'error', 'ipairs', 'math', 'pcall', 'redis', 'string', 'struct', 'tonumber', 'tostring', 'type', 'unpack',
  },
}
max_line_length = 120

local shared = {
  'mul_div', 'read_state', 'write_state', 'convert_level', 'log_functions', 'fixed_window', 'sliding_window_log',
  'sliding_window_counter', 'token_bucket', 'leaky_bucket',
}
read_globals = shared
ignore = {}
for _, name in ipairs(shared) do ignore[#ignore + 1] = '211/' .. name end
