"""A V1 client in Python: it reads the members that V1 has, and no others.

python3 bills_client.py http://127.0.0.1:8080/api/v1
"""

import json
import sys
from datetime import date
from decimal import Decimal

import requests

BILL = {"id", "name", "customer_name", "customer_email", "amount", "status", "due"}
LINE = {"id", "bill_id", "description", "amount"}
PROBLEM = {"type", "title", "status", "detail"}

base = sys.argv[1]
session = requests.Session()
session.headers["X-Account"] = "python"


def send(method, path, body=None):
    response = session.request(method, base + path, json=body)
    value = json.loads(response.content, parse_float=Decimal) if response.content else None
    print(method, path, response.status_code, response.headers.get("Location", "-"), value)
    return value


def check(value, members):
    if value.keys() != members:
        raise SystemExit(f"{sorted(value.keys() ^ members)} is not as V1 has it")
    return value


def check_bill(bill):
    check(bill, BILL)
    if not isinstance(bill["id"], int):
        raise SystemExit(f"the id {bill['id']!r} is not a number")
    # V1 always writes cents: a client would read an amount without them as a whole number.
    if not isinstance(bill["amount"], Decimal):
        raise SystemExit(f"the amount {bill['amount']!r} has no cents")
    if bill["status"] not in {"open", "paid", "void"}:
        raise SystemExit(f"{bill['status']!r} is no status")
    if bill["due"] is not None:
        date.fromisoformat(bill["due"])
    return bill


first = check_bill(
    send(
        "POST",
        "/bills",
        {
            "name": "May",
            "customer_name": "Ann",
            "customer_email": "ann@example.com",
            "amount": 10.50,
            "status": "open",
            "due": "2026-12-01",
            "fax": "1",
        },
    )
)["id"]
check_bill(send("POST", "/bills", {"amount": 7, "customer_name": "Zoë"}))
check_bill(send("POST", "/bills", {"customer_name": "Bo", "amount": 0.05, "status": "void"}))
check(send("POST", "/bills", {"customer_name": "Bo", "amount": "ten"}), PROBLEM)
check_bill(send("GET", f"/bills/{first}"))
for path in ["/bills?page=2&per_page=1&status=open", "/bills"]:
    page = check(send("GET", path), {"bills", "page", "total_pages"})
    for bill in page["bills"]:
        check_bill(bill)
for line in send("GET", f"/bills/{first}/lines"):
    check(line, LINE)
    if line["bill_id"] != first:
        raise SystemExit(f"the line belongs to {line['bill_id']!r}")
check_bill(send("PUT", f"/bills/{first}", {"customer_name": "Ann", "amount": 10.5, "status": "paid"}))
send("DELETE", f"/bills/{first}")
check(send("GET", f"/bills/{first}"), PROBLEM)
