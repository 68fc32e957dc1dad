-- Roughly, who still needs V1, and for what. `report` also knows clients that pause and bodies that V2's schema refuses, and says what it does not know.
-- Parameter cut: the time before which a client's needs are past, such as 14 days ago.
--   clickhouse-client --param_cut "$(date -u -d '14 days ago' '+%F %T')" --queries-file deploy/clickhouse/clients.sql
WITH
    -- The last request of each call that V2 accepted, did not accept, refused, and refused for its members.
    calls AS (
        SELECT
            client,
            operation,
            max(CASE WHEN v2 = 'accepted' THEN time END) AS accepted,
            max(CASE WHEN v2 IN ('failed', 'refused', 'members-refused') THEN time END) AS failed,
            max(CASE WHEN v2 IN ('refused', 'members-refused') THEN time END) AS refused,
            max(CASE WHEN v2 = 'members-refused' THEN time END) AS membersRefused
        FROM exchanges
        WHERE route = 'migrate'
        GROUP BY client, operation
    ),
    -- Clients with a call whose last request V2 did not accept: 2 where its members have to change, 1 where nobody knows.
    pending AS (
        SELECT
            client,
            max(CASE WHEN membersRefused = failed AND (accepted IS NULL OR accepted < {cut:DateTime64(3, 'UTC')}) THEN 2 ELSE 1 END) AS need
        FROM calls
        WHERE failed >= {cut:DateTime64(3, 'UTC')}
            AND (accepted IS NULL OR accepted < {cut:DateTime64(3, 'UTC')} OR (accepted < failed AND refused = failed))
        GROUP BY client
    )
SELECT
    client,
    CASE
        WHEN max(time) < {cut:DateTime64(3, 'UTC')} THEN 'gone'
        WHEN max(CASE WHEN work = 'field-work' THEN time END) >= {cut:DateTime64(3, 'UTC')} THEN 'field-work'
        WHEN COALESCE(max(need), 0) = 2 THEN 'field-work'
        WHEN COALESCE(max(need), 0) = 1 THEN 'unknown'
        WHEN max(CASE WHEN work = 'unwrap-only' AND status BETWEEN 1 AND 399 THEN time END) >= {cut:DateTime64(3, 'UTC')} THEN 'unwrap-only'
        ELSE 'url-only'
    END AS class,
    count(*) AS v1,
    sum(CASE WHEN verdict = 'refused' THEN 1 ELSE 0 END) AS refused,
    sum(CASE WHEN versionWhy = 'invalid' THEN 1 ELSE 0 END) AS invalidVersions,
    min(time) AS firstSeen,
    max(time) AS lastSeen
FROM exchanges
LEFT JOIN pending USING (client)
WHERE route = 'migrate'
GROUP BY client
ORDER BY class, v1 DESC, client;
