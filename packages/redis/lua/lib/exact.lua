--[[
Whole numbers in doubles: twin of core's units/exact.ts.

  mul_div(a, b, c, rounding)   a * b / c, rounded 'down' or 'up' once, without an intermediate rounding error.
                               For whole a, b >= 0 and c >= 1 below 2^53 whose result is below 2^53.
]]
local function mul_div(a, b, c, rounding)
  local product = a * b
  if product <= 9007199254740991 then
    if rounding == 'up' then return math.ceil(product / c) end
    return math.floor(product / c)
  end
  -- Long division, the highest digit of a first. For a divisor below 2^46, base 64 keeps every value below 2^53.
  local whole = math.floor(b / c)
  local part = b - whole * c
  local base = c < 70368744177664 and 64 or 2
  local place = 1
  while place <= a / base do place = place * base end
  local quotient, remainder, rest = 0, 0, a
  while place >= 1 do
    local digit = math.floor(rest / place)
    rest = rest - digit * place
    if base == 64 then
      local value = remainder * 64 + digit * part
      local times = math.floor(value / c)
      quotient = quotient * 64 + times
      remainder = value - times * c
    else
      -- 2 * remainder can exceed 2^53, so compare before adding.
      quotient = quotient * 2
      local summand = remainder
      for _ = 0, digit do
        local room = c - summand
        if remainder >= room then
          remainder = remainder - room
          quotient = quotient + 1
        else
          remainder = remainder + summand
        end
        summand = part
      end
    end
    place = place / base
  end
  if rounding == 'up' and remainder > 0 then quotient = quotient + 1 end
  return a * whole + quotient
end
