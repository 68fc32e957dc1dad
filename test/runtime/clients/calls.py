"""
Plays the calls in a JSON file (argument 2), bodies in files beside it, with a library (argument 1) to each address that follows, and
prints a line of JSON for each response: status, fields, body in base64; or the class of the error. Such a driver stands in each language: what it sends by
itself, folds, follows and decodes is the library's own.
"""

import asyncio
import base64
import http.client
import io
import json
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

TIMEOUT = 20


def parts(body, size=1000):
    for at in range(0, len(body), size):
        yield body[at : at + size]


def with_requests():
    import requests

    session = requests.Session()

    def send(method, address, fields, body, chunked):
        data = parts(body) if chunked else body
        response = session.request(method, address, headers=dict(fields), data=data, timeout=TIMEOUT)
        return response.status_code, list(response.raw.headers.items()), response.content

    return send


def with_urllib3():
    import urllib3

    pool = urllib3.PoolManager()

    def send(method, address, fields, body, chunked):
        headers = urllib3._collections.HTTPHeaderDict(fields)
        data = parts(body) if chunked else body
        more = {"chunked": True} if chunked else {}
        response = pool.request(method, address, headers=headers, body=data, timeout=TIMEOUT, **more)
        return response.status, list(response.headers.items()), response.data

    return send


def with_urllib_request():
    def send(method, address, fields, body, chunked):
        data = parts(body) if chunked else body
        request = urllib.request.Request(address, data, dict(fields), method=method)
        try:
            response = urllib.request.urlopen(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            return response.status, response.headers.items(), response.read()

    return send


def with_http_client():
    kept = {}

    def send(method, address, fields, body, chunked):
        place = urlsplit(address)
        if place.netloc not in kept:
            kept[place.netloc] = http.client.HTTPConnection(place.netloc, timeout=TIMEOUT)
        connection = kept[place.netloc]
        names = {name.lower() for name, _ in fields}
        # The absolute form, as through a proxy; with another Host it would name two.
        target = address.removeprefix(f"http://{place.netloc}") if "host" in names else address
        connection.putrequest(method, target, "host" in names, "accept-encoding" in names)
        for name, value in fields:
            connection.putheader(name, value.encode("latin-1"))
        if body is not None and not chunked:
            connection.putheader("Content-Length", str(len(body)))
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        try:
            connection.endheaders(parts(body) if chunked else body, encode_chunked=chunked)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        except Exception:
            connection.close()
            raise

    return send


def with_httpx():
    import httpx

    client = httpx.Client(timeout=TIMEOUT, follow_redirects=True)

    def send(method, address, fields, body, chunked):
        headers = [(name.encode(), value.encode("latin-1")) for name, value in fields]
        content = parts(body) if chunked else body
        response = client.request(method, address, headers=headers, content=content)
        return response.status_code, response.headers.multi_items(), response.content

    return send


def with_aiohttp():
    import aiohttp
    from multidict import CIMultiDict

    loop = asyncio.new_event_loop()
    session = []

    async def stream(body):
        for part in parts(body):
            yield part

    async def exchange(method, address, fields, body, chunked):
        if not session:
            session.append(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT)))
        data = stream(body) if chunked else body
        async with session[0].request(method, address, headers=CIMultiDict(fields), data=data) as response:
            raw = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers]
            return response.status, raw, await response.read()

    return lambda *call: loop.run_until_complete(exchange(*call))


def with_pycurl():
    import pycurl

    curl = pycurl.Curl()

    def send(method, address, fields, body, chunked):
        curl.reset()
        head, content = [], io.BytesIO()

        def keep(line):
            if line.startswith(b"HTTP/"):
                head.clear()
            elif b":" in line:
                name, value = line.decode("latin-1").split(":", 1)
                head.append((name, value.strip()))

        curl.setopt(pycurl.URL, address)
        curl.setopt(pycurl.CUSTOMREQUEST, method)
        curl.setopt(pycurl.NOBODY, method == "HEAD")
        lines = [f"{name}: {value}" if value else f"{name};" for name, value in fields]
        if body is not None and chunked:
            curl.setopt(pycurl.UPLOAD, True)
            curl.setopt(pycurl.READDATA, io.BytesIO(body))
            lines.append("Transfer-Encoding: chunked")
        elif body is not None:
            curl.setopt(pycurl.POST, True)
            curl.setopt(pycurl.POSTFIELDS, body)
        curl.setopt(pycurl.HTTPHEADER, [line.encode("latin-1") for line in lines])
        curl.setopt(pycurl.ACCEPT_ENCODING, "")
        curl.setopt(pycurl.FOLLOWLOCATION, True)
        curl.setopt(pycurl.TIMEOUT, TIMEOUT)
        curl.setopt(pycurl.HEADERFUNCTION, keep)
        curl.setopt(pycurl.WRITEFUNCTION, content.write)
        curl.perform()
        return curl.getinfo(pycurl.RESPONSE_CODE), head, content.getvalue()

    return send


LIBRARIES = {
    "requests": with_requests,
    "urllib3": with_urllib3,
    "urllib.request": with_urllib_request,
    "http.client": with_http_client,
    "httpx": with_httpx,
    "aiohttp": with_aiohttp,
    "pycurl": with_pycurl,
}

calls = json.load(open(sys.argv[2], encoding="utf-8"))
for base in sys.argv[3:]:
    send = LIBRARIES[sys.argv[1]]()
    tag = ""
    for call in calls:
        fields = [(name, value.replace("{etag}", tag)) for name, value in call["fields"]]
        body = None if call["body"] is None else open(call["body"], "rb").read()
        try:
            status, head, content = send(call["method"], base + call["path"], fields, body, call["chunked"])
            tag = next((value for name, value in head if name.lower() == "etag"), tag)
            print(json.dumps([status, list(map(list, head)), base64.b64encode(content).decode()]))
        except Exception as error:
            print(json.dumps(type(error).__name__))
