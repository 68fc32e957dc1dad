"""
Sends the requests in a file, one a line: method, tab, address, tab, body. Prints each status and body. The library is requests, or the
second argument: urllib3, urllib.request or http.client, which writes the absolute form and a body in two chunks.
"""

import http.client
import sys
import urllib.request
from urllib.parse import urlsplit

import requests
import urllib3

HEADERS = {"Authorization": "Bearer python", "Content-Type": "application/json"}

session = requests.Session()
pool = urllib3.PoolManager()
kept = []


def with_requests(method, address, body):
    response = session.request(method, address, data=body, headers=HEADERS, timeout=20)
    return response.status_code, response.text


def with_urllib3(method, address, body):
    response = pool.request(method, address, body=body, headers=HEADERS, timeout=20)
    return response.status, response.data.decode()


def with_urllib(method, address, body):
    request = urllib.request.Request(address, body, HEADERS, method=method)
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.status, response.read().decode()


def with_http_client(method, address, body):
    if not kept:
        kept.append(http.client.HTTPConnection(urlsplit(address).netloc, timeout=20))
    kept[0].request(method, address, iter([body[:5], body[5:]]), HEADERS, encode_chunked=True)
    response = kept[0].getresponse()
    return response.status, response.read().decode()


LIBRARIES = {
    "requests": with_requests,
    "urllib3": with_urllib3,
    "urllib.request": with_urllib,
    "http.client": with_http_client,
}

send = LIBRARIES[sys.argv[2] if len(sys.argv) > 2 else "requests"]
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    method, address, body = line.split("\t", 2)
    print(*send(method, address, body.encode()))
