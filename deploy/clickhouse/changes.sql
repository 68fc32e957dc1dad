-- Changes that still apply, for how many clients, and when they last did. You can remove the others from the rule book.
SELECT
    change,
    count(*) AS requests,
    count(DISTINCT client) AS clients,
    max(time) AS lastSeen
FROM
(
    SELECT time, client, arrayJoin(changes) AS change
    FROM exchanges
    WHERE route = 'migrate'
) AS used
GROUP BY change
ORDER BY requests DESC, change;
