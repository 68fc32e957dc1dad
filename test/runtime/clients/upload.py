"""Sends a POST of so many bytes to an address with requests and with http.client. Prints the status that each got."""

import http.client
import sys
import urllib.parse

import requests

address, size = sys.argv[1], int(sys.argv[2])
body = b"x" * size
headers = {"Content-Type": "application/json"}


def chunks():
    for at in range(0, size, 65536):
        yield body[at : at + 65536]


print(requests.post(address, data=body, headers=headers, timeout=30).status_code)
print(requests.post(address, data=chunks(), headers=headers, timeout=30).status_code)
parts = urllib.parse.urlsplit(address)
connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
connection.request("POST", parts.path, body=body, headers=headers)
print(connection.getresponse().status)
