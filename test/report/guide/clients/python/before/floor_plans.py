"""Orders the floor plan of a property, and prints the suburb that it was ordered for. BASE is the address of the API, KEY its key."""

import json
import os
import urllib.request


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["BASE"] + "/api/v1" + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["data"]


ordered = call(
    "POST",
    "/orders/floor_plans",
    {"data": {"property": {"street_address": "1 King Street", "suburb": "Newtown", "state": "NSW"}}},
)
order = call("GET", "/orders/floor_plans/" + str(ordered["id"]))
print(order["property"]["suburb"])
