-- Who still needs V1, and for what: roughly. `report` also knows clients that pause, and says what is not known.
-- Parameter cut: the time before which a client's needs are past, such as 14 days ago.
--   clickhouse-client --param_cut "$(date -u -d '14 days ago' '+%F %T')" --queries-file deploy/clickhouse/clients.sql
SELECT
    client,
    CASE
        WHEN max(time) < {cut:DateTime64(3, 'UTC')} THEN 'gone'
        WHEN max(CASE WHEN work = 'field-work' THEN time END) >= {cut:DateTime64(3, 'UTC')} THEN 'field-work'
        WHEN max(CASE WHEN work = 'unwrap-only' THEN time END) >= {cut:DateTime64(3, 'UTC')} THEN 'unwrap-only'
        ELSE 'url-only'
    END AS class,
    count(*) AS v1,
    sum(CASE WHEN verdict = 'refused' THEN 1 ELSE 0 END) AS refused,
    sum(CASE WHEN versionWhy = 'invalid' THEN 1 ELSE 0 END) AS invalidVersions,
    min(time) AS firstSeen,
    max(time) AS lastSeen
FROM exchanges
WHERE route = 'migrate'
GROUP BY client
ORDER BY class, v1 DESC, client;
