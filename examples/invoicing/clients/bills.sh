#!/usr/bin/env bash
# A V1 client with curl: it prints what V1 clients can rely on, byte for byte. bash bills.sh http://127.0.0.1:8080/api/v1
set -euo pipefail
base=$1

# send METHOD PATH [BODY]: the status, the fields and the body of the response.
send() {
  local body=()
  [ $# -lt 3 ] || body=(-H 'Content-Type: application/json' --data-raw "$3")
  echo "$1 $2"
  curl --silent --show-error --max-time 60 --request "$1" --header 'X-Account: curl' "${body[@]}" \
    --write-out '\n%{http_code} type=%header{content-type} length=%header{content-length} location=%header{location}\n' "$base$2"
}

send POST /bills '{"name":"May","customer_name":"Ann","customer_email":"ann@example.com","amount":10.50,"status":"open","due":"2026-12-01","fax":"1"}'
send POST /bills '{ "amount" : 7, "customer_name" : "Zo\u00eb" }'
send POST /bills '{"customer_name":"Bo","amount":0.05,"status":"void"}'
send POST /bills '{"customer_name":"Bo","amount":"ten"}'
send POST /bills '{"customer_name":'
send GET /bills/7
send GET '/bills?page=2&per_page=1&status=open'
send GET /bills
send GET /bills/7/lines
send PUT /bills/7 '{"customer_name":"Ann","amount":10.5,"status":"paid"}'
send DELETE /bills/7
send GET /bills/7
