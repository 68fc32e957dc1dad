-- The rewrite log in ClickHouse: each line is a row, and columns have the names of members.
--   clickhouse-client --multiquery < deploy/clickhouse/schema.sql
--   clickhouse-client --date_time_input_format best_effort --input_format_skip_unknown_fields 1 \
--     --query 'INSERT INTO entries FORMAT JSONEachRow' < rewrite.log
-- vector.yaml beside this file does the same continuously. A table from an earlier release needs its new columns first:
--   ALTER TABLE entries ADD COLUMN IF NOT EXISTS origin LowCardinality(String), and so on for the response columns and errorPointers.

CREATE TABLE IF NOT EXISTS entries
(
    time DateTime64(3, 'UTC'),
    level LowCardinality(String),
    requestId String,
    traceId String,
    client LowCardinality(String),
    route LowCardinality(String),
    method LowCardinality(String),
    path String,
    upstreamMethod LowCardinality(String),
    upstreamPath String,
    operation LowCardinality(String),
    apiVersion Tuple(sent String, why String),
    verdict LowCardinality(String),
    edits Array(Tuple(change String, rule String, `from` String, path String, note String)),
    origin LowCardinality(String),
    responseEdits Array(Tuple(change String, rule String, `from` String, path String)),
    responseWould Array(Tuple(change String, rule String, `from` String, path String)),
    note String,
    failure LowCardinality(String),
    cause String,
    pointer String,
    bytesIn UInt64,
    bytesOut UInt64,
    responseBytes UInt64,
    status UInt16,
    upstreamStatus UInt16,
    upstreamMs Float64,
    totalMs Float64,
    rewriteMs Float64,
    attempts UInt8 DEFAULT 1,
    attributes Array(String),
    errorPointers Array(String),
    ruleBook LowCardinality(String)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (route, client, time)
TTL toDateTime(time) + INTERVAL 13 MONTH;

-- The work that each exchange shows for its client before V1 can be switched off. An edit of a body that was already flat is
-- no work. Unwrapping, and members that V1 ignored anyway, are work on the wrapper alone.
-- A response that V2 sends in another form is work as well, for whoever reads it.
CREATE OR REPLACE VIEW exchanges AS
SELECT
    time,
    COALESCE(NULLIF(client, ''), '-') AS client,
    route,
    COALESCE(NULLIF(operation, ''), '(other)') AS operation,
    verdict,
    status,
    COALESCE(apiVersion.why, '') AS versionWhy,
    arrayDistinct(arrayMap(edit -> edit.change, arrayFilter(edit -> COALESCE(edit.note, '') <> 'already-flat', edits))) AS requestChanges,
    -- Edits that concern members: those of errors follow from the names in the request.
    arrayDistinct(arrayMap(edit -> edit.change, arrayFilter(edit -> edit.rule <> 'errors' AND COALESCE(edit.path, '') <> '', responseEdits))) AS responseChanges,
    arrayDistinct(arrayMap(edit -> edit.change, arrayFilter(edit -> COALESCE(edit.path, '') <> '', responseWould))) AS wouldChanges,
    arrayDistinct(arrayConcat(requestChanges, arrayConcat(responseChanges, wouldChanges))) AS changes,
    CASE
        WHEN length(arrayFilter(edit -> edit.rule <> 'unwrap' AND COALESCE(edit.note, '') NOT IN ('already-flat', 'sibling', 'byte-order-mark'), edits)) > 0 THEN 'field-work'
        WHEN length(responseEdits) > 0 THEN 'field-work'
        WHEN length(responseWould) > 0 THEN 'field-work'
        WHEN length(arrayFilter(edit -> COALESCE(edit.note, '') <> 'already-flat', edits)) > 0 THEN 'unwrap-only'
        ELSE 'url-only'
    END AS work,
    -- V2's own verdict on the request; empty if it did not respond.
    CASE
        WHEN COALESCE(origin, '') <> '' OR COALESCE(failure, '') <> '' OR status = 0 THEN ''
        WHEN status < 400 THEN 'accepted'
        WHEN status NOT IN (400, 422) THEN 'failed'
        WHEN length(errorPointers) > 0 THEN 'members-refused'
        ELSE 'refused'
    END AS v2
FROM entries;
