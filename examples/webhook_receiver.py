"""Takes webhooks of corroborate and prints what they tell. Usage: WEBHOOK_SECRET=whsec_... python3 webhook_receiver.py [PORT]"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
SEEN = set()  # A real receiver keeps them for a day, where all its processes see them.


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message, at = self.headers.get("webhook-id", ""), self.headers.get("webhook-timestamp", "0")
        digest = hmac.new(KEY, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(digest).decode()
        signatures = self.headers.get("webhook-signature", "").split()
        is_ours = any(hmac.compare_digest(expected, one) for one in signatures)
        is_fresh = at.isdigit() and abs(time.time() - int(at)) < 300
        self.send_response(204 if is_ours and is_fresh else 401)
        self.end_headers()
        if is_ours and is_fresh and message not in SEEN:
            SEEN.add(message)
            told = json.loads(body)
            data = told["data"]
            print(told["type"], data.get("item_id", ""), data.get("verdict", data.get("status", "")), flush=True)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Receiver).serve_forever()
