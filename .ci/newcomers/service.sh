# An engineer who deploys the service: token, proxy, environment, log, and OpenAI's API.
python -m pip --disable-pip-version-check install --quiet 'sumpool[serve]'
echo 0123456789abcdef0123456789abcdef > token
SUMPOOL_PORT=8347 SUMPOOL_TOKEN_FILE=token SUMPOOL_ACCESS_LOG=1 \
    sumpool serve --host-name sums.example.org --root-path /sums > access.log 2> serve.log &
trap 'kill $!' EXIT
url=http://127.0.0.1:8347
curl --silent --fail --retry 60 --retry-connrefused --retry-delay 1 $url/health
status() { curl --silent --output answer.json --write-out '%{http_code}' "$@"; }
bearer="Authorization: Bearer $(cat token)"
test "$(status $url/v1/models)" = 401
test "$(status --header "$bearer" --header 'Host: sums.example.org' $url/v1/models)" = 200
grep -q '"id":"shipped"' answer.json
test "$(status --header "$bearer" --header 'Host: elsewhere.example.org' $url/v1/models)" = 400
text='The gateway forwards packets. It keeps routes to all networks. Hosts send packets to gateways.'
test "$(status --header "$bearer" --json "{\"text\": \"$text\", \"length\": \"1s\"}" $url/v1/summaries)" = 200
grep -q '"sentences":\[{' answer.json
ask="{\"messages\": [{\"role\": \"user\", \"content\": \"Summarise in 1 sentence:\\n\\n$text\"}]}"
test "$(status --header "$bearer" --json "$ask" $url/v1/chat/completions)" = 200
grep -q '"role":"assistant"' answer.json
grep -q '"path": "/sums/v1/chat/completions", "status": 200' access.log
