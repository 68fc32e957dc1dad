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

/**
 * The life of the records, then key, revision and text of those that were set after revision ARGV[1], at most ARGV[2], in the order of
 * their revisions. KEYS are the hash of texts and that of revisions, which also has the life and the last revision. Where the server
 * evicted one of them, the other goes as well.
 */
export const RECORD_CHANGES: RedisScript = script(`
if redis.call('EXISTS', KEYS[1]) ~= redis.call('EXISTS', KEYS[2]) then
  redis.call('DEL', KEYS[1], KEYS[2])
end
local after = tonumber(ARGV[1])
local found = {}
local fields = redis.call('HGETALL', KEYS[2])
local life = ''
for field = 1, #fields, 2 do
  local name, value = fields[field], fields[field + 1]
  if name == '=life' then
    life = value
  elseif name ~= '=last' and tonumber(value) > after then
    found[#found + 1] = { name, tonumber(value) }
  end
end
table.sort(found, function(one, other) return one[2] < other[2] end)
local reply = { life }
for index = 1, math.min(#found, tonumber(ARGV[2])) do
  local name, revision = found[index][1], found[index][2]
  reply[#reply + 1] = name
  reply[#reply + 1] = string.format('%.0f', revision)
  reply[#reply + 1] = redis.call('HGET', KEYS[1], name) or ''
end
return reply
`);

/**
 * Sets records: ARGV is the life and the milliseconds to keep them, then key, known revision (0: none) and text of each. Returns the
 * life and the last revision, or nothing when life or a revision is another. The server's clock names a new life.
 */
export const REPLACE_RECORDS: RedisScript = script(`
if redis.call('EXISTS', KEYS[1]) ~= redis.call('EXISTS', KEYS[2]) then
  redis.call('DEL', KEYS[1], KEYS[2])
end
local life = redis.call('HGET', KEYS[2], '=life') or ''
if life ~= ARGV[1] then return {} end
for at = 3, #ARGV, 3 do
  if (redis.call('HGET', KEYS[2], ARGV[at]) or '0') ~= ARGV[at + 1] then return {} end
end
if life == '' then
  local time = redis.call('TIME')
  life = time[1] .. '.' .. time[2]
  redis.call('HSET', KEYS[2], '=life', life, '=last', '0')
end
local revision = 0
for at = 3, #ARGV, 3 do
  revision = redis.call('HINCRBY', KEYS[2], '=last', 1)
  redis.call('HSET', KEYS[2], ARGV[at], revision)
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return { life, tostring(revision) }
`);

function script(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
