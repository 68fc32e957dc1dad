-- Which changes are still made, for how many clients, and when the last time was: the others can be removed from the rule book.
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
