import { createHash } from 'node:crypto';

/** A script that runs in the server, and its name there. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

/** Replaces the text of KEYS[1] when it is ARGV[2] (or absent, when ARGV[1] is 0) by ARGV[3], and publishes on ARGV[4]. */
export const COMPARE_AND_SET: RedisScript = script(`
local now = redis.call('GET', KEYS[1])
if ARGV[1] == '0' then
  if now then return 0 end
elseif now ~= ARGV[2] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[4], '')
return 1
`);

/**
 * Adds to windows. KEYS are hashes with fields \`part:index\`; ARGV is the number of parts of a window, then for each key the
 * length of the window in milliseconds, how many numbers follow, and the numbers. Returns for each key the current part, then
 * fields and values. The server's clock divides the windows.
 */
export const COUNT: RedisScript = script(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local parts = tonumber(ARGV[1])
local at = 2
local replies = {}
for index, key in ipairs(KEYS) do
  local length = tonumber(ARGV[at])
  local numbers = tonumber(ARGV[at + 1])
  local part = math.floor(now / length * parts)
  local name = string.format('%.0f', part)
  local added = false
  for number = 1, numbers do
    local add = ARGV[at + 1 + number]
    if add ~= '0' then
      redis.call('HINCRBY', key, name .. ':' .. (number - 1), add)
      added = true
    end
  end
  at = at + 2 + numbers
  local fields = redis.call('HGETALL', key)
  local reply = { name }
  for field = 1, #fields, 2 do
    local old = tonumber(string.match(fields[field], '^%d+'))
    if old <= part - parts then
      redis.call('HDEL', key, fields[field])
    else
      reply[#reply + 1] = fields[field]
      reply[#reply + 1] = fields[field + 1]
    end
  end
  if added then redis.call('PEXPIRE', key, math.ceil(length + length / parts)) end
  replies[index] = reply
end
return replies
`);

function script(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
