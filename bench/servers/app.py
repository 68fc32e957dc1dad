"""V2 in Python: sends the id of the request back (ASGI)."""


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    name = dict(scope["headers"]).get(b"x-id", b"")
    body = b'{"data":{"id":"' + name + b'"}}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
