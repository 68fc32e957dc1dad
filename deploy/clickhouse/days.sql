-- The burn-down: the traffic of each day, and how many clients still needed an edit to the body.
SELECT
    toDate(time) AS day,
    sum(CASE WHEN route = 'migrate' THEN 1 ELSE 0 END) AS v1,
    sum(CASE WHEN route = 'pass' THEN 1 ELSE 0 END) AS v2,
    count(DISTINCT CASE WHEN route = 'migrate' THEN client END) AS clients,
    count(DISTINCT CASE WHEN route = 'migrate' AND work <> 'url-only' THEN client END) AS rewritten,
    sum(CASE WHEN route = 'migrate' AND verdict = 'refused' THEN 1 ELSE 0 END) AS refused
FROM exchanges
WHERE route <> 'none'
GROUP BY day
ORDER BY day;
