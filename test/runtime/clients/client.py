"""Sends the requests in a file, one a line: method, tab, address, tab, body. Prints each status and body."""

import sys

import requests

session = requests.Session()
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    method, address, body = line.split("\t", 2)
    response = session.request(
        method,
        address,
        data=body.encode(),
        headers={"Authorization": "Bearer python", "Content-Type": "application/json"},
        timeout=20,
    )
    print(response.status_code, response.text)
