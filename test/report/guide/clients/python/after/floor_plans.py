"""Orders the floor plan of a property, and prints the suburb that it was ordered for. BASE is the address of the API, KEY its key."""

import json
import os
import urllib.request


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["BASE"] + "/api/v2" + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json", "x-api-version": "2025-01-01"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["data"]


ordered = call(
    "POST",
    "/orders/floor_plans",
    {"property": {"address": {"street_address": "1 King Street", "suburb": "Newtown", "state": "NSW"}}},
)
order = call("GET", "/orders/floor_plans/" + str(ordered["id"]))
print(order["property"]["address"]["suburb"])
