--[[
Whole numbers in doubles: the twin of core's algorithms/exact.ts.

  mul_div(a, b, c, up)   a * b / c rounded down (up = 0) or up (up = 1), without rounding on the way,
                         for whole a, b >= 0 and c >= 1 below 2^53 whose result is below 2^53
]]
local function mul_div(a, b, c, up)
  local product = a * b
  if product <= 9007199254740991 then
    if up == 1 then return math.ceil(product / c) end
    return math.floor(product / c)
  end
  -- Digit by digit, a's highest digit first. Below a divisor of 2^46, base 64 keeps every value under 2^53.
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
  if remainder == 0 then up = 0 end
  return a * whole + quotient + up
end
